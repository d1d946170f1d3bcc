"""Times until an event beside the predicted probabilities of the event.

All measures of quality of survival models need the same arrays. They are read here, once for each
kind of event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import check_weight
from stagewise.data.survival_target import read_survival
from stagewise.estimators.bases.model_access import fit_loss
from stagewise.estimators.survival.curves import IncidenceCurves, SurvivalCurves
from stagewise.estimators.survival.predictions import SurvivalPredictions
from stagewise.inspection.quantiles import weighted_quantiles
from stagewise.kaplan_meier import AalenJohansen, KaplanMeier
from stagewise.losses.survival.base import SurvivalLoss
from stagewise.losses.survival.competing_risks import CompetingRisksLoss
from stagewise.metrics.survival import exit_times

__all__ = ["EventRows", "Rows", "TabulatedCurves", "event_rows", "is_survival"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

POINTS = 60
"""The number of times of curves."""
LAST = 0.9
"""The curves end at this quantile of the times."""
MOST_NUMBERS = 4_000_000
"""The number of values of curves that are computed at a time."""


def is_survival(estimator: Any) -> bool:
    """Return whether an estimator predicts times until an event."""
    return isinstance(estimator, SurvivalPredictions)


@dataclass(frozen=True, eq=False)
class TabulatedCurves:
    """The probability of an event until some times.

    Attributes
    ----------
    times : float64 array of shape (n_times,)
        The times.
    values : float64 array of shape (n_rows, n_times)
        The probabilities.
    """

    times: Vector
    values: Matrix

    def __getitem__(self, rows: Any) -> TabulatedCurves:
        """Return the curves of some rows."""
        return TabulatedCurves(self.times, self.values[rows])

    def at(self, times: Vector) -> Matrix:
        """Return the probabilities until some of the times."""
        return np.asarray(self.values[:, np.searchsorted(self.times, times)])


@dataclass(frozen=True, eq=False)
class EventRows:
    """Rows with one kind of event: their times, and what a model predicts.

    Attributes
    ----------
    cause : int or None
        The code of the event; None: there is one kind.
    entry, time : float64 arrays of shape (n_rows,)
        When the observation of each row begins, and its time; an event in an interval is in the
        middle of it.
    is_event, is_other : bool arrays
        Whether a row has the event, or one of another cause.
    stratum : int array or None
        The codes of the strata; None: there are none.
    weight : float64 array
        The sample weights.
    risk : float64 array
        The predictions; larger numbers are earlier events.
    curves : SurvivalCurves, IncidenceCurves or TabulatedCurves
        The predicted curves.
    """

    cause: int | None
    entry: Vector
    time: Vector
    is_event: npt.NDArray[np.bool_]
    is_other: npt.NDArray[np.bool_]
    stratum: npt.NDArray[Any] | None
    weight: Vector
    risk: Vector
    curves: SurvivalCurves | IncidenceCurves | TabulatedCurves

    def __len__(self) -> int:
        return len(self.time)

    def take(self, rows: Rows) -> EventRows:
        """Return some rows."""
        return EventRows(
            self.cause,
            self.entry[rows],
            self.time[rows],
            self.is_event[rows],
            self.is_other[rows],
            None if self.stratum is None else self.stratum[rows],
            self.weight[rows],
            self.risk[rows],
            self.curves[rows],
        )

    def tabulated(self, times: Vector) -> EventRows:
        """Return the rows with curves that are computed once, at some times in ascending order."""
        parts = [self.probability(times, part) for part in self.blocks()]
        return replace(self, curves=TabulatedCurves(times, np.concatenate(parts)))

    def with_weight(self) -> EventRows:
        """Return the rows with a positive weight."""
        kept = self.weight > 0.0
        return self if kept.all() else self.take(np.flatnonzero(kept))

    @property
    def compared_time(self) -> Vector:
        """The times of comparisons of rows: after another event, a row never has this one."""
        return np.where(self.is_other, np.inf, self.time)

    @property
    def censoring(self) -> KaplanMeier:
        """G, the curve of the time of censoring."""
        any_event = self.is_event | self.is_other
        return KaplanMeier.of(None, self.time, any_event, self.weight, censoring=True)

    @property
    def values_per_row(self) -> int:
        """The number of values that the curves of one row need at most."""
        if isinstance(self.curves, TabulatedCurves):
            return len(self.curves.times)
        return max(1, len(self.curves.times)) * int(self.curves.score.shape[-1])

    def times(self, n_points: int = POINTS) -> Vector:
        """Return the times of curves, until a quantile of the times."""
        if not (self.is_event & (self.weight > 0.0)).any():
            of_cause = "" if self.cause is None else f" of the cause {self.cause}"
            raise ValueError(
                f"No row has an event{of_cause}, so there is nothing to compare curves with. Pass "
                "rows with events."
            )
        first = float(self.time[self.is_event & (self.weight > 0.0)].min())
        last = max(float(weighted_quantiles(self.time, self.weight, LAST)), first)
        return np.linspace(0.0, last, n_points + 1)[1:]

    def blocks(self) -> Iterator[slice]:
        """Yield parts of the rows whose curves fit into memory."""
        values = self.values_per_row
        step = max(1, MOST_NUMBERS // max(values, POINTS))
        for start in range(0, len(self), step):
            yield slice(start, start + step)

    def probability(self, times: Vector, rows: Any) -> Matrix:
        """Return the predicted probability of an event until each time, for some rows."""
        own = self.curves[rows]
        if isinstance(own, TabulatedCurves):
            return own.at(times)
        if isinstance(own, IncidenceCurves):
            place = own.causes.index(self.cause or 0)
            return np.asarray(own.at(times)[:, place])
        return np.asarray(1.0 - own.at(times))

    def observed(self, rows: Any = slice(None)) -> AalenJohansen:
        """Return the observed curve of some rows."""
        return AalenJohansen.of(
            self.entry[rows],
            self.time[rows],
            self.is_event[rows],
            self.is_other[rows],
            self.weight[rows],
        )

    def groups(self, n_groups: int) -> list[Rows]:
        """Return the rows of each group of risk, from the lowest to the highest."""
        kept = np.flatnonzero(self.weight > 0.0)
        order = kept[np.argsort(self.risk[kept], kind="stable")]
        parts = np.array_split(order, min(n_groups, max(1, len(order))))
        return [part.astype(np.intp) for part in parts if len(part)]


def event_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None
) -> tuple[EventRows, ...]:
    """Return the rows for each kind of event that a survival model predicts.

    Parameters
    ----------
    estimator : GradientBoostingSurvival
        Fitted.
    X, y, sample_weight, offset
        As of `score` of the estimator.
    """
    predicted = estimator.predict(X, offset=offset)
    if not len(predicted):
        raise ValueError("X has no rows. Pass at least one row with a known time.")
    loss: Any = fit_loss(estimator)
    assert isinstance(loss, SurvivalLoss)
    n_rows, strata, caller = len(predicted), estimator.strata_, type(estimator).__name__
    target, _ = read_survival(y, n_rows, caller=caller, strata=strata or None)
    given = check_weight(sample_weight, n_rows)
    weight = np.ones(n_rows) if given is None else given
    labels = np.array(strata, dtype=object)[target["stratum"]] if strata else None
    several = isinstance(loss, CompetingRisksLoss)
    curves_of = (
        estimator.predict_cumulative_incidence if several else estimator.predict_survival_function
    )
    curves = curves_of(X, stratum=labels, offset=offset)
    causes = list(loss.causes) if isinstance(loss, CompetingRisksLoss) else [None]
    columns = predicted.reshape(n_rows, -1)
    time, any_event = exit_times(target)
    found = []
    for place, cause in enumerate(causes):
        own = any_event if cause is None else target["event"] == cause
        column = np.ascontiguousarray(columns[:, min(place, columns.shape[1] - 1)])
        found.append(
            EventRows(
                cause,
                np.ascontiguousarray(target["entry"]),
                np.ascontiguousarray(time, dtype=np.float64),
                own,
                any_event & ~own,
                np.ascontiguousarray(target["stratum"]) if strata else None,
                weight,
                column if loss.larger_is_earlier else -column,
                curves,
            )
        )
    return tuple(found)
