"""Bound losses that the native core evaluates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, KernelLoss, RowLoss, Workers
from stagewise.exact_sums import ExactSums
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.scores import Matrix, Vector

__all__ = ["KernelBoundLoss", "NativeBoundLoss"]


class NativeBoundLoss(BoundLoss):
    """A bound loss whose gradients and sum are computed by one native object.

    Parameters
    ----------
    workers : Workers
        The threads.
    rows : RowLoss
        The native object, which native rounds use without Python.
    """

    def __init__(self, workers: Workers, rows: RowLoss) -> None:
        self._workers, self.rows = workers, rows
        self._score = np.empty(0)

    def evaluate(self, score: Matrix) -> float:
        self._score = score.reshape(-1, order="F")
        return self.rows.evaluate(self._workers, self._score)

    def gradients(self, output: int) -> Gradients:
        return self.rows.gradients(self._workers, self._score, output)


class KernelBoundLoss(NativeBoundLoss):
    """A bound loss of one output with a native kernel, which computes each row by itself.

    Parameters
    ----------
    kernel : str
        The name of the kernel.
    workers : Workers
        The threads.
    y : float64 array, or int32 array of labels
        The targets.
    weight : float64 array or None
        How often each row counts; None: once.
    own : float
        The number of the loss, if it has one.
    """

    def __init__(
        self,
        kernel: str,
        workers: Workers,
        y: npt.NDArray[Any],
        weight: Vector | None,
        *own: float,
    ) -> None:
        super().__init__(workers, KernelLoss(workers, kernel, y, weight, *own))
        self._y, self._weight = y, weight

    def loss_sums(self, score: Matrix) -> ExactSums:
        self.evaluate(score)
        rows: Any = self.rows
        return ExactSums(rows.loss_sums()[np.newaxis])
