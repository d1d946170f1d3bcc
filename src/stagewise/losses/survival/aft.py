"""Accelerated failure times: log T = F + σ z, with censored and interval-censored times."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from stagewise._native import Workers
from stagewise.elementary import portable_log
from stagewise.exact_sums import sum_rows
from stagewise.losses.base import BoundLoss, Matrix, Vector
from stagewise.losses.survival.base import ONE_KIND, RowBoundLoss, SurvivalLoss
from stagewise.losses.survival.time_distributions import TIME_DISTRIBUTIONS, TimeDistribution
from stagewise.validation.arguments import check_argument
from stagewise.validation.rules import Number

__all__ = ["Aft"]

GRID = 200
"""The number of times at which curves are shown."""
SCALES = (1e-3, 1e3)
"""The limits of σ."""
STEPS, LARGEST_STEP = 30, 0.5
"""Newton steps of log σ: how many at most, and how long they are."""
ROUND_TOLERANCE, TOLERANCE = 3e-3, 1e-8
"""The steps of a round, and those at the end of a fit, end with one of this length."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Times as logs, divided by how they are censored."""

    log_time: Vector
    log_upper: Vector
    log_entry: Vector
    is_exact: npt.NDArray[np.bool_]
    is_left: npt.NDArray[np.bool_]
    is_interval: npt.NDArray[np.bool_]
    is_truncated: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, y: npt.NDArray[Any]) -> _Rows:
        time, upper, entry = (np.ascontiguousarray(y[name]) for name in ("time", "upper", "entry"))
        is_exact = upper == time
        is_left = (time == 0.0) & np.isfinite(upper) & ~is_exact
        is_interval = np.isfinite(upper) & ~is_exact & ~is_left
        is_truncated = entry > 0.0

        def log(values: Vector, used: npt.NDArray[np.bool_]) -> Vector:
            return portable_log(np.where(used, values, 1.0))

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


class _Terms:
    """The loss of rows and its derivatives with respect to F and log σ.

    With ℓ(z) the log of a term, dz/dF = -1/σ and dz/dlog σ = -z.
    """

    def __init__(
        self, distribution: TimeDistribution, rows: _Rows, score: Vector, sigma: float
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
            place(mask, -whole, first, np.minimum(second, 0.0), low)
            spread[mask] = high * a - low * b
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


class Aft(SurvivalLoss):
    """Accelerated failure times: log T = F(x) + σ z, with z of a given distribution.

    Domain: times above 0, with right censoring, intervals and entry times. Link: log; e^F is the
    median for "normal" and "logistic", and the quantile 1 - 1/e for "extreme" (Weibull).

        L = -log f(z) + log σ + log t      an event at t, z = (log t - F) / σ
        L = -log S(z)                      censored at t
        L = -log(Φ(z_2) - Φ(z_1))          an event between t_1 and t_2

    With an entry time, log S(z_entry) is added. σ minimises the loss at the scores of every round.
    The derivatives are those of σ² L, so a row without censoring has the hessian 1 for "normal", as
    with the squared error of log t. Hessian: exact, at least 0.

    Parameters
    ----------
    time_distribution : {"normal", "logistic", "extreme"}, default="normal"
        The distribution of z.
    scale : float or None, default=None
        σ; None: it is learned.
    """

    name = "aft"
    parameter_names = ("time_distribution", "scale")
    supported = frozenset({"entry", "upper"})
    larger_is_earlier = False
    largest_offset = 60.0
    remedies: ClassVar[Mapping[str, str]] = {
        "stratum": "Make the stratum a feature, or use loss='cox'.",
        "event": ONE_KIND,
    }

    def __init__(self, time_distribution: str = "normal", scale: float | None = None) -> None:
        if time_distribution not in TIME_DISTRIBUTIONS:
            names = ", ".join(map(repr, TIME_DISTRIBUTIONS))
            raise ValueError(
                f"time_distribution must be one of {names}; got {time_distribution!r}."
            )
        self.time_distribution = time_distribution
        self.scale: float | None = check_argument("scale", Number(*SCALES, or_none=True), scale)
        self.learned: tuple[float, Vector] | None = None

    @property
    def _own(self) -> TimeDistribution:
        return TIME_DISTRIBUTIONS[self.time_distribution]

    def check(self, y: npt.NDArray[Any]) -> None:
        is_censored = np.isinf(y["upper"])
        if is_censored.all():
            super().check(y)
        zero = (y["time"] <= 0.0) & ((y["upper"] == y["time"]) | is_censored)
        if zero.any():
            row = int(np.argmax(zero))
            raise ValueError(
                f"The 'aft' loss needs times above 0, whose log it fits, but row {row} has the "
                f"time 0 (the first of {int(zero.sum())} such rows). Leave these rows out, or add "
                "a small time, such as half a day."
            )
        super().check(y)

    # ---- the loss --------------------------------------------------------------------------------

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        own = np.asarray(score).reshape(-1)
        rows = _Rows.of(y)
        return _Terms(self._own, rows, own, self.sigma_at(rows, own, None)).loss

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        own, rows = np.asarray(score).reshape(-1), _Rows.of(y)
        sigma = self.sigma_at(rows, own, None)
        terms = _Terms(self._own, rows, own, sigma)
        return sigma * terms.slope, -terms.curvature

    def sigma_at(
        self,
        rows: _Rows,
        score: Vector,
        weight: Vector | None,
        start: float = 1.0,
        tolerance: float = TOLERANCE,
    ) -> float:
        """Return the σ that minimises the loss at some scores, by Newton steps of log σ."""
        if self.scale is not None:
            return self.scale

        def slope(log_sigma: float) -> float:
            terms = _Terms(self._own, rows, score, float(np.exp(log_sigma)))
            return sum_rows(terms.spread, weight)

        limits = np.log(SCALES)
        own = float(np.log(start))
        for _ in range(STEPS):
            here, there = slope(own), slope(own + 1e-4)
            rise = (there - here) / 1e-4
            step = -here / rise if rise > 0.0 else -np.sign(here) * LARGEST_STEP
            step = float(np.clip(step, -LARGEST_STEP, LARGEST_STEP))
            own = float(np.clip(own + step, *limits))
            if abs(step) < tolerance:
                break
        return float(np.exp(own))

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return self.best_constant_with_offset(y, weight, np.zeros((len(y), 1)))

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        rows, own = _Rows.of(y), offset[:, 0]
        near = np.where(rows.is_left, rows.log_upper, rows.log_time) - own
        centre = float(np.average(near, weights=weight))
        spread = float(np.sqrt(np.average((near - centre) ** 2, weights=weight))) or 1.0
        sigma = spread if self.scale is None else self.scale

        def total(values: Vector) -> tuple[float, Vector]:
            log_sigma = values[1] if self.scale is None else np.log(sigma)
            scale = float(np.exp(np.clip(log_sigma, *np.log(SCALES))))
            terms = _Terms(self._own, rows, own + values[0], scale)
            slopes = [sum_rows(terms.slope, weight) / scale, sum_rows(terms.spread, weight)]
            slopes[1] = slopes[1] if self.scale is None else 0.0
            return sum_rows(terms.loss, weight), np.array(slopes)

        found = minimize(total, [centre, np.log(sigma)], jac=True, method="BFGS")
        return np.array([found.x[0]])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _BoundAft(self, workers, y, weight)

    # ---- predictions -----------------------------------------------------------------------------

    def learn(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return σ, and times at which curves are shown."""
        rows, own = _Rows.of(y), np.asarray(score).reshape(-1)
        last = np.where(np.isfinite(y["upper"]), y["upper"], y["time"]).max()
        sigma = self.sigma_at(rows, own, weight)
        number = list(TIME_DISTRIBUTIONS).index(self.time_distribution)
        return {
            "time_distribution": np.array([float(number)]),
            "sigma": np.array([sigma]),
            "times": np.linspace(0.0, last, GRID + 1)[1:],
        }

    def with_learned(self, learned: Mapping[str, npt.NDArray[np.float64]]) -> Aft:
        found = copy(self)
        found.time_distribution = list(TIME_DISTRIBUTIONS)[int(learned["time_distribution"][0])]
        found.learned = float(learned["sigma"][0]), np.asarray(learned["times"])
        return found

    @property
    def sigma(self) -> float:
        """σ; it is learned."""
        if self.learned is None:
            raise ValueError("σ is learned by a fit, and this loss has none.")
        return self.learned[0]

    @property
    def grid(self) -> Vector:
        if self.learned is None:
            raise ValueError("The times are learned by a fit, and this loss has none.")
        return self.learned[1]

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the median of the time; before σ is learned, e^F, which has the same order."""
        shift = 0.0
        if self.learned is not None:
            shift = self.sigma * float(self._own.quantile(np.array(0.5)))
        return np.asarray(np.exp(score + shift))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the log of a time."""
        return np.asarray(np.log(mean))

    def cumulative_hazard(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            log_times = np.log(np.maximum(times, 0.0))
        z = (log_times - score.reshape(-1, 1)) / self.sigma
        return np.asarray(
            np.where(times > 0.0, -self._own.log_survival(np.maximum(z, -745.0)), 0.0)
        )

    def quantile(self, score: Matrix, stratum: npt.NDArray[Any], q: float) -> Vector:
        """Return the time with S(t) = 1 - q."""
        return np.asarray(np.exp(score[:, 0] + self.sigma * self._own.quantile(np.array(q))))

    def restricted_mean(self, score: Matrix, stratum: npt.NDArray[Any], limit: float) -> Vector:
        """Return ∫ S(t) dt from 0 to a limit: the mean of min(T, limit)."""
        z = (np.log(limit) - score[:, 0]) / self.sigma
        return np.asarray(limit * self._own.limited_mean(z, self.sigma))


class _BoundAft(RowBoundLoss):
    def __init__(
        self, loss: Aft, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        super().__init__(workers, len(y), weight)
        self._loss, self._rows, self._sigma = loss, _Rows.of(y), 1.0
        self._n_events = self._sum((~self._rows.is_right).astype(np.float64))

    def _evaluate(self, score: Matrix) -> tuple[float, Matrix, Matrix]:
        loss, own = self._loss, np.ascontiguousarray(score[:, 0])
        terms = self._terms(own)
        # The second derivative with respect to log σ is about twice the number of events.
        slope = abs(self._sum(terms.spread)) if loss.scale is None else 0.0
        if loss.scale is not None or slope > 2.0 * ROUND_TOLERANCE * self._n_events:
            given = self._rows, own, self._weight, self._sigma, ROUND_TOLERANCE
            self._sigma = loss.sigma_at(*given)
            terms = self._terms(own)
        return self._sum(terms.loss), self._sigma * terms.slope, -terms.curvature

    def _terms(self, score: Vector) -> _Terms:
        return _Terms(self._loss._own, self._rows, score, self._sigma)  # noqa: SLF001
