"""Weighted quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagewise.inspection.fitted_model import Vector

__all__ = ["weighted_quantiles"]


def weighted_quantiles(values: Vector, weight: Vector, shares: Any) -> Vector:
    """Return weighted quantiles.

        q(s) = min {v : Σ_i w_i [v_i <= v] >= s Σ_i w_i}

    Each quantile is the value of a row with a positive weight: integer weights are equivalent to
    repeated rows, and infinite values are allowed.

    Parameters
    ----------
    values, weight : float64 arrays of shape (n_rows,)
        At least one weight must be positive.
    shares : array-like of float
        Probabilities from 0 to 1.
    """
    kept = weight > 0
    found = np.quantile(values[kept], shares, weights=weight[kept], method="inverted_cdf")
    return np.asarray(found, dtype=np.float64)
