"""The additive model itself: a constant for each output, and trees to add to it.

The one idea: trees lie side by side, so the whole ensemble is also nine flat arrays, which is what
files, kernels and exporters read. This file must not know features by name, losses or tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Forest, LeafModels, Shap, SparseColumns, Workers
from stagewise.trees.linear_leaves import LINEAR_LEAF_ARRAYS, LinearLeaves
from stagewise.trees.tree import NODE_ARRAYS, CategorySets, Tree

__all__ = ["Ensemble"]


@dataclass(eq=False)
class Ensemble:
    """A sum of trees for each output.

    A round is a tree for each output, in their order, or one tree with a value for each in a node.

    Parameters
    ----------
    n_features : int
        How many features the trees may ask about.
    base : float64 array of shape (n_outputs,)
        The constant score of each output.
    trees : list of Tree
        The terms, round by round.
    levels : sequence of int
        How many levels each feature has, 0 where it is a number; empty: all are numbers.
    outputs_per_tree : int
        1, or n_outputs.
    """

    n_features: int
    base: npt.NDArray[np.float64]
    trees: list[Tree] = field(default_factory=list)
    n_categories: Sequence[int] = ()
    outputs_per_tree: int = 1
    _forest: Forest | None = field(default=None, init=False, repr=False)

    @property
    def n_outputs(self) -> int:
        """How many scores a row gets."""
        return len(self.base)

    @property
    def trees_per_round(self) -> int:
        """How many trees a round of boosting adds."""
        return self.n_outputs // self.outputs_per_tree

    @property
    def n_rounds(self) -> int:
        """How many rounds of boosting the ensemble holds."""
        return len(self.trees) // self.trees_per_round

    def used_features(self) -> tuple[int, ...]:
        """Return the features that some tree asks about, in increasing order."""
        asked = [np.unique(tree.feature) for tree in self.trees]
        return tuple(int(f) for f in np.unique(np.concatenate([[-1], *asked])) if f >= 0)

    def append(self, tree: Tree) -> None:
        """Add the next tree."""
        self.trees.append(tree)
        self._forest = None

    def truncate(self, rounds: int) -> None:
        """Forget all rounds after the first `rounds`."""
        del self.trees[rounds * self.trees_per_round :]
        self._forest = None

    def select_rounds(self, rounds: Iterable[int]) -> Ensemble:
        """Return the trees of some rounds by themselves, without the constant."""
        trees = [tree for m in rounds for tree in self.trees[self._places(m)]]
        return replace(self, base=np.zeros(self.n_outputs), trees=trees)

    def replace_rounds(self, rounds: Iterable[int], part: Ensemble) -> None:
        """Put the trees of a part in the place of those of some rounds."""
        for place, m in enumerate(rounds):
            self.trees[self._places(m)] = part.trees[self._places(place)]
        self._forest = None

    def _places(self, m: int) -> slice:
        return slice(m * self.trees_per_round, (m + 1) * self.trees_per_round)

    @property
    def forest(self) -> Forest:
        """The trees as the native core reads them, made once."""
        if self._forest is None:
            flat = self.flat()
            self._forest = Forest(
                flat["tree_start"],
                flat["feature"],
                flat["threshold"],
                flat["missing_left"],
                flat["left"],
                flat["right"],
                flat["value"].reshape(-1),
                self.n_features,
                self.n_outputs,
                self.outputs_per_tree,
                **self._category_arguments(flat),
                linear_leaves=self._native_lines(),
            )
        return self._forest

    def _native_lines(self) -> LeafModels | None:
        lines = self._all_lines()
        nodes = sum(len(tree.feature) for tree in self.trees)
        return None if lines is None else lines.native(nodes, self.n_features)

    def _category_arguments(
        self, flat: Mapping[str, npt.NDArray[Any]]
    ) -> dict[str, npt.NDArray[Any]]:
        if "set_start" not in flat:
            return {}
        return {
            "set_start": flat["set_start"],
            "sets": flat["level_sets"],
            "levels": np.array(self.n_categories, dtype=np.uint32),
        }

    def score(
        self, columns: Columns | SparseColumns, workers: Workers, rounds: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Return F(x) for every row and output, shape (n_rows, n_outputs).

        Parameters
        ----------
        columns : Columns or SparseColumns
            The rows.
        workers : Workers
            The threads.
        rounds : int or None
            Use only this many rounds; None: all.

        Notes
        -----
        base, then the trees in order: the sum is made as it was during training, to the bit.
        """
        out = np.empty((columns.n_rows, self.n_outputs))
        out[:] = self.base
        n_trees = len(self.trees) if rounds is None else rounds * self.trees_per_round
        self.forest.add_scores(workers, columns, 0, n_trees, out.reshape(-1))
        return out

    def shap(
        self,
        workers: Workers,
        first: int,
        *,
        background: Columns | None,
        interactions: bool,
        most_bytes: int,
        table_bytes: int = 2**23,
    ) -> Shap:
        """Return the trees from `first` on, as many as fit, ready to be asked who deserves what.

        Parameters
        ----------
        workers : Workers
            The threads.
        first : int
            The first tree.
        background : Columns or None
            Whose values unknown features have; None: those of the training rows, by their cover,
            where leaves are constants.
        interactions : bool
            Whether credits are of pairs of features.
        most_bytes : int
            How much memory the trees may need, if there is more than one.
        table_bytes : int
            How large the tables of a tree may be; larger ones are walked.
        """
        flat = self.flat()
        self.forest  # noqa: B018  made of the same arrays, which it checks
        return Shap(
            workers,
            flat["tree_start"],
            flat["feature"],
            flat["threshold"],
            flat["missing_left"],
            flat["left"],
            flat["right"],
            flat["value"].reshape(-1),
            flat["cover"] if background is None else None,
            background,
            self.n_features,
            self.n_outputs,
            self.outputs_per_tree,
            interactions,
            first,
            most_bytes,
            table_bytes,
            **self._category_arguments(flat),
            linear_leaves=self._native_lines(),
        )

    def flat(self) -> dict[str, npt.NDArray[Any]]:
        """All trees as one array per node field.

        Returns
        -------
        dict of str to array
            ``tree_start`` (uint64, n_trees + 1): where each tree begins, and where the last one
            ends; and the arrays of `Tree`, concatenated. Child numbers stay relative to their tree.
            ``value`` has a column for each output of a tree, if it has more than one.
            If a node asks about levels, also ``set_start`` (int64) and ``level_sets`` (uint64):
            the `LevelSets` of all trees, one behind the other. If a leaf says a line, also the
            `LinearLeaves` of all trees, as ``line_node`` (counted through all trees) and so on.
        """
        start = np.zeros(len(self.trees) + 1, dtype=np.uint64)
        np.cumsum([len(tree.feature) for tree in self.trees], out=start[1:], dtype=np.uint64)
        flat: dict[str, npt.NDArray[Any]] = {"tree_start": start}
        for name, dtype in NODE_ARRAYS.items():
            parts = [getattr(tree, name) for tree in self.trees]
            # The empty array in front lets an ensemble without trees keep the right types.
            vectors = name == "value" and self.outputs_per_tree > 1
            none = np.empty((0, self.outputs_per_tree) if vectors else 0, dtype)
            flat[name] = np.concatenate([none, *parts], dtype=dtype, casting="safe")
        if any(tree.category_sets is not None for tree in self.trees):
            flat |= self._flat_sets()
        lines = self._all_lines()
        if lines is not None:
            flat |= {f"line_{name}": array for name, array in lines.arrays().items()}
        return flat

    def _all_lines(self) -> LinearLeaves | None:
        """Return the lines of all trees, with nodes counted through all of them."""
        if all(tree.linear_leaves is None for tree in self.trees):
            return None
        parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in LINEAR_LEAF_ARRAYS}
        nodes, terms = 0, 0
        for tree in self.trees:
            if tree.linear_leaves is not None:
                own = tree.linear_leaves.arrays()
                shifted = {
                    "node": own["node"] + nodes,
                    "start": own["start"][:-1] + np.uint64(terms),
                }
                for name, array in {**own, **shifted}.items():
                    parts[name].append(array)
                terms += len(tree.linear_leaves.feature)
            nodes += len(tree.feature)
        parts["start"].append(np.array([terms], dtype=np.uint64))
        return LinearLeaves(**{name: np.concatenate(parts[name]) for name in LINEAR_LEAF_ARRAYS})

    def _flat_sets(self) -> dict[str, npt.NDArray[Any]]:
        starts, bits, end = [], [np.empty(0, np.uint64)], 0
        for tree in self.trees:
            if tree.category_sets is None:
                starts.append(np.full(len(tree.feature), -1, dtype=np.int64))
                continue
            start = tree.category_sets.start.astype(np.int64)
            starts.append(np.where(start >= 0, start + end, -1))
            bits.append(tree.category_sets.bits)
            end += len(tree.category_sets.bits)
        return {"set_start": np.concatenate(starts), "level_sets": np.concatenate(bits)}

    @classmethod
    def from_flat(
        cls,
        n_features: int,
        base: npt.NDArray[np.float64],
        flat: Mapping[str, npt.NDArray[Any]],
        n_categories: Sequence[int] = (),
    ) -> Ensemble:
        """Cut flat arrays, as `flat` returns them, back into trees that are views of them."""
        bounds = list(pairwise(flat["tree_start"].tolist()))
        sets: list[CategorySets | None] = [None] * len(bounds)
        if "set_start" in flat:
            sets = _cut_sets(flat["set_start"], flat["level_sets"], bounds)
        lines: list[LinearLeaves | None] = [None] * len(bounds)
        if "line_node" in flat:
            lines = _cut_lines({name: flat[f"line_{name}"] for name in LINEAR_LEAF_ARRAYS}, bounds)
        trees = [
            Tree(
                **{name: flat[name][first:last] for name in NODE_ARRAYS},
                category_sets=own,
                linear_leaves=leaves,
            )
            for (first, last), own, leaves in zip(bounds, sets, lines, strict=True)
        ]
        value = flat["value"]
        return cls(n_features, base, trees, n_categories, 1 if value.ndim == 1 else value.shape[1])


def _cut_sets(
    start: npt.NDArray[np.int64], bits: npt.NDArray[np.uint64], bounds: list[tuple[int, int]]
) -> list[CategorySets | None]:
    """Give each tree its own sets; they lie in the order of the trees."""
    sets: list[CategorySets | None] = []
    end = len(bits)
    for first, last in reversed(bounds):
        own = start[first:last]
        begin = int(own[own >= 0].min(initial=end))
        relative = np.where(own >= 0, own - begin, -1).astype(np.int32)
        sets.append(CategorySets(relative, bits[begin:end]) if begin < end else None)
        end = begin
    return sets[::-1]


def _cut_lines(
    flat: Mapping[str, npt.NDArray[Any]], bounds: list[tuple[int, int]]
) -> list[LinearLeaves | None]:
    """Give each tree its own lines; they lie in the order of the nodes."""
    cuts = np.searchsorted(flat["node"], [first for first, _ in bounds] + [bounds[-1][1]])
    lines: list[LinearLeaves | None] = []
    for (first, _), (begin, end) in zip(bounds, pairwise(cuts.tolist()), strict=True):
        if begin == end:
            lines.append(None)
            continue
        start = flat["start"][begin : end + 1]
        terms = slice(int(start[0]), int(start[-1]))
        per_term = ("feature", "slope", "centre")
        own = {
            name: array[terms if name in per_term else slice(begin, end)]
            for name, array in flat.items()
        }
        lines.append(
            LinearLeaves(**{**own, "node": own["node"] - first, "start": start - start[0]})
        )
    return lines
