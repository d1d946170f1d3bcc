"""Expected scores of trees when only some columns are given (weighted tree traversal).

At a split on a given column a row follows its child; at any other split it follows both children,
weighted by the training rows (Friedman 2001, section 8.2). A subtree without given columns is a
constant. For one or two numeric columns, each constant holds in a box of their values, and the core
sums the boxes (native/predict/boxes.hpp), so that the cost does not depend on the number of rows.
For more columns, or categorical ones, all trees and rows are traversed together, depth by depth,
from the leaves up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import add_partial_dependence, node_means
from stagewise.model.ensemble import Ensemble

__all__ = ["Traversal"]

Vector = npt.NDArray[np.float64]
Nodes = npt.NDArray[np.intp]

CELLS = 2**21
"""The number of values of one depth that are in memory at once."""


class Traversal:
    """Weighted traversal of the trees of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        Trees with constant leaves.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble, self._flat = ensemble, ensemble.flat()
        flat = self._flat
        self._inner = flat["feature"] >= 0
        share, mean = node_means(
            flat["tree_start"],
            flat["feature"],
            flat["left"],
            flat["right"],
            flat["value"].reshape(-1),
            flat["cover"],
            ensemble.outputs_per_tree,
        )
        # The share of the training rows of a node that go left, and the mean value of the node.
        self._share, self._mean = share, mean.reshape(-1, ensemble.outputs_per_tree)
        self._roots: Nodes = flat["tree_start"][:-1].astype(np.intp)

    @cached_property
    def _children(self) -> tuple[Nodes, Nodes]:
        """The left and the right child of each node, numbered through all trees."""
        start = self._flat["tree_start"].astype(np.intp)
        root = np.repeat(start[:-1], np.diff(start))
        return root + self._flat["left"], root + self._flat["right"]

    @cached_property
    def _depths(self) -> list[Nodes]:
        """The inner nodes of all trees by depth, starting at the roots."""
        left, right = self._children
        depths, nodes = [], self._roots[self._inner[self._roots]]
        while len(nodes):
            depths.append(nodes)
            children = np.concatenate([left[nodes], right[nodes]])
            nodes = children[self._inner[children]]
        return depths

    def score(self, known: Mapping[int, Vector]) -> Vector:
        """Return the expectation of F for every row, shape (n_rows, n_outputs).

        Parameters
        ----------
        known : mapping of int to float64 array of shape (n_rows,)
            The given columns, encoded as in the core: categories as numbers, NaN for missing.
        """
        n_rows = len(next(iter(known.values())))
        values = self._axes(known)
        if values is not None:
            return self._by_boxes(known, values)
        active, places = self._active(known)
        out = np.empty((n_rows, self._ensemble.n_outputs))
        widest = max((len(nodes) for nodes in active), default=1) * self._mean.shape[1]
        step = max(1, CELLS // max(widest, 1))
        for first in range(0, n_rows, step):
            some = {j: column[first : first + step] for j, column in known.items()}
            out[first : first + step] = self._chunk(some, active, places)
        return out

    def _active(self, known: Mapping[int, Vector]) -> tuple[list[Nodes], Nodes]:
        """Return, by depth, the nodes whose value depends on the given columns.

        Also the index of each of them among those of its depth; -1 for all others.
        """
        left, right = self._children
        tests = self._inner & np.isin(self._flat["feature"], list(known))
        place = np.full(len(self._inner), -1, dtype=np.intp)
        found = []
        for nodes in reversed(self._depths):
            below = (place[left[nodes]] >= 0) | (place[right[nodes]] >= 0)
            own = nodes[tests[nodes] | below]
            place[own] = np.arange(len(own))
            found.append(own)
        return found[::-1], place

    def _axes(self, known: Mapping[int, Vector]) -> dict[int, Vector] | None:
        """Return the distinct values of one or two numeric columns; None: traverse instead."""
        counts = self._ensemble.n_categories
        if len(known) > 2 or any(len(counts) and counts[j] for j in known):
            return None
        values = {j: np.unique(x[~np.isnan(x)]) for j, x in known.items()}
        cells = math.prod(len(v) + 3 for v in values.values()) * self._ensemble.n_outputs
        return values if cells <= CELLS else None

    def _by_boxes(self, known: Mapping[int, Vector], values: Mapping[int, Vector]) -> Vector:
        """Sum constants over boxes of values, then look up the rows."""
        flat, ensemble = self._flat, self._ensemble
        sizes = [len(v) for v in values.values()]
        surface = np.zeros((*(n + 3 for n in sizes), ensemble.n_outputs))
        add_partial_dependence(
            flat["tree_start"],
            flat["feature"],
            flat["threshold"],
            flat["missing_left"],
            flat["left"],
            flat["right"],
            self._share,
            self._mean.reshape(-1),
            ensemble.outputs_per_tree,
            ensemble.n_outputs,
            list(values.items()),
            surface.reshape(-1),
        )
        for number in range(len(sizes)):
            surface = surface.cumsum(axis=number)
        where = [
            np.where(np.isnan(x), len(values[j]) + 1, np.searchsorted(values[j], x))
            for j, x in known.items()
        ]
        return np.asarray(self._ensemble.base + surface[tuple(where)])

    def _chunk(self, known: Mapping[int, Vector], active: list[Nodes], place: Nodes) -> Vector:
        """Compute the expected scores of some rows, from the leaves up."""
        n_rows, width = len(next(iter(known.values()))), self._mean.shape[1]
        above = np.empty((0, n_rows, width))
        for nodes in reversed(active):
            here = np.empty((len(nodes), n_rows, width))
            left, right = (self._values(side[nodes], above, place) for side in self._children)
            tested = np.isin(self._flat["feature"][nodes], list(known))
            share = self._share[nodes[~tested], np.newaxis, np.newaxis]
            here[~tested] = share * left[~tested] + (1 - share) * right[~tested]
            goes = self._goes_left(nodes[tested], known)[:, :, np.newaxis]
            here[tested] = np.where(goes, left[tested], right[tested])
            above = here
        return self._sum_of_trees(self._values(self._roots, above, place))

    def _values(self, nodes: Nodes, active: Vector, place: Nodes) -> Vector:
        """Return the values of nodes: those that depend on the row, and constants."""
        values = np.repeat(self._mean[nodes][:, np.newaxis], active.shape[1], axis=1)
        depends = place[nodes] >= 0
        values[depends] = active[place[nodes[depends]]]
        return values

    def _goes_left(self, nodes: Nodes, known: Mapping[int, Vector]) -> npt.NDArray[np.bool_]:
        """Return which rows go left at nodes that test given columns."""
        flat = self._flat
        n_rows = len(next(iter(known.values())))
        goes = np.empty((len(nodes), n_rows), dtype=bool)
        sets: Any = flat.get("set_start")
        for column, x in known.items():
            own = np.flatnonzero(flat["feature"][nodes] == column)
            testing = nodes[own, np.newaxis]
            if sets is None or not len(own) or sets[testing[0, 0]] < 0:
                side = x <= flat["threshold"][testing]
            else:
                category = np.nan_to_num(x).astype(np.int64)
                packed = flat["level_sets"][sets[testing] + category // 64]
                side = (packed >> (category % 64).astype(np.uint64)) & np.uint64(1) == 1
            goes[own] = np.where(np.isnan(x), flat["missing_left"][testing] == 1, side)
        return goes

    def _sum_of_trees(self, values: Vector) -> Vector:
        """Sum the values of the trees of each output, in their order."""
        base, ensemble = self._ensemble.base, self._ensemble
        if ensemble.outputs_per_tree > 1:
            return np.asarray(base + values.sum(axis=0))
        per_output = [values[k :: ensemble.n_outputs, :, 0].sum(axis=0) for k in range(len(base))]
        return np.asarray(base + np.stack(per_output, axis=1))
