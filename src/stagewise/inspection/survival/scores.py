"""Scores of survival models as functions of the row weights, with their baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.inspection.quality.metrics import Metric
from stagewise.inspection.quality.scores import Scores
from stagewise.inspection.survival.rows import EventRows, event_rows
from stagewise.kaplan_meier import AalenJohansen, KaplanMeier
from stagewise.metrics.survival import (
    brier_rows,
    concordance,
    concordance_influence,
    uno_weights,
)
from stagewise.validation.messages import short_repr

__all__ = ["row_errors", "scores_of_rows", "survival_metrics", "survival_scores"]

Vector = npt.NDArray[np.float64]
NAN = float("nan")
PASSES = 40
"""A C-index takes about as long as so many passes over the rows."""


class _Concordance(Metric):
    """Harrell's C-index."""

    name, label = "c_index", "Harrell's C-index"
    larger_is_better, ends, passes = True, (0.0, 1.0), PASSES

    def __init__(self, rows: EventRows, suffix: tuple[str, str]) -> None:
        self.name, self.label = self.name + suffix[0], self.label + suffix[1]
        self._rows = rows
        self._compared = rows.compared_time, rows.is_event, rows.risk

    def _event_weight(self, weight: Vector) -> Vector | None:
        """Return a further weight of rows with an event."""
        return None

    def value(self, weight: Vector) -> float:
        further = self._event_weight(weight)
        return concordance(*self._compared, weight, self._rows.stratum, further)

    def baseline(self, weight: Vector) -> float:
        return 0.5 if np.isfinite(self.value(weight)) else NAN

    def influence(self, weight: Vector) -> Vector:
        further = self._event_weight(weight)
        return concordance_influence(*self._compared, weight, self._rows.stratum, further)

    def reason(self, n_rows: int) -> str:
        if np.isfinite(self.value(self._rows.weight)):
            return super().reason(n_rows)
        return "no row has an event while another one is observed for longer"


class _UnoConcordance(_Concordance):
    """Uno's C-index, with the censoring of the same rows."""

    name, label = "uno_c_index", "Uno's C-index"

    def _event_weight(self, weight: Vector) -> Vector:
        rows = self._rows
        any_event = rows.is_event | rows.is_other
        censoring = KaplanMeier.of(None, rows.time, any_event, weight, censoring=True)
        # After the last censored row nothing is known, and G is 0.
        last = float(np.max(rows.time[censoring.at(rows.time) > 0.0], initial=0.0))
        return uno_weights(censoring, rows.time, rows.is_event & (rows.time <= last))


class _IntegratedBrier(Metric):
    """The mean of the Brier score over time; that of one curve for all rows is the baseline."""

    name, label = "integrated_brier", "integrated Brier score"

    def __init__(self, rows: EventRows, suffix: tuple[str, str]) -> None:
        self.name, self.label = self.name + suffix[0], self.label + suffix[1]
        self._rows, self._errors = rows, row_errors(rows)

    def value(self, weight: Vector) -> float:
        return float(np.average(self._errors, weights=weight))

    def baseline(self, weight: Vector) -> float:
        rows = self._rows
        own = rows.entry, rows.time, rows.is_event, rows.is_other, weight
        return float(np.average(row_errors(rows, AalenJohansen.of(*own)), weights=weight))

    def influence(self, weight: Vector) -> Vector:
        return np.asarray(weight * (self._errors - self.value(weight)) / weight.sum())


def survival_metrics(each: tuple[EventRows, ...]) -> list[Metric]:
    """Return the metrics of rows; of several causes those of each cause that has events."""
    found: list[Metric] = []
    for rows in each:
        if len(each) > 1 and not rows.is_event.any():
            continue
        suffix = ("", "") if len(each) == 1 else (f"_{rows.cause}", f", event {rows.cause}")
        found += [_Concordance(rows, suffix), _UnoConcordance(rows, suffix)]
        found.append(_IntegratedBrier(rows, suffix))
    return found


def survival_scores(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    offset: Any = None,
    metrics: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 200,
    random_state: int = 0,
) -> Scores:
    """Return the scores of a survival model; the parameters are those of `scores`."""
    if metrics is not None:
        raise InvalidParameterError(
            "metrics must be None for a survival model, which has its own scores: c_index, "
            f"uno_c_index and integrated_brier; got {short_repr(metrics)}."
        )
    return scores_of_rows(
        event_rows(estimator, X, y, sample_weight, offset=offset),
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def scores_of_rows(each: tuple[EventRows, ...], **options: Any) -> Scores:
    """Return the scores of rows; `options` are those of `Scores.of_metrics`."""
    used = tuple(rows.with_weight() for rows in each)
    return Scores.of_metrics("survival", survival_metrics(used), used[0].weight, **options)


def row_errors(rows: EventRows, curve: AalenJohansen | None = None) -> Vector:
    """Return the share of each row in the integrated Brier score: its squared errors over time.

    Parameters
    ----------
    rows : EventRows
        The rows.
    curve : AalenJohansen or None
        One curve that is predicted for all rows; None: those of the model.
    """
    times, censoring, errors = rows.times(), rows.censoring, np.empty(len(rows))
    constant: Any = None if curve is None else curve.at(times)
    for part in rows.blocks():
        time = rows.time[part]
        predicted = (
            rows.probability(times, part)
            if constant is None
            else np.broadcast_to(constant, (len(time), len(times)))
        )
        own = time, rows.is_event[part], predicted, times, rows.is_other[part]
        each = brier_rows(censoring, *own)
        errors[part] = np.trapezoid(each, times, axis=1) / (times[-1] - times[0])
    return errors
