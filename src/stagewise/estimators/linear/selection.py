"""Stepwise selection of the features of a linear model.

The search moves from one set of features to the next by adding or removing one feature. A criterion
chooses the best move and decides when to stop. All dummy variables of a categorical feature move
together. The rows are reduced once (`Reduction`), and every set is fitted to the reduction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import fdtrc

from stagewise.linear.least_squares import log_likelihood
from stagewise.linear.reduction import Reduction

__all__ = [
    "Criterion",
    "FoldError",
    "Information",
    "Selection",
    "Significance",
    "Visit",
    "table_of",
]

PERFECT = 1e-24
"""The squared error of a perfect fit, relative to the squares of y: less is rounding."""
BETTER = 1e-10
"""A score is better if it is lower by more than this, relative to its size: less is rounding."""


@dataclass(frozen=True)
class Visit:
    """A set of features on the path of the search.

    Attributes
    ----------
    features : frozenset of int
        The set.
    action, moved : str, int
        "start", "add" or "remove", and the feature that moved (-1 at the start).
    rss, rank : float, int
        The squared error of its fit, and the number of its coefficients.
    p : float
        The p value of the F test of the feature that moved, between the two fits; NaN at the start.
    score : float
        The value of the criterion.
    """

    features: frozenset[int]
    action: str
    moved: int
    rss: float
    rank: int
    p: float
    score: float


class Criterion(Protocol):
    """Chooses the moves of a search."""

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return the score of a set, smaller is better; NaN if only moves are compared."""

    def best(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the move to make, or None to stop."""


@dataclass(frozen=True)
class Selection:
    """A search for features.

    Parameters
    ----------
    reduction : Reduction
        The rows.
    places : sequence of sequences of int
        The columns of each feature.
    direction : {"forward", "backward", "both"}
        Add features to none, remove features from all, or start with none and do both.
    """

    reduction: Reduction
    places: Sequence[Sequence[int]]
    direction: str

    def columns(self, features: frozenset[int]) -> list[int]:
        """Return the columns of some features, in their order."""
        return [place for feature in sorted(features) for place in self.places[feature]]

    def path(self, criterion: Criterion) -> list[Visit]:
        """Search, and return every set on the path."""
        all_features = frozenset(f for f, places in enumerate(self.places) if places)
        begin = all_features if self.direction == "backward" else frozenset[int]()
        rss, rank = self.error(begin)
        now = Visit(begin, "start", -1, rss, rank, math.nan, criterion.score(begin, rss, rank))
        visits, seen = [now], {begin}
        while True:
            moves = list(self._moves(now, all_features, criterion))
            best = criterion.best(now, moves)
            if best is None or best.features in seen:
                return visits
            now = best
            visits.append(now)
            seen.add(now.features)

    def error(self, features: frozenset[int]) -> tuple[float, int]:
        """Return the squared error of a set, at least that of a perfect fit, and the rank."""
        rss, rank = self.reduction.error(self.columns(features))
        return max(rss, PERFECT * self.reduction.squares), rank

    def _moves(
        self, now: Visit, all_features: frozenset[int], criterion: Criterion
    ) -> Iterator[Visit]:
        for feature in sorted(all_features):
            adds = feature not in now.features
            if adds == (self.direction == "backward") and self.direction != "both":
                continue
            features = now.features ^ {feature}
            rss, rank = self.error(features)
            # The feature is collinear, or no residual degrees of freedom would be left.
            if adds and (rank == now.rank or rank >= self.reduction.weight):
                continue
            p = self._p(*((now.rss, now.rank, rss, rank) if adds else (rss, rank, *_of(now))))
            action = "add" if adds else "remove"
            score = criterion.score(features, rss, rank)
            yield Visit(features, action, feature, rss, rank, p, score)

    def _p(self, rss: float, rank: int, rss_more: float, rank_more: int) -> float:
        """Return P(F > f), f = ((rss - rss₁) / (q₁ - q)) / (rss₁ / (N - q₁)) (ESL eq. 3.13)."""
        q, df = rank_more - rank, self.reduction.weight - rank_more
        if q == 0:
            return 1.0
        f = max(0.0, (rss - rss_more) / q) / (rss_more / df) if rss_more > 0 else math.inf
        return float(fdtrc(q, df, f))


def _of(visit: Visit) -> tuple[float, int]:
    return visit.rss, visit.rank


@dataclass(frozen=True)
class Information:
    """AIC or BIC: -2 log likelihood + price · rank, with the price 2 or log N."""

    reduction: Reduction
    price: float

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return the criterion of a fit."""
        scale = self.reduction.target.scale
        return self.price * rank - 2 * log_likelihood(rss, self.reduction.weight, scale)

    def best(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the move to the smallest score, if that is better than the present one."""
        return _least(now, moves)


@dataclass(frozen=True)
class FoldError:
    """The mean squared error of the held-out rows of folds.

    Parameters
    ----------
    selection : Selection
        The search.
    folds : sequence of pairs of Reduction
        The training rows and the held-out rows of each fold.
    """

    selection: Selection
    folds: Sequence[tuple[Reduction, Reduction]]

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return the error, in squares of the unit of y."""
        columns = self.selection.columns(features)
        unit = self.selection.reduction.target.scale
        total = math.fsum(
            held.error_of(learned.fit(columns))
            * (held.target.scale / unit)
            * (held.target.scale / unit)
            for learned, held in self.folds
        )
        mean = total / math.fsum(held.weight for _, held in self.folds)
        return mean * self.selection.reduction.target.loss_unit(2)

    def best(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the move to the smallest score, if that is better than the present one."""
        return _least(now, moves)


def _least(now: Visit, moves: Sequence[Visit]) -> Visit | None:
    best = min(moves, key=lambda move: move.score, default=None)
    if best is None or not best.score < now.score - BETTER * abs(now.score):
        return None
    return best


@dataclass(frozen=True)
class Significance:
    """Features enter with a small p value and are removed with a large one.

    Parameters
    ----------
    enter, remove : float
        The largest p value to enter with, and the largest one to stay with.
    """

    enter: float
    remove: float

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return NaN: only moves have a p value."""
        return math.nan

    def best(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the move that removes a feature, otherwise one that adds one, otherwise None."""
        removed = max(_with(moves, "remove"), key=lambda move: move.p, default=None)
        if removed is not None and removed.p > self.remove:
            return removed
        # If several p values underflow to 0, the smallest error has the smallest p value.
        added = min(_with(moves, "add"), key=lambda move: (move.p, move.rss), default=None)
        return added if added is not None and added.p <= self.enter else None


def _with(moves: Sequence[Visit], action: str) -> list[Visit]:
    return [move for move in moves if move.action == action]


def table_of(visits: Sequence[Visit], selection: Selection, names: Sequence[str]) -> dict[str, Any]:
    """Return a path as a table: a dictionary with a list or an array for each column."""
    reduction = selection.reduction
    fits = [reduction.fit(selection.columns(visit.features)) for visit in visits]
    rss = np.array([visit.rss for visit in visits])
    return {
        "step": np.arange(len(visits)),
        "action": [visit.action for visit in visits],
        "feature": ["" if visit.moved < 0 else names[visit.moved] for visit in visits],
        "n_features": np.array([len(visit.features) for visit in visits]),
        "rank": np.array([visit.rank for visit in visits]),
        "rss": rss * reduction.target.loss_unit(2),
        "r2": np.array([fit.r2 for fit in fits]),
        "adjusted_r2": np.array([fit.adjusted_r2 for fit in fits]),
        "aic": np.array([fit.aic for fit in fits]),
        "bic": np.array([fit.bic for fit in fits]),
        "p": np.array([visit.p for visit in visits]),
        "score": np.array([visit.score for visit in visits]),
    }
