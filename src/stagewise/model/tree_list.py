"""The list of the trees of an ensemble.

Trees that come as flat arrays, of a file or of many rounds at once, are cut into `Tree` objects
when one of them is first read: most fits and predictions need the arrays alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from stagewise.trees.linear_leaves import LINEAR_LEAF_ARRAYS, LinearLeaves
from stagewise.trees.tree import NODE_ARRAYS, CategorySets, Tree

__all__ = ["FlatTrees", "TreeList", "flat_trees"]

FlatTrees = Mapping[str, npt.NDArray[Any]]
"""The concatenated arrays of trees, as `Ensemble.flat` returns them."""


class TreeList(MutableSequence[Tree]):
    """A list of trees.

    Parameters
    ----------
    trees : iterable of Tree
        The first trees.
    """

    def __init__(self, trees: Iterable[Tree] = ()) -> None:
        self._trees = list(trees)
        self._blocks: list[FlatTrees] = []  # of the trees after them
        self._flat: FlatTrees | None = None  # of all trees

    def append_flat(self, flat: FlatTrees) -> None:
        """Append the trees of flat arrays."""
        self._blocks.append(flat)
        self._flat = None

    def flat(self) -> FlatTrees | None:
        """Return the flat arrays of all trees; None: some trees came without them."""
        if self._flat is None and self._blocks and not self._trees:
            self._flat = _join(self._blocks)
            self._blocks = [self._flat]
        return self._flat

    def depend_on_features(self) -> bool:
        """Return whether a tree has a split or a linear leaf."""
        flat = self.flat()
        if flat is not None:
            return bool((flat["feature"] >= 0).any()) or "line_node" in flat
        return any((own.feature >= 0).any() or own.linear_leaves is not None for own in self)

    def truncate(self, n: int) -> None:
        """Remove all trees after the first n."""
        if n >= len(self):
            return
        self._flat = None
        while self._blocks and len(self) - n_trees(self._blocks[-1]) >= n:
            self._blocks.pop()
        if self._blocks and len(self) > n:
            last = self._blocks.pop()
            self._blocks.append(_first_trees(last, n - len(self)))
        del self._trees[n:]

    def __len__(self) -> int:
        return len(self._trees) + sum(map(n_trees, self._blocks))

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tree]: ...
    def __getitem__(self, index: int | slice) -> Tree | list[Tree]:
        return self._read()[index]

    @overload
    def __setitem__(self, index: int, value: Tree) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Tree]) -> None: ...
    def __setitem__(self, index: Any, value: Any) -> None:
        self._change()[index] = value

    def __delitem__(self, index: int | slice) -> None:
        del self._change()[index]

    def insert(self, index: int, value: Tree) -> None:
        """Insert a tree before a place."""
        self._change().insert(index, value)

    def __repr__(self) -> str:
        return f"<{len(self)} trees>"

    def __reduce__(self) -> tuple[type[TreeList], tuple[list[Tree]]]:
        """Return the trees: how they are held is no part of a pickle."""
        return TreeList, (list(self._read()),)

    def _read(self) -> list[Tree]:
        """Return all trees."""
        self.flat()
        blocks, self._blocks = self._blocks, []
        for flat in blocks:
            self._trees += _trees_of(flat)
        return self._trees

    def _change(self) -> list[Tree]:
        """Return all trees, which the caller changes."""
        trees = self._read()
        self._flat = None
        return trees


def flat_trees(
    start: npt.NDArray[np.uint64],
    arrays: Iterable[Any],
    set_start: npt.NDArray[np.int64],
    bits: npt.NDArray[np.uint64],
) -> FlatTrees:
    """Return flat arrays: those of `NODE_ARRAYS`, in their order, and of category sets if any."""
    flat: dict[str, npt.NDArray[Any]] = {"tree_start": start}
    flat |= zip(NODE_ARRAYS, arrays, strict=True)
    n_nodes = len(flat["feature"])
    if len(flat["value"]) != n_nodes:  # a column for each output
        flat["value"] = flat["value"].reshape(n_nodes, -1)
    return flat | {"set_start": set_start, "level_sets": bits} if len(bits) else flat


def n_trees(flat: FlatTrees) -> int:
    """Return the number of trees of flat arrays."""
    return len(flat["tree_start"]) - 1


def _join(blocks: Sequence[FlatTrees]) -> FlatTrees:
    """Return the flat arrays of several blocks, which have constant leaves, as one."""
    if len(blocks) == 1:
        return blocks[0]
    starts, first = [np.zeros(1, np.uint64)], np.uint64(0)
    for block in blocks:
        starts.append(block["tree_start"][1:] + first)
        first = starts[-1][-1]
    flat = {"tree_start": np.concatenate(starts)}
    flat |= {name: np.concatenate([block[name] for block in blocks]) for name in NODE_ARRAYS}
    if any("set_start" in block for block in blocks):
        none = np.empty(0, np.uint64)
        places, bits = [], [block.get("level_sets", none) for block in blocks]
        for block, before in zip(blocks, np.cumsum([0, *map(len, bits)]), strict=False):
            own = block.get("set_start", np.full(len(block["feature"]), -1, np.int64))
            places.append(np.where(own >= 0, own + before, -1))
        flat |= {"set_start": np.concatenate(places), "level_sets": np.concatenate(bits)}
    return flat


def _first_trees(flat: FlatTrees, n: int) -> FlatTrees:
    """Return the flat arrays of the first n trees."""
    nodes = int(flat["tree_start"][n])
    first = {"tree_start": flat["tree_start"][: n + 1]}
    first |= {name: flat[name][:nodes] for name in NODE_ARRAYS}
    if "set_start" in flat:
        later = flat["set_start"][nodes:]
        end = int(later[later >= 0].min(initial=len(flat["level_sets"])))
        first |= {"set_start": flat["set_start"][:nodes], "level_sets": flat["level_sets"][:end]}
    if "line_node" in flat:
        lines = int(np.searchsorted(flat["line_node"], nodes))
        terms = int(flat["line_start"][lines])
        sizes = {"start": lines + 1, "feature": terms, "slope": terms, "centre": terms}
        for name in LINEAR_LEAF_ARRAYS:
            first[f"line_{name}"] = flat[f"line_{name}"][: sizes.get(name, lines)]
    return first


def _trees_of(flat: FlatTrees) -> list[Tree]:
    """Return trees that are views of flat arrays."""
    bounds = list(pairwise(flat["tree_start"].tolist()))
    sets: list[CategorySets | None] = [None] * len(bounds)
    if "set_start" in flat:
        sets = _cut_sets(flat["set_start"], flat["level_sets"], bounds)
    lines: list[LinearLeaves | None] = [None] * len(bounds)
    if "line_node" in flat:
        lines = _cut_lines({name: flat[f"line_{name}"] for name in LINEAR_LEAF_ARRAYS}, bounds)
    return [
        Tree(
            **{name: flat[name][first:last] for name in NODE_ARRAYS},
            category_sets=own,
            linear_leaves=leaves,
        )
        for (first, last), own, leaves in zip(bounds, sets, lines, strict=True)
    ]


def _cut_sets(
    start: npt.NDArray[np.int64], bits: npt.NDArray[np.uint64], bounds: list[tuple[int, int]]
) -> list[CategorySets | None]:
    """Return the category sets of each tree; they are stored in the order of the trees."""
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
    """Return the linear leaves of each tree; they are stored in the order of the nodes."""
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
