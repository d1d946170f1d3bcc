"""The quality of a survival model: curves by group of risk, calibration, and Brier scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import LINE, new_axes
from stagewise.data import check_weight
from stagewise.data.survival_target import read_survival
from stagewise.display import Displayed, Summary
from stagewise.errors import InvalidParameterError
from stagewise.kaplan_meier import KaplanMeier
from stagewise.metrics.survival import brier_scores, c_index, time_mean, uno_c_index
from stagewise.validation.messages import short_repr

__all__ = ["SurvivalQuality", "survival_quality"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

POINTS = 60
"""The number of times of the curves."""
LAST = 0.9
"""The curves end at this quantile of the times."""


@dataclass(frozen=True, eq=False, repr=False)
class SurvivalQuality(Displayed):
    """The quality of a survival model on some rows.

    Attributes
    ----------
    c_index, uno_c_index : float
        The C-index of Harrell, and that of Uno.
    integrated_brier, integrated_brier_baseline : float
        The mean of the Brier scores over `times`, of the model and of one curve for all rows.
    times : float64 array of shape (n_times,)
        The times of the curves.
    brier, brier_baseline : float64 arrays of shape (n_times,)
        The Brier scores of the model, and of the curve of Kaplan and Meier.
    predicted, observed : float64 arrays of shape (n_groups, n_times)
        The mean predicted survival of groups of rows, from the lowest risk to the highest, and the
        curve of Kaplan and Meier of each.
    n_rows : int array of shape (n_groups,)
        The number of rows of each group.
    time : float
        The time of `calibration`.
    calibration : float64 array of shape (n_groups, 2)
        The predicted and the observed survival of each group at that time.
    """

    c_index: float
    uno_c_index: float
    integrated_brier: float
    integrated_brier_baseline: float
    times: Vector
    brier: Vector
    brier_baseline: Vector
    predicted: Matrix
    observed: Matrix
    n_rows: npt.NDArray[np.intp]
    time: float
    calibration: Matrix

    def _summary(self) -> Summary:
        rows = [
            {"group": i + 1, "rows": int(n), "predicted": float(p), "observed": float(o)}
            for i, (n, (p, o)) in enumerate(zip(self.n_rows, self.calibration, strict=True))
        ]
        return Summary(
            f"Survival of {int(self.n_rows.sum()):,} rows",
            {
                "Harrell's C-index": self.c_index,
                "Uno's C-index": self.uno_c_index,
                "integrated Brier score": self.integrated_brier,
                "the same of one curve": self.integrated_brier_baseline,
                "survival at": self.time,
            },
            rows,
        )

    def plot(self, *, axes: Any = None) -> Any:
        """Draw the curves by group of risk, the calibration and the Brier scores: three axes."""
        _, (groups, calibration, brier) = new_axes(3, axes, "SurvivalQuality.plot")
        for number, (predicted, observed) in enumerate(
            zip(self.predicted, self.observed, strict=True)
        ):
            colour = f"C{number % 10}"
            groups.plot(self.times, predicted, color=colour, lw=1.4)
            groups.step(self.times, observed, color=colour, lw=1.0, ls=":", where="post")
        groups.set(xlabel="time", ylabel="survival", ylim=(-0.02, 1.02))
        groups.set_title("by group of risk (dotted: observed)")
        calibration.axline((0.0, 0.0), slope=1.0, color=LINE, lw=1)
        calibration.plot(*self.calibration.T, "o-", lw=1.0, ms=4)
        calibration.set(xlabel="predicted survival", ylabel="observed survival")
        calibration.set_title(f"at the time {self.time:g}")
        brier.plot(self.times, self.brier, label="model")
        brier.plot(self.times, self.brier_baseline, color=LINE, label="one curve for all rows")
        brier.set(xlabel="time", ylabel="Brier score")
        brier.legend(frameon=False)
        return [groups, calibration, brier]


def survival_quality(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    time: float | None = None,
    n_groups: int = 4,
    offset: Any = None,
) -> SurvivalQuality:
    """Return the quality of a survival model on rows that it was not trained on.

    Parameters
    ----------
    estimator : GradientBoostingSurvival
        Fitted, with one kind of event ("cox", "aft" or "discrete_time").
    X, y, sample_weight
        The rows, their times and events, and their weights.
    time : float or None
        The time of the calibration; None: the median of the times of events.
    n_groups : int
        The number of groups of rows by risk, which have about the same numbers of rows.
    offset : array-like, number, str or None
        As of `predict`.
    """
    if not hasattr(estimator, "predict_survival_function"):
        raise TypeError(
            f"survival_quality is for GradientBoostingSurvival; got {type(estimator).__name__}."
        )
    if isinstance(n_groups, bool) or not 1 <= n_groups <= 20:
        raise InvalidParameterError(
            f"n_groups must lie between 1 and 20; got {short_repr(n_groups)}."
        )
    predicted = estimator.predict(X, offset=offset)
    if predicted.ndim > 1 or estimator.model_.loss in ("fine_gray", "cause_specific"):
        raise InvalidParameterError(
            f"survival_quality needs one kind of event, and the loss is {estimator.model_.loss!r}."
        )
    strata = estimator.strata_
    target, _ = read_survival(
        y, len(predicted), caller=type(estimator).__name__, strata=strata or None
    )
    weight = check_weight(sample_weight, len(target))
    earlier = estimator.model_.loss != "aft"
    own = np.array(strata, dtype=object)[target["stratum"]] if strata else None
    times = _times(target)
    at = float(np.median(target["time"][target["event"] > 0])) if time is None else float(time)
    curves = estimator.predict_survival_function(
        X, np.append(times, at), stratum=own, offset=offset
    ).values
    exits, is_event = target["time"], target["event"] > 0
    censoring = KaplanMeier.of(None, exits, is_event, weight, censoring=True)
    whole = KaplanMeier.of(target["entry"], exits, is_event, weight)
    brier = brier_scores(censoring, exits, is_event, curves[:, :-1], times, weight)
    one_curve = np.broadcast_to(whole.at(times), (len(exits), len(times)))
    baseline = brier_scores(censoring, exits, is_event, one_curve, times, weight)
    risk = predicted if earlier else -predicted
    groups = _groups(risk, n_groups)
    means = [np.average(curves[g], axis=0, weights=_part(weight, g)) for g in groups]
    observed = [
        KaplanMeier.of(target["entry"][g], exits[g], is_event[g], _part(weight, g)).at(
            np.append(times, at)
        )
        for g in groups
    ]
    both = np.stack(means), np.stack(observed)
    return SurvivalQuality(
        c_index(target, predicted, weight, earlier=earlier),
        uno_c_index(target, predicted, weight, earlier=earlier),
        time_mean(brier, times),
        time_mean(baseline, times),
        times,
        brier,
        baseline,
        both[0][:, :-1],
        both[1][:, :-1],
        np.array([len(g) for g in groups]),
        at,
        np.column_stack([own[:, -1] for own in both]),
    )


def _part(weight: Vector | None, rows: npt.NDArray[np.intp]) -> Vector | None:
    return None if weight is None else weight[rows]


def _times(target: npt.NDArray[Any]) -> Vector:
    """Return the times of curves: until a quantile of the times."""
    is_event = target["event"] > 0
    if not is_event.any():
        raise ValueError("No row has an event, so there is nothing to compare curves with.")
    last = max(float(np.quantile(target["time"], LAST)), float(target["time"][is_event].min()))
    return np.linspace(0.0, last, POINTS + 1)[1:]


def _groups(risk: Vector, n_groups: int) -> list[npt.NDArray[np.intp]]:
    """Return the rows of each group of risk, from the lowest to the highest."""
    order = np.argsort(risk, kind="stable")
    return [part for part in np.array_split(order, min(n_groups, len(order))) if len(part)]
