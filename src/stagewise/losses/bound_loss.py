"""A loss bound to the rows of one fit.

It is evaluated once per round and then returns gradients, output by output. Losses with a native
kernel have bound losses of their own; for all others the NumPy method `derivatives` is used. This
module must not import trees, boosting or estimators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.exact_sums import ExactSums, sum_rows
from stagewise.losses.scores import Matrix, Vector, squeeze_outputs

if TYPE_CHECKING:
    from stagewise.losses.base import Loss

__all__ = ["BoundLoss", "LateBoundLoss", "NumpyBoundLoss"]

# Between these sums the core finds a power of two that keeps the digits of every gradient (see
# largest_scale in native/core/fixed_point.hpp). Above the first it would overflow, and below the
# second fewer than 24 of its 31 bits are used.
LARGEST_SUM, SMALLEST_SUM = 2.0**130, 2.0**-75
RESCALE = "Rescale y, or define the attribute `degree` of the loss, so that y is scaled for it."


class BoundLoss(ABC):
    """A loss bound to the rows of one fit.

    Attributes
    ----------
    delta : float or None
        For Huber's loss, the δ found by the last call of `evaluate`: the best constant of a region
        is its median plus the mean of the residuals from it, clipped to ±δ (Friedman 2001,
        M_TreeBoost). None: the `leaf_quantile` of the residuals, or a Newton step, is the best
        constant.
    """

    delta: float | None = None

    def delta_of(self, output: int) -> float | None:
        """Return δ for one output."""
        return self.delta

    def start(self, score: Matrix) -> None:  # noqa: B027 (only losses without a value use it)
        """Set the scores before the first round, from which a loss without a value counts."""

    def follow(self, training: BoundLoss) -> None:  # noqa: B027 (only losses that learn use it)
        """Use the numbers that the loss of the training rows learns; this one has other rows."""

    def learned(self) -> Mapping[str, Vector]:
        """Return the numbers that the loss has learned at the scores of the last `evaluate`."""
        return {}

    @abstractmethod
    def evaluate(self, score: Matrix) -> float:
        """Evaluate the loss at scores of shape (n_rows, n_outputs); return the weighted sum.

        Each output must be contiguous in memory (Fortran order).
        """

    def loss_sums(self, score: Matrix) -> ExactSums:
        """Evaluate the loss at scores; return the sums that `evaluate` adds up, not rounded.

        Those of other rows can be added. Only a loss of rows that do not depend on each other has
        them.
        """
        raise NotImplementedError("this loss needs all rows")

    @abstractmethod
    def gradients(self, output: int) -> Gradients:
        """Return the gradients and hessians of one output at the scores of the last `evaluate`.

        The caller may change the result, and may call again as long as the scores of this output
        have not changed. Outputs are requested in order.
        """

    def row_weights(self) -> Gradients:
        """Return AdaBoost's weights of the rows, as gradients with hessian 1.

        Only exponential losses, which depend on the margin alone, have such weights.
        """
        raise NotImplementedError("this loss has no row weights")


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the same array for a custom loss, which must not change it."""
    view = array.view()
    view.flags.writeable = False
    return view


class NumpyBoundLoss(BoundLoss):
    """The bound loss of a loss without a native kernel; it uses `Loss.derivatives`."""

    def __init__(
        self,
        loss: Loss,
        workers: Workers,
        y: npt.NDArray[Any],
        weight: Vector | None,
        source: str | None = None,
    ) -> None:
        self._loss, self._workers, self._y, self._weight = loss, workers, _read_only(y), weight
        self._source = source or f"{type(loss).__name__}.derivatives"  # for messages
        self._packed = Gradients(len(y))
        self._gradient = self._hessian = np.empty((0, 0))
        self._n_evaluations = 0

    def evaluate(self, score: Matrix) -> float:
        return float(self.loss_sums(score).values[0])

    def loss_sums(self, score: Matrix) -> ExactSums:
        self._n_evaluations += 1
        scores = _read_only(squeeze_outputs(score))
        self._differentiate(scores)
        return self._exact_total(scores)

    def _differentiate(self, scores: Matrix) -> None:
        """Compute the derivatives at scores, and check them."""
        found: Any = self._derivatives(scores)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise ValueError(
                f"{self._source} returned {type(found).__name__}; "
                "expected two arrays, the gradients and the hessians."
            )
        gradient, hessian = found
        self._gradient = self._checked(gradient, scores.shape, "gradients")
        self._hessian = self._checked(hessian, scores.shape, "hessians")
        if self._hessian.min() < 0.0:
            raise ValueError(
                f"{self._source} returned a negative hessian "
                f"({self._hessian.min():g}). Return a non-negative bound instead."
            )

    def _total(self, scores: Matrix) -> float:
        """Return the weighted sum of the losses."""
        return float(self._exact_total(scores).values[0])

    def _exact_total(self, scores: Matrix) -> ExactSums:
        losses = np.asarray(self._losses(scores), dtype=np.float64)
        if losses.shape != (len(scores),):
            raise ValueError(
                f"{type(self._loss).__name__}.loss returned the shape {losses.shape}; expected "
                f"{(len(scores),)}, the loss of every row."
            )
        return ExactSums.of_rows(losses, self._weight)

    def _derivatives(self, scores: Matrix) -> Any:
        return self._loss.derivatives(self._y, scores)

    def _losses(self, scores: Matrix) -> Any:
        return self._loss.loss(self._y, scores)

    def _checked(self, values: Any, shape: tuple[int, ...], what: str) -> Matrix:
        array = np.asfortranarray(values, dtype=np.float64)
        if array.shape != shape:
            raise ValueError(
                f"{self._source} returned {what} of shape {array.shape}; "
                f"expected {shape}, the shape of the scores."
            )
        # The core stores them as float32, where larger numbers would be infinite.
        if not (np.abs(array) <= np.finfo(np.float32).max).all():
            raise ValueError(
                f"{self._source} returned {what} that are not finite or "
                f"too large for a float32. {RESCALE}"
            )
        return array.reshape(len(array), -1, order="F")

    def gradients(self, output: int) -> Gradients:
        gradient, hessian = self._gradient[:, output], self._hessian[:, output]
        # In later rounds gradients may vanish, and with a constant target in the first one too.
        is_first = self._n_evaluations == 1 and np.ptp(self._y) > 0
        self._check_sum(gradient, "gradients", SMALLEST_SUM if is_first else 0.0)
        self._check_sum(hessian, "hessians", 0.0)
        self._packed.assign(self._workers, gradient, hessian, self._weight)
        return self._packed

    def _check_sum(self, values: Vector, what: str, least: float) -> None:
        total = sum_rows(np.abs(values), self._weight)
        if total > LARGEST_SUM or 0.0 < total < least:
            raise ValueError(
                f"{self._source} returned {what} whose absolute values "
                f"sum to {total:g}, too {'small' if total < least else 'large'} for the "
                f"fixed-point sums of the core. {RESCALE}"
            )


class LateBoundLoss(NumpyBoundLoss):
    """A bound loss that computes derivatives when they are needed: not for evaluation rows.

    Outputs are requested in order, so the scores have not changed when the first one is.
    """

    _pending: Matrix | None = None

    def evaluate(self, score: Matrix) -> float:
        self._n_evaluations += 1
        self._pending = _read_only(squeeze_outputs(score))
        return self._total(self._pending)

    def gradients(self, output: int) -> Gradients:
        if self._pending is not None:
            self._differentiate(self._pending)
            self._pending = None
        return super().gradients(output)
