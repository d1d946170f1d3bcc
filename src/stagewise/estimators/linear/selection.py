"""Selection of the features of a linear model: stepwise, or the best set of each size.

A stepwise search moves from one set of features to the next by adding or removing one feature; a
criterion chooses the best move and decides when to stop. A best-subset search finds the set with
the smallest squared error of each size; a criterion chooses the size. All dummy variables of a
categorical feature move together. The rows are reduced once (`Reduction`), and every set is fitted
to the reduction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc

from stagewise.estimators.linear.criteria import (
    Criterion,
    NumberOfFeatures,
    RelativeImprovement,
    Visit,
)
from stagewise.linear.best_subsets import SubsetSearch, count_subsets
from stagewise.linear.reduction import Reduction

__all__ = ["Path", "Selection", "table_of"]

PERFECT = 1e-24
"""The squared error of a perfect fit, relative to the squares of y: less is rounding."""
MAX_SUBSETS = 2**32
"""The largest number of sets among which the best ones are searched: all of 32 features."""
MAX_UNBOUNDED = 2**20
"""The same if all columns together fit perfectly: then no set can be left out early."""


@dataclass(frozen=True)
class Path:
    """The sets of a search, and the position of the selected one."""

    visits: list[Visit]
    selected: int

    @property
    def features(self) -> frozenset[int]:
        """The selected features."""
        return self.visits[self.selected].features


@dataclass(frozen=True)
class Selection:
    """A search for features.

    Parameters
    ----------
    reduction : Reduction
        The rows.
    places : sequence of sequences of int
        The columns of each feature.
    direction : {"forward", "backward", "both", "best_subset"}
        Add features to none, remove features from all, start with none and do both, or find the
        best set of each size.
    """

    reduction: Reduction
    places: Sequence[Sequence[int]]
    direction: str

    def columns(self, features: frozenset[int]) -> list[int]:
        """Return the columns of some features, in their order."""
        return [place for feature in sorted(features) for place in self.places[feature]]

    def path(self, criterion: Criterion, max_size: int | None = None) -> Path:
        """Search, and return every set on the path.

        Parameters
        ----------
        criterion : Criterion
            Chooses the moves, or the size of the best subset.
        max_size : int or None
            For "best_subset": the largest number of features; None: all.
        """
        if self.direction == "best_subset":
            visits = self._best_subsets(criterion, max_size)
            return Path(visits, criterion.choose(visits))
        visits = self._stepwise(criterion, self.direction)
        return Path(visits, len(visits) - 1)

    @property
    def _all_features(self) -> frozenset[int]:
        return frozenset(f for f, places in enumerate(self.places) if places)

    @property
    def _has_residuals(self) -> bool:
        """Whether the fit of all columns leaves residual degrees of freedom."""
        return self.error(self._all_features)[1] < self.reduction.weight

    def _stepwise(self, criterion: Criterion, direction: str) -> list[Visit]:
        begin = self._all_features if direction == "backward" else frozenset[int]()
        now = self._visit(begin, "start", criterion)
        visits, seen = [now], {begin}
        while True:
            moves = list(self._moves(now, direction, criterion))
            best = criterion.preferred(now, moves)
            if best is None or not criterion.accepts(now, best) or best.features in seen:
                return visits
            now = best
            visits.append(now)
            seen.add(now.features)

    def _best_subsets(self, criterion: Criterion, max_size: int | None) -> list[Visit]:
        """Return the set with the smallest squared error of each size."""
        n = len(self._all_features)
        most = n if max_size is None else min(n, max_size)
        self._check_feasible(n, most)
        # Forward selection finds a good set of each size, and which sizes there are.
        by_error = RelativeImprovement(self.reduction, 0.0)
        forward = self._stepwise(NumberOfFeatures(by_error, most), "forward")
        most = len(forward) - 1
        start = {visit.features: visit.rss for visit in forward}
        if self._has_residuals:
            backward = self._stepwise(NumberOfFeatures(by_error, 1), "backward")
            start |= {visit.features: visit.rss for visit in backward}
        best = SubsetSearch(self.reduction, self.places, most).run(start)
        sets = [best[size] for size in range(1, most + 1)]
        empty = self._visit(frozenset(), "start", criterion)
        return [empty, *(self._visit(features, "best_subset", criterion) for features in sets)]

    def _visit(self, features: frozenset[int], action: str, criterion: Criterion) -> Visit:
        rss, rank = self.error(features)
        score = criterion.score(features, rss, rank)
        return Visit(features, action, -1, rss, rank, math.nan, score)

    def _check_feasible(self, n: int, max_size: int) -> None:
        """Raise ValueError if there are too many sets to search."""
        sets, bounded = count_subsets(n, max_size), self._has_residuals
        limit = MAX_SUBSETS if bounded else MAX_UNBOUNDED
        if sets <= limit:
            return
        largest = max(k for k in range(n) if count_subsets(n, k) <= limit)
        why = "" if bounded else f", because {self.reduction.weight:g} rows fit perfectly with all"
        raise ValueError(
            f"direction='best_subset' has {sets:,} sets of at most {max_size} of {n} features to "
            f"search, and at most {limit:,} are feasible{why}. Set n_features_to_select to at most "
            f"{largest}, pass fewer columns, or use direction='both'."
        )

    def error(self, features: frozenset[int]) -> tuple[float, int]:
        """Return the squared error of a set, at least that of a perfect fit, and the rank."""
        rss, rank = self.reduction.error(self.columns(features))
        return max(rss, PERFECT * self.reduction.squares), rank

    def _moves(self, now: Visit, direction: str, criterion: Criterion) -> Iterator[Visit]:
        for feature in sorted(self._all_features):
            adds = feature not in now.features
            if adds == (direction == "backward") and direction != "both":
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


def table_of(path: Path, selection: Selection, names: Sequence[str]) -> dict[str, Any]:
    """Return a path as a table: a dictionary with a list or an array for each column."""
    reduction, visits = selection.reduction, path.visits
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
        "features": [[names[f] for f in sorted(visit.features)] for visit in visits],
        "selected": np.arange(len(visits)) == path.selected,
    }
