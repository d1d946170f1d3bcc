"""Metrics of ordered classes: functions of class codes and the probabilities of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.exact_sums import mean_rows, sum_by_code

__all__ = [
    "quadratic_kappa",
    "rank_mae",
    "ranked_probability_score",
    "ranked_probability_scores",
]

Vector = npt.NDArray[np.float64]


def ranked_probability_score(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    """Return the mean of 1/(K-1) Σ_k (P(y ≤ k) - [y ≤ k])² (Epstein 1969).

    For two classes it is the Brier score.
    """
    return mean_rows(ranked_probability_scores(y, p), weight)


def ranked_probability_scores(y: npt.NDArray[Any], p: Vector) -> Vector:
    """Return the ranked probability score of each row."""
    below = np.cumsum(p, axis=1)[:, :-1]
    met = y[:, np.newaxis] <= np.arange(p.shape[1] - 1)
    return np.ascontiguousarray(((below - met) ** 2).sum(axis=1) / max(p.shape[1] - 1, 1))


def quadratic_kappa(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    """Return Cohen's kappa of the most probable classes, with squared distances (Cohen 1968).

    It is 1 - Σ w (ŷ - y)² / E(ŷ - y)², with the expectation for independent y and ŷ; 0 if both are
    the same constant.
    """
    n, chosen = p.shape[1], p.argmax(axis=1).astype(np.int32)
    codes = np.arange(n, dtype=np.float64)
    known, taken = (sum_by_code(c.astype(np.int32), n, weight) for c in (y, chosen))
    if np.count_nonzero(known + taken) == 1:
        return 0.0
    total = known.sum()
    # Of each class as the prediction; with whole weights all of this is exact.
    squares = codes**2 @ known - 2.0 * codes * (codes @ known) + codes**2 * total
    expected = float(squares @ (taken / total)) / float(total)
    return 1.0 - mean_rows((chosen - y.astype(np.float64)) ** 2, weight) / expected


def rank_mae(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    """Return the mean distance of the most probable class, in ranks: |ŷ - y|."""
    return mean_rows(np.abs(p.argmax(axis=1) - y.astype(np.float64)), weight)
