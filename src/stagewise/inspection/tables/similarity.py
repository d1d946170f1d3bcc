"""An order of categories in which neighbours have similar rows.

The distance of two categories is the difference between the distributions of the other features;
the order follows the first axis of classical scaling of these distances (Apley & Zhu 2020).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stagewise.data.features import Features

__all__ = ["similar_order"]

Vector = npt.NDArray[np.float64]

POINTS = 100
"""The number of quantiles at which numeric distributions are compared."""


def similar_order(
    features: Features, columns: Sequence[Vector], weight: Vector, place: int, codes: Vector
) -> npt.NDArray[np.intp]:
    """Return an order of the categories with similar ones next to each other.

    Parameters
    ----------
    features : Features
        The features of the model.
    columns, weight : sequence of arrays, and array
        The encoded rows and their weights.
    place : int
        The index of the categorical feature.
    codes : float64 array
        Its categories; each has rows.

    Returns
    -------
    intp array
        The order; of its two directions the one that starts with the smaller index.

    Notes
    -----
    The distance of two categories is a sum over all other features: of a numeric feature the
    largest difference of the distribution functions (Kolmogorov-Smirnov), of a categorical feature
    half the sum of the absolute differences of the category shares (total variation). The order is
    along the first axis of classical scaling (Torgerson 1952).
    """
    n = len(codes)
    if n < 3:
        return np.arange(n)
    owner = [np.flatnonzero(columns[place] == code) for code in codes]
    distance = np.zeros((n, n))
    for j, x in enumerate(columns):
        if j == place:
            continue
        if j in features.categorical:
            shares = _shares(x, weight, owner)
            distance += np.abs(shares[:, np.newaxis] - shares).sum(axis=2) / 2
        elif np.isfinite(x).any():
            below = _distributions(x, weight, owner)
            distance += np.abs(below[:, np.newaxis] - below).max(axis=2)
    if not distance.any():
        return np.arange(n)
    centred = np.eye(n) - 1.0 / n
    _, axes = np.linalg.eigh(-0.5 * centred @ distance**2 @ centred)
    order = np.argsort(axes[:, -1], kind="stable")
    return order if order[0] < order[-1] else order[::-1]


def _shares(x: Vector, weight: Vector, owner: Sequence[npt.NDArray[np.intp]]) -> Vector:
    """Return the share of every category, including missing, in each group."""
    known, code = np.unique(x, return_inverse=True)
    counts = np.stack([np.bincount(code[i], weight[i], minlength=len(known)) for i in owner])
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _distributions(x: Vector, weight: Vector, owner: Sequence[npt.NDArray[np.intp]]) -> Vector:
    """Return the distribution function of each group; missing values are above all points."""
    points = np.unique(np.nanquantile(x, np.linspace(0, 1, POINTS), method="inverted_cdf"))
    place = np.searchsorted(points, x)  # NaN sorts last
    counts = np.stack([np.bincount(place[i], weight[i], minlength=len(points) + 1) for i in owner])
    return np.asarray(counts.cumsum(axis=1) / counts.sum(axis=1, keepdims=True))
