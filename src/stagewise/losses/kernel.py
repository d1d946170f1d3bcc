"""The bound loss of losses with one output and a native kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.losses.base import BoundLoss, Matrix, Vector

__all__ = ["KernelBoundLoss"]


class KernelBoundLoss(BoundLoss):
    """A bound loss whose native kernel computes the gradients and sums the loss in one pass."""

    def __init__(
        self,
        kernel: Callable[..., float],
        workers: Workers,
        y: npt.NDArray[Any],
        weight: Vector | None,
        *own: float,
    ) -> None:
        self._kernel, self._workers, self._y, self._weight = kernel, workers, y, weight
        self._own = own
        self._gradients = Gradients(len(y))
        self._score = np.empty(0)
        self._filled = False

    def evaluate(self, score: Matrix) -> float:
        self._score = score[:, 0]
        return self._fill()

    def gradients(self, output: int) -> Gradients:
        if not self._filled:
            self._fill()
        self._filled = False  # the caller may change them
        return self._gradients

    def _fill(self) -> float:
        self._filled = True
        return self._kernel(
            self._gradients, self._workers, self._y, self._score, self._weight, *self._own
        )
