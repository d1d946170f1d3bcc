"""Boxes of values of one or two columns, each on its way down a tree.

The one idea: which rows reach a node by known columns is a box, and how much of them by all others
a weight. What is said in a box is added at its corners; sums along the axes then give what is said
everywhere. An axis has a place for each value, an end, a place for a missing one, and an end again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Boxes"]

Vector = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Some boxes.

    Parameters
    ----------
    node : intp array of shape (n,)
        The nodes that they are at.
    weight : float64 array of shape (n,)
        The share of the training rows that go there, as far as unknown columns say.
    low, high : intp arrays of shape (n, n_axes)
        The places of the values that do: from low up to but not including high.
    missing : bool array of shape (n, n_axes)
        Whether a missing value does.
    """

    node: Places
    weight: Vector
    low: Places
    high: Places
    missing: npt.NDArray[np.bool_]

    @classmethod
    def whole(cls, nodes: Places, sizes: Sequence[int]) -> Boxes:
        """Return boxes of all values, at some nodes."""
        shape = (len(nodes), len(sizes))
        high = np.broadcast_to(np.array(sizes, dtype=np.intp), shape)
        return cls(nodes, np.ones(len(nodes)), np.zeros(shape, np.intp), high, np.ones(shape, bool))

    def chosen(self, which: npt.NDArray[Any]) -> Boxes:
        """Return some of the boxes."""
        return Boxes(*(array[which] for array in self.arrays()))

    def split(
        self,
        children: tuple[Places, Places],
        shares: Vector,
        axis: npt.NDArray[np.int64],
        cut: Places,
        missing_left: npt.NDArray[np.bool_],
    ) -> Boxes:
        """Send boxes to the children of their nodes, and drop those that no value reaches.

        Parameters
        ----------
        children : pair of intp arrays
            Left and right child of each box's node.
        shares : float64 array
            The share that goes left where the node asks about an unknown column.
        axis : int64 array
            Which axis the node asks about; -1: an unknown column.
        cut : intp array
            The first place that goes right.
        missing_left : bool array
            Whether a missing value goes left.
        """
        asks = np.flatnonzero(axis >= 0)
        at = (asks, axis[asks])
        sides = []
        for left in (True, False):
            low, high, missing = self.low.copy(), self.high.copy(), self.missing.copy()
            if left:
                high[at] = np.minimum(high[at], cut[asks])
            else:
                low[at] = np.maximum(low[at], cut[asks])
            missing[at] &= missing_left[asks] == left
            share = np.where(axis >= 0, 1.0, shares if left else 1 - shares)
            node = children[0 if left else 1]
            side = Boxes(node, self.weight * share, low, high, missing)
            reached = np.flatnonzero(np.all((low < high) | missing, axis=1))
            sides.append(side.chosen(reached).arrays())
        return Boxes(*(np.concatenate(pair) for pair in zip(*sides, strict=True)))

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Return all that boxes are made of, in the order of the parameters."""
        return self.node, self.weight, self.low, self.high, self.missing

    def add(self, said: Vector, output: Places, surface: Vector) -> None:
        """Add what is said in the boxes at their corners.

        Parameters
        ----------
        said : float64 array of shape (n, k)
            k values for each box.
        output : intp array of shape (n, k)
            Which outputs they are of.
        surface : float64 array of shape (axis, …, n_outputs)
            What to add to, in place.
        """
        for kinds in product(("values", "missing"), repeat=self.low.shape[1]):
            some = np.ones(len(self.node), dtype=bool)
            for axis, kind in enumerate(kinds):
                full = self.low[:, axis] < self.high[:, axis]
                some &= self.missing[:, axis] if kind == "missing" else full
            box = np.flatnonzero(some)
            for ends in product((0, 1), repeat=len(kinds)):
                where = [
                    self._end(axis, kind, end, surface.shape[axis])[box][:, np.newaxis]
                    for axis, (kind, end) in enumerate(zip(kinds, ends, strict=True))
                ]
                flat = np.ravel_multi_index((*where, output[box]), surface.shape)
                sign = (-1.0) ** sum(ends)
                weight = sign * self.weight[box, np.newaxis] * said[box]
                sums = np.bincount(flat.ravel(), weight.ravel(), minlength=surface.size)
                surface += sums.reshape(surface.shape)

    def _end(self, axis: int, kind: str, end: int, size: int) -> Places:
        """Return where the boxes begin (end=0) or end (end=1) along an axis."""
        if kind == "missing":
            return np.full(len(self.node), size - 2 + end, dtype=np.intp)
        return (self.high if end else self.low)[:, axis]
