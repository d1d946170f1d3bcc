"""Missing values that are replaced before a tree is grown.

An imputation replaces the missing values of a column, and sets the side of each split to which rows
with a missing value go at predict.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns
from stagewise.data import Features
from stagewise.exact_sums import mean_rows
from stagewise.training.reading.row_set import RowSet
from stagewise.trees.tree import Tree
from stagewise.validation.messages import column_label

__all__ = ["IMPUTATIONS", "Imputation"]

Vector = npt.NDArray[np.float64]


class Imputation:
    """Leaves missing values as they are: every split learns their side.

    Parameters
    ----------
    train : RowSet
        The rows to learn from.
    features : Features
        The description of their columns.
    seed : int
        The seed of the draws.
    """

    def __init__(self, train: RowSet, features: Features, seed: int) -> None:
        pass

    def fill(self, sample: RowSet, number: int) -> RowSet:
        """Return the rows without missing values; `number` is 0 for training rows."""
        return sample

    def set_missing_sides(self, tree: Tree) -> Tree:
        """Return the tree with the side of each split for missing values."""
        return tree


class _Known(Imputation, ABC):
    """Base class of the imputations by the values of the column that are not missing."""

    def __init__(self, train: RowSet, features: Features, seed: int) -> None:
        self.seed = seed
        table = train.table()
        self.known: list[tuple[Vector, Vector | None]] = []
        """The values of each column that are not missing, and their weights."""
        for place in range(features.n):
            values = table.column(place)
            there = ~np.isnan(values)
            weight = None if train.weight is None else train.weight[there]
            self.known.append((values[there], weight))

    def fill(self, sample: RowSet, number: int) -> RowSet:
        table, columns = sample.table(), []
        for place in range(len(self.known)):
            values = table.column(place)
            missing = np.flatnonzero(np.isnan(values))
            if len(missing) and len(self.known[place][0]):
                values[missing] = self._fillers(place, len(missing), number)
            columns.append(values)
        return RowSet(Columns(columns), None, sample.y, sample.weight)

    @abstractmethod
    def _fillers(self, place: int, n: int, number: int) -> Vector:
        """Return n values for missing values of a column."""


class _Mean(_Known):
    """Imputes the mean of the column; for categories, the most frequent one."""

    def __init__(self, train: RowSet, features: Features, seed: int) -> None:
        super().__init__(train, features, seed)
        self.mean = np.full(features.n, np.nan)
        for place, (values, weight) in enumerate(self.known):
            if not len(values):
                continue
            if place in features.categorical:
                self.mean[place] = np.bincount(values.astype(np.intp), weights=weight).argmax()
                continue
            infinite = values[np.isinf(values)]
            if not len(infinite):
                self.mean[place] = mean_rows(values, weight)
            elif (infinite == infinite[0]).all():
                self.mean[place] = infinite[0]
            else:
                raise ValueError(
                    f"{column_label(features.names, place)} has inf and -inf, so it has no mean "
                    "for its missing values. Replace them, or set missing_strategy='learned'."
                )

    def _fillers(self, place: int, n: int, number: int) -> Vector:
        return np.full(n, self.mean[place])

    def set_missing_sides(self, tree: Tree) -> Tree:
        side = np.zeros(len(tree.feature), dtype=np.uint8)
        for node in np.flatnonzero(tree.feature >= 0):
            mean = self.mean[tree.feature[node]]
            if tree.category_sets is not None and tree.category_sets.start[node] >= 0:
                side[node] = tree.category_sets.contains(int(node), int(mean))
            else:
                side[node] = mean <= tree.threshold[node]
        return replace(tree, missing_left=side)


class _Draws(_Known):
    """Imputes a value of the column, drawn in proportion to the weights."""

    def _fillers(self, place: int, n: int, number: int) -> Vector:
        values, weight = self.known[place]
        drawn = np.random.default_rng([self.seed, place, number]).random(n)
        if weight is None:
            return values[(drawn * len(values)).astype(np.intp)]
        reach = np.cumsum(weight)
        place_of = np.searchsorted(reach, drawn * reach[-1], side="right")
        return np.asarray(values[place_of])

    def set_missing_sides(self, tree: Tree) -> Tree:
        """Return the tree with the more probable side, for `apply`; predictions use both sides."""
        left, right = (tree.cover[children] for children in (tree.left, tree.right))
        return replace(tree, missing_left=((tree.feature >= 0) & (left >= right)).astype(np.uint8))


IMPUTATIONS: Mapping[str, Callable[[RowSet, Features, int], Imputation]] = MappingProxyType(
    {"learned": Imputation, "mean": _Mean, "probability": _Draws}
)
"""The imputations by the value of the parameter `missing_strategy`."""
