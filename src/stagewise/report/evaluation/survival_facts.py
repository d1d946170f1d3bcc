"""The quality of predicted curves of times until an event, for the report page.

Curves are probabilities of the event until a time; the page shows those of a single kind of event
as survival. The observed ones are those of Kaplan and Meier, or of Aalen and Johansen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quantiles import weighted_quantiles
from stagewise.inspection.survival.quality import brier_curves, predicted_means
from stagewise.inspection.survival.rows import EventRows, Rows
from stagewise.kaplan_meier import KaplanMeier
from stagewise.metrics.survival import dynamic_auc, time_mean

__all__ = [
    "EventQuality",
    "Horizon",
    "RiskGroup",
    "curve_times",
    "event_name",
    "event_quality",
]

RISK_GROUPS = 4
HORIZONS = (0.25, 0.5, 0.75)
"""The horizons of calibration: these quantiles of the times of events."""
MOST_BINS, EVENTS_OF_A_BIN = 10, 5
"""The number of groups of a calibration, and the mean number of events in each."""
AUC_TIMES = 24


@dataclass(frozen=True, eq=False)
class Curves:
    """The mean predicted curve of rows, and the observed one.

    Attributes
    ----------
    predicted, observed : float64 arrays of shape (n_times,)
        The probability of the event until each time.
    low, high : float64 arrays of shape (n_times,)
        The confidence limits of `observed`.
    """

    predicted: Vector
    observed: Vector
    low: Vector
    high: Vector


@dataclass(frozen=True, eq=False)
class RiskGroup:
    """A group of rows with similar predictions.

    Attributes
    ----------
    n_rows, n_events : int
        Its rows, and those with the event.
    curves : Curves
        Its curves.
    """

    n_rows: int
    n_events: int
    curves: Curves


@dataclass(frozen=True, eq=False)
class Horizon:
    """The calibration at one time: groups of rows by their predicted probability at it.

    Attributes
    ----------
    time : float
        The time.
    n_rows : int64 array of shape (n_groups,)
        The rows of each group.
    predicted, observed, low, high : float64 arrays of shape (n_groups,)
        As of `Curves`, at this time.
    """

    time: float
    n_rows: npt.NDArray[np.int64]
    predicted: Vector
    observed: Vector
    low: Vector
    high: Vector


@dataclass(frozen=True, eq=False)
class EventQuality:
    """The quality of the predicted curves of one kind of event.

    Attributes
    ----------
    name : str
        The event.
    is_cause : bool
        Whether it is one of several, whose curves are cumulative incidences, not survival.
    n_rows, n_events, n_others : int
        Rows with a positive weight, those with the event, and those with another one.
    times : float64 array of shape (n_times,)
        The times of the curves, from 0 on.
    whole : Curves
        The curves of all rows.
    groups : tuple of RiskGroup
        From the lowest predicted risk to the highest.
    horizons : tuple of Horizon
        The calibration at some times.
    brier, brier_baseline : float64 arrays of shape (n_times - 1,)
        The Brier scores at the times after 0 of the model, and of one curve for all rows.
    auc_times, auc : float64 arrays
        Times, and the area under the ROC curve at each.
    mean_auc : float
        Its mean over time.
    """

    name: str
    is_cause: bool
    n_rows: int
    n_events: int
    n_others: int
    times: Vector
    whole: Curves
    groups: tuple[RiskGroup, ...]
    horizons: tuple[Horizon, ...]
    brier: Vector
    brier_baseline: Vector
    auc_times: Vector
    auc: Vector
    mean_auc: float


def event_name(cause: int | None) -> str:
    """Return the name of a kind of event; None: there is one."""
    return "event" if cause is None else f"event {cause}"


def curve_times(rows: EventRows) -> Vector:
    """Return all times at which the page needs the curves."""
    return np.unique(np.concatenate([[0.0], rows.times(), _horizons(rows)]))


def event_quality(rows: EventRows, confidence_level: float) -> EventQuality:
    """Return the quality of the predictions of one kind of event."""
    rows = rows.with_weight()
    times, groups = np.append(0.0, rows.times()), rows.groups(RISK_GROUPS)
    brier, baseline = brier_curves(rows, times[1:])
    whole, *by_group = _curves(rows, [np.arange(len(rows)), *groups], times, confidence_level)
    auc_times, auc, mean_auc = _auc(rows, times)
    return EventQuality(
        name=event_name(rows.cause),
        is_cause=rows.cause is not None,
        n_rows=len(rows),
        n_events=int(rows.is_event.sum()),
        n_others=int(rows.is_other.sum()),
        times=times,
        whole=whole,
        groups=tuple(
            RiskGroup(len(group), int(rows.is_event[group].sum()), curves)
            for group, curves in zip(groups, by_group, strict=True)
        ),
        horizons=tuple(_horizon(rows, time, confidence_level) for time in _horizons(rows)),
        brier=brier,
        brier_baseline=baseline,
        auc_times=auc_times,
        auc=auc,
        mean_auc=mean_auc,
    )


def _curves(
    rows: EventRows, groups: list[Rows], times: Vector, confidence_level: float
) -> list[Curves]:
    """Return the curves of groups of rows."""
    found = []
    for group in groups:
        own, observed = rows.take(group), rows.observed(group)
        (predicted,) = predicted_means(own, [np.arange(len(own))], times)
        limits = observed.limits(times, confidence_level)
        found.append(Curves(predicted, observed.at(times), *limits))
    return found


def _horizons(rows: EventRows) -> list[float]:
    """Return the times of calibration, within the times of the curves."""
    last = rows.times()[-1]
    own = rows.is_event
    found = weighted_quantiles(rows.time[own], rows.weight[own], HORIZONS)
    return [float(t) for t in np.unique(np.minimum(found, last))]


def _horizon(rows: EventRows, time: float, confidence_level: float) -> Horizon:
    """Return the calibration at a time."""
    at = np.array([time])
    predicted = np.concatenate([rows.probability(at, part)[:, 0] for part in rows.blocks()])
    until = int((rows.is_event & (rows.time <= time)).sum())
    n_groups = int(np.clip(until // EVENTS_OF_A_BIN, 1, MOST_BINS))
    order = np.argsort(predicted, kind="stable")
    groups = [part for part in np.array_split(order, n_groups) if len(part)]
    each = [_at(rows, group, at, confidence_level) for group in groups]
    return Horizon(
        time,
        np.array([len(group) for group in groups]),
        np.array([np.average(predicted[group], weights=rows.weight[group]) for group in groups]),
        *(np.array(column) for column in zip(*each, strict=True)),
    )


def _at(rows: EventRows, group: Rows, at: Vector, confidence_level: float) -> tuple[float, ...]:
    """Return the observed probability of a group at a time, with its confidence limits."""
    observed = rows.observed(group)
    low, high = observed.limits(at, confidence_level)
    return float(observed.at(at)[0]), float(low[0]), float(high[0])


def _auc(rows: EventRows, times: Vector) -> tuple[Vector, Vector, float]:
    """Return times with events before and rows after them, the AUC at each, and its mean."""
    first = rows.time[rows.is_event].min()
    inside = times[(times >= first) & (times < rows.time.max())]
    picked = np.unique(np.linspace(0, len(inside) - 1, AUC_TIMES).round().astype(np.intp))
    at = inside[picked] if len(inside) else inside
    if not len(at):
        return at, at, float("nan")
    risk = np.concatenate([rows.probability(at, part) for part in rows.blocks()])
    auc = dynamic_auc(rows.censoring, rows.time, rows.is_event, risk, at, rows.weight)
    curve = KaplanMeier.of(None, rows.time, rows.is_event, rows.weight)
    return at, auc, time_mean(auc, at, curve)
