"""Distillation: a small model that is fitted to the predictions of a large one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["repeat_by_class"]

Vector = npt.NDArray[np.float64]

LEAST_PROBABILITY = 1e-3
"""A class with a smaller probability in a row is left out of the row's targets, unless it is the
most probable class of the row, or the row is the most probable one of the class."""


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
    n_rows, n_classes = probability.shape
    kept = probability >= LEAST_PROBABILITY
    kept[np.arange(n_rows), probability.argmax(axis=1)] = True
    kept[probability.argmax(axis=0), np.arange(n_classes)] = True  # every class has a row
    share = np.where(kept, np.maximum(probability, np.finfo(np.float64).eps), 0.0)
    share /= share.sum(axis=1, keepdims=True)
    rows, classes = np.nonzero(kept)
    return rows, classes, share[rows, classes]
