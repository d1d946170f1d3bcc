"""Integers too wide for a double, as exact ranks.

The one idea: a model only ever asks on which side of a cut a value lies. For integers beyond
2**53 the cuts are kept as integers, and a value is replaced by the number of cuts below it: a small
number that is exact in a double and answers every such question. Floats, signed and unsigned
integers are all ranked without rounding. This file must not know about tables or names.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.column import Array, Column

__all__ = ["learn_cuts", "ranks", "round_up_to_floats", "threshold_as_integer"]


def learn_cuts(column: Column, weight: npt.NDArray[np.float64] | None, max_bins: int) -> Array:
    """Choose at most ``max_bins - 1`` cuts between the distinct values of a wide column.

    All of them when there are few; otherwise those nearest to equal shares of the weight.

    Parameters
    ----------
    column : Column
        The wide column.
    weight : float64 array, or None
        How often each row counts; a row of weight zero is absent.
    max_bins : int
        How many ranges of values to tell apart.

    Returns
    -------
    array of int64 or uint64, as the column
        Increasing. A value v with ``v <= cut`` lies on the left of the cut.
    """
    present = np.ones(len(column.values), dtype=bool)
    if column.missing is not None:
        present &= ~column.missing
    if weight is not None:
        present &= weight > 0
    values, place = np.unique(column.values[present], return_inverse=True)
    if len(values) <= max_bins:
        return _midpoints(values[:-1], values[1:])
    mass = np.cumsum(np.bincount(place, weights=None if weight is None else weight[present]))
    # Multiplied out, the comparison with a share of the whole is exact for counts.
    last_left = np.unique(np.searchsorted(mass * max_bins, mass[-1] * np.arange(1, max_bins)))
    last_left = last_left[last_left < len(values) - 1]
    return _midpoints(values[last_left], values[last_left + 1])


def ranks(column: Column, cuts: Array) -> npt.NDArray[np.float64]:
    """Count the cuts strictly below each value; NaN where the value is missing.

    Parameters
    ----------
    column : Column
        Values of any type a table may hold, not only that of the cuts.
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
    """Return the integer that a threshold of ranks stands for: ranks up to it are below the cut.

    An infinite one, which tells missing values from all others, is what it is.
    """
    if math.isinf(threshold):
        return threshold
    return int(cuts[max(0, min(int(threshold), len(cuts) - 1))])


def round_up_to_floats(column: Column) -> npt.NDArray[np.float64]:
    """Give the smallest double not below each integer; NaN where the value is missing.

    For any double t, ``x <= t`` exactly when the smallest double not below x is: rounding
    upwards is what keeps an integer on its side of every threshold.
    """
    values = column.values
    nearest = values.astype(np.float64)
    # 2**63 and 2**64 are where a conversion back would overflow; neither is below an integer here.
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
    """Make signed unsigned or the reverse; a cut never is the largest integer, so ends may meet."""
    if dtype == np.uint64:
        return np.maximum(values, 0).astype(np.uint64)
    return np.minimum(values, np.uint64(2**63 - 1)).astype(np.int64)


def _ranks_of_floats(values: Array, cuts: Array) -> npt.NDArray[np.float64]:
    """Rank floats by their ceiling: an integer cut is below x exactly when it is below that."""
    ceiling = np.ceil(values.astype(np.float64))
    low, high = (-(2.0**63), 2.0**63) if cuts.dtype == np.int64 else (0.0, 2.0**64)
    inside = (ceiling >= low) & (ceiling < high)
    rank = np.searchsorted(cuts, np.where(inside, ceiling, 0.0).astype(cuts.dtype))
    outside = np.where(ceiling >= high, float(len(cuts)), 0.0)
    return np.where(np.isnan(values), np.nan, np.where(inside, rank, outside))
