"""Limits of an axis that a few extreme values do not determine."""

from __future__ import annotations

import numpy as np

from stagewise.inspection.fitted_model import Vector

__all__ = ["robust_limits"]

FEWEST = 10
"""With fewer values, the limits are the smallest and the largest."""


def robust_limits(values: Vector) -> tuple[float, float]:
    """Return the range of the values that are not far from most others.

    Far is more than the distance of the 1 % and the 99 % quantile beyond either; of fewer than 100
    values, beyond the second smallest and the second largest. `robustEnds` of charts.js is the
    same.

    Parameters
    ----------
    values : float64 array
        At least one must be finite.
    """
    finite = np.sort(values[np.isfinite(values)])
    n = len(finite)
    if n < FEWEST:
        return float(finite[0]), float(finite[-1])
    trimmed = max(1, n // 100)
    low, high = finite[trimmed], finite[n - 1 - trimmed]
    if not high > low:
        return float(finite[0]), float(finite[-1])
    with np.errstate(over="ignore"):
        first = np.searchsorted(finite, low - (high - low))
        last = np.searchsorted(finite, high + (high - low), side="right") - 1
    return float(finite[first]), float(finite[last])
