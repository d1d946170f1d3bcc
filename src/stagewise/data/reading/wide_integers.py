"""Wide integers, beyond ±2**53, as exact ranks.

A tree only compares values with cuts. For wide integers the cuts are integers, and each value is
replaced by the number of cuts below it: a small number that is exact in a double and compares with
every cut as the value does. Floats, signed and unsigned integers are ranked without rounding. This
module must not import tables.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import sample_rows
from stagewise.data.reading.column import Array, Column

__all__ = [
    "SAMPLE_LIMIT",
    "SAMPLE_SEED",
    "integer_cuts",
    "learn_integer_cuts",
    "ranks",
    "round_up_to_floats",
    "threshold_as_integer",
]

SAMPLE_LIMIT = 65_536
"""The number of rows from which cuts are learned; tables with fewer rows are used in full."""
SAMPLE_SEED = 0
"""Features are learned before the seed of a fit is used."""


def learn_integer_cuts(
    column: Column, weight: npt.NDArray[np.float64] | None, max_bins: int
) -> Array:
    """Return at most ``max_bins - 1`` cuts between the distinct values of a wide column.

    With at most `max_bins` distinct values there is a cut between any two neighbours; with more,
    the cuts are the weighted quantiles. More than `SAMPLE_LIMIT` rows are sampled by hashes of
    their numbers.

    Parameters
    ----------
    column : Column
        The wide column.
    weight : float64 array, or None
        The weight of each row; rows of weight 0 are ignored.
    max_bins : int
        The largest number of bins.

    Returns
    -------
    array of int64 or uint64, as the column
        Increasing. A value v with ``v <= cut`` lies on the left of the cut.
    """
    sample = sample_rows(len(column.values), 0, len(column.values), SAMPLE_LIMIT, SAMPLE_SEED)
    return integer_cuts(column.take(sample), None if weight is None else weight[sample], max_bins)


def integer_cuts(column: Column, weight: npt.NDArray[np.float64] | None, max_bins: int) -> Array:
    """Return the cuts of the rows of a sample; see `learn_integer_cuts`."""
    present = np.ones(len(column.values), dtype=bool)
    if column.missing is not None:
        present &= ~column.missing
    if weight is not None:
        present &= weight > 0
    values, place = np.unique(column.values[present], return_inverse=True)
    if len(values) <= max_bins:
        return _midpoints(values[:-1], values[1:])
    mass = np.cumsum(np.bincount(place, weights=None if weight is None else weight[present]))
    # Multiplied by max_bins, the comparison with a fraction of the sum is exact for counts.
    last_left = np.unique(np.searchsorted(mass * max_bins, mass[-1] * np.arange(1, max_bins)))
    last_left = last_left[last_left < len(values) - 1]
    return _midpoints(values[last_left], values[last_left + 1])


def ranks(column: Column, cuts: Array) -> npt.NDArray[np.float64]:
    """Return the number of cuts strictly below each value; NaN where the value is missing.

    Parameters
    ----------
    column : Column
        Values of any type that a table may hold, not only the type of the cuts.
    cuts : array of int64 or uint64
        Increasing.

    Returns
    -------
    float64 array
    """
    values = column.values
    if values.dtype.kind == "f":
        return _ranks_of_floats(values, cuts)
    if values.dtype != cuts.dtype:
        values = _clipped(values, cuts.dtype)
    rank = np.searchsorted(cuts, values).astype(np.float64)
    if column.missing is not None:
        rank[column.missing] = np.nan
    return rank


def threshold_as_integer(threshold: float, cuts: Array) -> int | float:
    """Return the cut that a threshold of ranks corresponds to.

    An infinite threshold, which separates missing from all other values, is returned unchanged.
    """
    if math.isinf(threshold):
        return threshold
    return int(cuts[max(0, min(int(threshold), len(cuts) - 1))])


def round_up_to_floats(column: Column) -> npt.NDArray[np.float64]:
    """Return the smallest double not below each integer; NaN where the value is missing.

    For every double t, ``x <= t`` holds exactly if it holds for the smallest double not below x, so
    rounding up keeps every integer on its side of every threshold.
    """
    values = column.values
    nearest = values.astype(np.float64)
    # Converting 2**63 or 2**64 back would overflow; neither is below an integer here.
    top = 2.0 ** (63 if values.dtype == np.int64 else 64)
    back = np.where(nearest < top, nearest, 0.0).astype(values.dtype)
    below = (nearest < top) & (back < values)
    result: npt.NDArray[np.float64] = np.where(below, np.nextafter(nearest, np.inf), nearest)
    if column.missing is not None:
        result[column.missing] = np.nan
    return result


def _midpoints(left: Array, right: Array) -> Array:
    # The difference of two int64 may need 64 bits; as unsigned integers it always fits.
    half = (right.astype(np.uint64) - left.astype(np.uint64)) >> np.uint64(1)
    return (left.astype(np.uint64) + half).astype(left.dtype)


def _clipped(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert between int64 and uint64 by clipping; exact, as no cut is the largest integer."""
    if dtype == np.uint64:
        return np.maximum(values, 0).astype(np.uint64)
    return np.minimum(values, np.uint64(2**63 - 1)).astype(np.int64)


def _ranks_of_floats(values: Array, cuts: Array) -> npt.NDArray[np.float64]:
    """Return the ranks of floats: an integer cut is below x exactly if it is below ceil(x)."""
    ceiling = np.ceil(values.astype(np.float64))
    low, high = (-(2.0**63), 2.0**63) if cuts.dtype == np.int64 else (0.0, 2.0**64)
    inside = (ceiling >= low) & (ceiling < high)
    rank = np.searchsorted(cuts, np.where(inside, ceiling, 0.0).astype(cuts.dtype))
    outside = np.where(ceiling >= high, float(len(cuts)), 0.0)
    return np.where(np.isnan(values), np.nan, np.where(inside, rank, outside))
