"""What a row costs at a node that would be a leaf, by each criterion.

The one idea: the impurity of a node is the mean over its rows of what each of them costs there, so
one number for a row and a node is all that pruning needs of a criterion. Must not know how trees
are grown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["IMPURITIES", "RowCosts"]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
RowCosts = Callable[[Indices, Indices], Vector]
"""What rows, by their numbers, cost at nodes, a node for each row."""


def gini(said: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """1 - p_y, whose mean is Σ_k p_k (1 - p_k)."""
    return lambda rows, nodes: 1.0 - said[nodes, y[rows]]


def entropy(said: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """-log p_y, whose mean is -Σ_k p_k log p_k."""
    surprise = -np.log(np.maximum(said, np.finfo(np.float64).tiny))  # a share may round to 0
    return lambda rows, nodes: np.asarray(surprise[nodes, y[rows]])


def misclassification(said: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """1 where the commonest class of the node is not the row's; the mean is 1 - max_k p_k."""
    commonest = said.argmax(axis=1)
    return lambda rows, nodes: (commonest[nodes] != y[rows]).astype(np.float64)


def squared_error(said: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """(y - mean)², whose mean is the variance."""
    return lambda rows, nodes: np.asarray((y[rows] - said[nodes]) ** 2)


def absolute_error(said: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """|y - median|."""
    return lambda rows, nodes: np.asarray(np.abs(y[rows] - said[nodes]))


IMPURITIES: Mapping[str, Callable[[npt.NDArray[np.float64], npt.NDArray[Any]], RowCosts]] = (
    MappingProxyType(
        {
            kind.__name__: kind
            for kind in (gini, entropy, misclassification, squared_error, absolute_error)
        }
    )
)
"""By name: from what nodes say (the shares of the classes, or a number) and the targets of rows."""
