"""Rows in the order of a probability: the area under the ROC curve, and average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["RankedRows", "roc_auc"]

Vector = npt.NDArray[np.float64]
NAN = float("nan")


def roc_auc(positive: npt.NDArray[np.bool_], score: Vector, weight: Vector | None) -> float:
    """Return the share of pairs of a positive and another row that are ranked correctly.

    Pairs of equal scores count as half. NaN: there are no pairs.
    """
    if weight is not None:
        return RankedRows.of(score, positive).area(weight)
    inside, outside = np.sort(score[positive]), np.sort(score[~positive])
    if not len(inside) or not len(outside):
        return NAN
    below = np.searchsorted(outside, inside, "left").sum(dtype=np.int64)
    below_or_equal = np.searchsorted(outside, inside, "right").sum(dtype=np.int64)
    return float(below + below_or_equal) / (2.0 * len(inside) * len(outside))


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows sorted by a score, with a mask of the positive class.

    Attributes
    ----------
    order : intp array
        The rows in ascending order of the score.
    starts : intp array
        The first position of every value of the score.
    positive : bool array
        The mask, in that order.
    """

    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    positive: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls, score: Vector, positive: npt.NDArray[np.bool_], *, weighted: bool = True
    ) -> RankedRows:
        """Return the rows in the order of their scores.

        The order of equal scores changes the rounding of sums of weights, so it is kept; without
        weights sums are exact, and a faster sort will do.
        """
        order = np.argsort(score, kind="stable" if weighted else None)
        ranked = score[order]
        starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
        return cls(order, starts, positive[order])

    def _sums(self, weight: Vector | None) -> tuple[Vector, Vector, Vector]:
        """Return the sorted weights, and their sums by value for the class and for the rest."""
        own: Any = np.ones(len(self.order)) if weight is None else weight[self.order]
        inside = np.where(self.positive, own, 0.0)
        if len(self.starts) == len(own):  # no ties
            return own, inside, own - inside
        inside, whole = (np.add.reduceat(each, self.starts) for each in (inside, own))
        return own, inside, whole - inside

    def area(self, weight: Vector | None) -> float:
        """Return the area under the ROC curve; NaN: all rows are of one class."""
        _, inside, outside = self._sums(weight)
        pairs = inside.sum() * outside.sum()
        below = np.cumsum(outside) - outside / 2
        return float((inside * below).sum() / pairs) if pairs > 0 else NAN

    def average_precision(self, weight: Vector | None) -> float:
        """Return Σ (R_n - R_(n-1)) P_n over the scores as thresholds; NaN: no positive rows."""
        _, inside, outside = self._sums(weight)
        found, others = np.cumsum(inside[::-1]), np.cumsum(outside[::-1])
        whole = float(found[-1])
        if whole <= 0:
            return NAN
        taken = found + others
        precision = np.divide(found, taken, out=np.zeros_like(found), where=taken > 0)
        return float((inside[::-1] * precision).sum() / whole)

    def influence(self, weight: Vector) -> Vector:
        """Return w_i · ∂area/∂w_i for each row."""
        own, inside, outside = self._sums(weight)
        ins, out = inside.sum(), outside.sum()
        below = (np.cumsum(outside) - outside / 2) / out
        above = (ins - np.cumsum(inside) + inside / 2) / ins
        area = float((inside * below).sum() / ins)
        group = np.repeat(np.arange(len(self.starts)), np.diff(np.r_[self.starts, len(own)]))
        moved = np.where(self.positive, (below[group] - area) / ins, (above[group] - area) / out)
        back = np.empty(len(own))
        back[self.order] = own * moved
        return back
