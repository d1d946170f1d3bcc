"""What a loss is.

The one idea: a loss knows (y, score) and nothing else: its value, its derivatives with respect to
the score, the best constant, and what the score means. A fit *binds* a loss to its rows; the bound
loss looks at the scores once a round and then hands out gradients, output by output. Losses with a
native kernel override `bind`; any other loss is served by its own NumPy `derivatives`.
Must not know trees, rounds or estimators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from stagewise._native import Gradients, Workers
from stagewise.losses.logarithm import MAX_STEP

__all__ = ["BoundLoss", "Loss"]

# Between these sums the core finds a power of two that leaves every gradient its digits (see
# largest_scale in native/core/fixed_point.hpp). Beyond the one it would overflow, and below the
# other fewer than 24 of its 31 bits are left.
LARGEST_SUM, SMALLEST_SUM = 2.0**130, 2.0**-75
DIFFERENCE = (
    2.0**-13
)  # of scores, for numerical derivatives: the fourth root of a double's precision
RESCALE = "Scale y, or give the loss a `degree` so that it is done here."

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


class BoundLoss(ABC):
    """A loss together with the rows of one fit.

    Attributes
    ----------
    delta : float or None
        Of a loss with a `leaf_quantile`: how far from that quantile residuals still count in full
        for the best constant of a region, as was found when the scores were last looked at
        (Friedman 2001, M_TreeBoost). None: the quantile itself is the best constant.
    """

    delta: float | None = None

    def delta_of(self, output: int) -> float | None:
        """Return the delta for one output."""
        return self.delta

    @abstractmethod
    def evaluate(self, score: Matrix) -> float:
        """Take note of the scores, shape (n_outputs, n_rows), and return the sum of the losses."""

    @abstractmethod
    def gradients(self, output: int) -> Gradients:
        """Return the gradients and hessians of one output at the scores last looked at.

        The result is good for one use: it may be packed or changed. It can be asked for again, as
        long as the scores of this output have not changed. Outputs are asked for in order.
        """

    def row_weights(self) -> Gradients:
        """Return how much each row counts when classes are told apart, as gradients with hessian 1.

        Only losses that depend on a row's margin alone, and exponentially, have such weights.
        """
        raise NotImplementedError("this loss has no weights of rows")


class Loss(ABC):
    """A loss L(y, F) that can be boosted.

    To add one, derive from this class, give `loss` and `derivatives`, and register it. Without
    `derivatives` they are found numerically.

    Attributes
    ----------
    name : str
        What it is called in parameters and model files; "custom" for one that is not registered.
    n_outputs : int
        How many scores a row has.
    degree : int or None
        The d with L(a·y + b, a·F + b) = a^d · L(y, F), or None. With it, targets are standardised
        before the fit, so their scale and offset cannot matter. Without it, targets so small or so
        large that the core could not add up their gradients are refused.
    hessian_bound : float
        The most that the hessian of a row of weight 1 can be, or 0 if nothing is known.
    hessian_is_weight : bool
        Whether the hessian is that bound for every row.
    mean_is_best : bool
        Whether the best constant is the weighted mean of y; of targets that were centred it is 0.
    leaf_quantile : float or None
        The quantile of y - F that is the best constant of a region; None: the Newton step is taken.
    own_parameters : tuple of str
        The names of what its constructor takes.
    """

    name: str = "custom"
    n_outputs: int = 1
    degree: int | None = None
    hessian_bound: float = 0.0
    hessian_is_weight: bool = False
    mean_is_best: bool = False
    leaf_quantile: float | None = None
    parameter_names: tuple[str, ...] = ()

    @abstractmethod
    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        """Return L(y, F) for every row; score has shape (n_outputs, n_rows)."""

    def loss_with_delta(self, y: npt.NDArray[Any], score: Matrix, delta: float | None) -> Vector:
        """Return the same with what a bound loss found when it last looked; see `BoundLoss`."""
        return self.loss(y, score)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return ∂L/∂F and ∂²L/∂F² (its diagonal), each of the shape of score.

        Unless overridden they are found by central differences, three values of the loss for each
        output, and a loss that is not convex or nowhere curved is refused.
        """
        gradient, hessian = np.empty_like(score), np.empty_like(score)
        middle = np.asarray(self.loss(y, score), dtype=np.float64)
        for k in range(len(score)):
            step = DIFFERENCE * np.maximum(1.0, np.abs(score[k]))
            moved = score.copy()
            moved[k] = score[k] + step
            above = np.asarray(self.loss(y, moved), dtype=np.float64)
            moved[k] = score[k] - step
            below = np.asarray(self.loss(y, moved), dtype=np.float64)
            gradient[k] = (above - below) / (2 * step)
            hessian[k] = (above - middle + (below - middle)) / step**2
        return gradient, self._curvature(hessian, middle)

    def _curvature(self, hessian: Matrix, loss: Vector) -> Matrix:
        # What rounding of the loss can make of a second derivative that is 0.
        noise = 1e-15 / DIFFERENCE**2 * np.maximum(1.0, np.abs(loss))
        who = f"{type(self).__name__}.loss"
        if (hessian < -noise).any():
            raise ValueError(
                f"{who} is not convex in the score (its second derivative falls to "
                f"{hessian.min():g}). Define `derivatives` and give a non-negative hessian."
            )
        if not (hessian > noise).any():
            raise ValueError(
                f"{who} is nowhere curved, so a Newton step has no length. Define `derivatives` "
                "with a hessian of 1, and `leaf_quantile` if the best constant is a quantile."
            )
        return np.maximum(hessian, 0.0)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return argmin_c Σ w L(y, c), one number per output; found numerically unless overridden.

        Only for one output: a loss with more has to say itself what its best constant is.
        """
        if self.n_outputs != 1:
            raise NotImplementedError(f"{type(self).__name__} must define best_constant")

        centre, spread = float(np.mean(y)), float(np.std(y)) or 1.0

        def total(step: float) -> float:
            losses = self.loss(y, np.full((1, len(y)), centre + spread * step))
            return float(np.average(losses, weights=weight))

        # In units of the spread: the search has a tolerance that is not relative.
        found = minimize_scalar(total, bracket=(-1.0, 1.0))
        return np.array([centre + spread * found.x])

    def region_optimum(self, gradient: Vector, hessian: Vector) -> Vector:
        """Return argmin_γ Σ L(y, F + γ) of regions, from their sums of derivatives.

        Unless overridden it is one Newton step, -G/H, where the optimum has no closed form
        (Friedman 2001, section 4.5); 0 where nothing is curved. Where scores have no unit of the
        target's (no `degree`) it is no longer than LONGEST: settled rows have next to no curvature.
        """
        steps = np.zeros_like(gradient)
        with np.errstate(over="ignore"):
            np.divide(-gradient, hessian, out=steps, where=hessian > 0)
        return np.clip(steps, -MAX_STEP, MAX_STEP) if self.degree is None else steps

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return what the scores, shape (n_outputs, n_rows), predict. Here: the scores.

        Of a loss with a `degree` this must be the scores: they are scaled back to the target.
        """
        return np.asarray(score[0])

    def target(self, y: npt.NDArray[Any], output: int) -> npt.NDArray[Any]:
        """Return what an output is compared with where residuals are needed. Here: all of y."""
        return y

    def check(self, y: npt.NDArray[Any]) -> None:  # noqa: B027 (any y will do, unless overridden)
        """Raise ValueError if y lies outside the loss's domain."""

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        """Prepare for the rounds of one fit."""
        return _PlainBound(self, workers, y, weight)


class _PlainBound(BoundLoss):
    """Serves a loss that has no kernel from its `derivatives`."""

    def __init__(
        self, loss: Loss, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        self._loss, self._workers, self._y, self._weight = loss, workers, y, weight
        self._packed = Gradients(len(y))
        self._gradient = self._hessian = np.empty((0, 0))
        self._looks = 0

    def evaluate(self, score: Matrix) -> float:
        self._looks += 1
        gradient, hessian = self._loss.derivatives(self._y, score)
        self._gradient = self._checked(gradient, score.shape, "gradients")
        self._hessian = self._checked(hessian, score.shape, "hessians")
        if self._hessian.min() < 0.0:
            raise ValueError(
                f"{type(self._loss).__name__}.derivatives gave a negative hessian "
                f"({self._hessian.min():g}); return a non-negative bound instead."
            )
        losses = self._loss.loss(self._y, score)
        weighted = losses if self._weight is None else losses * self._weight
        return float(weighted.sum())

    def _checked(self, values: Any, shape: tuple[int, ...], what: str) -> Matrix:
        array = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        if array.size != shape[0] * shape[1]:
            raise ValueError(
                f"{type(self._loss).__name__}.derivatives returned {what} of "
                f"{array.size} numbers; expected shape {shape}."
            )
        # The core keeps them as float32, where anything larger would be infinite.
        if not (np.abs(array) <= np.finfo(np.float32).max).all():
            raise ValueError(
                f"{type(self._loss).__name__}.derivatives gave {what} that are not finite, or too "
                f"large for a float32. {RESCALE}"
            )
        return array.reshape(shape)

    def gradients(self, output: int) -> Gradients:
        gradient, hessian = self._gradient[output], self._hessian[output]
        # Once something is learned gradients may well vanish, and with nothing to learn at once.
        anew = self._looks == 1 and np.ptp(self._y) > 0
        self._check_sum(gradient, "gradients", SMALLEST_SUM if anew else 0.0)
        self._check_sum(hessian, "hessians", 0.0)
        self._packed.assign(self._workers, gradient, hessian, self._weight)
        return self._packed

    def _check_sum(self, values: Vector, what: str, least: float) -> None:
        absolute = np.abs(values)
        total = float((absolute if self._weight is None else absolute * self._weight).sum())
        if total > LARGEST_SUM or 0.0 < total < least:
            raise ValueError(
                f"{type(self._loss).__name__}.derivatives gave {what} whose absolute values sum to "
                f"{total:g}, too {'little' if total < least else 'much'} for the core's integers. "
                f"{RESCALE}"
            )
