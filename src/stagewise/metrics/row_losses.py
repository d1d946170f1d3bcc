"""Losses of single rows: functions of targets and predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

__all__ = [
    "CLASSIFICATION_ROW_LOSSES",
    "REGRESSION_ROW_LOSSES",
    "RowLoss",
    "cross_entropy",
    "unit_deviance",
]

Vector = npt.NDArray[np.float64]
RowLoss = Callable[[npt.NDArray[Any], Vector], Vector]
"""A function of targets (or class indices) and predictions (or probabilities); one loss per row."""

SMALLEST = float(np.finfo(np.float64).eps)
"""The lower bound of probabilities in the log loss, as in scikit-learn."""


def _squared(y: npt.NDArray[Any], y_pred: Vector) -> Vector:
    return np.asarray(
        ((y.reshape(y_pred.shape) - y_pred) ** 2).reshape(len(y_pred), -1).mean(axis=1)
    )


def _absolute(y: npt.NDArray[Any], y_pred: Vector) -> Vector:
    return np.asarray(
        np.abs(y.reshape(y_pred.shape) - y_pred).reshape(len(y_pred), -1).mean(axis=1)
    )


def _log_loss(y: npt.NDArray[Any], y_pred: Vector) -> Vector:
    return np.asarray(-np.log(np.maximum(y_pred[np.arange(len(y)), y], SMALLEST)))


def _error(y: npt.NDArray[Any], y_pred: Vector) -> Vector:
    return np.asarray((y_pred.argmax(axis=1) != y).astype(np.float64))


def _brier(y: npt.NDArray[Any], y_pred: Vector) -> Vector:
    """Return Σ_k (p_k - 1[y = k])²; for two classes half of it, (p - y)² (Brier 1950)."""
    own = y_pred[np.arange(len(y)), y]
    whole = (y_pred**2).sum(axis=1) - own**2 + (1.0 - own) ** 2
    return np.asarray(whole / 2 if y_pred.shape[1] == 2 else whole)


def unit_deviance(y: npt.NDArray[Any], y_pred: Any, power: float) -> Vector:
    """Return the Tweedie deviance of each row; power 1 is Poisson's, 2 that of the gamma loss.

        d = 2 (y^(2-p) / ((1-p)(2-p)) - y μ^(1-p) / (1-p) + μ^(2-p) / (2-p)),    1 < p < 2

    It is NaN where y is outside the domain, and infinite where μ = 0 < y.
    """
    y, mu = np.broadcast_arrays(np.asarray(y, dtype=np.float64), y_pred)
    with np.errstate(all="ignore"):
        if power == 1.0:
            found = xlogy(y, y / np.where(y > 0, mu, 1.0)) - y + mu
        elif power == 2.0:
            found = y / mu - 1.0 - np.log(y / mu)
        else:
            a, b = 1.0 - power, 2.0 - power
            found = np.maximum(y, 0.0) ** b / (a * b) - y * mu**a / a + mu**b / b
        outside = (y < 0) | (mu < 0) | ((y == 0) & (power == 2.0))
        return np.asarray(np.where(outside, np.nan, 2.0 * np.maximum(found, 0.0)))


def cross_entropy(y: npt.NDArray[Any], y_pred: Any) -> Vector:
    """Return -y log p - (1 - y) log(1 - p) of shares y and predictions p.

    It is NaN where y or p is not between 0 and 1.
    """
    y, p = np.broadcast_arrays(np.asarray(y, dtype=np.float64), y_pred)
    inside = (y >= 0.0) & (y <= 1.0) & (p >= 0.0) & (p <= 1.0)
    logs = np.log(np.clip(p, SMALLEST, 1.0)), np.log(np.clip(1.0 - p, SMALLEST, 1.0))
    return np.asarray(np.where(inside, -y * logs[0] - (1.0 - y) * logs[1], np.nan))


REGRESSION_ROW_LOSSES: Mapping[str, RowLoss] = MappingProxyType(
    {"squared_error": _squared, "absolute_error": _absolute}
)
CLASSIFICATION_ROW_LOSSES: Mapping[str, RowLoss] = MappingProxyType(
    {"log_loss": _log_loss, "error": _error, "brier": _brier}
)
