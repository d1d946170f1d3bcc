"""Distributions of real numbers: normal, Laplace, Student's t."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from stagewise.distributions.base import Distribution

__all__ = ["Laplace", "Normal", "StudentT"]

Vector = npt.NDArray[np.float64]
LOG_ROOT_2_PI = 0.5 * math.log(2.0 * math.pi)


class Normal(Distribution):
    """Normal distributions with mean `loc` and standard deviation `scale`."""

    name = "normal"

    def _mean(self) -> Vector:
        return np.array(self.loc)

    def _var(self) -> Vector:
        return np.asarray(np.square(self.scale))

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector
    ) -> Vector:
        return -0.5 * np.square((y - loc) / scale) - np.log(scale) - LOG_ROOT_2_PI

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector
    ) -> Vector:
        return np.asarray(special.ndtr((y - loc) / scale))

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, loc: Vector, scale: Vector
    ) -> Vector:
        return np.asarray(loc + scale * special.ndtri(q))

    def _crps(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector
    ) -> Vector:
        z = (y - loc) / scale
        density = np.exp(-0.5 * z * z - LOG_ROOT_2_PI)
        return np.asarray(
            scale * (z * (2.0 * special.ndtr(z) - 1.0) + 2.0 * density - 1.0 / math.sqrt(math.pi))
        )


class Laplace(Distribution):
    """Laplace distributions with median `loc` and mean absolute deviation `scale`."""

    name = "laplace"

    def _mean(self) -> Vector:
        return np.array(self.loc)

    def _var(self) -> Vector:
        return np.asarray(2.0 * np.square(self.scale))

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector
    ) -> Vector:
        return -np.abs(y - loc) / scale - np.log(2.0 * scale)

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector
    ) -> Vector:
        z = (y - loc) / scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.asarray(np.where(z < 0, tail, 1.0 - tail))

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, loc: Vector, scale: Vector
    ) -> Vector:
        low = np.log(2.0 * np.minimum(q, 0.5))
        high = -np.log(2.0 * np.minimum(1.0 - q, 0.5))
        return np.asarray(loc + scale * np.where(q < 0.5, low, high))

    def _crps(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector
    ) -> Vector:
        z = np.abs(y - loc) / scale
        return np.asarray(scale * (z + np.exp(-z) - 0.75))


class StudentT(Distribution):
    """Student's t distributions with `loc`, `scale` and `df` degrees of freedom."""

    name = "student_t"

    def _mean(self) -> Vector:
        return np.where(self.df > 1.0, self.loc, np.nan)

    def _var(self) -> Vector:
        inner = np.square(self.scale) * self.df / np.maximum(self.df - 2.0, 0.0)
        return np.where(self.df > 1.0, inner, np.nan)

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector, df: Vector
    ) -> Vector:
        z = (y - loc) / scale
        return np.asarray(
            log_gamma_step(0.5 * df)
            - 0.5 * np.log(df * math.pi)
            - np.log(scale)
            - 0.5 * (df + 1.0) * np.log1p(z * z / df)
        )

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector, df: Vector
    ) -> Vector:
        return np.asarray(special.stdtr(df, (y - loc) / scale))

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, loc: Vector, scale: Vector, df: Vector
    ) -> Vector:
        found = np.asarray(loc + scale * special.stdtrit(df, q))
        ends = np.where(q <= 0.0, -np.inf, np.inf)
        return np.where((q <= 0.0) | (q >= 1.0), ends, found)

    def _crps(  # type: ignore[override]
        self, y: Vector, *, loc: Vector, scale: Vector, df: Vector
    ) -> Vector:
        z = (y - loc) / scale
        log_density = self._log_density(z, loc=np.zeros(1), scale=np.ones(1), df=df)
        half = special.betaln(0.5, df - 0.5) - 2.0 * special.betaln(0.5, 0.5 * df)
        inner = z * (2.0 * special.stdtr(df, z) - 1.0)
        inner = inner + 2.0 * np.exp(log_density) * (df + z * z) / (df - 1.0)
        return np.asarray(scale * (inner - 2.0 * np.sqrt(df) / (df - 1.0) * np.exp(half)))


def log_gamma_step(x: Vector) -> Vector:
    """Return log Γ(x + ½) - log Γ(x); for large x by its series, without cancellation."""
    x = np.asarray(x, dtype=np.float64)
    far = 0.5 * np.log(x) - 1.0 / (8.0 * x) + 1.0 / (192.0 * x**3)
    return np.where(x > 1e4, far, special.gammaln(x + 0.5) - special.gammaln(x))
