"""Distributions of the standardised log of a time: z = (log T - F) / σ.

Each has the log of its density f, of its distribution function Φ and of S = 1 - Φ, with derivatives
with respect to z. All three are concave, so every loss that is made of them is convex in F.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammainc, gammaln, hyp1f1, hyp2f1, log_ndtr, ndtr, ndtri

__all__ = ["TIME_DISTRIBUTIONS", "TimeDistribution"]

Vector = npt.NDArray[np.float64]
Function = Callable[[Vector], Vector]
LARGEST_Z = 40.0
"""The extreme value distribution uses e^z up to this z."""
MANY_TERMS = 20.0
"""From this σ on, 60 terms of a series are enough."""
SMALLEST_SHARE = 1e-280
"""Smaller shares of a gamma function are computed by a series."""
HALF_LOG_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class TimeDistribution:
    """A distribution of z.

    Attributes
    ----------
    log_density, slope, curvature : callable
        log f, its derivative, and its second derivative.
    log_survival : callable
        log S.
    hazard : callable
        f / S = -(log S)', of z and log S.
    hazard_slope : callable
        Its derivative, of z and f / S.
    log_probability, reverse : callable
        log Φ, and f / Φ = (log Φ)'.
    quantile : callable
        Φ⁻¹.
    limited_mean : callable
        The mean of min(e^(σ (Z - z)), 1), of z and σ.
    """

    log_density: Function
    slope: Function
    curvature: Function
    log_survival: Function
    hazard: Callable[[Vector, Vector], Vector]
    hazard_slope: Callable[[Vector, Vector], Vector]
    log_probability: Function
    reverse: Function
    quantile: Function
    limited_mean: Callable[[Vector, float], Vector]

    def log_interval(self, lower: Vector, upper: Vector) -> Vector:
        """Return log(Φ(upper) - Φ(lower)), from the smaller tails."""
        left = lower < 0.0
        a, b = self.log_probability(upper), self.log_probability(lower)
        c, d = self.log_survival(lower), self.log_survival(upper)
        high, low = np.where(left, a, c), np.where(left, b, d)
        with np.errstate(divide="ignore"):
            return np.asarray(high + np.log(-np.expm1(np.minimum(low - high, -1e-300))))


def _log_normal(z: Vector) -> Vector:
    return np.asarray(-0.5 * z * z - HALF_LOG_TWO_PI)


def _normal_hazard(z: Vector, log_survival: Vector) -> Vector:
    return np.asarray(np.exp(_log_normal(z) - log_survival))


def _normal_hazard_slope(z: Vector, hazard: Vector) -> Vector:
    return np.asarray(np.maximum(hazard * (hazard - z), 0.0))


def _normal_reverse(z: Vector) -> Vector:
    return np.asarray(np.exp(_log_normal(z) - log_ndtr(z)))


def _log_expit(z: Vector) -> Vector:
    return np.asarray(-np.logaddexp(0.0, -z))


def _exp(z: Vector) -> Vector:
    return np.asarray(np.exp(np.minimum(z, LARGEST_Z)))


def _log_extreme(z: Vector) -> Vector:
    """Return log(1 - e^(-e^z))."""
    return np.asarray(np.log(-np.expm1(-np.maximum(_exp(z), 1e-300))))


def _normal_limited_mean(z: Vector, sigma: float) -> Vector:
    below = np.exp(sigma * (0.5 * sigma - z) + log_ndtr(z - sigma))
    return np.asarray(below + ndtr(-z))


def _logistic_limited_mean(z: Vector, sigma: float) -> Vector:
    """Return ₂F₁(1, σ; 1 + σ; -e^z), with (1 + e^z) times it = ₂F₁(1, 1; 1 + σ; Φ(z))."""
    near = np.minimum(z, 700.0)  # beyond, the mean is a power of e^z
    if sigma == 1.0:
        found = np.logaddexp(0.0, near) * np.exp(-near)
    elif sigma < MANY_TERMS:
        found = hyp2f1(1.0, sigma, 1.0 + sigma, -np.exp(near))
    else:
        ratios = np.arange(1.0, 61.0) / (sigma + np.arange(1.0, 61.0))
        found = np.ones(z.shape)
        for ratio in ratios[::-1]:
            found = 1.0 + ratio * expit(near) * found
        found = found * expit(-near)
    return np.asarray(found * np.exp(-min(sigma, 1.0) * (z - near)))


def _extreme_limited_mean(z: Vector, sigma: float) -> Vector:
    """Return the mean of two terms: e^-x, and the lower incomplete gamma function of x = e^z."""
    a, x = 1.0 + sigma, np.exp(np.minimum(z, LARGEST_Z))
    share = gammainc(a, x)
    with np.errstate(divide="ignore", over="ignore"):
        far = np.exp(gammaln(a) + np.log(share) - sigma * z)
    near = x * np.exp(-x) / a * hyp1f1(1.0, a + 1.0, np.minimum(x, a))
    return np.asarray(np.exp(-x) + np.where(share > SMALLEST_SHARE, far, near))


TIME_DISTRIBUTIONS: Mapping[str, TimeDistribution] = MappingProxyType(
    {
        "normal": TimeDistribution(
            _log_normal,
            lambda z: -z,
            lambda z: np.full_like(z, -1.0),
            lambda z: log_ndtr(-z),
            _normal_hazard,
            _normal_hazard_slope,
            log_ndtr,
            _normal_reverse,
            ndtri,
            _normal_limited_mean,
        ),
        "logistic": TimeDistribution(
            lambda z: _log_expit(z) + _log_expit(-z),
            lambda z: 1.0 - 2.0 * expit(z),
            lambda z: -2.0 * expit(z) * expit(-z),
            lambda z: _log_expit(-z),
            lambda z, _: expit(z),
            lambda _, hazard: hazard * (1.0 - hazard),
            _log_expit,
            lambda z: expit(-z),
            lambda p: np.log(p) - np.log1p(-p),
            _logistic_limited_mean,
        ),
        "extreme": TimeDistribution(
            lambda z: z - _exp(z),
            lambda z: 1.0 - _exp(z),
            lambda z: -_exp(z),
            lambda z: -_exp(z),
            lambda _, log_survival: -log_survival,
            lambda _, hazard: hazard,
            _log_extreme,
            lambda z: np.exp(z - _exp(z) - _log_extreme(z)),
            lambda p: np.log(-np.log1p(-p)),
            _extreme_limited_mean,
        ),
    }
)
"""The distributions by name: log-normal, log-logistic and Weibull times."""
