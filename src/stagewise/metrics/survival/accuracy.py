"""The Brier score and the area under the ROC curve as functions of time.

Censored rows are replaced by weights: a row with an event at t_i has the weight 1 / G(t_i), and a
row that is observed beyond t has 1 / G(t), with the probability G of being uncensored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.kaplan_meier import KaplanMeier
from stagewise.metrics.ranking import roc_auc

__all__ = ["brier_rows", "brier_scores", "dynamic_auc", "time_mean"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


def brier_scores(
    censoring: KaplanMeier,
    time: npt.NDArray[Any],
    is_event: npt.NDArray[np.bool_],
    survival: Matrix,
    times: Vector,
    weight: Vector | None = None,
) -> Vector:
    """Return the Brier score at each time (Graf et al. 1999).

        BS(t) = mean of  S(t | x)² / G(t_i)         if there was an event at t_i ≤ t
                         (1 - S(t | x))² / G(t)     if t_i > t, and 0 for other rows

    Parameters
    ----------
    censoring : KaplanMeier
        G, the curve of the time of censoring.
    time, is_event : arrays of shape (n_rows,)
        The times, and whether they are those of events.
    survival : float64 array of shape (n_rows, n_times)
        S(t | x).
    times : float64 array
        The times t.
    weight : float64 array or None
        The weights of the rows.
    """
    rows = brier_rows(censoring, time, is_event, 1.0 - survival, times)
    return np.asarray(np.average(rows, axis=0, weights=weight))


def brier_rows(
    censoring: KaplanMeier,
    time: npt.NDArray[Any],
    is_event: npt.NDArray[np.bool_],
    probability: Matrix,
    times: Vector,
    is_other: npt.NDArray[np.bool_] | None = None,
) -> Matrix:
    """Return the weighted squared errors of rows at each time, whose means are Brier scores.

    Parameters
    ----------
    censoring, time, is_event, times
        As of `brier_scores`.
    probability : float64 array of shape (n_rows, n_times)
        The predicted probability of an event until each time.
    is_other : bool array or None
        Whether rows have an event of another cause, which is counted as no event; None: none has.
    """
    at_own, at_times = censoring.at(time), censoring.at(times)
    at_own = np.where(at_own > 0.0, at_own, np.inf)[:, None]
    at_times = np.where(at_times > 0.0, at_times, np.inf)
    until = time[:, None] <= times
    rows = np.where(until & is_event[:, None], (1.0 - probability) ** 2 / at_own, 0.0)
    rows += np.where(until, 0.0, probability**2 / at_times)
    if is_other is not None:
        rows += np.where(until & is_other[:, None], probability**2 / at_own, 0.0)
    return np.asarray(rows)


def dynamic_auc(
    censoring: KaplanMeier,
    time: npt.NDArray[Any],
    is_event: npt.NDArray[np.bool_],
    risk: Matrix,
    times: Vector,
    weight: Vector | None = None,
) -> Vector:
    """Return the area under the ROC curve at each time: events until t against rows beyond it.

    Parameters
    ----------
    censoring, time, is_event, times, weight
        As of `brier_scores`.
    risk : float64 array of shape (n_rows,) or (n_rows, n_times)
        Predictions that are larger where an event is earlier.
    """
    own = np.ones(len(time)) if weight is None else weight
    at_own = censoring.at(time)
    inverse = np.divide(own, at_own, out=np.zeros(len(time)), where=at_own > 0.0)
    areas = np.empty(len(times))
    for place, t in enumerate(times.tolist()):
        had, later = (time <= t) & is_event, time > t
        used = had | later
        column = risk if risk.ndim == 1 else risk[:, place]
        weights = np.where(had, inverse, own)[used]
        areas[place] = roc_auc(had[used], column[used], weights)
    return areas


def time_mean(values: Vector, times: Vector, curve: KaplanMeier | None = None) -> float:
    """Return the mean of values over time: by the trapezoidal rule, or with weights dS(t).

    Parameters
    ----------
    values, times : float64 array
        The values at some times.
    curve : KaplanMeier or None
        S of the events, whose decrements are the weights; None: time itself.
    """
    if curve is None:
        return float(np.trapezoid(values, times) / (times[-1] - times[0]))
    if len(times) == 1:
        return float(values[0])
    survival = curve.at(times)
    steps = -np.diff(survival, prepend=1.0)
    return float((values * steps).sum() / (1.0 - survival[-1]))
