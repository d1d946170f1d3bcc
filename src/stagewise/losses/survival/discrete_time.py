"""Discrete-time hazards: one logistic score for each interval of time."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from stagewise._native import Workers
from stagewise.exact_sums import sum_rows
from stagewise.kaplan_meier import KaplanMeier
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.scores import Matrix, Vector
from stagewise.losses.survival.base import ONE_KIND, RowBoundLoss, SurvivalLoss
from stagewise.validation.arguments import check_argument
from stagewise.validation.rules import Number

__all__ = ["DiscreteTime"]

LARGEST_SCORE = 30.0


class DiscreteTime(SurvivalLoss):
    """The likelihood of discrete-time hazards: h_k(x) = P(T in interval k | T after interval k-1).

    Domain: times with events, censored rows and entry times. Link: logit, h_k = 1 / (1 + e^-F_k).
    The intervals end at quantiles of the event times, so hazards need not be proportional.

        L = Σ_{k before the exit} log(1 + e^F_k) - event F_e + event log(1 + e^F_e)
        ∂L/∂F_k = h_k - [event in k]        ∂²L/∂F_k² = h_k (1 - h_k)        of intervals at risk

    A row is at risk in an interval that begins at or after its entry; a censored row, in those that
    end at or before its time. Hessian: exact.

    Parameters
    ----------
    n_intervals : int, default=10
        The largest number of intervals.
    """

    name = "discrete_time"
    shares_trees = True
    parameter_names = ("n_intervals",)
    supported = frozenset({"entry"})
    remedies: ClassVar[Mapping[str, str]] = {
        "upper": "Use loss='aft', which has intervals.",
        "stratum": "Make the stratum a feature, or use loss='cox'.",
        "event": ONE_KIND,
    }
    largest_offset = LARGEST_SCORE

    def __init__(self, n_intervals: int = 10) -> None:
        self.n_intervals: int = check_argument(
            "n_intervals", Number(1, 1000, whole=True), n_intervals
        )
        self.ends: Vector = np.zeros(0)

    def of_rows(self, y: npt.NDArray[Any], weight: Vector | None) -> DiscreteTime:
        """Return the loss with intervals that have about equally many events."""
        curve = KaplanMeier.of(y["entry"], y["time"], y["event"] > 0, weight)
        if not len(curve.times):
            return self
        share = (1.0 - curve.survival) / (1.0 - curve.survival[-1])
        wanted = np.arange(1, self.n_intervals + 1) / self.n_intervals
        places = np.searchsorted(share, wanted - 1e-12)
        return self._with_ends(np.unique(curve.times[np.minimum(places, len(share) - 1)]))

    def _with_ends(self, ends: Vector) -> DiscreteTime:
        """Return the loss with intervals that end at these times."""
        found = copy(self)
        found.ends, found.n_outputs = ends, len(ends)
        found.output_names = tuple(f"until {text}" for text in _short_texts(ends))
        return found

    def continuing(self, known: SurvivalLoss) -> DiscreteTime:
        found = copy(self)
        found.ends, found.n_outputs = known.grid, known.n_outputs
        return found

    @property
    def grid(self) -> Vector:
        """The ends of the intervals; learned from the training rows."""
        if not len(self.ends):
            raise ValueError("The intervals are learned by a fit, and this loss has none.")
        return self.ends

    def intervals(self, y: npt.NDArray[Any]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return whether rows are at risk, and have the event, in each interval."""
        ends = self.grid
        begins = np.concatenate([[-np.inf], ends[:-1]])
        time, entry, is_event = y["time"][:, None], y["entry"][:, None], y["event"][:, None] > 0
        inside = (begins < time) & (time <= ends) & is_event
        at_risk = (entry <= begins) & ((ends <= time) | inside)
        return at_risk, inside & at_risk

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        at_risk, event = self.intervals(y)
        score = np.asarray(score).reshape(at_risk.shape)
        rows = np.where(at_risk, np.logaddexp(0.0, score), 0.0) - np.where(event, score, 0.0)
        return np.asarray(rows.sum(axis=1))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        shape = np.shape(score)
        at_risk, event = self.intervals(y)
        hazard = np.where(at_risk, expit(np.asarray(score).reshape(at_risk.shape)), 0.0)
        return (hazard - event).reshape(shape), (hazard * (1.0 - hazard)).reshape(shape)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        at_risk, event = self.intervals(y)
        sums = [
            [sum_rows(own[:, k].astype(np.float64), weight) for k in range(self.n_outputs)]
            for own in (at_risk, event)
        ]
        n, deaths = np.array(sums[0]), np.array(sums[1])
        share = (deaths + 0.5 * (deaths == 0)) / np.maximum(n + 0.5 * (deaths >= n), 1.0)
        return np.asarray(np.log(share) - np.log1p(-share))

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        best = self.best_constant(y, weight)
        for _ in range(20):
            gradient, hessian = self.derivatives(y, offset + best)
            sums = [
                np.array([sum_rows(own[:, k], weight) for k in range(self.n_outputs)])
                for own in (gradient, hessian)
            ]
            best = best - np.clip(sums[0] / np.maximum(sums[1], 1e-9), -2.0, 2.0)
        return np.asarray(np.clip(best, -LARGEST_SCORE, LARGEST_SCORE))

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _BoundDiscreteTime(self, workers, y, weight)

    def learn(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the ends of the intervals."""
        return {"ends": self.grid}

    def with_learned(self, learned: Mapping[str, npt.NDArray[np.float64]]) -> DiscreteTime:
        return self._with_ends(np.asarray(learned["ends"]))

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the expected number of intervals after the event: Σ_k P(T ≤ end of k)."""
        with np.errstate(invalid="ignore"):  # rows that no fold held out have NaN
            steps = np.logaddexp(0.0, np.asarray(score).reshape(-1, self.n_outputs))
        return np.asarray(-np.expm1(-np.cumsum(steps, axis=1)).sum(axis=1))

    def cumulative_hazard(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        """Return -log S(t), which is linear within an interval."""
        ends = np.concatenate([[0.0], self.grid])
        steps = np.logaddexp(0.0, np.asarray(score).reshape(-1, self.n_outputs))
        reached = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
        place = np.clip(np.searchsorted(ends, times, "right") - 1, 0, len(ends) - 2)
        width = ends[place + 1] - ends[place]
        share = np.clip((times - ends[place]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
        return np.asarray(reached[:, place] + share * (reached[:, place + 1] - reached[:, place]))

    def quantile(self, score: Matrix, stratum: npt.NDArray[Any], q: float) -> Vector:
        """Return the time with S(t) = 1 - q; inf if it is after the last interval."""
        ends = np.concatenate([[0.0], self.grid])
        reached = self.cumulative_hazard(score, stratum, ends)
        wanted = -np.log1p(-q)
        found = np.full(len(reached), np.inf)
        inside = reached[:, -1] >= wanted
        place = np.maximum((reached[inside] >= wanted).argmax(axis=1), 1)
        rows = np.arange(len(place))
        low, high = reached[inside][rows, place - 1], reached[inside][rows, place]
        share = (wanted - low) / np.where(high > low, high - low, 1.0)
        found[inside] = ends[place - 1] + share * (ends[place] - ends[place - 1])
        return found

    def restricted_mean(self, score: Matrix, stratum: npt.NDArray[Any], limit: float) -> Vector:
        """Return ∫ S(t) dt from 0 to a limit; S is exponential within an interval."""
        grid = self.grid
        times = np.concatenate([[0.0], grid[grid < limit], [limit]])
        log_s = -self.cumulative_hazard(score, stratum, times)
        steps = -np.diff(log_s, axis=1)
        shape = np.where(steps > 1e-8, -np.expm1(-steps) / np.maximum(steps, 1e-8), 1.0)
        return np.asarray((np.exp(log_s[:, :-1]) * shape) @ np.diff(times))


def _short_texts(numbers: Vector) -> list[str]:
    """Return different numbers as different texts of few digits."""
    for digits in (4, 8):
        texts = [f"{number:.{digits}g}" for number in numbers.tolist()]
        if len({*texts}) == len(texts):
            return texts
    return [str(number) for number in numbers.tolist()]


class _BoundDiscreteTime(RowBoundLoss):
    def __init__(
        self, loss: DiscreteTime, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        super().__init__(workers, len(y), weight)
        self._at_risk, self._event = (np.asfortranarray(own) for own in loss.intervals(y))

    def _evaluate(self, score: Matrix) -> tuple[float, Matrix, Matrix]:
        hazard = np.where(self._at_risk, expit(score), 0.0)
        rows = np.where(self._at_risk, np.logaddexp(0.0, score), 0.0)
        losses = (rows - np.where(self._event, score, 0.0)).sum(axis=1)
        return self._sum(losses), hazard - self._event, hazard * (1.0 - hazard)
