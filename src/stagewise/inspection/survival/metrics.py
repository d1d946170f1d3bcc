"""Metrics of predictions of times until an event, as functions of arrays.

y is read as by `GradientBoostingSurvival.fit`. `y_train` are the times of the training rows, from
which the probability of being uncensored is estimated, as in scikit-survival.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import check_weight
from stagewise.data.survival_target import read_survival
from stagewise.errors import InvalidParameterError
from stagewise.kaplan_meier import KaplanMeier
from stagewise.metrics.survival import (
    brier_scores,
    concordance,
    dynamic_auc,
    time_mean,
    uno_weights,
)

__all__ = [
    "censoring_of",
    "concordance_index",
    "cumulative_dynamic_auc",
    "integrated_brier_score",
    "read_times_of",
    "survival_brier_score",
    "uno_concordance_index",
]

Vector = npt.NDArray[np.float64]


def concordance_index(y: Any, risk: Any, sample_weight: Any = None) -> float:
    """Return Harrell's C-index: the share of comparable pairs in the right order.

    A pair is comparable if one row has an event and the other one is observed for longer; rows of
    different strata are not. Equal risks count as half (Harrell et al. 1982).

    Parameters
    ----------
    y : structured array, data frame, mapping or tuple
        Times and events, as of `GradientBoostingSurvival.fit`.
    risk : array-like of shape (n_rows,)
        Predictions that are larger where an event is earlier. Pass -time for predicted times.
    sample_weight : array-like of shape (n_rows,) or None
        The weights of the rows.

    Examples
    --------
    >>> from stagewise.inspection import concordance_index
    >>> concordance_index(([1.0, 2.0, 3.0], [True, True, False]), [3.0, 1.0, 2.0])
    0.6666666666666666
    """
    target, strata = _read(y)
    weight = check_weight(sample_weight, len(target))
    own = target["stratum"] if strata else None
    is_event = target["event"] > 0
    risks = _column(risk, len(target), "risk")
    return _finite(concordance(target["time"], is_event, risks, weight, own))


def uno_concordance_index(
    y: Any, risk: Any, *, y_train: Any = None, limit: float | None = None
) -> float:
    """Return Uno's C-index, which does not depend on how many rows are censored.

    A pair has the weight 1 / G(t)², t the time of its event and G the probability of being
    uncensored (Uno et al. 2011).

    Parameters
    ----------
    y, risk
        As of `concordance_index`.
    y_train : structured array, data frame, mapping or tuple, or None
        Times that G is estimated from; None: y.
    limit : float or None
        τ: only events before it count. None: all; then G must be above 0 at all of them.
    """
    target, _ = _read(y)
    time, is_event = target["time"], target["event"] > 0
    weights = uno_weights(censoring_of(y if y_train is None else y_train), time, is_event, limit)
    risks = _column(risk, len(target), "risk")
    return _finite(concordance(time, is_event, risks, event_weight=weights))


def survival_brier_score(
    y: Any, survival: Any, times: Any, *, y_train: Any = None, sample_weight: Any = None
) -> Vector:
    """Return the Brier score at each time: the mean squared error of S(t | x) (Graf et al. 1999).

    Parameters
    ----------
    y : structured array, data frame, mapping or tuple
        Times and events.
    survival : array-like of shape (n_rows, n_times)
        The predicted S(t), such as `predict_survival_function(X, times).values`.
    times : array-like of shape (n_times,)
        The times t, before the last time of y.
    y_train : structured array, data frame, mapping or tuple, or None
        Times that G is estimated from; None: y.
    sample_weight : array-like of shape (n_rows,) or None
        The weights of the rows.
    """
    target, _ = _read(y)
    at = read_times_of(target, times)
    values = np.asarray(survival, dtype=np.float64)
    if values.shape != (len(target), len(at)):
        raise InvalidParameterError(
            f"survival has the shape {values.shape}; expected {(len(target), len(at))}, a number "
            "for each row and each time."
        )
    weight = check_weight(sample_weight, len(target))
    censoring = censoring_of(y if y_train is None else y_train)
    return brier_scores(censoring, target["time"], target["event"] > 0, values, at, weight)


def integrated_brier_score(
    y: Any, survival: Any, times: Any, *, y_train: Any = None, sample_weight: Any = None
) -> float:
    """Return the mean of the Brier score over time, by the trapezoidal rule.

    Parameters
    ----------
    y, survival, times, y_train, sample_weight
        As of `survival_brier_score`; there are at least two times, in ascending order.
    """
    found = survival_brier_score(y, survival, times, y_train=y_train, sample_weight=sample_weight)
    at = np.asarray(times, dtype=np.float64)
    if len(at) < 2 or not (np.diff(at) > 0).all():
        raise InvalidParameterError("times must be at least two numbers in ascending order.")
    return time_mean(found, at)


def cumulative_dynamic_auc(
    y: Any, risk: Any, times: Any, *, y_train: Any = None
) -> tuple[Vector, float]:
    """Return the area under the ROC curve at each time, and its mean over time (Uno et al. 2007).

    At t, rows with an event until t are compared with rows that are observed beyond t.

    Parameters
    ----------
    y : structured array, data frame, mapping or tuple
        Times and events.
    risk : array-like of shape (n_rows,) or (n_rows, n_times)
        Predictions that are larger where an event is earlier; those of each time may differ.
    times : array-like of shape (n_times,)
        The times t, before the last time of y.
    y_train : structured array, data frame, mapping or tuple, or None
        Times that G is estimated from; None: y.

    Returns
    -------
    areas : float64 array of shape (n_times,)
    mean : float
        The mean of the areas, weighted by the decrements of the curve of Kaplan and Meier.
    """
    target, _ = _read(y)
    at = read_times_of(target, times)
    risks = np.asarray(risk, dtype=np.float64)
    if risks.shape not in ((len(target),), (len(target), len(at))):
        raise InvalidParameterError(
            f"risk has the shape {risks.shape}; expected {(len(target),)} or "
            f"{(len(target), len(at))}."
        )
    time, is_event = target["time"], target["event"] > 0
    censoring = censoring_of(y if y_train is None else y_train)
    areas = dynamic_auc(censoring, time, is_event, risks, at)
    return areas, time_mean(areas, at, KaplanMeier.of(None, time, is_event))


def censoring_of(y: Any) -> KaplanMeier:
    """Return the curve of the time of censoring."""
    target, _ = _read(y)
    return KaplanMeier.of(None, target["time"], target["event"] > 0, censoring=True)


def read_times_of(target: npt.NDArray[Any], times: Any) -> Vector:
    """Return times as float64; raise unless they are inside the observed ones."""
    found = np.atleast_1d(np.asarray(times, dtype=np.float64))
    last = float(target["time"].max())
    if found.ndim != 1 or not len(found) or not ((found >= 0.0) & (found < last)).all():
        raise InvalidParameterError(
            f"times must be numbers from 0 to below the last time of y, {last:g}; after it, "
            "nothing is observed."
        )
    return found


def _read(y: Any) -> tuple[npt.NDArray[Any], list[Any]]:
    n_rows = len(y[0]) if isinstance(y, tuple) and len(y) == 2 else None
    if n_rows is None:
        n_rows = len(next(iter(y.values()))) if isinstance(y, dict) else len(y)
    return read_survival(y, n_rows, caller="a metric of times")


def _column(risk: Any, n_rows: int, name: str) -> Vector:
    found = np.asarray(risk, dtype=np.float64)
    if found.shape != (n_rows,) or np.isnan(found).any():
        raise InvalidParameterError(
            f"{name} must have one number for each of {n_rows} rows, without NaN; its shape is "
            f"{found.shape}."
        )
    return found


def _finite(value: float) -> float:
    if np.isnan(value):
        raise ValueError(
            "No pair of rows is comparable: no row has an event while another one is observed for "
            "longer. Use more rows."
        )
    return value
