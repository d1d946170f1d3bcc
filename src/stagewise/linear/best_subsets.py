"""Best subset selection: for each number of features the set with the smallest squared error.

All sets are searched by branch and bound. A branch adds features in a fixed order to a set; the
squared error of the set with all features that may still be added is a lower bound of the branch,
so a branch is left out if that bound is not below the smallest error found so far (Furnival &
Wilson 1974, *Regressions by leaps and bounds*). Features with a large effect come first, so that
sets without them are left out early. The search computes with cross products of the reduced
columns; the caller computes the exact error of the sets that are found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.linear.reduction import Reduction

__all__ = ["BETTER", "SubsetSearch", "count_subsets"]

Vector = npt.NDArray[np.float64]
Array = npt.NDArray[np.float64]
Sets = npt.NDArray[np.bool_]

SMALLEST_PIVOT = 1e-10
"""The smallest 1 - R² of a column and those of a set; below, the column is linearly dependent."""
BETTER = 1e-10
"""A value is better if it is lower by more than this, relative to its size: less is rounding."""
NOISE = 1e-13
"""The rounding error of the search, relative to the squares of y."""
CELLS = 2**16
"""The number of cross products of the branches that are divided together."""


def count_subsets(n_features: int, max_size: int) -> int:
    """Return the number of sets with at most `max_size` of some features."""
    return sum(math.comb(n_features, size) for size in range(max_size + 1))


@dataclass(eq=False)
class Branches:
    """Sets that end with the same feature, each with what is left of the later columns.

    Attributes
    ----------
    sets : bool array of shape (n, n_features)
        The features of each set, in the order of the search.
    rank : int array of shape (n,)
        The number of linearly independent columns of each set, the intercept included.
    products : float64 array of shape (n, m + 1, m + 1)
        The cross products of the columns of later features and, last, of the target, each minus
        its projection on the columns of the set.
    """

    sets: Sets
    rank: npt.NDArray[np.intp]
    products: Array

    def part(self, rows: slice | Sets) -> Branches:
        """Return some of the branches."""
        return Branches(self.sets[rows], self.rank[rows], self.products[rows])


class SubsetSearch:
    """A search for the best set of each size.

    Parameters
    ----------
    reduction : Reduction
        The rows.
    places : sequence of sequences of int
        The columns of each feature; they are in a set together.
    max_size : int
        The largest number of features of a set.
    """

    def __init__(
        self, reduction: Reduction, places: Sequence[Sequence[int]], max_size: int
    ) -> None:
        self.reduction, self.max_size = reduction, max_size
        self._features = [f for f, own in enumerate(places) if own]
        self._order = self._by_effect(places)
        columns = [place for feature in self._order for place in places[feature]]
        sizes = [len(places[feature]) for feature in self._order]
        self._ends = np.cumsum([0, *sizes])
        self._root = _cross_products(reduction, columns)
        self._floor = SMALLEST_PIVOT * np.diag(self._root)[:-1]
        self._best = np.full(max_size + 1, np.inf)
        self._sets: dict[int, frozenset[int]] = {}

    def _by_effect(self, places: Sequence[Sequence[int]]) -> list[int]:
        """Return the features; the removal of the first from all raises the error most."""

        def error(without: int) -> float:
            columns = [c for f in self._features if f != without for c in places[f]]
            return self.reduction.error(columns)[0]

        return sorted(self._features, key=lambda feature: -error(feature))

    def run(self, start: Mapping[frozenset[int], float]) -> dict[int, frozenset[int]]:
        """Return the best set of each size from 1 to `max_size`.

        Parameters
        ----------
        start : mapping of sets to their squared errors
            Sets to begin with, at least one of each size: the better they are, the more branches
            are left out.
        """
        for features, rss in start.items():
            size = len(features)
            if 0 < size <= self.max_size and rss < self._best[size]:
                self._best[size], self._sets[size] = rss, features
        n = len(self._order)
        stacks: list[list[Branches]] = [[] for _ in range(n + 1)]
        root_rank = np.full(1, int(self.reduction.intercept), dtype=np.intp)
        stacks[0].append(Branches(np.zeros((1, n), dtype=bool), root_rank, self._root[np.newaxis]))
        while True:
            # The branches with the fewest later features first: few are stored at a time.
            first = next((i for i in range(n - 1, -1, -1) if stacks[i]), None)
            if first is None:
                return self._sets
            branches = stacks[first].pop()
            room = max(1, CELLS // branches.products[0].size)
            if len(branches.sets) > room:
                stacks[first].append(branches.part(slice(room, None)))
                branches = branches.part(slice(0, room))
            for feature, children in self._divide(branches, first):
                stacks[feature + 1].append(children)

    def _divide(self, branches: Branches, first: int) -> list[tuple[int, Branches]]:
        """Record the sets with one more feature, and return those to divide further."""
        found, n = [], len(self._order)
        bound, size = self._bounds(branches, first), branches.sets.sum(axis=1)
        for feature in range(first, n):
            own = bound[:, feature - first]
            open_ = own < self._reach(size + 1)
            if not open_.any():
                break  # the bounds of later features are larger
            children = self._add(branches.part(open_), first, feature)
            allowed = children.rank > 0
            self._record(children.part(allowed))
            deeper = allowed & (own[open_] < self._reach(size[open_] + 2))
            if feature + 1 < n and deeper.any():
                found.append((feature, children.part(deeper)))
        return found

    def _reach(self, size: npt.NDArray[np.intp]) -> Vector:
        """Return the error below which a set of this size or a larger one may be better."""
        largest = np.maximum.accumulate(self._best[::-1])[::-1]
        return self._threshold(np.append(largest, [-np.inf, -np.inf])[size])

    def _threshold(self, best: Vector) -> Vector:
        """Return the errors below which a set is better than the best ones."""
        return np.minimum(best * (1.0 - BETTER), best - NOISE * self.reduction.squares)

    def _bounds(self, branches: Branches, first: int) -> Array:
        """Return the error of each set with feature j and all later ones, shape (n, n_later)."""
        # The target comes first, so that the columns before one are a slice with the target.
        products = np.roll(branches.products, 1, axis=(1, 2))
        shift, n = 1 - self._ends[first], len(self._order)
        out = np.empty((len(products), n - first))
        for feature in range(n - 1, first - 1, -1):
            for column in range(self._ends[feature + 1] - 1, self._ends[feature] - 1, -1):
                place = int(column + shift)
                _eliminate(products, place, slice(0, place), self._floor[column])
            out[:, feature - first] = products[:, 0, 0]
        return out

    def _add(self, branches: Branches, first: int, feature: int) -> Branches:
        """Return each set with one more feature; rank 0 marks sets that are not allowed."""
        begin, end = self._ends[feature], self._ends[feature + 1]
        later = slice(begin - self._ends[first], None)
        products = branches.products[:, later, later].copy()
        rank = branches.rank
        for place in range(end - begin):
            floor = self._floor[begin + place]
            rank = rank + _eliminate(products, place, slice(place + 1, None), floor)
        # A set has no linearly dependent feature, and leaves residual degrees of freedom.
        allowed = (rank > branches.rank) & (rank < self.reduction.weight)
        sets = branches.sets.copy()
        sets[:, feature] = True
        products = products[:, end - begin :, end - begin :]
        return Branches(sets, np.where(allowed, rank, 0), products)

    def _record(self, branches: Branches) -> None:
        rss, size = branches.products[:, -1, -1], branches.sets.sum(axis=1)
        for place in np.flatnonzero(rss < self._threshold(self._best[size])):
            k = int(size[place])
            if rss[place] < self._best[k]:
                self._best[k] = rss[place]
                chosen = np.flatnonzero(branches.sets[place])
                self._sets[k] = frozenset(self._order[i] for i in chosen)


def _cross_products(reduction: Reduction, columns: Sequence[int]) -> Array:
    """Return the cross products of some columns and of the target."""
    vectors = np.vstack([reduction.triangle[:, columns].T, reduction.response])
    out = np.stack([(vectors * vector).sum(axis=1) for vector in vectors])
    out[-1, -1] += reduction.rest
    return out


def _eliminate(products: Array, place: int, rest: slice, floor: float) -> Sets:
    """Subtract the projection on the column at a place from those at other places, in place.

    Returns
    -------
    independent : bool array of shape (n,)
        Whether the column was linearly independent; if not, nothing was subtracted.
    """
    pivot = products[:, place, place]
    independent = np.asarray(pivot > floor)
    scale = np.divide(1.0, pivot, out=np.zeros(len(pivot)), where=independent)
    column = products[:, rest, place]
    scaled = column * scale[:, np.newaxis]
    products[:, rest, rest] -= scaled[:, :, np.newaxis] * column[:, np.newaxis, :]
    return independent
