"""A loss with one output and a native kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.losses.base import BoundLoss, Matrix, Vector

__all__ = ["KernelBound"]


class KernelBound(BoundLoss):
    """One output, one native kernel that fills the gradients and sums the loss in one pass."""

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

    def look(self, score: Matrix) -> float:
        return self._kernel(
            self._gradients, self._workers, self._y, score[0], self._weight, *self._own
        )

    def gradients(self, output: int) -> Gradients:
        return self._gradients
