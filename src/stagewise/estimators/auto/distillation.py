"""Distillation: a small model that is fitted to the predictions of a large one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["repeat_by_class"]

Vector = npt.NDArray[np.float64]

LEAST_PROBABILITY = 1e-3
"""A class with a smaller probability in a row is left out of the row's targets."""


def repeat_by_class(
    probability: Vector,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Vector]:
    """Return rows, classes and weights whose log loss is the cross-entropy to probabilities.

    The cross-entropy Σ_k -p_k log q_k of a row is the log loss of K copies of the row, one for each
    class, with the weights p_k.

    Parameters
    ----------
    probability : float64 array of shape (n_rows, n_classes)
        The probabilities p of the large model.

    Returns
    -------
    rows, classes : intp arrays
        The row and the class of every copy.
    weights : float64 array
        Their weights, with sum 1 in every row.
    """
    kept = np.where(probability >= LEAST_PROBABILITY, probability, 0.0)
    kept /= kept.sum(axis=1, keepdims=True)
    rows, classes = np.nonzero(kept)
    return rows, classes, kept[rows, classes]
