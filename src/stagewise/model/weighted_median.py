"""The weighted median of the predictions of several terms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["weighted_median"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

BLOCK = 1 << 16
"""The number of rows that are sorted at once."""


def weighted_median(predicted: Matrix, weights: Vector) -> Vector:
    """Return the smallest prediction of each row that has at least half of the weight below it.

    The weight of the prediction itself counts as below it (Drucker 1997, step 8).

    Parameters
    ----------
    predicted : float64 array of shape (n_rows, n_terms)
        The predictions.
    weights : float64 array of shape (n_terms,)
        Non-negative weights.
    """
    out = np.empty(len(predicted))
    for first in range(0, len(predicted), BLOCK):
        block = predicted[first : first + BLOCK]
        order = np.argsort(block, axis=1, kind="stable")
        below = np.cumsum(weights[order], axis=1)
        # The sums of a row are in its own order, so that half of the last one is compared.
        place = np.argmax(below >= 0.5 * below[:, -1:], axis=1)
        rows = np.arange(len(block))
        out[first : first + BLOCK] = block[rows, order[rows, place]]
    return out
