"""Slow reference of the loss of accelerated failure times, in NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_ndtr

Vector = npt.NDArray[np.float64]
Function = Callable[[Vector], Vector]
LARGEST_Z = 40.0
HALF_LOG_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class TimeDistribution:
    """A distribution of z: log f with two derivatives, log S, f / S, its slope, log P and f / P."""

    log_density: Function
    slope: Function
    curvature: Function
    log_survival: Function
    hazard: Callable[[Vector, Vector], Vector]
    hazard_slope: Callable[[Vector, Vector], Vector]
    log_probability: Function
    reverse: Function

    def log_interval(self, lower: Vector, upper: Vector) -> Vector:
        """Return log(P(upper) - P(lower)), from the smaller tails."""
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


DISTRIBUTIONS: Mapping[str, TimeDistribution] = MappingProxyType(
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
        ),
    }
)


@dataclass(frozen=True, eq=False)
class Rows:
    """Times as logs, divided by how they are censored."""

    log_time: Vector
    log_upper: Vector
    log_entry: Vector
    is_exact: npt.NDArray[np.bool_]
    is_left: npt.NDArray[np.bool_]
    is_interval: npt.NDArray[np.bool_]
    is_truncated: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, y: npt.NDArray[Any]) -> Rows:
        time, upper, entry = (np.ascontiguousarray(y[name]) for name in ("time", "upper", "entry"))
        is_exact = upper == time
        is_left = (time == 0.0) & np.isfinite(upper) & ~is_exact
        is_interval = np.isfinite(upper) & ~is_exact & ~is_left
        is_truncated = entry > 0.0

        def log(values: Vector, used: npt.NDArray[np.bool_]) -> Vector:
            return np.log(np.where(used, values, 1.0))

        return cls(
            log(time, time > 0.0),
            log(upper, np.isfinite(upper) & (upper > 0.0)),
            log(entry, is_truncated),
            is_exact,
            is_left,
            is_interval,
            is_truncated,
        )

    @cached_property
    def is_right(self) -> npt.NDArray[np.bool_]:
        """Rows whose event is after their time."""
        return ~(self.is_exact | self.is_left | self.is_interval)


class Terms:
    """The loss of rows and its derivatives with respect to F and log σ.

    With ℓ(z) the log of a term, dz/dF = -1/σ and dz/dlog σ = -z.
    """

    def __init__(
        self, distribution: TimeDistribution, rows: Rows, score: Vector, sigma: float
    ) -> None:
        n = len(score)
        loss, slope = np.zeros(n), np.zeros(n)
        curvature, spread = np.zeros(n), np.zeros(n)
        z = (rows.log_time - score) / sigma

        def place(mask: Any, value: Vector, first: Vector, second: Vector, at: Vector) -> None:
            loss[mask], slope[mask], curvature[mask] = value, first, second
            spread[mask] = at * first

        d = distribution
        if (mask := rows.is_exact).any():
            own = z[mask]
            value = np.log(sigma) + rows.log_time[mask] - d.log_density(own)
            place(mask, value, d.slope(own), d.curvature(own), own)
            spread[mask] += 1.0
        if (mask := rows.is_right).any():
            own = z[mask]
            log_survival = d.log_survival(own)
            hazard = d.hazard(own, log_survival)
            place(mask, -log_survival, -hazard, -d.hazard_slope(own, hazard), own)
        if (mask := rows.is_left).any():
            own = (rows.log_upper[mask] - score[mask]) / sigma
            reverse = d.reverse(own)
            second = np.minimum(reverse * (d.slope(own) - reverse), 0.0)
            place(mask, -d.log_probability(own), reverse, second, own)
        if (mask := rows.is_interval).any():
            low, high = z[mask], (rows.log_upper[mask] - score[mask]) / sigma
            whole = d.log_interval(low, high)
            a = np.exp(np.minimum(d.log_density(high) - whole, 300.0))
            b = np.exp(np.minimum(d.log_density(low) - whole, 300.0))
            first = a - b
            second = a * d.slope(high) - b * d.slope(low) - first**2
            # Differences of ends that are close together cancel: a series about the middle.
            middle, width = 0.5 * (low + high), (rows.log_upper - rows.log_time)[mask] / sigma
            at, bend = d.slope(middle), d.curvature(middle)
            narrow = (width**2 * (1.0 - bend) < 1e-10) & (width * np.abs(at) < 0.03)
            series = np.log(np.maximum(width, 1e-300)) + width**2 * (at**2 + bend) / 24.0
            whole = np.where(narrow, d.log_density(middle) + series, whole)
            first, second = np.where(narrow, at, first), np.where(narrow, bend, second)
            place(mask, -whole, first, np.minimum(second, 0.0), low)
            spread[mask] = np.where(narrow, 1.0 + middle * at, high * a - low * b)
        if (mask := rows.is_truncated).any():
            own = (rows.log_entry[mask] - score[mask]) / sigma
            log_survival = d.log_survival(own)
            hazard = d.hazard(own, log_survival)
            loss[mask] += log_survival
            slope[mask] += hazard
            curvature[mask] += d.hazard_slope(own, hazard)
            spread[mask] += own * hazard
        self.loss, self.slope, self.spread = loss, slope, spread
        self.curvature = np.minimum(curvature, 0.0)
