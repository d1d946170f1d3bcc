"""Competing risks: events of several kinds, of which only the first is observed."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers
from stagewise.elementary import portable_exp
from stagewise.exact_sums import sum_rows
from stagewise.kaplan_meier import KaplanMeier, step_values
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.scores import Matrix, Vector
from stagewise.losses.survival.base import RowBoundLoss, SurvivalLoss
from stagewise.losses.survival.baseline import Baseline
from stagewise.losses.survival.cox import CoxTerms, risk_sets, terms_at
from stagewise.validation.arguments import check_argument
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.rules import Number

__all__ = ["CauseSpecific", "CompetingRisksLoss", "FineGray"]

LARGEST_RATIO, LEAST_SUM = 250.0, 1e-140
"""Scores that are lower than the largest one by more than this are raised to that distance; sums
over risk sets are at least the second one, so that inverse squares are finite."""


class CompetingRisksLoss(SurvivalLoss):
    """The base class of losses with events of several kinds."""

    largest_offset = 60.0

    def cumulative_incidence(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        """Return P(T ≤ t, event of each cause), shape (n_rows, n_causes, n_times)."""
        raise NotImplementedError

    @property
    def causes(self) -> list[int]:
        """The codes of the events that are predicted."""
        raise NotImplementedError


class CauseSpecific(CompetingRisksLoss):
    """Cause-specific hazards: one partial likelihood for each kind of event.

    Domain: times with the event codes 1, …, K, censored rows, entry times and strata. Link: F_k is
    the log of the hazard ratio of cause k. There is one score for each cause.

        L = Σ_k L_Cox(y_k, F_k)        with events of other causes as censored

    The cumulative incidence of cause k is Σ (S(t-) - S(t)) h_k(t) / Σ_j h_j(t), S from the hazards
    of all causes, so that incidences and S add up to 1.
    Hessian: as of `Cox`.

    Parameters
    ----------
    ties : {"efron", "breslow"}, default="efron"
        As of `Cox`.
    """

    name = "cause_specific"
    parameter_names = ("ties",)
    supported = frozenset({"entry", "event", "stratum"})
    remedies: ClassVar[Mapping[str, str]] = {
        "upper": "Use the loss 'aft' for one kind of event, which has intervals."
    }

    def __init__(self, ties: str = "efron") -> None:
        if ties not in ("efron", "breslow"):
            raise ValueError(f"ties must be 'efron' or 'breslow'; got {ties!r}.")
        self.ties = ties
        self.baselines: tuple[Baseline, ...] = ()
        self.n_outputs = 2

    def _of_causes(self, n_causes: int) -> CauseSpecific:
        """Return the loss with a score for each of so many causes."""
        found = copy(self)
        found.n_outputs = n_causes
        found.output_names = found.prediction_names = tuple(f"event_{k}" for k in found.causes)
        return found

    def of_rows(self, y: npt.NDArray[Any], weight: Vector | None) -> CauseSpecific:
        """Return the loss with one output for each event code."""
        counts = np.bincount(y["event"].astype(np.intp), minlength=2)[1:]
        if not counts.any():
            self.check(y)  # all rows are censored
        if len(counts) == 1:
            raise ValueError(
                "The loss 'cause_specific' needs events of several causes, with the codes 1, 2, …; "
                "y has only events of code 1. Use the loss 'cox' for one cause."
            )
        absent = [k + 1 for k in np.flatnonzero(counts == 0).tolist()]
        if absent:
            warn_caller(
                f"y has no event with the code {short_repr(absent).strip('[]')}, so the predicted "
                "incidence of this cause is 0. Number the causes 1, 2, … without gaps."
            )
        return self._of_causes(len(counts))

    def continuing(self, known: SurvivalLoss) -> CauseSpecific:
        found = copy(self)
        found.n_outputs = known.n_outputs
        return found

    def check(self, y: npt.NDArray[Any]) -> None:
        super().check(y)
        largest = int(y["event"].max())
        if largest > self.n_outputs:
            raise ValueError(
                f"y has the event code {largest}, but the events of the training rows have the "
                f"codes 1 to {self.n_outputs}. Leave such rows out, or make them censored (0)."
            )

    @property
    def causes(self) -> list[int]:
        return list(range(1, self.n_outputs + 1))

    def _terms(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> list[tuple[CoxTerms, Vector, Vector]]:
        scores = np.asarray(score)
        return [
            terms_at(risk_sets(y, weight, cause), self.ties, scores[:, cause - 1])
            for cause in self.causes
        ]

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        pairs = zip(self._terms(y, None, score), np.asarray(score).T, strict=True)
        return np.asarray(sum(terms.row_losses(own) for (terms, _, _), own in pairs))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        each = self._terms(y, None, score)
        return np.column_stack([g for _, g, _ in each]), np.column_stack([h for _, _, h in each])

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.zeros(self.n_outputs)

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        return np.zeros(self.n_outputs)

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _BoundCauses(self, workers, y, weight)

    def learn(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the cumulative baseline hazard of each cause, by stratum."""
        found: dict[str, Vector] = {"causes": np.array([float(self.n_outputs)])}
        for cause, (terms, _, _) in zip(self.causes, self._terms(y, weight, score), strict=True):
            found |= terms.baseline().arrays(f"cause_{cause}.")
        return found

    def with_learned(self, learned: Mapping[str, npt.NDArray[np.float64]]) -> CauseSpecific:
        found = self._of_causes(int(learned["causes"][0]))
        found.baselines = tuple(Baseline.read(learned, f"cause_{cause}.") for cause in found.causes)
        return found

    @property
    def grid(self) -> Vector:
        return np.unique(np.concatenate([own.times for own in self.baselines]))

    def _hazards(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        """Return the cumulative hazard of each cause, shape (n_rows, n_causes, n_times)."""
        each = [own.at(stratum, times) for own in self.baselines]
        return np.asarray(np.stack(each, axis=1) * np.exp(score)[:, :, np.newaxis])

    def cumulative_hazard(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        return np.asarray(self._hazards(score, stratum, times).sum(axis=1))

    def cumulative_incidence(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        grid = self.grid
        hazards = self._hazards(score, stratum, grid)
        survival = np.exp(-hazards.sum(axis=1))
        before = np.concatenate([np.ones((len(score), 1)), survival[:, :-1]], axis=1)
        steps = np.diff(hazards, axis=2, prepend=0.0)
        # An event of any cause at a time has the probability 1 - e^-Σ h, shared by the hazards.
        whole = steps.sum(axis=1)
        fall = np.where(whole > 0.0, -np.expm1(-whole) / np.where(whole > 0.0, whole, 1.0), 0.0)
        incidence = np.cumsum(steps * (before * fall)[:, np.newaxis, :], axis=2)
        return step_values(grid, incidence, times)


class _BoundCauses(RowBoundLoss):
    def __init__(
        self,
        loss: CauseSpecific,
        workers: Workers,
        y: npt.NDArray[Any],
        weight: Vector | None,
    ) -> None:
        super().__init__(workers, len(y), weight)
        self._terms = [CoxTerms(risk_sets(y, weight, k), loss.ties) for k in loss.causes]
        shape = 2, len(self._terms), len(y)
        self._gradient, self._hessian = (own.T for own in np.zeros(shape))

    def _evaluate(self, score: Matrix) -> tuple[float, Matrix, Matrix]:
        gradient, hessian = self._gradient, self._hessian
        value = 0.0
        for k, terms in enumerate(self._terms):
            own = score[:, k], gradient[:, k], hessian[:, k]
            value += terms.evaluate(self._workers, *own)
        return value, gradient, hessian


class FineGray(CompetingRisksLoss):
    """Fine and Gray's partial likelihood of subdistribution hazards (1999).

    Domain: times with the event codes 1, …, K, and censored rows. Link: F is the log of the ratio
    of subdistribution hazards of one cause; the cumulative incidence of this cause is
    1 - e^(-H_0(t) e^F).

        L = Σ_events log Σ_j w_j(t) e^F_j - F_i,
        w_j(t) = 1 at risk at t;  G(t-) / G(t_j-) after another event at t_j < t;  0 else

    G is the Kaplan-Meier estimate of the time of censoring. Tied events are handled by Breslow's
    method. Hessian: the exact diagonal.

    Parameters
    ----------
    cause : int, default=1
        The code of the events that are predicted.
    """

    name = "fine_gray"
    parameter_names = ("cause",)
    supported = frozenset({"event"})
    remedies: ClassVar[Mapping[str, str]] = {
        "entry": "Use loss='cause_specific', which has entry times.",
        "upper": "Use the loss 'aft' for one kind of event, which has intervals.",
        "stratum": "Make the stratum a feature, or use loss='cause_specific'.",
    }

    def __init__(self, cause: int = 1) -> None:
        self.cause: int = check_argument("cause", Number(1, whole=True), cause)
        self.learned: Baseline | None = None

    @property
    def causes(self) -> list[int]:
        return [self.cause]

    def check(self, y: npt.NDArray[Any]) -> None:
        super().check(y)
        if not (y["event"] == self.cause).any():
            codes = ", ".join(map(str, np.unique(y["event"]).tolist()))
            raise ValueError(
                f"No row has an event of the cause {self.cause}; the codes in y are {codes}. Set "
                "cause to one of them."
            )

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        sets = _Subdistribution(y, None, self.cause)
        return sets.terms(np.asarray(score).reshape(-1)).row_losses()

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        sets = _Subdistribution(y, None, self.cause)
        return sets.terms(np.asarray(score).reshape(-1)).derivatives()

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.zeros(1)

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        return np.zeros(1)

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _BoundFineGray(self, workers, y, weight)

    def learn(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the cumulative baseline subdistribution hazard."""
        sets = _Subdistribution(y, weight, self.cause)
        found = sets.terms(np.asarray(score).reshape(-1)).baseline().arrays()
        return {**found, "cause": np.array([float(self.cause)])}

    def with_learned(self, learned: Mapping[str, npt.NDArray[np.float64]]) -> FineGray:
        found = copy(self)
        found.cause, found.learned = int(learned["cause"][0]), Baseline.read(learned)
        return found

    @property
    def grid(self) -> Vector:
        if self.learned is None:
            raise ValueError("The baseline hazard is learned by a fit, and this loss has none.")
        return self.learned.times

    def cumulative_hazard(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        """Return the cumulative subdistribution hazard."""
        steps = step_values(self.grid, self.learned.hazard, times)  # type: ignore[union-attr]
        return np.asarray(steps * np.exp(np.asarray(score).reshape(-1, 1)))

    def cumulative_incidence(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        hazard = self.cumulative_hazard(score, stratum, times)
        return np.asarray(-np.expm1(-hazard)[:, np.newaxis, :])


class _Subdistribution:
    """The risk sets of Fine and Gray: rows with another event stay, with falling weights."""

    def __init__(self, y: npt.NDArray[Any], weight: Vector | None, cause: int) -> None:
        self.rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0.0)
        own = y[self.rows]
        self.weight = np.ones(len(own)) if weight is None else weight[self.rows]
        time, event = np.ascontiguousarray(own["time"]), own["event"]
        self.is_event, other = event == cause, (event > 0) & (event != cause)
        censoring = KaplanMeier.of(None, time, event > 0, self.weight, censoring=True)
        self.times = np.unique(time[self.is_event])
        self.last = np.searchsorted(self.times, time, "right")
        self.g = censoring.before(self.times)
        self.stays = np.where(other, 1.0 / np.maximum(censoring.before(time), 1e-12), 0.0)
        at = self.last[self.is_event] - 1
        deaths = np.bincount(at, self.weight[self.is_event], minlength=len(self.times))
        self.deaths: Vector = deaths.astype(np.float64)

    def terms(self, score: Vector) -> _FineGrayTerms:
        """Return the terms of the likelihood at scores of all rows."""
        return _FineGrayTerms(self, score[self.rows])


class _FineGrayTerms:
    def __init__(self, sets: _Subdistribution, score: Vector) -> None:
        self.sets, self._score, n = sets, score, len(sets.times)
        self.shift = float(score.max(initial=-np.inf))
        self.relative = portable_exp(np.maximum(score - self.shift, -LARGEST_RATIO))
        own = self.relative * sets.weight
        leaving = np.bincount(sets.last, own, minlength=n + 1)
        staying = np.bincount(sets.last, own * sets.stays, minlength=n + 1)
        total = np.cumsum(leaving[::-1])[::-1][1:] + sets.g * np.cumsum(staying)[:n]
        total = np.maximum(total, LEAST_SUM)
        self.total = total
        self.hazard, self.squared = sets.deaths / total, sets.deaths / total**2

    def loss(self) -> float:
        own = (self._score - self.shift)[self.sets.is_event]
        whole = sum_rows(self.sets.deaths * np.log(self.total))
        return whole - sum_rows(own, self.sets.weight[self.sets.is_event])

    def row_losses(self) -> Vector:
        sets, losses = self.sets, np.zeros(len(self._score))
        at = sets.last[sets.is_event] - 1
        losses[sets.is_event] = np.log(self.total)[at] - (self._score - self.shift)[sets.is_event]
        return losses

    def derivatives(self) -> tuple[Vector, Vector]:
        sets = self.sets

        def reached(steps: Vector, power: float) -> Vector:
            until = np.concatenate([[0.0], np.cumsum(steps)])[sets.last]
            later = np.cumsum((steps * sets.g**power)[::-1])[::-1]
            after = np.append(later, 0.0)[sets.last]
            return np.asarray(until + sets.stays**power * after)

        expected = self.relative * reached(self.hazard, 1.0)
        hessian = expected - self.relative**2 * reached(self.squared, 2.0)
        return expected - sets.is_event, np.maximum(hessian, 0.0)

    def baseline(self) -> Baseline:
        hazard = np.cumsum(self.hazard) * float(portable_exp(np.array(-self.shift)))
        return Baseline(self.sets.times, hazard, np.zeros(len(hazard)))


class _BoundFineGray(RowBoundLoss):
    def __init__(
        self, loss: FineGray, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        super().__init__(workers, len(y), weight)
        self._sets, self._n = _Subdistribution(y, weight, loss.cause), len(y)

    def _evaluate(self, score: Matrix) -> tuple[float, Matrix, Matrix]:
        terms = self._sets.terms(np.ascontiguousarray(score[:, 0]))
        gradient, hessian = np.zeros(self._n), np.zeros(self._n)
        gradient[self._sets.rows], hessian[self._sets.rows] = terms.derivatives()
        return terms.loss(), gradient, hessian
