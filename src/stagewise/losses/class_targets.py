"""The squared error of several targets of classes: what forests and single trees average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.losses.base import Loss
from stagewise.losses.class_squared_error import ClassSquaredError
from stagewise.losses.scores import Matrix, Vector

__all__ = ["ClassTargetsLoss"]


class ClassTargetsLoss(Loss):
    """The mean over K targets of the squared error of the indicators of their classes.

    Domain: y of shape (n_rows, K), codes of classes. Link: identity; the scores of all classes of
    all targets are their probabilities, one target after the other.

        L(y, F) = 1/K Σ_k ½ Σ_c ([y_k = c] - F_kc)²

    Forests and single trees do not need derivatives.

    Parameters
    ----------
    n_classes : sequence of int
        The number of classes of each target.
    """

    name = "squared_error"

    def __init__(self, n_classes: Sequence[int]) -> None:
        self.n_classes = tuple(n_classes)
        self.n_outputs = sum(self.n_classes)

    def split(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Return the columns of each target."""
        return np.split(values, np.cumsum(self.n_classes)[:-1], axis=1)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        each = [
            ClassSquaredError(own.shape[1]).loss(y[:, k], own)
            for k, own in enumerate(self.split(score.reshape(len(y), -1)))
        ]
        return np.asarray(np.mean(each, axis=0))

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of all classes of all targets, shape (n_rows, n_outputs)."""
        return np.asarray(score.reshape(len(score), -1))
