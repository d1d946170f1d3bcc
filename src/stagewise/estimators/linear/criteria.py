"""Criteria of the selection of features: which set is better, and when a search stops.

A stepwise search takes the move that its criterion prefers, as long as the criterion accepts it. A
best-subset search has one set of each size, and the criterion chooses one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from stagewise.linear.best_subsets import BETTER
from stagewise.linear.least_squares import log_likelihood
from stagewise.linear.reduction import Reduction

__all__ = [
    "Criterion",
    "FoldError",
    "Information",
    "NumberOfFeatures",
    "RelativeImprovement",
    "Significance",
    "Visit",
]


@dataclass(frozen=True)
class Visit:
    """A set of features on the path of the search.

    Attributes
    ----------
    features : frozenset of int
        The set.
    action, moved : str, int
        "start", "add", "remove" or "best_subset", and the feature that moved (-1: none).
    rss, rank : float, int
        The squared error of its fit, and the number of its coefficients.
    p : float
        The p value of the F test of the feature that moved, between the two fits; NaN if none did.
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
    """Compares sets of features."""

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return the score of a set, smaller is better; NaN if only moves are compared."""

    def preferred(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the best move, or None without moves."""

    def accepts(self, now: Visit, move: Visit) -> bool:
        """Return whether to make the preferred move; if not, the search stops."""

    def choose(self, visits: Sequence[Visit]) -> int:
        """Return the position of the chosen set among the best sets of size 0, 1, 2, …."""


class _Score:
    """A criterion that minimises the score of sets."""

    def preferred(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the move to the smallest score."""
        return min(moves, key=lambda move: move.score, default=None)

    def accepts(self, now: Visit, move: Visit) -> bool:
        """Return whether the score is better than the present one."""
        return move.score < now.score - BETTER * abs(now.score)

    def choose(self, visits: Sequence[Visit]) -> int:
        """Return the position of the smallest score; of equal ones the first."""
        best = 0
        for place, visit in enumerate(visits):
            if self.accepts(visits[best], visit):
                best = place
        return best


@dataclass(frozen=True)
class Information(_Score):
    """AIC or BIC: -2 log likelihood + price · rank, with the price 2 or log N."""

    reduction: Reduction
    price: float

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return the criterion of a fit."""
        scale = self.reduction.target.scale
        return self.price * rank - 2 * log_likelihood(rss, self.reduction.weight, scale)


@dataclass(frozen=True)
class FoldError(_Score):
    """The mean squared error of the held-out rows of folds.

    Parameters
    ----------
    reduction : Reduction
        All rows.
    columns : callable
        Returns the columns of a set of features.
    folds : sequence of pairs of Reduction
        The training rows and the held-out rows of each fold.
    """

    reduction: Reduction
    columns: Callable[[frozenset[int]], list[int]]
    folds: Sequence[tuple[Reduction, Reduction]]

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return the error, in squares of the unit of y."""
        columns, unit = self.columns(features), self.reduction.target.scale
        total = math.fsum(
            held.error_of(learned.fit(columns))
            * (held.target.scale / unit)
            * (held.target.scale / unit)
            for learned, held in self.folds
        )
        mean = total / math.fsum(held.weight for _, held in self.folds)
        return mean * self.reduction.target.loss_unit(2)


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

    def preferred(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the move that removes a feature, if it is accepted, otherwise one that adds one.

        Without moves that add a feature, the best one that removes a feature is returned.
        """
        # If several p values are 0 or 1, the smallest error decides.
        removed = min(_with(moves, "remove"), key=lambda m: (-m.p, m.rss), default=None)
        added = min(_with(moves, "add"), key=lambda m: (m.p, m.rss), default=None)
        return removed if added is None or (removed and self.accepts(now, removed)) else added

    def accepts(self, now: Visit, move: Visit) -> bool:
        """Return whether the p value is small enough to enter, or large enough to be removed."""
        return move.p <= self.enter if move.action == "add" else move.p > self.remove

    def choose(self, visits: Sequence[Visit]) -> int:
        """Raise TypeError: the best sets of two sizes need not be nested."""
        raise TypeError("p values compare nested sets only")


@dataclass(frozen=True)
class RelativeImprovement:
    """Features enter while they lower the squared error by more than a fraction of it.

    The improvement by a feature is 1 - rss₁ / rss, of the sets with and without it. A feature is
    removed if its improvement is at most the fraction.

    Parameters
    ----------
    reduction : Reduction
        The rows.
    tol : float
        The fraction.
    """

    reduction: Reduction
    tol: float

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return the residual sum of squares, in squares of the unit of y."""
        return rss * self.reduction.target.loss_unit(2)

    def preferred(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the move that removes a feature, if it is accepted, otherwise one that adds one.

        Without moves that add a feature, the best one that removes a feature is returned.
        """
        removed = min(_with(moves, "remove"), key=lambda m: m.rss, default=None)
        added = min(_with(moves, "add"), key=lambda m: m.rss, default=None)
        return removed if added is None or (removed and self.accepts(now, removed)) else added

    def accepts(self, now: Visit, move: Visit) -> bool:
        """Return whether a feature that enters matters, or one that is removed does not."""
        if move.action == "remove":
            return not self._matters(move, now)
        return self._matters(now, move)

    def choose(self, visits: Sequence[Visit]) -> int:
        """Return the first position after which the next set is not much better."""
        for place in range(len(visits) - 1):
            if not self._matters(visits[place], visits[place + 1]):
                return place
        return len(visits) - 1

    def _matters(self, fewer: Visit, more: Visit) -> bool:
        if not fewer.rss > 0:
            return False
        return 1.0 - more.rss / fewer.rss > max(self.tol, BETTER)


@dataclass(frozen=True)
class NumberOfFeatures:
    """Another criterion with a given number of features in place of its stopping rule.

    Parameters
    ----------
    criterion : Criterion
        The criterion that compares the moves.
    n_features : int
        The number of features to select.
    """

    criterion: Criterion
    n_features: int

    def score(self, features: frozenset[int], rss: float, rank: int) -> float:
        """Return the score of the criterion."""
        return self.criterion.score(features, rss, rank)

    def preferred(self, now: Visit, moves: Sequence[Visit]) -> Visit | None:
        """Return the move that the criterion prefers."""
        return self.criterion.preferred(now, moves)

    def accepts(self, now: Visit, move: Visit) -> bool:
        """Return whether the present set does not have the number of features."""
        return len(now.features) != self.n_features

    def choose(self, visits: Sequence[Visit]) -> int:
        """Return the position of the set with the number of features, otherwise the last."""
        return min(self.n_features, len(visits) - 1)


def _with(moves: Sequence[Visit], action: str) -> list[Visit]:
    return [move for move in moves if move.action == action]
