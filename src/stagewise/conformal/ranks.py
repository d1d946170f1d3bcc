"""The finite-sample ranks of conformal prediction, with weights as frequencies.

Of n exchangeable scores and one more, the new score is at most the k-th smallest of the n with
probability at least k / (n + 1). So the threshold of coverage c is the ⌈(n + 1) c⌉-th smallest
score (Vovk et al. 2005; Lei et al. 2018). With weights, n is their sum, and a score of weight w is
w scores. Ties need no rule: the threshold only covers more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["SortedScores", "least_rows", "needed_weight", "union_quantile"]

Vector = npt.NDArray[np.float64]

ROUNDING = 1e-12
"""The relative rounding error of a sum of weights that are not whole numbers."""
HALVINGS = 200
"""More halvings than any interval of float64 permits."""


def needed_weight(total: float, coverage: float) -> float:
    """Return the weight that scores up to the threshold must have: ⌈(n + 1) c⌉.

    Parameters
    ----------
    total : float
        n, the sum of the weights. If it is not a whole number, the result is (n + 1) c.
    coverage : float
        c, read as the decimal number that it is printed as: 0.9 is nine tenths.
    """
    needed = Fraction(repr(float(coverage))) * (Fraction(total) + 1)
    if total == int(total):
        return float(math.ceil(needed))
    return float(needed) * (1.0 - ROUNDING)


def least_rows(coverage: float) -> int:
    """Return the least number of scores that have a finite threshold: ⌈c / (1 - c)⌉."""
    share = Fraction(repr(float(coverage)))
    return math.ceil(share / (1 - share))


@dataclass(frozen=True)
class SortedScores:
    """Scores in increasing order, and the sums of the weights up to each.

    Attributes
    ----------
    values : float64 array
        The scores.
    cumulative : float64 array
        The sum of the weights of the scores up to each.
    """

    values: Vector
    cumulative: Vector

    @classmethod
    def of(cls, values: Vector, weight: Vector | None = None) -> SortedScores:
        """Return scores in order; without weights each counts once."""
        if weight is None:
            return cls(np.sort(values), np.arange(1.0, len(values) + 1))
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.cumsum(weight[order]))

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.cumulative[-1]) if len(self.cumulative) else 0.0

    def weight_up_to(self, bound: Vector) -> Vector:
        """Return the weight of the scores that are at most each bound."""
        place = np.searchsorted(self.values, bound, side="right")
        return np.concatenate([[0.0], self.cumulative])[place]

    def quantile(self, coverage: float) -> float:
        """Return the threshold of a coverage; inf if the scores are too few for it."""
        place = int(np.searchsorted(self.cumulative, needed_weight(self.total, coverage)))
        return float(self.values[place]) if place < len(self.values) else math.inf


def union_quantile(
    parts: Sequence[SortedScores], centre: Vector, unit: Vector, coverage: float
) -> Vector:
    """Return the quantile of centre + unit · score over the scores of all parts, for every row.

    It is the upper bound of CV+ (Barber et al. 2021): part k has the scores of fold k, and its
    centre is the prediction of the model that fold k held out. Values are found by bisection, to
    the last digit.

    Parameters
    ----------
    parts : sequence of SortedScores
        The scores of each fold.
    centre, unit : float64 array of shape (n_folds, n_rows)
        The prediction of each fold's model for the rows, and the unit of a score.
    coverage : float
        The coverage of the upper bound.
    """
    needed = needed_weight(math.fsum(part.total for part in parts), coverage)
    if math.fsum(part.total for part in parts) < needed:
        return np.full(centre.shape[1], np.inf)
    used = [k for k, part in enumerate(parts) if len(part.values)]
    ends = [[centre[k] + unit[k] * parts[k].values[end] for k in used] for end in (0, -1)]
    low = np.nextafter(np.min(ends[0], axis=0), -np.inf)
    high = np.nextafter(np.max(ends[1], axis=0), np.inf)
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        if ((middle <= low) | (middle >= high)).all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = sum(parts[k].weight_up_to((middle - centre[k]) / unit[k]) for k in used)
        enough = weight >= needed
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle)
    return np.asarray(high)
