"""Squared error of class shares: what trees that are averaged minimise.

The one idea: a score that is fitted by squares to a class indicator is the share of that class, so
it needs no link. Each docstring: domain, formula, the hessian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.losses.base import Loss, Matrix, Vector

__all__ = ["BinarySquaredError", "ClassSquaredError"]


class BinarySquaredError(Loss):
    """Squared error for two classes (Bühlmann & Yu 2003, L2Boost for classification).

    Domain: y in {0, 1}, read as s = -1 and +1. The minimiser is p_1 - p_0, so p = (1 + F) / 2.

        L(y, F) = ½ (s - F)²        ∂L/∂F = F - s        ∂²L/∂F² = 1

    A tree's gain by these squares is its gain by the Gini index, 2 p_0 p_1.
    """

    name = "squared_error"
    hessian_bound = 1.0
    hessian_is_weight = True

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(0.5 * (self.target(y, 0) - score[0]) ** 2)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return score - self.target(y, 0), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([np.average(self.target(y, 0), weights=weight)])

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n_rows, 2)."""
        p = np.clip(0.5 + 0.5 * score[0], 0.0, 1.0)
        return np.column_stack([1.0 - p, p])

    def target(self, y: npt.NDArray[Any], output: int) -> npt.NDArray[Any]:
        """Return s."""
        return np.where(y == 1, 1.0, -1.0)


class ClassSquaredError(Loss):
    """Squared error for K classes, one score each: the Brier score, halved.

    Domain: y in {0, …, K-1}. The minimiser is the share p_k of each class.

        L(y, F) = ½ Σ_k ([y = k] - F_k)²        ∂L/∂F_k = F_k - [y = k]        ∂²L/∂F_k² = 1

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
        return np.asarray(y == np.arange(self.n_outputs)[:, np.newaxis])

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(0.5 * ((self._indicators(y) - score) ** 2).sum(axis=0))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return score - self._indicators(y), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        counts = np.bincount(y, weights=weight, minlength=self.n_outputs)
        return np.asarray(counts / counts.sum())

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of all classes, shape (n_rows, K).

        Scores below 0 count as 0, and what is left is divided by its sum; where nothing is left,
        all classes are equally likely.
        """
        positive = np.maximum(score.T, 0.0)
        total = positive.sum(axis=1, keepdims=True)
        return np.where(total > 0, positive, 1.0) / np.where(total > 0, total, self.n_outputs)

    def target(self, y: npt.NDArray[Any], output: int) -> npt.NDArray[Any]:
        """Return the indicator of a class."""
        return np.where(y == output, 1.0, 0.0)
