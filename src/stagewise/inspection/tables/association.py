"""Measures of association between two columns.

A column has numbers or category codes; each combination has its own measure. Rows with a missing
value in either column are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

__all__ = [
    "correlation_matrix",
    "correlation_ratio",
    "cramers_v",
    "mutual_information",
    "pearson",
    "rank_correlations",
    "spearman",
]

Vector = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

BINS = 10
"""The number of quantile bins of numeric columns for mutual information."""


def pearson(x: Vector, y: Vector) -> float:
    """Return Σ (x - x̄)(y - ȳ) / √(Σ (x - x̄)² Σ (y - ȳ)²); NaN if a column is constant."""
    both = np.isfinite(x) & np.isfinite(y)
    a, b = (_standardised(v[both]) for v in (x, y))
    under = float(np.sqrt((a * a).sum() * (b * b).sum())) if both.any() else 0.0
    return float(np.clip((a * b).sum() / under, -1.0, 1.0)) if under > 0 else float("nan")


def correlation_matrix(columns: list[Vector]) -> Vector:
    """Return Pearson's correlations of all pairs of columns, shape (n, n)."""
    out = np.eye(len(columns))
    for i, x in enumerate(columns):
        for j in range(i, len(columns)):
            out[i, j] = out[j, i] = pearson(x, columns[j])
    return out


def _standardised(v: Vector) -> Vector:
    """Return a centred column, scaled so that squares neither underflow nor overflow."""
    largest = np.abs(v).max(initial=0.0)
    v = v / largest if largest > 0 else v
    moved = v - v.mean() if len(v) else v
    return moved / moved.std() if len(v) and moved.std() > 1e-14 else np.zeros_like(moved)


def spearman(x: Vector, y: Vector) -> float:
    """Return the correlation of the ranks, with average ranks for ties (Spearman 1904)."""
    both = ~(np.isnan(x) | np.isnan(y))
    return pearson(rankdata(x[both]), rankdata(y[both])) if both.any() else float("nan")


def rank_correlations(columns: list[Vector]) -> Vector:
    """Return Spearman's correlations of all pairs of columns, shape (n, n).

    Ranks are computed once per column and missing values get the mean rank, so that all pairs need
    only one matrix product.
    """
    ranks = np.zeros((len(columns[0]), len(columns)))
    for j, x in enumerate(columns):
        known = ~np.isnan(x)
        if known.any():
            own = rankdata(x[known])
            ranks[known, j] = own - own.mean()
    size = np.sqrt((ranks**2).sum(axis=0))
    size[size == 0] = np.inf
    return np.asarray(np.clip((ranks / size).T @ (ranks / size), -1.0, 1.0))


def correlation_ratio(codes: Codes, y: Vector) -> float:
    """Return η = √(variance between categories / total variance) (Pearson 1905).

    A code below 0 is missing. NaN if y is constant.
    """
    both = (codes >= 0) & np.isfinite(y)
    if not both.any():
        return float("nan")
    category, value = codes[both], _standardised(y[both])
    whole = float((value**2).sum())
    if whole == 0:
        return float("nan")
    rows = np.bincount(category)
    means = np.bincount(category, value) / np.maximum(rows, 1)
    return float(np.sqrt(np.clip((rows * means**2).sum() / whole, 0.0, 1.0)))


def cramers_v(a: Codes, b: Codes) -> float:
    """Return √(χ² / (n · (min(categories) - 1))) of two categorical columns (Cramér 1946)."""
    table = _counts(a, b)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    least = min(table.shape) - 1
    if least < 1:
        return float("nan")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(min(chi / (table.sum() * least), 1.0)))


def _counts(a: Codes, b: Codes) -> Vector:
    both = (a >= 0) & (b >= 0)
    shape = (int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1)
    flat = np.ravel_multi_index((a[both], b[both]), shape)
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def mutual_information(a: Any, b: Any) -> float:
    """Return Σ p(a, b) log( p(a, b) / (p(a) p(b)) ) in nats; floats are binned by deciles.

    A missing value of a is one more category; rows with a missing b are left out. The expected
    value under independence, (categories of a - 1) (categories of b - 1) / 2n, is subtracted
    (Miller 1955), so that many categories with few rows each do not get a large value.
    """
    table = _counts(_grouped(a) + 1, _grouped(b))
    if not table[1:].sum():
        return float("nan")
    p = table / table.sum()
    apart = np.outer(p.sum(axis=1), p.sum(axis=0))
    some = p > 0
    found = (p[some] * np.log(p[some] / apart[some])).sum()
    degrees = [(p.sum(axis=axis) > 0).sum() - 1 for axis in (0, 1)]
    return float(max(found - degrees[0] * degrees[1] / (2 * table.sum()), 0.0))


def _grouped(column: Any) -> Codes:
    if column.dtype.kind != "f":
        return np.asarray(column, dtype=np.intp)
    codes = np.full(len(column), -1, dtype=np.intp)
    known = ~np.isnan(column)
    if known.any():
        shares = np.linspace(0, 1, BINS + 1)[1:-1]
        cuts = np.unique(np.quantile(column[known], shares, method="inverted_cdf"))
        codes[known] = np.searchsorted(cuts, column[known])
    return codes
