"""The candidate splits of a node, as the search of a tree enumerates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stagewise.inspection.splits.objectives import Objective
from stagewise.inspection.splits.tree_rows import TreeRows
from stagewise.learners.histogram_tree import ANY_ROW

__all__ = ["Candidates", "find_candidates"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

NO_MISSING, LEFT, RIGHT = 0, 1, 2
"""The side of missing values; the first: the node has none."""


@dataclass(eq=False)
class Candidates:
    """Candidate splits, one entry each.

    Attributes
    ----------
    column : list of int
        The column.
    threshold : list of float
        Numbers: rows of at most this go left; NaN for categories.
    left_codes : list of tuple of int, or None
        Categories: the codes of the present categories that go left; None for numbers.
    missing : list of int
        `NO_MISSING`, `LEFT` or `RIGHT`.
    n_left : list of int
        The number of rows on the left whose value is not missing.
    left, right : list of float64 arrays
        The sums of both sides.
    gain : list of float
        The gain.
    allowed : list of bool
        Whether both sides have the least weight and sum of hessians of a leaf.
    """

    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left_codes: list[tuple[int, ...] | None] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    n_left: list[int] = field(default_factory=list)
    left: list[Vector] = field(default_factory=list)
    right: list[Vector] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    allowed: list[bool] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.gain)


def find_candidates(rows: TreeRows, reached: npt.NDArray[np.bool_]) -> Candidates:
    """Return all candidate splits of the rows of a node, column by column."""
    found = Candidates()
    counts = rows.fitted.model.ensemble.n_categories
    for place in range(len(rows.columns)):
        of_categories = bool(len(counts) and counts[place])
        search = _ColumnSearch(rows, reached, place)
        (search.add_categories if of_categories else search.add_thresholds)(found)
    return found


class _ColumnSearch:
    """The rows of a node, grouped by the values of one column."""

    def __init__(self, rows: TreeRows, reached: npt.NDArray[np.bool_], place: int) -> None:
        self.place, self.objective, self.rules = place, rows.objective, rows.rules
        x, coding = rows.columns[place][reached], rows.codings[place]
        sums, weight = rows.objective.row_sums[reached], rows.weight[reached]
        known = ~np.isnan(x)
        self.coding, self.x = coding, x[known]
        self.total, self.total_weight = sums.sum(axis=0), float(weight.sum())
        self.missing = sums[~known].sum(axis=0), float(weight[~known].sum())
        self.any_missing = not bool(known.all())
        self.values, codes = self._groups()
        n = len(self.values)
        self.sums, self.weight = np.zeros((n, sums.shape[1])), np.zeros(n)
        np.add.at(self.sums, codes, sums[known])
        np.add.at(self.weight, codes, weight[known])
        self.count = np.bincount(codes, minlength=n)

    def _groups(self) -> tuple[npt.NDArray[np.float64], Codes]:
        """Return the distinct values, or bins, of the rows, and the group of each row."""
        if self.coding is None:
            groups = self.x
        elif self.coding.dtype == np.uint32:
            groups = self.coding[self.x.astype(np.intp)].astype(np.float64)
        else:
            groups = np.searchsorted(self.coding, self.x).astype(np.float64)
        values, codes = np.unique(groups, return_inverse=True)
        return values, codes.astype(np.intp)

    # ---- numbers -------------------------------------------------------------------------------

    def _thresholds(self) -> Vector:
        below, above = self.values[:-1], self.values[1:]
        if self.coding is None:
            middle = below / 2 + above / 2
            return np.where(np.isfinite(middle), middle, np.finfo(np.float64).max)
        first = below.astype(np.intp)
        return np.asarray(self.coding[first + (above.astype(np.intp) - first) // 2])

    def add_thresholds(self, found: Candidates) -> None:
        """Add the thresholds between two neighbouring values, and the split of missing values."""
        if not len(self.values):
            return
        thresholds = np.append(self._thresholds(), np.inf)
        left, weight = np.cumsum(self.sums, axis=0), np.cumsum(self.weight)
        count = np.cumsum(self.count)
        if not self.any_missing:
            thresholds, left = thresholds[:-1], left[:-1]
            weight, count = weight[:-1], count[:-1]
        self._add(found, left, weight, count, thresholds, [None] * len(left))

    # ---- categories ----------------------------------------------------------------------------

    def add_categories(self, found: Candidates) -> None:
        """Add each category against the rest, or the cuts of an order of the categories."""
        for order in self.objective.orders(self.sums) if len(self.values) else ():
            places = order.places
            left, weight = self.sums[places], self.weight[places]
            count, sets = self.count[places], [[int(p)] for p in places]
            if not order.alone:
                left, weight = np.cumsum(left, axis=0), np.cumsum(weight)
                count = np.cumsum(count)
                sets = [places[: k + 1].tolist() for k in range(len(places))]
                if not self.any_missing:
                    left, weight, count, sets = left[:-1], weight[:-1], count[:-1], sets[:-1]
            codes = [self._codes(own) for own in sets]
            self._add(
                found, left, weight, count, np.full(len(left), np.nan), codes,
                order.l2, order.chance,
            )  # fmt: skip

    def _codes(self, groups: list[int]) -> tuple[int, ...]:
        """Return the categories of some bins; rare ones share a bin."""
        assert self.coding is not None
        return tuple(np.flatnonzero(np.isin(self.coding, self.values[groups])).tolist())

    # ---- both ----------------------------------------------------------------------------------

    def _add(
        self,
        found: Candidates,
        left: Matrix,
        weight: Vector,
        count: Codes,
        thresholds: Vector,
        codes: Sequence[tuple[int, ...] | None],
        l2: float = 0.0,
        chance: float = 0.0,
    ) -> None:
        for side in (RIGHT, LEFT) if self.any_missing else (NO_MISSING,):
            sums, mass = (left + self.missing[0], weight + self.missing[1]) if side == LEFT else (
                left, weight,
            )  # fmt: skip
            other = self.total - sums
            gain = _gain(self.objective, sums, other, self.total, l2) - chance
            allowed = self._allowed(sums, mass) & self._allowed(other, self.total_weight - mass)
            n = len(gain)
            found.column += [self.place] * n
            found.threshold += thresholds.tolist()
            found.left_codes += codes
            found.missing += [side] * n
            found.n_left += count.tolist()
            found.left += list(sums)
            found.right += list(other)
            found.gain += gain.tolist()
            found.allowed += allowed.tolist()

    def _allowed(self, sums: Matrix, weight: Vector) -> npt.NDArray[np.bool_]:
        least = self.rules.min_samples_leaf
        enough = weight >= (ANY_ROW if least <= 1 else least * (1 - 1e-12))
        return np.asarray(enough & self.objective.enough(sums))


def _gain(objective: Objective, left: Matrix, right: Matrix, whole: Vector, l2: float) -> Vector:
    """Return the score of both sides minus that of the node."""
    own = objective.score(whole[np.newaxis])
    return np.asarray(objective.score(left, l2) + objective.score(right, l2) - own)
