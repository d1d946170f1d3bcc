"""Impurity criteria: of class fractions, and as costs of rows for pruning.

The impurity of a node is the mean over its rows of the cost of each row, if the node were a leaf.
So pruning needs only the cost of a row at a node. This module must not grow trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["IMPURITIES", "RowCosts", "class_impurity", "mean_costs"]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
RowCosts = Callable[[Indices, Indices], Vector]
"""A function of row indices and node indices, one node per row, that returns the costs."""


def class_impurity(share: Vector, criterion: str) -> Vector:
    """Return the impurity of nodes with these class fractions; 0 for a node without rows.

    Parameters
    ----------
    share : float64 array of shape (…, n_classes)
        The fractions p_k of the classes; all 0 for a node without rows.
    criterion : {"gini", "entropy", "misclassification"}
        1 - Σ_k p_k², -Σ_k p_k log p_k in nats, or 1 - max_k p_k (Breiman et al. 1984, section 4.3).
    """
    if criterion == "entropy":
        log = np.log(share, out=np.zeros_like(share), where=share > 0)
        return np.asarray(np.maximum(-(share * log).sum(axis=-1), 0.0))
    whole = share.any(axis=-1).astype(np.float64)
    if criterion == "misclassification":
        return np.asarray(whole - share.max(axis=-1))
    return np.asarray(whole - (share**2).sum(axis=-1))


def gini(predicted: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """Return costs 1 - p_y, whose mean is Σ_k p_k (1 - p_k)."""
    return lambda rows, nodes: 1.0 - predicted[nodes, y[rows]]


def entropy(predicted: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """Return costs -log p_y, whose mean is -Σ_k p_k log p_k."""
    surprise = -np.log(
        np.maximum(predicted, np.finfo(np.float64).tiny)
    )  # a probability may round to 0
    return lambda rows, nodes: np.asarray(surprise[nodes, y[rows]])


def misclassification(predicted: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """Return costs 1 where y is not the most frequent class; the mean is 1 - max_k p_k."""
    commonest = predicted.argmax(axis=1)
    return lambda rows, nodes: (commonest[nodes] != y[rows]).astype(np.float64)


def squared_error(predicted: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """Return costs (y - mean)², whose mean is the variance; of several targets, their mean."""
    return lambda rows, nodes: _over_targets((y[rows] - predicted[nodes]) ** 2)


def poisson(predicted: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """Return costs y log(y / mean) - y + mean: half of the Poisson deviance."""

    def costs(rows: Indices, nodes: Indices) -> Vector:
        own, mean = y[rows], predicted[nodes]
        ratio = np.divide(own, mean, out=np.ones_like(mean), where=(own > 0) & (mean > 0))
        # A count above 0 where the mean is 0 has an infinite deviance.
        log = np.where((own > 0) & (mean <= 0), np.inf, np.log(ratio))
        return _over_targets(np.where(own > 0, own * log, 0.0) - own + mean)

    return costs


def _over_targets(costs: npt.NDArray[np.float64]) -> Vector:
    """Return the costs of rows: the mean over their targets."""
    return np.asarray(costs if costs.ndim == 1 else costs.mean(axis=1))


def mean_costs(each: Sequence[RowCosts]) -> RowCosts:
    """Return the mean of the costs of several targets."""
    return lambda rows, nodes: np.asarray(np.mean([costs(rows, nodes) for costs in each], axis=0))


def absolute_error(predicted: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> RowCosts:
    """Return costs |y - median|."""
    return lambda rows, nodes: np.asarray(np.abs(y[rows] - predicted[nodes]))


IMPURITIES: Mapping[str, Callable[[npt.NDArray[np.float64], npt.NDArray[Any]], RowCosts]] = (
    MappingProxyType(
        {
            kind.__name__: kind
            for kind in (gini, entropy, misclassification, squared_error, poisson, absolute_error)
        }
    )
)
"""By name: functions of the predictions of nodes (class probabilities or numbers) and of y."""
