"""An order of the levels of a category in which neighbours have similar rows.

The one idea: two levels are as far apart as the other features are differently distributed in
them, and a line is laid through these distances (Apley & Zhu 2020). Must not ask a model anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stagewise.data.features import Features

__all__ = ["similar_order"]

Vector = npt.NDArray[np.float64]

POINTS = 100
"""At how many quantiles distributions of numbers are compared."""


def similar_order(
    features: Features, columns: Sequence[Vector], weight: Vector, place: int, codes: Vector
) -> npt.NDArray[np.intp]:
    """Return the places of the levels, similar ones side by side.

    Parameters
    ----------
    features : Features
        What the model remembers of the columns.
    columns, weight : sequence of arrays, and array
        The rows.
    place : int
        The category.
    codes : float64 array
        Its levels, each with rows.

    Returns
    -------
    intp array
        An order; of the two directions the one that begins with the earlier level.

    Notes
    -----
    The distance of two levels is the sum over all other features of the largest difference of their
    distribution functions (Kolmogorov & Smirnov); of a category half the sum of the differences of
    the shares of its levels. The order is along the first axis of classical scaling (Torgerson
    1952).
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
    """Return the share of every value of a category, and of the missing one, in each group."""
    known, code = np.unique(x, return_inverse=True)
    counts = np.stack([np.bincount(code[i], weight[i], minlength=len(known)) for i in owner])
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _distributions(x: Vector, weight: Vector, owner: Sequence[npt.NDArray[np.intp]]) -> Vector:
    """Return the share of each group at or below some points; missing values are above all."""
    points = np.unique(np.nanquantile(x, np.linspace(0, 1, POINTS), method="inverted_cdf"))
    place = np.searchsorted(points, x)  # NaN is behind all
    counts = np.stack([np.bincount(place[i], weight[i], minlength=len(points) + 1) for i in owner])
    return np.asarray(counts.cumsum(axis=1) / counts.sum(axis=1, keepdims=True))
