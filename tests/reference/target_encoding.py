"""Target encodings, row by row and key by key: the reference of native/encoding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def keys_of(X: Vector, sources: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the categories of each row as a tuple; a missing one is None."""
    return [tuple(None if np.isnan(x) else int(x) for x in row) for row in X[:, list(sources)]]


def ordered_means(
    keys: Sequence[Any], g: Vector, h: Vector, order: Sequence[int], strength: float
) -> Vector:
    """-Σg / (Σh + s) of the earlier rows with the same key, one row after the other."""
    before: dict[Any, list[int]] = defaultdict(list)
    encoded = np.empty(len(keys))
    for row in order:
        earlier = before[keys[row]]
        encoded[row] = -g[earlier].sum() / (h[earlier].sum() + strength)
        earlier.append(row)
    return encoded


def strength_of(keys: Sequence[Any], g: Vector, h: Vector) -> float:
    """σ² within over σ² between, by one-way analysis of variance with weights h."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        groups[key].append(row)
    z = -g / h
    means = {key: np.average(z[rows], weights=h[rows]) for key, rows in groups.items()}
    n, k, total = len(keys), len(groups), h.sum()
    if n <= k or k < 2:
        return np.inf
    within = sum((h[rows] * (z[rows] - means[key]) ** 2).sum() for key, rows in groups.items())
    within /= n - k
    grand = np.average(z, weights=h)
    spread = sum(h[rows].sum() * (means[key] - grand) ** 2 for key, rows in groups.items())
    sizes = sum(h[rows].sum() ** 2 for rows in groups.values())
    between = (spread - (k - 1) * within) / (total - sizes / total)
    return np.inf if between <= 0 else max(total / n, within / between)


def cross_fitted_means(
    keys: Sequence[Any], g: Vector, h: Vector, folds: Sequence[int], strength: float
) -> Vector:
    """-Σg / (Σh + s) of the rows with the same key in other folds; fold 8: no row is left out."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        if folds[row] < 8:
            groups[key].append(row)
    encoded = np.zeros(len(keys))
    for row, key in enumerate(keys):
        others = [other for other in groups[key] if folds[other] != folds[row]]
        size = h[others].sum() + strength
        encoded[row] = -g[others].sum() / size if size > 0 else 0.0
    return encoded
