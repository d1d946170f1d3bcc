"""The bound loss of losses with one output and a native kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, RowLoss, Workers
from stagewise.losses.base import BoundLoss, Matrix, Vector

__all__ = ["KernelBoundLoss"]


class KernelBoundLoss(BoundLoss):
    """A bound loss whose native kernel computes the gradients and sums the loss in one pass.

    Attributes
    ----------
    rows : RowLoss
        The native object, which `Rounds` uses without Python.
    """

    def __init__(
        self,
        kernel: str,
        workers: Workers,
        y: npt.NDArray[Any],
        weight: Vector | None,
        *own: float,
    ) -> None:
        self._workers, self._y, self._weight = workers, y, weight
        self.rows = RowLoss(workers, kernel, y, weight, *own)
        self._score = np.empty(0)

    def evaluate(self, score: Matrix) -> float:
        self._score = score[:, 0]
        return self.rows.evaluate(self._workers, self._score)

    def gradients(self, output: int) -> Gradients:
        return self.rows.gradients(self._workers, self._score)
