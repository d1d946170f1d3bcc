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
    """A distribution of z; the native kernel has its density and its other derivatives.

    Attributes
    ----------
    log_survival : callable
        log S.
    quantile : callable
        Φ⁻¹.
    limited_mean : callable
        The mean of min(e^(σ (Z - z)), 1), of z and σ.
    """

    log_survival: Function
    quantile: Function
    limited_mean: Callable[[Vector, float], Vector]


def _log_expit(z: Vector) -> Vector:
    return np.asarray(-np.logaddexp(0.0, -z))


def _exp(z: Vector) -> Vector:
    return np.asarray(np.exp(np.minimum(z, LARGEST_Z)))


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
        "normal": TimeDistribution(lambda z: log_ndtr(-z), ndtri, _normal_limited_mean),
        "logistic": TimeDistribution(
            lambda z: _log_expit(-z),
            lambda p: np.log(p) - np.log1p(-p),
            _logistic_limited_mean,
        ),
        "extreme": TimeDistribution(
            lambda z: -_exp(z),
            lambda p: np.log(-np.log1p(-p)),
            _extreme_limited_mean,
        ),
    }
)
"""The distributions by name: log-normal, log-logistic and Weibull times."""
