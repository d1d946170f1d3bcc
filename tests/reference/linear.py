"""Linear regression in exact fractions, and simple textbook loops."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Row = list[Fraction]


def solve(matrix: list[Row], right: list[Row]) -> list[Row]:
    """Return the solution of a regular system, by Gauss-Jordan elimination."""
    n = len(matrix)
    both = [[*row, *more] for row, more in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = next(r for r in range(i, n) if both[r][i])
        both[i], both[pivot] = both[pivot], both[i]
        both[i] = [x / both[i][i] for x in both[i]]
        for r in range(n):
            if r != i and both[r][i]:
                both[r] = [a - both[r][i] * b for a, b in zip(both[r], both[i], strict=True)]
    return [row[n:] for row in both]


def least_squares(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None, *, intercept: bool = True
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return β̂, (X'WX)⁻¹ and the weighted residual sum of squares, rounded only at the end."""
    w = [Fraction(1)] * len(y) if weight is None else [Fraction(float(v)) for v in weight]
    rows = [[Fraction(1)] * intercept + [Fraction(float(v)) for v in row] for row in X]
    target = [Fraction(float(v)) for v in y]
    k = len(rows[0])
    gram = [
        [sum(u * r[a] * r[b] for u, r in zip(w, rows, strict=True)) for b in range(k)]
        for a in range(k)
    ]
    products = [
        [sum(u * r[a] * t for u, r, t in zip(w, rows, target, strict=True))] for a in range(k)
    ]
    beta = [row[0] for row in solve(gram, products)]
    unit = [[Fraction(int(a == b)) for b in range(k)] for a in range(k)]
    inverse = solve(gram, unit)
    rss = sum(
        u * (t - sum(b * x for b, x in zip(beta, r, strict=True))) ** 2
        for u, r, t in zip(w, rows, target, strict=True)
    )
    return (
        np.array([float(b) for b in beta]),
        np.array([[float(v) for v in row] for row in inverse]),
        float(rss),
    )


def stagewise(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    rounds: int,
    *,
    rate: float = 1.0,
    epsilon: float | None = None,
) -> tuple[np.ndarray, list[int]]:
    """Return the coefficients after every round, and the columns that were changed.

    Forward stagewise regression as in lectures, on columns of mean 0 and variance 1.
    """
    mean = np.average(X, axis=0, weights=weight)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    Z = (X - mean) / spread
    residual = y - np.average(y, weights=weight)
    of_y = np.sqrt(np.average(residual**2, weights=weight))
    beta = np.zeros(X.shape[1])
    path, moved = [beta.copy()], []
    for _ in range(rounds):
        slopes = np.array(
            [np.average(Z[:, j] * residual, weights=weight) for j in range(Z.shape[1])]
        )
        j = int(np.argmax(np.abs(slopes)))
        step = rate * slopes[j] if epsilon is None else epsilon * of_y * np.sign(slopes[j])
        if epsilon is not None and abs(slopes[j]) <= epsilon * of_y / 2:
            break
        residual = residual - step * Z[:, j]
        beta[j] += step / spread[j]
        path.append(beta.copy())
        moved.append(j)
    return np.array(path), moved


def residual_squares(columns: Sequence[np.ndarray], y: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted residual sum of squares of an intercept and some columns."""
    A = np.column_stack([np.ones(len(y)), *columns]) * np.sqrt(weight)[:, np.newaxis]
    b = y * np.sqrt(weight)
    return float(np.sum((b - A @ np.linalg.lstsq(A, b, rcond=None)[0]) ** 2))
