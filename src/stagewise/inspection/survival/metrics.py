"""Metrics of predictions of times until an event, as functions of arrays.

y is read as by `GradientBoostingSurvival.fit`. `y_train` are the times of the training rows, from
which the probability of being uncensored is estimated, as in scikit-survival.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    exit_times,
    time_mean,
    uno_weights,
)
from stagewise.validation.arguments import check_argument
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = [
    "concordance_index",
    "cumulative_dynamic_auc",
    "integrated_brier_score",
    "survival_brier_score",
    "uno_concordance_index",
]

Vector = npt.NDArray[np.float64]
TOLERANCE = 1e-6
"""How far computed probabilities may be outside of 0 to 1."""


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
    time, is_event, stratum = _read(y)
    weight = check_weight(sample_weight, len(time))
    risks = _column(risk, len(time), "risk")
    return _finite(concordance(time, is_event, risks, weight, stratum))


def uno_concordance_index(
    y: Any,
    risk: Any,
    sample_weight: Any = None,
    *,
    y_train: Any = None,
    limit: float | None = None,
) -> float:
    """Return Uno's C-index, which does not depend on how many rows are censored.

    A pair has the weight 1 / G(t)², t the time of its event and G the probability of being
    uncensored (Uno et al. 2011).

    Parameters
    ----------
    y, risk, sample_weight
        As of `concordance_index`; the weight of a pair is the product of those of its rows.
    y_train : structured array, data frame, mapping or tuple, or None
        Times that G is estimated from; None: y, with its weights.
    limit : float or None
        τ: only events before it count. None: all; then G must be above 0 at all of them.
    """
    time, is_event, _ = _read(y)
    until = check_argument("limit", Number(0.0, open_low=True, or_none=True), limit)
    weight = check_weight(sample_weight, len(time))
    censoring = _censoring_of(y, weight) if y_train is None else _censoring_of(y_train)
    weights = uno_weights(censoring, time, is_event, until)
    risks = _column(risk, len(time), "risk")
    return _finite(concordance(time, is_event, risks, weight, event_weight=weights))


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
        Times that G is estimated from; None: y, with its weights.
    sample_weight : array-like of shape (n_rows,) or None
        The weights of the rows.
    """
    time, is_event, _ = _read(y)
    at, values = _times_of(time, times), _floats(survival, "survival")
    if values.shape != (len(time), len(at)):
        raise InvalidParameterError(
            f"survival has the shape {values.shape}; expected {(len(time), len(at))}, a number "
            "for each row and each time."
        )
    wrong = (values < -TOLERANCE) | (values > 1.0 + TOLERANCE)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidParameterError(
            f"survival must be probabilities between 0 and 1, but it is {values[row, column]:g} at "
            f"row {row} and time {at[column]:g}. Pass predict_survival_function(X, times).values."
        )
    weight = check_weight(sample_weight, len(time))
    censoring = _censoring_of(y, weight) if y_train is None else _censoring_of(y_train)
    return brier_scores(censoring, time, is_event, values, at, weight)


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
        The times t in ascending order, from the first event on and before the last time of y.
    y_train : structured array, data frame, mapping or tuple, or None
        Times that G is estimated from; None: y.

    Returns
    -------
    areas : float64 array of shape (n_times,)
    mean : float
        The mean of the areas, weighted by the decrements of the curve of Kaplan and Meier.
    """
    time, is_event, _ = _read(y)
    at, risks = _times_of(time, times), _floats(risk, "risk")
    if risks.shape not in ((len(time),), (len(time), len(at))):
        raise InvalidParameterError(
            f"risk has the shape {risks.shape}; expected {(len(time),)} or {(len(time), len(at))}."
        )
    first = float(time[is_event].min(initial=np.inf))
    if at[0] < first or (np.diff(at) < 0).any():
        raise InvalidParameterError(
            f"times must be in ascending order, from the first event of y on, which is at {first:g}"
            f"; got {short_repr(times)}."
        )
    censoring = _censoring_of(y if y_train is None else y_train)
    areas = dynamic_auc(censoring, time, is_event, risks, at)
    return areas, time_mean(areas, at, KaplanMeier.of(None, time, is_event))


def _censoring_of(y: Any, weight: Vector | None = None) -> KaplanMeier:
    """Return the curve of the time of censoring."""
    time, is_event, _ = _read(y)
    return KaplanMeier.of(None, time, is_event, weight, censoring=True)


def _times_of(time: npt.NDArray[Any], times: Any) -> Vector:
    """Return times as float64; raise unless they are inside the observed ones."""
    found = np.atleast_1d(_floats(times, "times"))
    last = float(time.max(initial=0.0))
    if found.ndim != 1 or not len(found) or not ((found >= 0.0) & (found < last)).all():
        raise InvalidParameterError(
            f"times must be numbers from 0 to below the last time of y, {last:g}; after it, "
            "nothing is observed."
        )
    return found


def _read(y: Any) -> tuple[Vector, npt.NDArray[np.bool_], npt.NDArray[Any] | None]:
    """Return times, events, and the codes of strata, if there are any."""
    if y is None:
        raise ValueError("y is None. Pass times and events, such as (time, event).")
    first = y[0] if isinstance(y, tuple) and len(y) == 2 else y
    first = next(iter(y.values()), None) if isinstance(y, Mapping) else first
    n_rows = 1 if first is None or np.ndim(first) == 0 else len(first)
    target, strata = read_survival(y, n_rows, caller="a metric of times")
    return *exit_times(target), target["stratum"] if strata else None


def _floats(values: Any, name: str) -> npt.NDArray[np.float64]:
    """Return numbers as float64; raise InvalidParameterError for text and NaN."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array([np.nan])
    if np.isnan(found).any():
        raise InvalidParameterError(
            f"{name} must be numbers, without NaN; got {short_repr(values)}."
        )
    return found


def _column(risk: Any, n_rows: int, name: str) -> Vector:
    found = _floats(risk, name)
    if found.shape != (n_rows,):
        raise InvalidParameterError(
            f"{name} must have one number for each of {n_rows} rows; its shape is {found.shape}."
        )
    return found


def _finite(value: float) -> float:
    if np.isnan(value):
        raise ValueError(
            "No pair of rows is comparable: no row has an event while another one is observed for "
            "longer. Use more rows."
        )
    return value
