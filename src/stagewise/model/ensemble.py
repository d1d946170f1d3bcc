"""The additive model: a constant for each output, and trees that are added to it.

The arrays of all trees can be concatenated, so an ensemble is also a few flat arrays, which files,
kernels and exporters read. This module must not import features, losses or tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Forest, LeafModels, Shap, SparseColumns, Workers
from stagewise.model.tree_list import FlatTrees, TreeList
from stagewise.trees.linear_leaves import LINEAR_LEAF_ARRAYS, LinearLeaves
from stagewise.trees.tree import NODE_ARRAYS, Tree

__all__ = ["Ensemble"]


@dataclass(eq=False, init=False)
class Ensemble:
    """A sum of trees for each output.

    A round has one tree per output, in their order, or one tree whose leaves have a value for each
    output.

    Parameters
    ----------
    n_features : int
        The number of columns that the trees may split on.
    base : float64 array of shape (n_outputs,)
        The constant score of each output.
    trees : TreeList
        The terms, round by round.
    n_categories : sequence of int
        The number of categories of each column, 0 for a numeric one; empty: all are numeric.
    outputs_per_tree : int
        1, or n_outputs.
    """

    n_features: int
    base: npt.NDArray[np.float64]
    trees: TreeList
    n_categories: Sequence[int] = ()
    outputs_per_tree: int = 1

    def __init__(
        self,
        n_features: int,
        base: npt.NDArray[np.float64],
        trees: Iterable[Tree] = (),
        n_categories: Sequence[int] = (),
        outputs_per_tree: int = 1,
    ) -> None:
        self.n_features, self.base = n_features, base
        self.trees = trees if isinstance(trees, TreeList) else TreeList(trees)
        self.n_categories, self.outputs_per_tree = n_categories, outputs_per_tree
        self._forest: Forest | None = None

    @property
    def n_outputs(self) -> int:
        """The number of scores per row."""
        return len(self.base)

    @property
    def trees_per_round(self) -> int:
        """The number of trees per boosting round."""
        return self.n_outputs // self.outputs_per_tree

    @property
    def n_rounds(self) -> int:
        """The number of boosting rounds."""
        return len(self.trees) // self.trees_per_round

    def used_features(self) -> tuple[int, ...]:
        """Return the columns that some tree splits on, in increasing order."""
        used = [np.unique(tree.feature) for tree in self.trees]
        return tuple(int(f) for f in np.unique(np.concatenate([[-1], *used])) if f >= 0)

    @property
    def terms(self) -> Sequence[Tree]:
        """The trees, round by round."""
        return self.trees

    def _forget(self) -> None:
        """Remove what was computed from the trees, which have changed."""
        self._forest = None

    def set_terms(self, terms: Iterable[Tree]) -> None:
        """Replace all trees."""
        self.trees[:] = terms
        self._forget()

    def append(self, tree: Tree) -> None:
        """Add the next tree."""
        self.trees.append(tree)
        self._forget()

    def append_flat(self, flat: FlatTrees) -> None:
        """Add the next trees, as flat arrays."""
        self.trees.append_flat(flat)
        self._forget()

    def truncate(self, rounds: int) -> None:
        """Remove all rounds after the first `rounds`."""
        self.trees.truncate(rounds * self.trees_per_round)
        self._forget()

    def select_rounds(self, rounds: Iterable[int]) -> Ensemble:
        """Return an ensemble of the trees of some rounds, with base scores 0."""
        trees = TreeList(tree for m in rounds for tree in self.trees[self._places(m)])
        return replace(self, base=np.zeros(self.n_outputs), trees=trees)

    def replace_rounds(self, rounds: Iterable[int], part: Ensemble) -> None:
        """Replace the trees of some rounds by those of `part`."""
        for place, m in enumerate(rounds):
            self.trees[self._places(m)] = part.trees[self._places(place)]
        self._forget()

    def _places(self, m: int) -> slice:
        return slice(m * self.trees_per_round, (m + 1) * self.trees_per_round)

    @property
    def forest(self) -> Forest:
        """The trees as a native object, which is created once."""
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
                linear_leaves=self._native_lines(flat),
            )
        return self._forest

    def _native_lines(self, flat: FlatTrees) -> LeafModels | None:
        if "line_node" not in flat:
            return None
        lines = LinearLeaves(**{name: flat[f"line_{name}"] for name in LINEAR_LEAF_ARRAYS})
        return lines.native(len(flat["feature"]), self.n_features)

    def _category_arguments(
        self, flat: Mapping[str, npt.NDArray[Any]]
    ) -> dict[str, npt.NDArray[Any]]:
        if "set_start" not in flat:
            return {}
        return {
            "set_start": flat["set_start"],
            "sets": flat["level_sets"],
            "n_categories": np.array(self.n_categories, dtype=np.uint32),
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
            The number of rounds to use; None: all.

        Notes
        -----
        The base score and the trees are added in the same order as during training, so the result
        is the same to the bit.
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
        """Return the native TreeSHAP object of as many trees from `first` on as fit in memory.

        Parameters
        ----------
        workers : Workers
            The threads.
        first : int
            The first tree.
        background : Columns or None
            The background rows of interventional Shapley values; None: path-dependent Shapley
            values, which use the covers of the training rows and need constant leaves.
        interactions : bool
            Whether to compute interactions of pairs of features.
        most_bytes : int
            The largest amount of memory for the trees; one tree is always taken.
        table_bytes : int
            The largest size of the tables of a tree; larger trees are traversed instead.
        """
        flat = self.flat()
        self.forest  # noqa: B018  creating it checks the arrays
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
            linear_leaves=self._native_lines(flat),
        )

    def flat(self) -> dict[str, npt.NDArray[Any]]:
        """Return the concatenated arrays of all trees.

        Returns
        -------
        dict of str to array
            The keys are the names of sections of the model file. ``tree_start`` (uint64,
            n_trees + 1): the first node of each tree, and the number of nodes at the end; and the
            arrays of `Tree`, concatenated. Child numbers are relative to their tree. ``value`` has
            one column per output if trees have several. If there are splits on categorical
            features, also ``set_start`` (int64) and ``level_sets`` (uint64): the concatenated
            `CategorySets`. If there are linear leaves, also the concatenated `LinearLeaves`:
            ``line_node``, numbered through all trees, and so on.
        """
        known = self.trees.flat()
        if known is not None:
            return dict(known)
        start = np.zeros(len(self.trees) + 1, dtype=np.uint64)
        np.cumsum([len(tree.feature) for tree in self.trees], out=start[1:], dtype=np.uint64)
        flat: dict[str, npt.NDArray[Any]] = {"tree_start": start}
        for name, dtype in NODE_ARRAYS.items():
            parts = [getattr(tree, name) for tree in self.trees]
            # The empty array gives an ensemble without trees the right types.
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
        """Return the linear leaves of all trees, with nodes numbered through all trees."""
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
        """Return an ensemble of the trees of flat arrays, as `flat` returns them."""
        value = flat["value"]
        width = 1 if value.ndim == 1 else value.shape[1]
        ensemble = cls(n_features, base, TreeList(), n_categories, width)
        ensemble.append_flat(flat)
        return ensemble
