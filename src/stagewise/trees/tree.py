"""A fitted tree: parallel arrays with one entry per node.

A tree is plain data. Node 0 is the root, and children come after their parent, so every walk from
the root ends and no recursion is needed. This module must not grow trees or import losses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.trees.linear_leaves import LinearLeaves

__all__ = ["NODE_ARRAYS", "CategorySets", "Tree"]

# The arrays of a tree and their types, in the order of the fields of Tree.
NODE_ARRAYS: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "feature": np.dtype(np.int32),
        "threshold": np.dtype(np.float64),
        "missing_left": np.dtype(np.uint8),
        "left": np.dtype(np.int32),
        "right": np.dtype(np.int32),
        "value": np.dtype(np.float64),
        "gain": np.dtype(np.float64),
        "cover": np.dtype(np.float64),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class CategorySets:
    """The categories that go left at the splits on categorical features.

    Attributes
    ----------
    start : int32 array
        For every node, the first word of its set in `bits`; -1 for a node without a set.
    bits : uint64 array
        For a feature with L categories, L // 64 + 1 words: bit k is the category with the code k,
        bit L is an unknown category.
    """

    start: npt.NDArray[np.int32]
    bits: npt.NDArray[np.uint64]

    def goes_left(self, node: int, n_categories: int) -> npt.NDArray[np.bool_]:
        """Return whether each category, and last an unknown category, goes left at a node."""
        first = int(self.start[node])
        words = self.bits[first : first + n_categories // 64 + 1].astype("<u8", copy=False)
        return np.unpackbits(words.view(np.uint8), bitorder="little")[: n_categories + 1].astype(
            bool
        )

    def contains(self, node: int, category: int) -> bool:
        """Return whether one category goes left at a node."""
        word = int(self.bits[int(self.start[node]) + category // 64])
        return bool(word >> category % 64 & 1)


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One regression tree.

    Attributes
    ----------
    feature : int32 array
        The split feature of a node; -1 in a leaf.
    threshold : float64 array
        Rows with ``x <= threshold`` go left. Not NaN, but possibly infinite; 0.0 in a leaf, and in
        a split on a categorical feature.
    missing_left : uint8 array
        1 if missing values go left, else 0; 0 in a leaf.
    left, right : int32 array
        The children, each after its parent; -1 in a leaf.
    value : float64 array of shape (n_nodes,), or (n_nodes, n_outputs)
        The amount that a leaf adds to the score of the tree's output, or to the scores of all
        outputs, learning rate included. For an inner node, the amount that it would add as a leaf.
    gain : float64 array
        The gain of the split, at least 0; 0.0 in a leaf.
    cover : float64 array
        The sum of the weights of the training rows in the node.
    category_sets : CategorySets or None
        The categories that go left, at splits on categorical features; None if there are none.
    linear_leaves : LinearLeaves or None
        The linear models of leaves; None if all leaves are constant.
    """

    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.uint8]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64]
    gain: npt.NDArray[np.float64]
    cover: npt.NDArray[np.float64]
    category_sets: CategorySets | None = None
    linear_leaves: LinearLeaves | None = None

    @property
    def depths(self) -> npt.NDArray[np.int64]:
        """The depth of each node; 0 for the root."""
        depth = np.zeros(len(self.feature), dtype=np.int64)
        nodes = np.flatnonzero(self.feature[:1] >= 0)
        while len(nodes):
            below = np.concatenate([self.left[nodes], self.right[nodes]])
            depth[below] = np.tile(depth[nodes] + 1, 2)
            nodes = below[self.feature[below] >= 0]
        return depth

    def with_values(self, value: npt.NDArray[np.float64]) -> Tree:
        """Return the same tree with other node values and constant leaves."""
        return replace(self, value=value, linear_leaves=None)
