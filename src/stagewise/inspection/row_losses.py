"""How wrong an answer is, row by row.

The one idea: a loss of a row needs what is known of it and what was said, nothing else; means,
intervals and permutations are made of these elsewhere. Must not know weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["OF_CLASSES", "OF_NUMBERS", "Loss"]

Vector = npt.NDArray[np.float64]
Loss = Callable[[npt.NDArray[Any], Vector], Vector]
"""Takes targets (or codes of classes) and predictions (or probabilities); a loss for each row."""

SMALLEST = float(np.finfo(np.float64).eps)  # a probability below it counts as this


def _squared(y: npt.NDArray[Any], said: Vector) -> Vector:
    return np.asarray(((y.reshape(said.shape) - said) ** 2).reshape(len(said), -1).mean(axis=1))


def _absolute(y: npt.NDArray[Any], said: Vector) -> Vector:
    return np.asarray(np.abs(y.reshape(said.shape) - said).reshape(len(said), -1).mean(axis=1))


def _log_loss(y: npt.NDArray[Any], said: Vector) -> Vector:
    return np.asarray(-np.log(np.maximum(said[np.arange(len(y)), y], SMALLEST)))


def _error(y: npt.NDArray[Any], said: Vector) -> Vector:
    return np.asarray((said.argmax(axis=1) != y).astype(np.float64))


def _brier(y: npt.NDArray[Any], said: Vector) -> Vector:
    """Return Σ_k (p_k - 1[y = k])²; of two classes half of it, which is (p - y)² (Brier 1950)."""
    own = said[np.arange(len(y)), y]
    whole = (said**2).sum(axis=1) - own**2 + (1.0 - own) ** 2
    return np.asarray(whole / 2 if said.shape[1] == 2 else whole)


OF_NUMBERS: Mapping[str, Loss] = MappingProxyType(
    {"squared_error": _squared, "absolute_error": _absolute}
)
OF_CLASSES: Mapping[str, Loss] = MappingProxyType(
    {"log_loss": _log_loss, "error": _error, "brier": _brier}
)
