"""Scores as arrays: shape (n_rows, n_outputs), or a vector of one output."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Matrix", "Vector", "repeat_score", "squeeze_outputs"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


def repeat_score(constant: Vector, n_rows: int) -> Matrix:
    """Return scores of shape (n_rows, n_outputs) that are the same in every row."""
    return np.repeat(constant[:, np.newaxis], n_rows, axis=1).T


def squeeze_outputs(score: Matrix) -> Matrix:
    """Return scores of shape (n_rows, 1) as a vector, the form of a loss with one output."""
    return score[:, 0] if score.shape[1] == 1 else score
