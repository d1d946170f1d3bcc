"""Losses of single rows: functions of targets and predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["CLASSIFICATION_ROW_LOSSES", "REGRESSION_ROW_LOSSES", "RowLoss"]

Vector = npt.NDArray[np.float64]
RowLoss = Callable[[npt.NDArray[Any], Vector], Vector]
"""A function of targets (or class indices) and predictions (or probabilities); one loss per row."""

SMALLEST = float(np.finfo(np.float64).eps)  # the lower bound of probabilities in the log loss


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


REGRESSION_ROW_LOSSES: Mapping[str, RowLoss] = MappingProxyType(
    {"squared_error": _squared, "absolute_error": _absolute}
)
CLASSIFICATION_ROW_LOSSES: Mapping[str, RowLoss] = MappingProxyType(
    {"log_loss": _log_loss, "error": _error, "brier": _brier}
)
