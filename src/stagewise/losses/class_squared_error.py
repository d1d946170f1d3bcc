"""Squared error of class indicators, the loss of forests for classification.

A score that is fitted to a class indicator by least squares is the probability of that class, so no
nonlinear link is needed. Each docstring: domain, link, formula, hessian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.exact_sums import mean_rows, sum_by_code
from stagewise.losses.base import Loss
from stagewise.losses.scores import Matrix, Vector

__all__ = ["BinarySquaredError", "ClassSquaredError"]


class BinarySquaredError(Loss):
    """Squared error for two classes (Bühlmann & Yu 2003, L2Boost for classification).

    Domain: y in {0, 1}, coded as s = -1 and +1. Link: linear, p = (1 + F) / 2 clipped to [0, 1],
    since the minimiser is p_1 - p_0.

        L(y, F) = ½ (s - F)²        ∂L/∂F = F - s        ∂²L/∂F² = 1

    Hessian: exact. The gain of a split in this loss is its gain in the Gini index, 2 p_0 p_1.
    """

    name = "squared_error"
    hessian_bound = 1.0
    hessian_is_weight = True

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(0.5 * (self.target(y, 0) - score) ** 2)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return score - self.target(y, 0), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([mean_rows(self.target(y, 0), weight)])

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        return np.array([mean_rows(self.target(y, 0) - offset[:, 0], weight)])

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n_rows, 2)."""
        p = np.clip(0.5 + 0.5 * score, 0.0, 1.0)
        return np.column_stack([1.0 - p, p])

    def target(self, y: npt.NDArray[Any], output: int) -> npt.NDArray[Any]:
        """Return s, -1 or +1."""
        return np.where(y == 1, 1.0, -1.0)


class ClassSquaredError(Loss):
    """Half the Brier score for K classes, with one score per class.

    Domain: y in {0, …, K-1}. Link: identity up to normalisation, see `mean`, since the minimiser is
    the probability p_k of each class.

        L(y, F) = ½ Σ_k ([y = k] - F_k)²        ∂L/∂F_k = F_k - [y = k]        ∂²L/∂F_k² = 1

    Hessian: exact; it is the identity matrix.

    Parameters
    ----------
    n_classes : int
        K.
    """

    name = "squared_error"
    hessian_bound = 1.0
    hessian_is_weight = True

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = n_classes

    def _indicators(self, y: npt.NDArray[Any]) -> npt.NDArray[np.bool]:
        return np.asarray(y[:, np.newaxis] == np.arange(self.n_outputs))

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(0.5 * ((self._indicators(y) - score) ** 2).sum(axis=1))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return score - self._indicators(y), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        counts = sum_by_code(y, self.n_outputs, weight)
        return np.asarray(counts / counts.sum())

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        outputs = range(self.n_outputs)
        return np.array([mean_rows(self.target(y, k) - offset[:, k], weight) for k in outputs])

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of all classes, shape (n_rows, K).

        Negative scores are set to 0, and the others are divided by their sum; if all are 0, all
        classes have the same probability.
        """
        positive = np.maximum(score, 0.0)
        total = positive.sum(axis=1, keepdims=True)
        return np.where(total > 0, positive, 1.0) / np.where(total > 0, total, self.n_outputs)

    def target(self, y: npt.NDArray[Any], output: int) -> npt.NDArray[Any]:
        """Return the indicator of a class."""
        return np.where(y == output, 1.0, 0.0)
