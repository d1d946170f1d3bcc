"""Smooth losses that grow linearly for large residuals: Fair's loss, log-cosh and pseudo-Huber.

Each is δ² ρ(r/δ) with a smooth ρ. The width δ is the unit of the residuals: a fixed number, or a
multiple of their median absolute value, which is computed before every round. Each docstring:
domain, link, formula, hessian.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers, weighted_quantile
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss, NumpyBoundLoss
from stagewise.losses.regression import check_positive
from stagewise.losses.scores import Matrix, Vector

__all__ = ["Fair", "LogCosh", "PseudoHuber"]

MAD = 0.6745
"""The median of |r| for normal residuals with the standard deviation 1."""


class _RobustLoss(Loss):
    """The base class: L = δ² ρ(t), t = r/δ, with the influence function ψ = ρ'.

    The hessian is ψ(t)/t, the weight of iteratively reweighted least squares. It is an upper bound
    of the second derivative, so that leaves with large residuals do not overshoot.
    """

    parameter_names = ("delta",)
    degree = 2
    hessian_bound = 1.0
    tuning: float
    """δ in standard deviations of normal residuals, for an efficiency of 95 %."""

    def __init__(self, delta: float | None = None) -> None:
        self.delta = None if delta is None else check_positive("delta", delta)

    @property
    def needs_all_rows(self) -> str:  # type: ignore[override]
        if self.delta is not None:
            return ""
        return (
            "its width is a quantile of the residuals of all rows; pass the loss with a number, "
            f"such as stagewise.losses.{type(self).__name__}(delta=...)"
        )

    @abstractmethod
    def rho(self, t: Vector) -> Vector:
        """Return ρ of absolute residuals in units of δ."""

    @abstractmethod
    def irls_weight(self, t: Vector) -> Vector:
        """Return ψ(t)/t of absolute residuals in units of δ."""

    def in_units(self, unit: float) -> Self:
        if self.delta is None:
            return self
        limits = np.finfo(np.float64)
        return type(self)(min(max(self.delta * unit, float(limits.tiny)), float(limits.max)))

    def residual_delta(self, y: npt.NDArray[Any], score: Matrix, weight: Vector | None) -> float:
        """Return δ: the fixed one, or `tuning` times the median of |r| / 0.6745.

        If most residuals are 0, the mean of |r| takes the place of the median.
        """
        if self.delta is not None:
            return self.delta
        distance = np.abs(y - score)
        width = weighted_quantile(distance, weight, 0.5) / MAD
        return self.tuning * (width or mean_rows(distance, weight)) or 1.0

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return self.loss_with_delta(y, score, None)

    def loss_with_delta(self, y: npt.NDArray[Any], score: Matrix, delta: float | None) -> Vector:
        delta = self.residual_delta(y, score, None) if delta is None else delta
        return np.asarray(delta**2 * self.rho(np.abs(y - score) / delta))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return self.derivatives_with_delta(y, score, self.residual_delta(y, score, None))

    def derivatives_with_delta(
        self, y: npt.NDArray[Any], score: Matrix, delta: float
    ) -> tuple[Matrix, Matrix]:
        """Return the gradients and hessians for a given δ."""
        r = score - y
        weight = self.irls_weight(np.abs(r) / delta)
        return weight * r, weight

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return the best constant for a fixed δ; otherwise the median, as for Huber's loss."""
        if self.delta is not None:
            return super().best_constant(y, weight)
        return np.array([weighted_quantile(np.ascontiguousarray(y), weight, 0.5)])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _RobustBoundLoss(self, workers, y, weight)


class Fair(_RobustLoss):
    """Fair's loss: nearly squared error for small residuals, nearly linear for large ones (1974).

    Domain: y any finite number. Link: identity.

        L(y, F) = δ² (t - log(1 + t)),  t = |y - F| / δ        ∂L/∂F = (F - y) / (1 + t)

    Hessian: 1 / (1 + t), an upper bound of the second derivative 1 / (1 + t)².

    Parameters
    ----------
    delta : float or None, default=None
        δ in units of y; with several targets, in standard deviations of each. None: 1.4 times the
        median of |y - F| / 0.6745, computed before every round.
    """

    name = "fair"
    tuning = 1.3998

    def rho(self, t: Vector) -> Vector:
        return t - np.log1p(t)

    def irls_weight(self, t: Vector) -> Vector:
        return 1.0 / (1.0 + t)


class LogCosh(_RobustLoss):
    """The logarithm of the hyperbolic cosine of the residual.

    Domain: y any finite number. Link: identity.

        L(y, F) = δ² log cosh(t),  t = |y - F| / δ        ∂L/∂F = δ tanh((F - y) / δ)

    Hessian: tanh(t) / t, an upper bound of the second derivative 1 - tanh²(t).

    Parameters
    ----------
    delta : float or None, default=None
        δ in units of y; with several targets, in standard deviations of each. None: 1.2 times the
        median of |y - F| / 0.6745, computed before every round.
    """

    name = "log_cosh"
    tuning = 1.2047

    def rho(self, t: Vector) -> Vector:
        return np.asarray(t + np.log1p(np.exp(-2.0 * t)) - np.log(2.0))

    def irls_weight(self, t: Vector) -> Vector:
        return np.divide(np.tanh(t), t, out=np.ones_like(t), where=t > 0.0)


class PseudoHuber(_RobustLoss):
    """The pseudo-Huber loss: a smooth Huber loss (Charbonnier et al. 1997).

    Domain: y any finite number. Link: identity.

        L(y, F) = δ² (√(1 + t²) - 1),  t = |y - F| / δ        ∂L/∂F = (F - y) / √(1 + t²)

    Hessian: 1 / √(1 + t²), an upper bound of the second derivative (1 + t²)^(-3/2).

    Parameters
    ----------
    delta : float or None, default=None
        δ in units of y; with several targets, in standard deviations of each. None: 1.3 times the
        median of |y - F| / 0.6745, computed before every round.
    """

    name = "pseudo_huber"
    tuning = 1.2871

    def rho(self, t: Vector) -> Vector:
        return t * (t / (_hypotenuse(t) + 1.0))  # no digits are lost near 0

    def irls_weight(self, t: Vector) -> Vector:
        return 1.0 / _hypotenuse(t)


def _hypotenuse(t: Vector) -> Vector:
    """Return √(1 + t²) of numbers from 0 on, whose squares may overflow."""
    largest = np.maximum(t, 1.0)
    return np.asarray(largest * np.sqrt((1.0 / largest) ** 2 + (t / largest) ** 2))


class _RobustBoundLoss(NumpyBoundLoss):
    """Computes δ with every evaluation, unless it is fixed."""

    _loss: _RobustLoss
    delta: float

    def _differentiate(self, scores: Matrix) -> None:
        self.delta = self._loss.residual_delta(self._y, scores, self._weight)
        super()._differentiate(scores)

    def _derivatives(self, scores: Matrix) -> Any:
        return self._loss.derivatives_with_delta(self._y, scores, self.delta)

    def _losses(self, scores: Matrix) -> Any:
        return self._loss.loss_with_delta(self._y, scores, self.delta)
