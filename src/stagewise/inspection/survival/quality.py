"""The quality of a survival model: curves by group of risk, calibration, and Brier scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import LINE, new_axes
from stagewise.display import Displayed, Summary
from stagewise.errors import InvalidParameterError
from stagewise.inspection.quantiles import weighted_quantiles
from stagewise.inspection.survival.rows import EventRows, Rows, event_rows, is_survival
from stagewise.inspection.survival.scores import survival_metrics
from stagewise.metrics.survival import brier_rows, time_mean
from stagewise.validation.arguments import check_argument
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = [
    "SurvivalQuality",
    "brier_curves",
    "median_event_time",
    "predicted_means",
    "quality_of_rows",
    "survival_quality",
]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


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
    cause : int or None
        The code of the event, of competing risks; None: there is one kind. The curves of a cause
        are those of its cumulative incidence, not of the survival.
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
    cause: int | None = None

    @property
    def what(self) -> str:
        """What the curves are."""
        return "survival" if self.cause is None else "cumulative incidence"

    def _summary(self) -> Summary:
        rows = [
            {"group": i + 1, "rows": int(n), "predicted": float(p), "observed": float(o)}
            for i, (n, (p, o)) in enumerate(zip(self.n_rows, self.calibration, strict=True))
        ]
        of_cause = "Survival" if self.cause is None else f"Events {self.cause}"
        return Summary(
            f"{of_cause} of {int(self.n_rows.sum()):,} rows",
            {
                "Harrell's C-index": self.c_index,
                "Uno's C-index": self.uno_c_index,
                "integrated Brier score": self.integrated_brier,
                "the same of one curve": self.integrated_brier_baseline,
                f"{self.what} at": self.time,
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
        groups.set(xlabel="time", ylabel=self.what, ylim=(-0.02, 1.02))
        groups.set_title("by group of risk (dotted: observed)")
        calibration.axline((0.0, 0.0), slope=1.0, color=LINE, lw=1)
        calibration.plot(*self.calibration.T, "o-", lw=1.0, ms=4)
        calibration.set(xlabel=f"predicted {self.what}", ylabel=f"observed {self.what}")
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
    cause: int | None = None,
    offset: Any = None,
) -> SurvivalQuality:
    """Return the quality of a survival model on rows that it was not trained on.

    Parameters
    ----------
    estimator : GradientBoostingSurvival
        Fitted.
    X, y, sample_weight
        The rows, their times and events, and their weights.
    time : float or None
        The time of the calibration; None: the median of the times of events.
    n_groups : int
        The number of groups of rows by risk, which have about the same numbers of rows.
    cause : int or None
        The code of the event, for a model of competing risks; None: its first one. Curves are then
        those of the cumulative incidence, and the observed ones are estimates of Aalen and
        Johansen.
    offset : array-like, number, str or None
        As of `predict`.
    """
    if not is_survival(estimator):
        raise TypeError(
            f"survival_quality is for GradientBoostingSurvival; got {type(estimator).__name__}."
        )
    groups = check_argument("n_groups", Number(1, 20, whole=True), n_groups)
    given = check_argument("time", Number(0.0, or_none=True), time)
    rows = _of_cause(event_rows(estimator, X, y, sample_weight, offset=offset), cause)
    rows = rows.with_weight()
    if given is not None and given >= (last := float(rows.time.max())):
        raise InvalidParameterError(
            f"time must be below the last time of the rows, {last:g}; after it, nothing is "
            f"observed. Got {given:g}."
        )
    return quality_of_rows(rows, groups, median_event_time(rows) if given is None else given)


def quality_of_rows(rows: EventRows, n_groups: int, time: float) -> SurvivalQuality:
    """Return the quality of the predictions of one kind of event; see `survival_quality`."""
    times, groups = rows.times(), rows.groups(n_groups)
    brier, baseline = brier_curves(rows, times)
    both = [
        _shown(each, rows.cause)
        for each in (
            predicted_means(rows, groups, np.append(times, time)),
            np.stack([rows.observed(group).at(np.append(times, time)) for group in groups]),
        )
    ]
    harrell, uno = (metric.value(rows.weight) for metric in survival_metrics((rows,))[:2])
    return SurvivalQuality(
        harrell,
        uno,
        time_mean(brier, times),
        time_mean(baseline, times),
        times,
        brier,
        baseline,
        both[0][:, :-1],
        both[1][:, :-1],
        np.array([len(group) for group in groups]),
        time,
        np.column_stack([own[:, -1] for own in both]),
        rows.cause,
    )


def brier_curves(rows: EventRows, times: Vector) -> tuple[Vector, Vector]:
    """Return the Brier scores of the model and of one curve for all rows, at each time."""
    censoring, constant = rows.censoring, rows.observed().at(times)
    found = np.zeros((2, len(times)))
    for part in rows.blocks():
        own = rows.time[part], rows.is_event[part]
        predicted = rows.probability(times, part)
        for place, each in enumerate((predicted, np.broadcast_to(constant, predicted.shape))):
            errors = brier_rows(censoring, *own, each, times, rows.is_other[part])
            found[place] += rows.weight[part] @ errors
    found /= rows.weight.sum()
    return found[0], found[1]


def predicted_means(rows: EventRows, groups: list[Rows], times: Vector) -> Matrix:
    """Return the mean predicted probability of an event until each time, for groups of rows."""
    member: Rows = np.full(len(rows), len(groups), dtype=np.intp)
    for number, group in enumerate(groups):
        member[group] = number
    sums = np.zeros((len(groups) + 1, len(times)))
    for part in rows.blocks():
        np.add.at(sums, member[part], rows.weight[part][:, None] * rows.probability(times, part))
    size = [rows.weight[group].sum() for group in groups]
    return np.asarray(sums[:-1] / np.array(size)[:, None])


def median_event_time(rows: EventRows) -> float:
    """Return the median of the times of events, or raise ValueError if there are none."""
    rows.times()
    own = rows.is_event
    return float(weighted_quantiles(rows.time[own], rows.weight[own], 0.5))


def _shown(probability: Matrix, cause: int | None) -> Matrix:
    """Return probabilities of an event as survival, or of one cause as they are."""
    return probability if cause is not None else 1.0 - probability


def _of_cause(each: tuple[EventRows, ...], cause: int | None) -> EventRows:
    """Return the rows of a cause; None: of the first one."""
    known = [rows.cause for rows in each]
    if cause is None:
        return each[0]
    if cause not in known:
        what = "has one kind of event" if known == [None] else f"predicts the causes {known}"
        raise InvalidParameterError(
            f"cause must be a cause that the model predicts, and it {what}; got "
            f"{short_repr(cause)}."
        )
    return each[known.index(cause)]
