"""Distributions of positive numbers: log-normal, gamma, Weibull; and the beta distribution."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from stagewise.distributions.base import Distribution

__all__ = ["Beta", "GammaDistribution", "LogNormal", "Weibull"]

Vector = npt.NDArray[np.float64]
LOG_ROOT_2_PI = 0.5 * math.log(2.0 * math.pi)


class LogNormal(Distribution):
    """Log-normal distributions: log y has the mean `mu` and the standard deviation `sigma`."""

    name = "log_normal"

    def _mean(self) -> Vector:
        return np.asarray(np.exp(self.mu + 0.5 * np.square(self.sigma)))

    def _var(self) -> Vector:
        return np.asarray(np.expm1(np.square(self.sigma)) * np.square(self.mean))

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, sigma: Vector
    ) -> Vector:
        log_y = np.log(np.where(y > 0, y, 1.0))
        inner = -0.5 * np.square((log_y - mu) / sigma) - np.log(sigma) - LOG_ROOT_2_PI - log_y
        return np.where(y > 0, inner, -np.inf)

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, sigma: Vector
    ) -> Vector:
        return np.asarray(special.ndtr((np.log(np.maximum(y, 0.0)) - mu) / sigma))

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, mu: Vector, sigma: Vector
    ) -> Vector:
        return np.asarray(np.exp(mu + sigma * special.ndtri(q)))

    def _crps(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, sigma: Vector
    ) -> Vector:
        z = (np.log(np.maximum(y, 0.0)) - mu) / sigma
        log_mean = mu + 0.5 * sigma * sigma  # its exponential is huge for large sigma
        below = np.exp(log_mean + special.log_ndtr(z - sigma))
        spread = np.exp(log_mean + special.log_ndtr(-sigma / math.sqrt(2.0)))
        return np.asarray(y * (2.0 * special.ndtr(z) - 1.0) - 2.0 * (below - spread))


class GammaDistribution(Distribution):
    """Gamma distributions with mean `mu` and `shape`; the variance is mu²/shape."""

    name = "gamma_distribution"

    def _mean(self) -> Vector:
        return np.array(self.mu)

    def _var(self) -> Vector:
        return np.asarray(np.square(self.mu) / self.shape)

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, shape: Vector
    ) -> Vector:
        positive = np.where(y > 0, y, 1.0)
        log_y = np.log(positive)
        inner = shape * (log_y - np.log(mu) - positive / mu) + gamma_constant(shape)
        return np.where(y > 0, inner - log_y, -np.inf)

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, shape: Vector
    ) -> Vector:
        return np.asarray(special.gammainc(shape, np.maximum(y, 0.0) * shape / mu))

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, mu: Vector, shape: Vector
    ) -> Vector:
        return np.asarray(special.gammaincinv(shape, q) * mu / shape)

    def _crps(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, shape: Vector
    ) -> Vector:
        x = np.maximum(y, 0.0) * shape / mu
        low, high = special.gammainc(shape, x), special.gammainc(shape + 1.0, x)
        spread = np.exp(-special.betaln(0.5, shape)) / shape
        return np.asarray(y * (2.0 * low - 1.0) - mu * (2.0 * high - 1.0) - mu * spread)


class Weibull(Distribution):
    """Weibull distributions with `scale` and `shape`: P(Y > y) = exp(-(y/scale)^shape)."""

    name = "weibull"

    def _mean(self) -> Vector:
        return np.asarray(self.scale * special.gamma(1.0 + 1.0 / self.shape))

    def _var(self) -> Vector:
        first, second = (special.gamma(1.0 + k / self.shape) for k in (1.0, 2.0))
        return np.asarray(np.square(self.scale) * np.maximum(second - first**2, 0.0))

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, scale: Vector, shape: Vector
    ) -> Vector:
        positive = np.where(y > 0, y, 1.0)
        log_z = shape * (np.log(positive) - np.log(scale))
        inner = np.log(shape / positive) + log_z - np.exp(log_z)
        return np.where(y > 0, inner, -np.inf)

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, scale: Vector, shape: Vector
    ) -> Vector:
        return np.asarray(-np.expm1(-((np.maximum(y, 0.0) / scale) ** shape)))

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, scale: Vector, shape: Vector
    ) -> Vector:
        return np.asarray(scale * (-np.log1p(-q)) ** (1.0 / shape))

    def _crps(  # type: ignore[override]
        self, y: Vector, *, scale: Vector, shape: Vector
    ) -> Vector:
        z = (np.maximum(y, 0.0) / scale) ** shape
        mean = scale * special.gamma(1.0 + 1.0 / shape)
        part = special.gammainc(1.0 + 1.0 / shape, z)
        return np.asarray(
            y * (-2.0 * np.expm1(-z) - 1.0) - 2.0 * mean * part + mean * 2.0 ** (-1.0 / shape)
        )


class Beta(Distribution):
    """Beta distributions with mean `mu` and `precision` φ: α = mu φ, β = (1 - mu) φ."""

    name = "beta"

    def _mean(self) -> Vector:
        return np.array(self.mu)

    def _var(self) -> Vector:
        return np.asarray(self.mu * (1.0 - self.mu) / (1.0 + self.precision))

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, precision: Vector
    ) -> Vector:
        a, b = mu * precision, (1.0 - mu) * precision
        inside = (y > 0) & (y < 1)
        safe = np.where(inside, y, 0.5)
        inner = (a - 1.0) * np.log(safe) + (b - 1.0) * np.log1p(-safe) - special.betaln(a, b)
        return np.where(inside, inner, -np.inf)

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, precision: Vector
    ) -> Vector:
        return np.asarray(
            special.betainc(mu * precision, (1.0 - mu) * precision, np.clip(y, 0.0, 1.0))
        )

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, mu: Vector, precision: Vector
    ) -> Vector:
        return np.asarray(special.betaincinv(mu * precision, (1.0 - mu) * precision, q))

    def _crps(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, precision: Vector
    ) -> Vector:
        a, b = mu * precision, (1.0 - mu) * precision
        inside = np.clip(y, 0.0, 1.0)
        log_spread = special.betaln(precision, precision) - special.betaln(a, a)
        spread = 2.0 / precision * np.exp(log_spread - special.betaln(b, b))
        low, high = special.betainc(a, b, inside), special.betainc(a + 1.0, b, inside)
        return np.asarray(y * (2.0 * low - 1.0) + mu * (1.0 - 2.0 * high) - spread)


def gamma_constant(shape: Vector) -> Vector:
    """Return k log k - log Γ(k); for large k by Stirling's series, without cancellation."""
    k = np.asarray(shape, dtype=np.float64)
    far = k + 0.5 * np.log(k) - LOG_ROOT_2_PI - 1.0 / (12.0 * k)
    return np.where(k > 1e6, far, k * np.log(k) - special.gammaln(k))
