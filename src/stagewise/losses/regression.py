"""Losses for numbers. Each docstring: domain, link, formula, what the hessian is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers, weighted_quantile
from stagewise.losses.base import BoundLoss, Loss, Matrix, Vector
from stagewise.losses.kernel import KernelBound

__all__ = ["AbsoluteError", "SquaredError"]


class SquaredError(Loss):
    """Half the squared error.

    Domain: y any finite number. Link: identity.

        L(y, F) = ½ (y - F)²        ∂L/∂F = F - y        ∂²L/∂F² = 1

    The hessian is the weight itself, and the best constant is the mean.
    """

    name = "squared_error"
    degree = 2
    hessian_bound = 1.0
    hessian_is_weight = True
    mean_is_best = True

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(0.5 * (y - score[0]) ** 2)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return score - y, np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([np.average(y, weights=weight)])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBound(Gradients.squared, workers, y, weight)


class AbsoluteError(Loss):
    """The absolute error.

    Domain: y any finite number. Link: identity.

        L(y, F) = |y - F|        ∂L/∂F = sign(F - y)

    The second derivative is 0 almost everywhere; trees are fitted to the sign with hessian 1, and
    then every leaf takes the median of its residuals (Friedman 2001, LAD_TreeBoost).
    """

    name = "absolute_error"
    degree = 1
    hessian_bound = 1.0
    hessian_is_weight = True
    leaf_quantile = 0.5

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(np.abs(y - score[0]))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return np.sign(score - y), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([weighted_quantile(np.ascontiguousarray(y), weight, 0.5)])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBound(Gradients.absolute, workers, y, weight)
