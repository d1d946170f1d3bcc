"""The squared error of logarithms. The docstring of the loss: domain, link, formula, hessian."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers
from stagewise.elementary import portable_expm1, portable_log1p
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import KernelBoundLoss
from stagewise.losses.scores import Matrix, Vector

__all__ = ["SquaredLogError"]


class SquaredLogError(Loss):
    """Half the squared error of log(1 + y).

    Domain: y > -1. Link: log(1 + y), prediction e^F - 1.

        L(y, F) = ½ (log(1 + y) - F)²        ∂L/∂F = F - log(1 + y)        ∂²L/∂F² = 1

    Hessian: exact; it equals the weight of the row. The prediction is not the mean of y, but
    smaller: 1 plus the prediction is the geometric mean of 1 + y. For means, use "poisson", "gamma"
    or "tweedie". XGBoost has the same loss with the identity link, where F is the prediction.
    """

    name = "squared_log_error"
    hessian_bound = 1.0
    hessian_is_weight = True
    largest_offset = 700.0  # e^F is finite

    @property
    def prediction_limits(self) -> tuple[float, float]:
        return -1.0, math.inf

    def target(self, y: npt.NDArray[Any], output: int) -> Vector:
        return portable_log1p(y)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(0.5 * (portable_log1p(y) - score) ** 2)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return score - portable_log1p(y), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([mean_rows(portable_log1p(y), weight)])

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        return np.array([mean_rows(portable_log1p(y) - offset[:, 0], weight)])

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return e^F - 1."""
        return portable_expm1(score)

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return log(1 + mean), which is a number for means above -1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log1p(mean))

    def check(self, y: npt.NDArray[Any]) -> None:
        wrong = y <= -1.0
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"The squared_log_error loss needs targets above -1, but y is {y[row]:g} at row "
                f"{row} (the first of {int(wrong.sum())} such rows). Use loss='squared_error', "
                "which has no such limit, or remove these rows."
            )

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("squared", workers, portable_log1p(y), weight)
