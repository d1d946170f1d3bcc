"""Losses of queries at the scores of a fit, and the biases of positions that they estimate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, RowLoss, Workers
from stagewise.exact_sums import sum_rows
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.scores import Matrix, Vector

if TYPE_CHECKING:
    from stagewise.losses.ranking import RankingLoss

__all__ = ["POSITION", "PositionBias", "QueryBoundLoss"]

POSITION = "position"


class PositionBias:
    """An additive bias of the position of a row, which is estimated together with the model.

    The loss of a click is that of F + b_position (Wang et al. 2018; LightGBM's lambdarank does the
    same). After every evaluation each bias makes a damped Newton step, and their weighted mean is
    0, since a constant changes nothing.
    """

    STEP = 0.5
    STEPS_AT_END = 200
    TOLERANCE = 1e-6

    def __init__(
        self,
        position: Vector,
        weight: Vector | None,
        regularization: float,
        largest_step: float,
        unit: float,
    ) -> None:
        self.positions, self._code = np.unique(position, return_inverse=True)
        self.values = np.zeros(len(self.positions))
        self._regularization, self._largest_step = regularization, largest_step
        self._tolerance = self.TOLERANCE * unit
        self._counts = np.bincount(self._code, weight)

    def added(self, score: Vector) -> Vector:
        """Return F + b."""
        return np.asarray(score + self.values[self._code])

    def update(self, gradient: Vector, hessian: Vector, weight: Vector | None) -> None:
        """Make one step."""
        own = 1.0 if weight is None else weight
        n = len(self.values)
        penalty = self._regularization * self._counts
        g = np.bincount(self._code, gradient * own, n) + penalty * self.values
        h = np.bincount(self._code, hessian * own, n) + penalty
        step = np.divide(g, h, out=np.zeros(n), where=h > 1e-12)
        self.values = self.values - self.STEP * np.clip(
            step, -self._largest_step, self._largest_step
        )
        self.values -= np.average(self.values, weights=self._counts)

    def estimate(self, bound: QueryBoundLoss, score: Vector) -> None:
        """Estimate the biases of given scores."""
        for _ in range(self.STEPS_AT_END):
            before = self.values
            bound.losses(score)
            self.update(bound.gradient[bound.rows], bound.hessian[bound.rows], bound.row_weight)
            if np.abs(self.values - before).max() < self._tolerance:
                break


class QueryBoundLoss(BoundLoss):
    """A bound loss whose native kernel evaluates the queries; rows of weight 0 are absent."""

    bias: PositionBias | None = None

    def __init__(
        self, loss: RankingLoss, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        self._workers, self._weight = workers, weight
        self.gradient, self.hessian = np.zeros((2, len(y)))
        self._packed = Gradients(len(y))
        absent = weight is not None and not weight.min() > 0.0
        self.rows: Any = np.flatnonzero(weight > 0.0) if absent else slice(None)  # type: ignore[operator]
        self.is_part = absent
        own = y[self.rows]
        self.row_weight = None if weight is None else np.ascontiguousarray(weight[self.rows])
        self.codes = np.unique(own["query"], return_inverse=True)[1].reshape(-1)
        self._native = loss.query_loss(own)
        n = self._native.n_queries
        self._losses = np.zeros(n)
        measured = np.zeros(n)
        self._native.measured(measured)
        self.measured = measured > 0
        sizes = np.bincount(self.codes, minlength=n) if loss.counts_rows else np.ones(n)
        self.counts = np.where(self.measured, sizes, 0.0)
        of_queries = np.ones(n)
        if self.row_weight is not None:
            of_queries[self.codes] = self.row_weight
        own_weight = (self.counts * of_queries)[self.measured]
        total = float(len(y)) if weight is None else sum_rows(weight)
        # The mean loss times the sum of the weights of the rows, as of other losses.
        self._query_share = own_weight * (total / max(float(own_weight.sum()), 1e-300))
        if loss.corrects_position and POSITION in (y.dtype.names or ()):
            self.bias = PositionBias(
                own[POSITION],
                self.row_weight,
                loss.position_regularization,
                loss.largest_bias_step,
                loss.sampling_unit(own, self.row_weight),
            )

    def losses(self, score: Vector) -> Vector:
        """Return the loss of every query; set the derivatives of the rows."""
        own = np.ascontiguousarray(score[self.rows])
        if self.bias is not None:
            own = self.bias.added(own)
        if not self.is_part:
            self._native.evaluate(self._workers, own, self.gradient, self.hessian, self._losses)
            return self._losses
        gradient, hessian = np.empty((2, len(own)))
        self._native.evaluate(self._workers, own, gradient, hessian, self._losses)
        self.gradient[self.rows], self.hessian[self.rows] = gradient, hessian
        return self._losses

    def row_loss(self) -> RowLoss:
        """Return the same as a native object, which has no biases of positions."""
        share = np.zeros(self._native.n_queries)
        share[self.measured] = self._query_share
        rows = self.rows.astype(np.uint32) if self.is_part else None
        n = len(self.gradient)
        return self._native.row_loss(self._workers, n, rows, self._weight, share)

    def evaluate(self, score: Matrix) -> float:
        """Return the mean loss, times the sum of the weights of the rows."""
        losses = self.losses(score[:, 0])
        if self.bias is not None:
            self.bias.update(self.gradient[self.rows], self.hessian[self.rows], self.row_weight)
        if not self.measured.any():
            return 0.0
        weighted = losses[self.measured] * self._query_share
        return math.fsum(weighted.tolist())  # exactly rounded, so the order does not matter

    def gradients(self, output: int) -> Gradients:
        self._packed.assign(self._workers, self.gradient, self.hessian, self._weight)
        return self._packed
