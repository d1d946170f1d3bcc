"""Cox's partial likelihood: the score is the log of a hazard, up to a factor of time alone."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers
from stagewise.elementary import portable_exp
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import NativeBoundLoss
from stagewise.losses.scores import Matrix, Vector
from stagewise.losses.survival.base import ONE_KIND, SurvivalLoss
from stagewise.losses.survival.baseline import Baseline
from stagewise.losses.survival.risk_sets import RiskSets

__all__ = ["Cox", "CoxTerms", "risk_sets", "terms_at"]


class CoxTerms:
    """The terms of a partial likelihood at some scores.

    Parameters
    ----------
    sets : RiskSets
        The risk sets.
    ties : {"efron", "breslow"}
        See `Cox`.
    """

    def __init__(self, sets: RiskSets, ties: str) -> None:
        self.sets, self._loss = sets, sets.loss(ties)

    def evaluate(self, workers: Workers, score: Vector, gradient: Vector, hessian: Vector) -> float:
        """Return minus the log of the partial likelihood, and set its derivatives.

        Parameters
        ----------
        workers : Workers
            The threads.
        score : float64 array
            The scores of all rows.
        gradient, hessian : float64 array
            Get the derivatives of each row, as if it had the weight 1; those of rows of weight 0
            stay as they are.
        """
        return self._loss.evaluate(workers, score, gradient, hessian)

    def row_losses(self, score: Vector) -> Vector:
        """Return the terms of the events, and 0 for other rows; tied events share theirs."""
        sets, losses = self.sets, np.zeros(len(score))
        shared = self._loss.log_risk() / sets.deaths
        rows = sets.rows[sets.is_event]
        losses[rows] = shared[sets.at] - (score[rows] - self._loss.shift)
        return losses

    def baseline(self) -> Baseline:
        """Return the cumulative baseline hazard of each stratum."""
        sets = self.sets
        scale = float(portable_exp(np.array(-self._loss.shift)))
        hazard = self._loss.cumulative_hazard() * scale
        return Baseline(sets.time, hazard, sets.stratum.astype(np.float64))


def terms_at(sets: RiskSets, ties: str, score: Vector) -> tuple[CoxTerms, Vector, Vector]:
    """Return the terms of a partial likelihood at some scores, and its derivatives."""
    terms, own = CoxTerms(sets, ties), np.ascontiguousarray(score, dtype=np.float64)
    gradient, hessian = np.zeros(len(own)), np.zeros(len(own))
    terms.evaluate(Workers(1), own, gradient, hessian)
    return terms, gradient, hessian


def risk_sets(y: npt.NDArray[Any], weight: Vector | None, cause: int | None = None) -> RiskSets:
    """Return the risk sets of times; events of another cause are censored."""
    is_event = y["event"] > 0 if cause is None else y["event"] == cause
    entry, time = (np.ascontiguousarray(y[name]) for name in ("entry", "time"))
    return RiskSets.of(entry, time, is_event, y["stratum"], weight)


class Cox(SurvivalLoss):
    """Minus the log of Cox's partial likelihood (Cox 1972): hazards h(t | x) = h_0(t) e^F(x).

    Domain: times with events, censored rows, entry times and strata. Link: F is the log of the
    hazard ratio.

        L = Σ_events log Σ_{j at risk} w_j e^F_j - F_i
        ∂L/∂F_i = e^F_i H_0(t_i) - event_i,    H_0(t) = Σ_{events until t} 1 / Σ_{at risk} w_j e^F_j

    A row is compared with the rows of its stratum that are at risk when it has the event: entry <
    t ≤ time. The weights of rows are frequencies. Hessian: the exact diagonal,
    e^F H_0 - e^2F Σ 1 / (Σ w e^F)², of rows that are counted one by one.

    Parameters
    ----------
    ties : {"efron", "breslow"}, default="efron"
        Several events at one time: as if they came one after the other in random order (Efron
        1977), or all compared with the same rows at risk (Breslow 1974).
    """

    name = "cox"
    parameter_names = ("ties",)
    supported = frozenset({"entry", "stratum"})
    largest_offset = 60.0
    remedies: ClassVar[Mapping[str, str]] = {
        "upper": "Use loss='aft', which has intervals.",
        "event": ONE_KIND,
    }

    def __init__(self, ties: str = "efron") -> None:
        if ties not in ("efron", "breslow"):
            raise ValueError(f"ties must be 'efron' or 'breslow'; got {ties!r}.")
        self.ties = ties
        self.learned: Baseline | None = None

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        """Return for each event the log of its share of the hazards at risk; 0 for other rows."""
        own = np.asarray(score).reshape(-1)
        return terms_at(risk_sets(y, None), self.ties, own)[0].row_losses(own)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        return terms_at(risk_sets(y, None), self.ties, np.asarray(score).reshape(-1))[1:]

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.zeros(1)

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        return np.zeros(1)

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _BoundCox(self, workers, y, weight)

    def learn(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the cumulative baseline hazard of each stratum at its event times."""
        own = np.asarray(score).reshape(-1)
        return terms_at(risk_sets(y, weight), self.ties, own)[0].baseline().arrays()

    def with_learned(self, learned: Mapping[str, npt.NDArray[np.float64]]) -> Cox:
        found = copy(self)
        found.learned = Baseline.read(learned)
        return found

    @property
    def baseline(self) -> Baseline:
        """The baseline hazard; it is learned."""
        if self.learned is None:
            raise ValueError("The baseline hazard is learned by a fit, and this loss has none.")
        return self.learned

    @property
    def grid(self) -> Vector:
        return np.unique(self.baseline.times)

    def cumulative_hazard(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        base = self.baseline.at(stratum, times)
        return np.asarray(base * np.exp(np.asarray(score).reshape(-1, 1)))


class _BoundCox(NativeBoundLoss):
    def __init__(
        self, loss: Cox, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        own = risk_sets(y, weight).loss(loss.ties)
        super().__init__(workers, own.row_loss(workers, len(y), weight))
