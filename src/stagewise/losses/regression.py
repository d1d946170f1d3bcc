"""Losses for regression with the identity link. Each docstring: domain, link, formula, hessian."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers, residual_quantile, weighted_quantile
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss, NumpyBoundLoss
from stagewise.losses.kernel import KernelBoundLoss
from stagewise.losses.scores import Matrix, Vector

__all__ = [
    "AbsoluteError",
    "Expectile",
    "Huber",
    "Mape",
    "Quantile",
    "SquaredError",
    "check_positive",
]

DEFAULT_QUANTILE = 0.9
"""The fraction of residuals with a squared loss in Huber's loss."""
MAX_EXPECTILE_STEPS = 200
"""Each step of the search for an expectile is a weighted mean; it ends when none moves."""

LEAF_QUANTILES = "the value of a leaf is a quantile of its residuals"
"""Why losses with a `leaf_quantile` need all rows; a sum over the rows of each rank is none."""
SMOOTH = "loss=stagewise.losses.PseudoHuber(delta=...) has sums"


class SquaredError(Loss):
    """Half the squared error.

    Domain: y any finite number. Link: identity.

        L(y, F) = ½ (y - F)²        ∂L/∂F = F - y        ∂²L/∂F² = 1

    Hessian: exact; it equals the weight of the row. The best constant is the mean.
    """

    name = "squared_error"
    kernel = ("squared", 0.0)
    degree = 2
    hessian_bound = 1.0
    hessian_is_weight = True
    mean_is_best = True

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(0.5 * (y - score) ** 2)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return score - y, np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([mean_rows(y, weight)])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("squared", workers, y, weight)


class AbsoluteError(Loss):
    """The absolute error.

    Domain: y any finite number. Link: identity.

        L(y, F) = |y - F|        ∂L/∂F = sign(F - y)

    Hessian: 1 is used, since the second derivative is 0 almost everywhere. After a tree is fitted
    to the gradient, the value of a leaf is the median of its residuals (Friedman 2001,
    LAD_TreeBoost).
    """

    name = "absolute_error"
    degree = 1
    hessian_bound = 1.0
    hessian_is_weight = True
    leaf_quantile = 0.5
    needs_all_rows = f"{LEAF_QUANTILES}; {SMOOTH}"

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(np.abs(y - score))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return np.sign(score - y), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([weighted_quantile(np.ascontiguousarray(y), weight, 0.5)])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("absolute", workers, y, weight)


class Quantile(Loss):
    """The pinball loss, whose best constant is a quantile (Koenker & Bassett 1978).

    Domain: y any finite number. Link: identity.

        L(y, F) = q (y - F) if y > F, else (1 - q) (F - y)      ∂L/∂F = -q below y, 1 - q above

    Hessian: 1 is used, since the second derivative is 0 almost everywhere. After a tree is fitted
    to the gradient, the value of a leaf is the quantile of its residuals.

    Parameters
    ----------
    quantile : float, default=0.5
        q, between 0 and 1.
    """

    name = "quantile"
    parameter_names = ("quantile",)
    degree = 1
    needs_all_rows = f"{LEAF_QUANTILES}; loss='expectile' has sums"
    hessian_bound = 1.0
    hessian_is_weight = True

    def __init__(self, quantile: float = 0.5) -> None:
        self.quantile = self.leaf_quantile = _check_fraction("quantile", quantile)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        r = y - score
        return np.asarray(np.maximum(self.quantile * r, (self.quantile - 1) * r))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        r = y - score
        return np.where(r > 0, -self.quantile, (1 - self.quantile) * (r < 0)), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([weighted_quantile(np.ascontiguousarray(y), weight, self.quantile)])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("quantile", workers, y, weight, self.quantile)


class Huber(Loss):
    """Squared error for most residuals, absolute error for the largest (Huber 1964).

    Domain: y any finite number. Link: identity.

        L(y, F) = ½ r²  if |r| ≤ δ, else δ (|r| - ½ δ),  r = y - F      ∂L/∂F = -r, within ±δ

    δ is a quantile of |r|, computed before every round, or a fixed number. Hessian: 1 is used.
    After a tree is fitted to the gradient, the value of a leaf is the median of its residuals plus
    the mean of the residuals from that median, clipped to ±δ (Friedman 2001, M_TreeBoost).

    Parameters
    ----------
    quantile : float, default=0.9
        δ is this quantile of |r|: the fraction of residuals with a squared loss.
    delta : float or None, default=None
        A fixed δ instead, in units of y; with several targets, in standard deviations of each.
    """

    name = "huber"
    parameter_names = ("quantile", "delta")
    degree = 2
    hessian_bound = 1.0
    hessian_is_weight = True
    leaf_quantile = 0.5
    needs_all_rows = f"{LEAF_QUANTILES}; {SMOOTH}"

    def __init__(self, quantile: float = DEFAULT_QUANTILE, delta: float | None = None) -> None:
        self.quantile = _check_fraction("quantile", quantile)
        self.delta = None if delta is None else check_positive("delta", delta)
        if delta is not None and quantile != DEFAULT_QUANTILE:
            raise ValueError(
                f"Huber's δ is either a quantile of the residuals or fixed; got {quantile=!r} and "
                f"{delta=!r}. Leave one of them out."
            )

    def in_units(self, unit: float) -> Huber:
        if self.delta is None:
            return self
        limits = np.finfo(np.float64)
        return Huber(delta=min(max(self.delta * unit, float(limits.tiny)), float(limits.max)))

    def residual_delta(self, y: npt.NDArray[Any], score: Matrix, weight: Vector | None) -> float:
        """Return δ: the fixed one, or the quantile of the absolute residuals."""
        if self.delta is not None:
            return self.delta
        return weighted_quantile(np.abs(y - score), weight, self.quantile)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return self.loss_with_delta(y, score, None)

    def loss_with_delta(self, y: npt.NDArray[Any], score: Matrix, delta: float | None) -> Vector:
        r = np.abs(y - score)
        delta = self.residual_delta(y, score, None) if delta is None else delta
        return np.asarray(np.where(r <= delta, 0.5 * r**2, delta * (r - 0.5 * delta)))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        delta = self.residual_delta(y, score, None)
        return np.clip(score - y, -delta, delta), np.ones_like(score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return the median, the initial score of M_TreeBoost (Friedman 2001), for every δ."""
        return np.array([weighted_quantile(np.ascontiguousarray(y), weight, 0.5)])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _HuberBoundLoss(self, workers, y, weight)


class _HuberBoundLoss(BoundLoss):
    """Computes δ with every evaluation, unless it is fixed."""

    delta: float

    def __init__(
        self, loss: Huber, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        self._loss, self._workers, self._y, self._weight = loss, workers, y, weight
        self._gradients = Gradients(len(y))
        self._score = np.empty(0)
        self._filled = False

    def evaluate(self, score: Matrix) -> float:
        self._score, fixed = score[:, 0], self._loss.delta
        self.delta = (
            residual_quantile(
                self._workers, self._y, self._score, self._weight, self._loss.quantile
            )
            if fixed is None
            else fixed
        )
        return self._fill()

    def gradients(self, output: int) -> Gradients:
        if not self._filled:
            self._fill()
        self._filled = False  # the caller may change them
        return self._gradients

    def _fill(self) -> float:
        self._filled = True
        return self._gradients.huber(self._workers, self._y, self._score, self._weight, self.delta)


class Expectile(Loss):
    """Squared error with different weights on each side (Newey & Powell 1987).

    Domain: y any finite number. Link: identity.

        L(y, F) = a (y - F)²,  a = level if y > F, else 1 - level        ∂L/∂F = 2 a (F - y)

    Hessian: exact, 2 a. The best constant is the expectile of y; level=0.5 is half the squared
    error, and the mean.

    Parameters
    ----------
    level : float, default=0.5
        Between 0 and 1; above 0.5, underestimation costs more.
    """

    name = "expectile"
    parameter_names = ("level",)
    degree = 2

    def __init__(self, level: float = 0.5) -> None:
        self.level = _check_fraction("level", level)
        self.hessian_bound = 2.0 * max(self.level, 1.0 - self.level)

    def _factor(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.where(y > score, self.level, 1.0 - self.level)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(self._factor(y, score) * (y - score) ** 2)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        hessian = 2.0 * self._factor(y, score)
        return hessian * (score - y), hessian

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return the expectile: the mean with the weights that it defines, by fixed-point steps."""
        found = mean_rows(y, weight)
        own = np.ones(len(y)) if weight is None else weight
        for _ in range(MAX_EXPECTILE_STEPS):
            before, found = found, mean_rows(y, own * self._factor(y, np.full(len(y), found)))
            if found == before:
                break
        return np.array([found])


class Mape(Loss):
    """The absolute percentage error: the absolute error in units of the target.

    Domain: y any finite number except 0, unless `floor` is given. Link: identity.

        L(y, F) = |y - F| / m,  m = max(|y|, floor)        ∂L/∂F = sign(F - y) / m

    Hessian: 1 / m is used, since the second derivative is 0 almost everywhere. For a tree,
    gradients and hessians are multiplied by the harmonic mean of m, so that the unit of y does not
    matter. The value of a leaf is the median of its residuals with the weights 1 / m.

    Parameters
    ----------
    floor : float or None, default=None
        The smallest divisor, in units of y. None: a target of 0 is an error.
    """

    name = "mape"
    parameter_names = ("floor",)
    leaf_quantile = 0.5
    needs_all_rows = f"{LEAF_QUANTILES}; loss='squared_log_error' has relative errors, too"

    def __init__(self, floor: float | None = None) -> None:
        self.floor = None if floor is None else check_positive("floor", floor)

    def _divisor(self, y: npt.NDArray[Any]) -> Vector:
        return np.asarray(np.maximum(np.abs(y), self.floor or 0.0))

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(np.abs(y - score) / self._divisor(y))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        divisor = self._divisor(y)
        return np.sign(score - y) / divisor, 1.0 / divisor

    def residual_weight(self, y: npt.NDArray[Any], output: int) -> Vector:
        divisor = self._divisor(y)
        return np.asarray(divisor.min() / divisor)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return self.best_constant_with_offset(y, weight, np.zeros((len(y), 1)))

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        own = self.residual_weight(y, 0)
        own = own if weight is None else own * weight
        return np.array([weighted_quantile(np.ascontiguousarray(y - offset[:, 0]), own, 0.5)])

    def check(self, y: npt.NDArray[Any]) -> None:
        zero = y == 0.0
        if self.floor is None and zero.any():
            raise ValueError(
                f"The mape loss divides by y, but y is 0 at row {int(np.argmax(zero))} (the first "
                f"of {int(zero.sum())} such rows). Use loss=stagewise.losses.Mape(floor=...) with "
                "a smallest divisor in units of y, or 'absolute_error'."
            )

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _MapeBoundLoss(self, workers, y, weight)


class _MapeBoundLoss(NumpyBoundLoss):
    """Gradients and hessians with the mean hessian 1, so that penalties have no unit of y."""

    _loss: Mape

    def _derivatives(self, scores: Matrix) -> Any:
        gradient, hessian = self._loss.derivatives(self._y, scores)
        unit = mean_rows(hessian, self._weight)
        return gradient / unit, hessian / unit


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_positive(name: str, value: Any) -> float:
    """Return a parameter as a float, or raise ValueError unless it is a positive number."""
    if not _is_number(value) or not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return float(value)


def _check_fraction(name: str, value: Any) -> float:
    if not _is_number(value) or not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1; got {value!r}.")
    return float(value)
