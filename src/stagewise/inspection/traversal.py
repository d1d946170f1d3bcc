"""What trees say, on average, of rows of which only some columns are known.

The one idea: a row walks down every tree. Where a node asks about a known column it goes where it
must; elsewhere it goes both ways, in the proportion of the training rows that did (Friedman 2001,
section 8.2). Subtrees that ask about nothing known are constants. Of one or two numbers, every one
of these constants is said in a box of their values, and boxes are added up by their corners, so
that it does not matter how many rows there are. Of more, or of levels, all trees and rows are
walked at once, level by level, from the leaves up. Must not know features by name, nor grids.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.inspection.boxes import Boxes
from stagewise.model.ensemble import Ensemble

__all__ = ["Traversal"]

Vector = npt.NDArray[np.float64]
Nodes = npt.NDArray[np.intp]

CELLS = 2**21
"""How many numbers of one level are in memory at once."""


class Traversal:
    """The trees of an ensemble, ready to be walked.

    Parameters
    ----------
    ensemble : Ensemble
        Trees with constants in their leaves.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble, self._flat = ensemble, ensemble.flat()
        flat = self._flat
        start = flat["tree_start"].astype(np.intp)
        root = np.repeat(start[:-1], np.diff(start))
        self._left, self._right = root + flat["left"], root + flat["right"]
        self._inner = flat["feature"] >= 0
        self._roots: Nodes = start[:-1]
        self._levels = self._inner_by_level()
        self._share = self._left_shares()
        self._mean = self._means()
        n_trees, n = len(start) - 1, ensemble.n_outputs
        width = self._mean.shape[1]
        of_tree = np.arange(n_trees)[:, np.newaxis] * width % n + np.arange(width)
        self._outputs: Nodes = np.repeat(of_tree, np.diff(start), axis=0)

    def _inner_by_level(self) -> list[Nodes]:
        """Return the inner nodes of all trees, level by level from the roots."""
        levels, nodes = [], self._roots[self._inner[self._roots]]
        while len(nodes):
            levels.append(nodes)
            children = np.concatenate([self._left[nodes], self._right[nodes]])
            nodes = children[self._inner[children]]
        return levels

    def _left_shares(self) -> Vector:
        """Return the share of the training rows of each inner node that went left."""
        cover, share = self._flat["cover"], np.full(len(self._inner), 0.5)
        nodes = np.flatnonzero(self._inner)
        left, right = cover[self._left[nodes]], cover[self._right[nodes]]
        some = left + right > 0
        share[nodes[some]] = left[some] / (left + right)[some]
        return share

    def _means(self) -> Vector:
        """Return what each node says of a row about which nothing is known."""
        mean = self._flat["value"].reshape(len(self._inner), -1).copy()
        for nodes in reversed(self._levels):
            share = self._share[nodes, np.newaxis]
            mean[nodes] = share * mean[self._left[nodes]] + (1 - share) * mean[self._right[nodes]]
        return mean

    def score(self, known: Mapping[int, Vector]) -> Vector:
        """Return the expectation of F for every row, shape (n_rows, n_outputs).

        Parameters
        ----------
        known : mapping of int to float64 array of shape (n_rows,)
            The columns that are known, as the core has them: levels are their numbers, NaN is
            missing.
        """
        n_rows = len(next(iter(known.values())))
        active, places = self._active(known)
        values = self._axes(known)
        if values is not None:
            return self._by_boxes(known, values, places)
        out = np.empty((n_rows, self._ensemble.n_outputs))
        widest = max((len(nodes) for nodes in active), default=1) * self._mean.shape[1]
        step = max(1, CELLS // max(widest, 1))
        for first in range(0, n_rows, step):
            some = {j: column[first : first + step] for j, column in known.items()}
            out[first : first + step] = self._chunk(some, active, places)
        return out

    def _active(self, known: Mapping[int, Vector]) -> tuple[list[Nodes], Nodes]:
        """Return, by level, the nodes whose answer depends on the known columns.

        Also the place of each of them among those of its level; -1 for all others.
        """
        asks = self._inner & np.isin(self._flat["feature"], list(known))
        place = np.full(len(self._inner), -1, dtype=np.intp)
        found = []
        for nodes in reversed(self._levels):
            below = (place[self._left[nodes]] >= 0) | (place[self._right[nodes]] >= 0)
            own = nodes[asks[nodes] | below]
            place[own] = np.arange(len(own))
            found.append(own)
        return found[::-1], place

    def _axes(self, known: Mapping[int, Vector]) -> dict[int, Vector] | None:
        """Return the distinct values of one or two columns of numbers; None: walk instead."""
        levels = self._ensemble.levels
        if len(known) > 2 or any(len(levels) and levels[j] for j in known):
            return None
        values = {j: np.unique(x[~np.isnan(x)]) for j, x in known.items()}
        cells = math.prod(len(v) + 3 for v in values.values()) * self._ensemble.n_outputs
        return values if cells <= CELLS else None

    def _by_boxes(
        self, known: Mapping[int, Vector], values: Mapping[int, Vector], place: Nodes
    ) -> Vector:
        """Add up constants over boxes of values, and look the rows up."""
        flat, columns = self._flat, list(values)
        sizes = [len(v) for v in values.values()]
        surface = np.zeros((*(n + 3 for n in sizes), self._ensemble.n_outputs))
        boxes = Boxes.whole(self._roots, sizes)
        while len(boxes.node):
            constant = place[boxes.node] < 0
            ended = boxes.chosen(constant)
            ended.add(self._mean[ended.node], self._outputs[ended.node], surface)
            boxes = boxes.chosen(~constant)
            node = boxes.node
            axis, cut = np.full(len(node), -1), np.zeros(len(node), dtype=np.intp)
            for number, column in enumerate(columns):
                own = flat["feature"][node] == column
                axis[own] = number
                cut[own] = np.searchsorted(values[column], flat["threshold"][node[own]], "right")
            children = (self._left[node], self._right[node])
            goes = flat["missing_left"][node] == 1
            boxes = boxes.split(children, self._share[node], axis, cut, goes)
        for number in range(len(columns)):
            surface = surface.cumsum(axis=number)
        where = [
            np.where(np.isnan(x), len(values[j]) + 1, np.searchsorted(values[j], x))
            for j, x in known.items()
        ]
        return np.asarray(self._ensemble.base + surface[tuple(where)])

    def _chunk(self, known: Mapping[int, Vector], active: list[Nodes], place: Nodes) -> Vector:
        """Walk some rows up all trees."""
        n_rows, width = len(next(iter(known.values()))), self._mean.shape[1]
        above = np.empty((0, n_rows, width))
        for nodes in reversed(active):
            here = np.empty((len(nodes), n_rows, width))
            left = self._answers(self._left[nodes], above, place)
            right = self._answers(self._right[nodes], above, place)
            asked = np.isin(self._flat["feature"][nodes], list(known))
            share = self._share[nodes[~asked], np.newaxis, np.newaxis]
            here[~asked] = share * left[~asked] + (1 - share) * right[~asked]
            goes = self._goes_left(nodes[asked], known)[:, :, np.newaxis]
            here[asked] = np.where(goes, left[asked], right[asked])
            above = here
        return self._sum_of_trees(self._answers(self._roots, above, place))

    def _answers(self, nodes: Nodes, active: Vector, place: Nodes) -> Vector:
        """Return what nodes say: those that depend on the row, and constants."""
        said = np.repeat(self._mean[nodes][:, np.newaxis], active.shape[1], axis=1)
        depends = place[nodes] >= 0
        said[depends] = active[place[nodes[depends]]]
        return said

    def _goes_left(self, nodes: Nodes, known: Mapping[int, Vector]) -> npt.NDArray[np.bool_]:
        """Say of nodes that ask about known columns which rows go left."""
        flat = self._flat
        n_rows = len(next(iter(known.values())))
        goes = np.empty((len(nodes), n_rows), dtype=bool)
        sets: Any = flat.get("set_start")
        for column, x in known.items():
            own = np.flatnonzero(flat["feature"][nodes] == column)
            asking = nodes[own, np.newaxis]
            if sets is None or not len(own) or sets[asking[0, 0]] < 0:
                side = x <= flat["threshold"][asking]
            else:
                level = np.nan_to_num(x).astype(np.int64)
                word = flat["level_sets"][sets[asking] + level // 64]
                side = (word >> (level % 64).astype(np.uint64)) & np.uint64(1) == 1
            goes[own] = np.where(np.isnan(x), flat["missing_left"][asking] == 1, side)
        return goes

    def _sum_of_trees(self, said: Vector) -> Vector:
        """Add up the trees of each output, in their order; `said` has an entry for each tree."""
        base, ensemble = self._ensemble.base, self._ensemble
        if ensemble.outputs_per_tree > 1:
            return np.asarray(base + said.sum(axis=0))
        per_output = [said[k :: ensemble.n_outputs, :, 0].sum(axis=0) for k in range(len(base))]
        return np.asarray(base + np.stack(per_output, axis=1))
