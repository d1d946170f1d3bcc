"""A fitted tree: parallel arrays, one entry a node.

The one idea: a tree is plain data. Node 0 is the root and children always come after their parent,
so a walk from the root ends by construction and no reader needs recursion. This file must not know
how a tree was grown, nor what its values mean to a loss.
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
    """The levels that go left at the nodes that ask about a categorical feature.

    Attributes
    ----------
    start : int32 array
        For every node, where its levels begin in `bits`; -1 for a node that asks about none.
    bits : uint64 array
        Of a feature with L levels L // 64 + 1 words: bit k of them is level k, bit L stands for a
        level that the model does not know.
    """

    start: npt.NDArray[np.int32]
    bits: npt.NDArray[np.uint64]

    def goes_left(self, node: int, n_categories: int) -> npt.NDArray[np.bool_]:
        """Whether each of the levels, and the unknown one behind them, goes left at a node."""
        first = int(self.start[node])
        words = self.bits[first : first + n_categories // 64 + 1].astype("<u8", copy=False)
        return np.unpackbits(words.view(np.uint8), bitorder="little")[: n_categories + 1].astype(
            bool
        )

    def contains(self, node: int, category: int) -> bool:
        """Whether one level goes left at a node."""
        word = int(self.bits[int(self.start[node]) + category // 64])
        return bool(word >> category % 64 & 1)


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One regression tree.

    Attributes
    ----------
    feature : int32 array
        The feature a node asks about; -1 in a leaf.
    threshold : float64 array
        Rows with ``x <= threshold`` go left. Never NaN, perhaps infinite; 0.0 in a leaf, and in a
        node that asks about levels.
    missing_left : uint8 array
        1 where missing values go left, else 0; 0 in a leaf.
    left, right : int32 array
        The children, each after its parent; -1 in a leaf.
    value : float64 array of shape (n_nodes,), or (n_nodes, n_outputs)
        What a leaf adds to the score, learning rate included: to that of its output, or to those of
        all. An inner node holds what it would have added as a leaf.
    gain : float64 array
        What the split gained, at least 0; 0.0 in a leaf.
    cover : float64 array
        The sum of the weights of the training rows in the node.
    category_sets : CategorySets or None
        What nodes that ask about categorical features send left; None: there are none.
    linear_leaves : LinearLeaves or None
        What leaves say that are not constants; None: all are.
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
        """How many questions lie before each node."""
        depth = np.zeros(len(self.feature), dtype=np.int64)
        nodes = np.flatnonzero(self.feature[:1] >= 0)
        while len(nodes):
            below = np.concatenate([self.left[nodes], self.right[nodes]])
            depth[below] = np.tile(depth[nodes] + 1, 2)
            nodes = below[self.feature[below] >= 0]
        return depth

    def with_values(self, value: npt.NDArray[np.float64]) -> Tree:
        """Return the same tree with other node values, all of them constants."""
        return replace(self, value=value, linear_leaves=None)
