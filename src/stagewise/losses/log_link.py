"""Losses with a log link, for non-negative targets: the prediction is e^F.

Each is the negative log-likelihood of a distribution with mean e^F, without terms that do not
depend on F. Each docstring: domain, link, formula, hessian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers
from stagewise.distributions import Distribution
from stagewise.distributions import Poisson as PoissonDistribution
from stagewise.elementary import portable_exp
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import KernelBoundLoss
from stagewise.losses.logarithm import bounded_log_ratio, exact_log
from stagewise.losses.scores import Matrix, Vector

__all__ = ["Gamma", "LogLinkLoss", "Poisson", "Tweedie"]


class LogLinkLoss(Loss):
    """The base class: the mean is e^F, and the variance is proportional to its p-th power.

    Each loss is a case of Tweedie's formula g = e^((2-p)F) - y e^((1-p)F), with p = 1 or 2 as a
    limit.
    """

    allows_zero = True
    power: float
    log_link = True
    largest_offset = 60.0

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        if not y.any():
            raise ValueError(
                f"The {self.name} loss needs a target above 0, but all targets are 0: the "
                "logarithm of their mean is infinite. Use another loss."
            )
        return np.array([exact_log(mean_rows(y, weight))])

    def rates(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Vector
    ) -> tuple[Vector, Vector]:
        """Return targets and weights without an offset o: y e^-o and w e^((2-p) o).

        Their loss has the same derivatives. So a count y with the exposure e is the frequency y/e
        with the weight e.
        """
        factor = portable_exp((2.0 - self.power) * offset)
        return y * portable_exp(-offset), factor if weight is None else weight * factor

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        return self.best_constant(*self.rates(y, weight, offset[:, 0]))

    def region_optimum(self, gradient: Vector, hessian: Vector) -> Vector:
        """Return log(Σ y e^((1-p)F) / Σ e^((2-p)F)); both sums are computed from G and H."""
        a, b = self.power - 1, 2 - self.power
        return bounded_log_ratio(hessian - b * gradient, hessian + a * gradient)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return e^F."""
        return np.asarray(np.exp(score))

    def deviation(self, mean: Vector) -> Vector:
        """Return the square root of the p-th power of the mean."""
        return power_deviation(mean, self.power)

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return log of the mean, which must be positive."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(mean))

    def check(self, y: npt.NDArray[Any]) -> None:
        wrong = y < 0 if self.allows_zero else y <= 0
        if wrong.any():
            row = int(np.argmax(wrong))
            bound = "at least 0" if self.allows_zero else "above 0"
            other = (
                "loss='squared_error', which has no such limit"
                if y.min() < 0
                else "loss='tweedie', for amounts that are often 0"
            )
            raise ValueError(
                f"The {self.name} loss needs targets {bound}, but y is {y[row]:g} at row {row} "
                f"(the first of {int(wrong.sum())} such rows). Use {other}, or remove these rows."
            )


class Poisson(LogLinkLoss):
    """Half the Poisson deviance, for counts.

    Domain: y ≥ 0, not all 0. Link: log, mean e^F.

        L(y, F) = e^F - y F        ∂L/∂F = e^F - y        ∂²L/∂F² = e^F

    Hessian: exact.
    """

    name = "poisson"
    kernel = ("poisson", 0.0)
    power = 1.0
    has_distribution = True

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        """Return Poisson distributions with the mean e^F."""
        return PoissonDistribution(mu=np.exp(np.asarray(score).reshape(len(score))))

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(np.exp(score) - y * score)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        mean = np.exp(score)
        return mean - y, mean

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("poisson", workers, y, weight)


class Gamma(LogLinkLoss):
    """Half the Gamma deviance, for positive amounts whose standard deviation grows with the mean.

    Domain: y > 0. Link: log, mean e^F.

        L(y, F) = y e^-F + F        ∂L/∂F = 1 - y e^-F        ∂²L/∂F² = y e^-F

    Hessian: exact.
    """

    name = "gamma"
    kernel = ("gamma", 0.0)
    power = 2.0
    allows_zero = False

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(y * np.exp(-score) + score)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        ratio = y * np.exp(-score)
        return 1 - ratio, ratio

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("gamma", workers, y, weight)


class Tweedie(LogLinkLoss):
    """Half the Tweedie deviance, for amounts that are often exactly 0 (Jørgensen 1987).

    Domain: y ≥ 0, not all 0. Link: log, mean e^F; the variance is proportional to the p-th power of
    the mean (a sum of a Poisson number of Gamma amounts).

        L(y, F) = y e^((1-p) F) / (p-1) + e^((2-p) F) / (2-p)
        ∂L/∂F = e^((2-p) F) - y e^((1-p) F)     ∂²L/∂F² = (2-p) e^((2-p) F) + (p-1) y e^((1-p) F)

    Hessian: exact.

    Parameters
    ----------
    power : float, default=1.5
        p, between 1 (Poisson) and 2 (Gamma).
    """

    name = "tweedie"
    parameter_names = ("power",)

    def __init__(self, power: float = 1.5) -> None:
        if not 1.0 < power < 2.0:
            raise ValueError(
                f"power must lie between 1 and 2; got {power!r}. "
                "For 1 use 'poisson', for 2 'gamma'."
            )
        self.power = float(power)
        self.kernel = ("tweedie", self.power)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        a, b = self.power - 1, 2 - self.power
        return np.asarray(y * np.exp(-a * score) / a + np.exp(b * score) / b)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        a, b = self.power - 1, 2 - self.power
        up, down = y * np.exp(-a * score), np.exp(b * score)
        return down - up, a * up + b * down

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("tweedie", workers, y, weight, self.power)


def power_deviation(mean: Vector, power: float) -> Vector:
    """Return the square root of the variance mean^power."""
    least = np.finfo(np.float64).tiny
    return np.asarray(np.maximum(mean, least) ** (power / 2.0))
