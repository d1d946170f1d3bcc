"""Accelerated failure times: log T = F + σ z, with censored and interval-censored times."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from stagewise._native import AftLoss, Workers
from stagewise.elementary import portable_log
from stagewise.exact_sums import sum_rows
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import NativeBoundLoss
from stagewise.losses.scores import Matrix, Vector
from stagewise.losses.survival.base import ONE_KIND, SurvivalLoss
from stagewise.losses.survival.time_distributions import TIME_DISTRIBUTIONS, TimeDistribution
from stagewise.validation.arguments import check_argument
from stagewise.validation.rules import Number

__all__ = ["Aft"]

GRID = 200
"""The number of times at which curves are shown."""
SCALES = (1e-3, 1e3)
"""The limits of σ."""
ROUND_TOLERANCE, TOLERANCE = 3e-3, 1e-8
"""Newton steps of log σ end with one of this length: in a round, and at the end of a fit."""


OBSERVATIONS = ("exact", "right", "left", "interval")
"""What is known of a time, in the order of the native enumeration."""


@dataclass(frozen=True, eq=False)
class _Times:
    """Times as logs, and what is known of them."""

    log_time: Vector
    log_upper: Vector
    log_entry: Vector
    observation: npt.NDArray[np.uint8]
    is_truncated: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, y: npt.NDArray[Any]) -> _Times:
        time, upper, entry = (np.ascontiguousarray(y[name]) for name in ("time", "upper", "entry"))
        is_exact, has_end = upper == time, np.isfinite(upper)
        kinds = [is_exact, ~has_end, time == 0.0]
        observation = np.select(kinds, [0, 1, 2], 3).astype(np.uint8)
        is_truncated = entry > 0.0

        def log(values: Vector, used: npt.NDArray[np.bool_]) -> Vector:
            return portable_log(np.where(used, values, 1.0))

        return cls(
            log(time, time > 0.0),
            log(upper, has_end & (upper > 0.0)),
            log(entry, is_truncated),
            observation,
            is_truncated,
        )

    def is_kind(self, kind: str) -> npt.NDArray[np.bool_]:
        """Return the rows of a kind of observation."""
        return np.equal(self.observation, OBSERVATIONS.index(kind))

    def native(self, distribution: str) -> AftLoss:
        """Return the native loss of the rows."""
        return AftLoss(
            self.log_time,
            self.log_upper,
            self.log_entry,
            self.observation,
            self.is_truncated.astype(np.uint8),
            distribution,
        )


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
        return self._terms(y, score)[1][0]

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        sigma, (_, slope, curvature, _) = self._terms(y, score)
        return sigma * slope, -curvature

    def _terms(self, y: npt.NDArray[Any], score: Matrix) -> tuple[float, tuple[Vector, ...]]:
        """Return σ at some scores, and the native terms of the rows."""
        own, rows = np.ascontiguousarray(score, dtype=np.float64).reshape(-1), self.native(y)
        sigma = self.sigma_at(rows, own, None)
        return sigma, rows.terms(Workers(1), own, sigma)

    def native(self, y: npt.NDArray[Any]) -> AftLoss:
        """Return the native loss of times."""
        return _Times.of(y).native(self.time_distribution)

    def sigma_at(self, rows: AftLoss, score: Vector, weight: Vector | None) -> float:
        """Return the σ that minimises the loss at some scores."""
        if self.scale is not None:
            return self.scale
        return rows.find_sigma(Workers(1), score, weight, 1.0, *SCALES, TOLERANCE)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return self.best_constant_with_offset(y, weight, np.zeros((len(y), 1)))

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        times, own = _Times.of(y), offset[:, 0]
        rows, workers = times.native(self.time_distribution), Workers(1)
        near = np.where(times.is_kind("left"), times.log_upper, times.log_time) - own
        centre = float(np.average(near, weights=weight))
        spread = float(np.sqrt(np.average((near - centre) ** 2, weights=weight))) or 1.0
        sigma = spread if self.scale is None else self.scale

        def total(values: Vector) -> tuple[float, Vector]:
            log_sigma = values[1] if self.scale is None else np.log(sigma)
            scale = float(np.exp(np.clip(log_sigma, *np.log(SCALES))))
            loss, slope, _, spread = rows.terms(workers, own + values[0], scale)
            slopes = [sum_rows(slope, weight) / scale, sum_rows(spread, weight)]
            slopes[1] = slopes[1] if self.scale is None else 0.0
            return sum_rows(loss, weight), np.array(slopes)

        found = minimize(total, [centre, np.log(sigma)], jac=True, method="BFGS")
        return np.array([found.x[0]])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        times = _Times.of(y)
        # The second derivative with respect to log σ is about twice the number of events.
        events = sum_rows((~times.is_kind("right")).astype(np.float64), weight)
        steepest = 2.0 * ROUND_TOLERANCE * events
        own = self.scale or 0.0, steepest, *SCALES, ROUND_TOLERANCE
        rows = times.native(self.time_distribution).row_loss(workers, weight, *own)
        return NativeBoundLoss(workers, rows)

    # ---- predictions -----------------------------------------------------------------------------

    def learn(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return σ, and times at which curves are shown."""
        own = np.ascontiguousarray(score, dtype=np.float64).reshape(-1)
        last = np.where(np.isfinite(y["upper"]), y["upper"], y["time"]).max()
        sigma = self.sigma_at(self.native(y), own, weight)
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
