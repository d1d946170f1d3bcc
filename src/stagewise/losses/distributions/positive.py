"""Losses of distributions of positive numbers, and of shares: log-normal, gamma, Weibull, beta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.distributions import (
    Beta,
    Distribution,
    GammaDistribution,
    LogNormal,
    Weibull,
)
from stagewise.elementary import extended_log, portable_exp, portable_log, sigmoid
from stagewise.exact_sums import mean_rows
from stagewise.losses.distributions.base import DistributionLoss
from stagewise.losses.logarithm import exact_log
from stagewise.losses.scores import Matrix, Vector

__all__ = ["BetaLoss", "GammaDistributionLoss", "LogNormalLoss", "WeibullLoss"]

LOG_MEAN = (-708.0, 709.0)
"""The logarithms of the smallest and the largest numbers of full precision."""
LOG_SHAPE = (-7.0, 14.0)
EULER = 0.5772156649015329


class _PositiveLoss(DistributionLoss):
    """F_1 is a logarithm of the scale of y, so it has the offset and the exposure."""

    log_link = True
    largest_offset = 60.0

    def check(self, y: npt.NDArray[Any]) -> None:
        remedy = "Use loss='normal', or remove these rows."
        if y.min() >= 0:
            remedy = "Use loss='tweedie' for amounts that are often 0, or remove these rows."
        self.refuse(y <= 0, y, "above 0", remedy)

    def _location_of(self, mean: Vector) -> Vector:
        return extended_log(mean)


def _log_spread(y: npt.NDArray[Any], weight: Vector | None) -> tuple[float, float]:
    """Return the mean and the standard deviation of log y."""
    log_y = portable_log(y)
    mean = mean_rows(log_y, weight)
    return mean, max(math.sqrt(mean_rows((log_y - mean) ** 2, weight)), 1e-3)


class LogNormalLoss(_PositiveLoss):
    """The log-normal distribution: log y has the mean μ = F_1 and the deviation σ = e^(F_2).

    Domain: y > 0. The mean of y is exp(μ + σ²/2). With z = (log y - μ) / σ,

        L = F_2 + z²/2 + log y + log(2π)/2    ∂L/∂F = (-z/σ, 1 - z²)    I = diag(1/σ², 2)
    """

    name = family = "log_normal"
    output_names = ("mean of log y", "log scale")
    location_is_mean, with_monotone_mean = False, "'gamma_distribution' or 'gamma'"
    bounds = (LOG_MEAN, (-7.0, 4.0))

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        return LogNormal(mu=own[:, 0], sigma=portable_exp(own[:, 1]))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        mean, spread = _log_spread(y, weight)
        return np.array([mean, exact_log(spread)])


class GammaDistributionLoss(_PositiveLoss):
    """The gamma distribution with the mean μ = e^(F_1) and the shape k = e^(F_2).

    Domain: y > 0. The variance is μ²/k. ψ is the digamma function.

        L = k y/μ + k F_1 - k F_2 + log Γ(k) - (k - 1) log y
        ∂L/∂F_1 = k (1 - y/μ)        ∂L/∂F_2 = k (y/μ - log(y/μ) - 1 - log k + ψ(k))
        I = diag(k, k² (ψ'(k) - 1/k))
    """

    name, family = "gamma_distribution", "gamma"
    output_names = ("log mean", "log shape")
    bounds = (LOG_MEAN, LOG_SHAPE)

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        return GammaDistribution(mu=portable_exp(own[:, 0]), shape=portable_exp(own[:, 1]))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        mean = mean_rows(y, weight)
        spread = max(exact_log(mean) - mean_rows(portable_log(y), weight), 1e-6)
        shape = (3.0 - spread + math.sqrt((spread - 3.0) ** 2 + 24.0 * spread)) / (12.0 * spread)
        return np.array([exact_log(mean), exact_log(shape)])  # Minka (2002)


class WeibullLoss(_PositiveLoss):
    """The Weibull distribution with the scale λ = e^(F_1) and the shape k = e^(F_2).

    Domain: y > 0. With z = (y/λ)^k and Euler's γ,

        L = z - log z - F_2 + log y        ∂L/∂F_1 = k (1 - z)        ∂L/∂F_2 = (z - 1) log z - 1
        I_11 = k²        I_12 = -k (1 - γ)        I_22 = π²/6 + (1 - γ)²
    """

    name = family = "weibull"
    output_names = ("log scale", "log shape")
    location_is_mean, with_monotone_mean = False, "'gamma_distribution' or 'gamma'"
    bounds = (LOG_MEAN, (-3.0, 7.0))

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        return Weibull(scale=portable_exp(own[:, 0]), shape=portable_exp(own[:, 1]))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        mean, spread = _log_spread(y, weight)
        k = math.pi / (math.sqrt(6.0) * spread)  # the variance of log y is π²/(6 k²)
        return np.array([mean + EULER / k, exact_log(k)])


class BetaLoss(DistributionLoss):
    """The beta distribution with the mean μ = 1 / (1 + e^(-F_1)) and the precision φ = e^(F_2).

    Domain: 0 < y < 1. α = μφ, β = (1-μ)φ; the variance is μ (1-μ) / (1+φ).

        L = log B(α, β) - (α-1) log y - (β-1) log(1-y)
        a = ψ(α) - ψ(φ) - log y        b = ψ(β) - ψ(φ) - log(1-y)
        ∂L/∂F_1 = φ μ(1-μ) (a - b)        ∂L/∂F_2 = φ (μ a + (1-μ) b)
        I_11 = (φ μ(1-μ))² (ψ'(α) + ψ'(β))        I_12 = φ² μ(1-μ) (μ ψ'(α) - (1-μ) ψ'(β))
        I_22 = φ² (μ² ψ'(α) + (1-μ)² ψ'(β) - ψ'(φ))

    (Ferrari & Cribari-Neto 2004.)
    """

    name = family = "beta"
    output_names = ("log odds of the mean", "log precision")
    bounds = ((-20.0, 20.0), (-7.0, 14.0))
    largest_offset = 20.0

    @property
    def prediction_limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def check(self, y: npt.NDArray[Any]) -> None:
        remedy = (
            "Divide percentages by 100; move 0 and 1 inside, for example by (y (n - 1) + ½) / n, "
            "or model them with a classifier."
        )
        self.refuse((y <= 0) | (y >= 1), y, "strictly between 0 and 1", remedy)

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        return Beta(mu=sigmoid(own[:, 0]), precision=portable_exp(own[:, 1]))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        mean = mean_rows(y, weight)
        variance = mean_rows((y - mean) ** 2, weight)
        precision = max(mean * (1.0 - mean) / max(variance, 1e-8) - 1.0, 0.1)
        return np.array([exact_log(mean / (1.0 - mean)), exact_log(precision)])

    def _location_of(self, mean: Vector) -> Vector:
        return extended_log(mean) - extended_log(1.0 - mean)
