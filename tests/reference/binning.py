"""Cuts and bin codes, one value at a time.

Every rule is a plain loop over sorted values in float64. This module does not call the core and
does not sample rows: it reads all of them.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["bin_codes", "cut_between", "find_category_bins", "find_cuts"]

Vector = npt.NDArray[np.float64]

LARGEST = float(np.finfo(np.float64).max)


def as_single(x: float) -> float:
    """Return a number rounded to float32."""
    with np.errstate(over="ignore"):
        return float(np.float32(x))


def cut_between(a: float, b: float) -> float:
    """Return the middle of a and b, such that float32 copies fall on the same sides of it.

    Where one of them is infinite, the outermost finite number that still separates them.
    """
    low, high = max(a, as_single(a)), min(b, as_single(b))
    if not low < high:  # equal in float32
        low, high = a, b
    if low == -np.inf:
        return -LARGEST if high > -LARGEST else -np.inf
    if high == np.inf:
        return LARGEST
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def find_cuts(column: npt.NDArray[Any], weight: Vector | None, max_bins: int) -> Vector:
    """Return the cuts of a column: between all distinct values, or for bins of about equal weight.

    A bin is closed when it has its share of the remaining weight; or already with a quarter of a
    share, when the next value alone has a whole one.
    """
    held: dict[float, float] = {}
    for row, x in enumerate(column.astype(np.float64)):
        if not np.isnan(x):
            key = float(x) + 0.0  # -0.0 is 0.0
            held[key] = held.get(key, 0.0) + (1.0 if weight is None else float(weight[row]))
    values = sorted(held)
    if len(values) <= max_bins:
        return np.array([cut_between(a, b) for a, b in itertools.pairwise(values)])
    cuts = []
    left = 0.0
    for value in values:
        left += held[value]
    in_bin, bins_left = 0.0, max_bins
    for a, b in itertools.pairwise(values):
        in_bin += held[a]
        share = left / bins_left
        if bins_left > 1 and (in_bin >= share or (held[b] >= share and in_bin >= share / 4)):
            cuts.append(cut_between(a, b))
            left -= in_bin
            in_bin, bins_left = 0.0, bins_left - 1
    return np.array(cuts)


def middle_cuts(cuts: npt.NDArray[Any], values: npt.NDArray[Any]) -> Vector:
    """Return a cut between any two adjacent bins that have values; of several, the middle one."""
    codes = np.unique(np.searchsorted(cuts, values))
    return np.array([cuts[a + (b - a) // 2] for a, b in itertools.pairwise(codes)])


def find_category_bins(
    column: npt.NDArray[Any], n_categories: int, max_bins: int
) -> npt.NDArray[np.uint32]:
    """Return the bin of each category: one each, or one for all but the most frequent ones."""
    if n_categories <= max_bins:
        return np.arange(n_categories, dtype=np.uint32)
    rows = [int(np.sum(column == category)) for category in range(n_categories)]
    frequent = sorted(range(n_categories), key=lambda category: -rows[category])[: max_bins - 1]
    bins = np.full(n_categories, max_bins - 1, dtype=np.uint32)
    for number, category in enumerate(sorted(frequent)):
        bins[category] = number
    return bins


def bin_codes(column: npt.NDArray[Any], cuts: Vector) -> npt.NDArray[np.int64]:
    """Return the number of cuts below each value; a missing one has the code after the last bin."""
    codes = [
        len(cuts) + 1 if np.isnan(x) else int(np.sum(cuts < x)) for x in column.astype(np.float64)
    ]
    return np.array(codes, dtype=np.int64)
