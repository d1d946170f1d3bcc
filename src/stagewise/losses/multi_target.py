"""The loss of several targets: a mean of losses of one output.

The score of a target enters the loss of that target only, so any loss with one output can be used,
and K trees per round are K independent fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.scores import Matrix, Vector

__all__ = ["MultiTargetLoss"]


class MultiTargetLoss(Loss):
    """The mean over K targets of a loss of one output.

    Domain: y of shape (n_rows, K), each column in the domain of L_1. Link: that of L_1.

        L(y, F) = 1/K Σ_k L_1(y_k, F_k)

    Derivatives and hessian: those of L_1(y_k, F_k), not divided by K. So the mean is reported, but
    the sum is minimised, and each score is fitted as it would be alone.

    Parameters
    ----------
    one : Loss
        L_1.
    n_targets : int
        K.
    """

    def __init__(self, one: Loss, n_targets: int) -> None:
        if one.n_outputs != 1:
            raise ValueError(
                f"y has {n_targets} targets, but the loss {one.name!r} is for one: it has "
                f"{one.n_outputs} scores for each row. Fit one model per target."
            )
        self.one, self.n_outputs = one, n_targets
        self.name, self.degree, self.leaf_quantile = one.name, one.degree, one.leaf_quantile
        self.hessian_bound, self.hessian_is_weight = one.hessian_bound, one.hessian_is_weight
        self.mean_is_best = one.mean_is_best
        self.log_link, self.largest_offset = one.log_link, one.largest_offset

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return self.loss_with_delta(y, score, None)

    def loss_with_delta(self, y: npt.NDArray[Any], score: Matrix, delta: Any) -> Vector:
        deltas = delta or [None] * self.n_outputs
        each = [
            self.one.loss_with_delta(y[:, k], score[:, k], deltas[k]) for k in range(self.n_outputs)
        ]
        return np.asarray(np.mean(each, axis=0))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        each = [self.one.derivatives(y[:, k], score[:, k]) for k in range(self.n_outputs)]
        return np.column_stack([g for g, _ in each]), np.column_stack([h for _, h in each])

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return self._best_constants(y, weight, None)

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        return self._best_constants(y, weight, offset)

    def _best_constants(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix | None
    ) -> Vector:
        each = []
        for k in range(self.n_outputs):
            own = None if offset is None else offset[:, k : k + 1]
            try:
                target = np.ascontiguousarray(y[:, k])
                each.append(self.one.checked_best_constant(target, weight, own))
            except ValueError as error:
                raise ValueError(f"In target {k} of y: {error}") from None
        return np.concatenate(each)

    def region_optimum(self, gradient: Vector, hessian: Vector) -> Vector:
        return self.one.region_optimum(gradient, hessian)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the predictions, shape (n_rows, K)."""
        return np.column_stack([self.one.mean(score[:, k]) for k in range(self.n_outputs)])

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the scores of predictions, shape (n_rows, K)."""
        return np.column_stack([self.one.link(mean[:, k]) for k in range(self.n_outputs)])

    def target(self, y: npt.NDArray[Any], output: int) -> npt.NDArray[Any]:
        return y[:, output]

    def residual_weight(self, y: npt.NDArray[Any], output: int) -> Vector | None:
        return self.one.residual_weight(y[:, output], 0)

    def check(self, y: npt.NDArray[Any]) -> None:
        for k in range(self.n_outputs):
            try:
                self.one.check(y[:, k])
            except ValueError as error:
                raise ValueError(f"In target {k} of y: {error}") from None

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        columns = [np.ascontiguousarray(y[:, k]) for k in range(self.n_outputs)]
        return _MultiTargetBoundLoss([self.one.bind(workers, column, weight) for column in columns])


class _MultiTargetBoundLoss(BoundLoss):
    """The bound losses of the targets."""

    delta: Any

    def __init__(self, each: list[BoundLoss]) -> None:
        self._each = each

    def start(self, score: Matrix) -> None:
        for k, one in enumerate(self._each):
            one.start(score[:, k : k + 1])

    def evaluate(self, score: Matrix) -> float:
        losses = [one.evaluate(score[:, k : k + 1]) for k, one in enumerate(self._each)]
        deltas = [one.delta for one in self._each]
        self.delta = None if deltas[0] is None else deltas
        return sum(losses) / len(losses)

    def gradients(self, output: int) -> Gradients:
        return self._each[output].gradients(0)

    def delta_of(self, output: int) -> float | None:
        return self._each[output].delta
