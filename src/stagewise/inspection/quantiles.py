"""Quantiles of rows that do not all count the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagewise.inspection.fitted_model import Vector

__all__ = ["weighted_quantiles"]


def weighted_quantiles(values: Vector, weight: Vector, shares: Any) -> Vector:
    """Return the values up to which shares of the weight lie.

        q(s) = min {v : Σ_i w_i [v_i <= v] >= s Σ_i w_i}

    Every one is the value of some row that counts, so a whole weight is the row so many times, and
    infinite values do no harm.

    Parameters
    ----------
    values, weight : float64 arrays of shape (n_rows,)
        At least one row must count.
    shares : array-like of float
        From 0 to 1.
    """
    kept = weight > 0
    found = np.quantile(values[kept], shares, weights=weight[kept], method="inverted_cdf")
    return np.asarray(found, dtype=np.float64)
