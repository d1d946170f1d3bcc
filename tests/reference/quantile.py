"""The weighted quantile by sorting. This module does not call the package."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["weighted_quantile"]

Vector = npt.NDArray[np.float64]


def weighted_quantile(values: Vector, weight: Vector | None, q: float) -> float:
    """Return the least value at or below which the share q of the weight lies.

    Where a value reaches the share exactly, the middle between it and the next value that has
    weight: the usual median.
    """
    weight = np.ones(len(values)) if weight is None else weight
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    below, reach = np.cumsum(weight[order]), q * weight[order].sum()
    k = min(int(np.sum(below < reach)), len(order) - 1)
    low = float(values[order[k]])
    if below[k] == reach and k + 1 < len(order):
        return low + (float(values[order[k + 1]]) - low) / 2
    return low
