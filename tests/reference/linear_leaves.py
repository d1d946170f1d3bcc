"""Linear leaves by NumPy's least squares: no blocks, no merging, no power of two.

A ridge regression is least squares with one more row for each feature. This module does not call
the core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.trees.tree import Tree

__all__ = ["LinearLeaf", "fit_linear_leaf", "leaf_prediction", "path_features"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

ROWS_PER_SLOPE = 8.0
LEAST_SPREAD = 1e-9


@dataclass
class LinearLeaf:
    """The result of `fit_linear_leaf`; slope 0 for a feature that is not in the model."""

    slope: Vector
    centre: Vector
    spread: float
    complete: npt.NDArray[np.bool_]  # which rows have all features


def fit_linear_leaf(
    X: Matrix, g: Vector, h: Vector, weight: Vector, l2: float, bound: float, direction: Vector
) -> LinearLeaf | None:
    """Return the linear model of a leaf, None for a constant; g and h include the weights.

    `bound` is the largest h for a weight of 1, or 0.
    """
    complete = np.isfinite(X).all(axis=1)
    x, g, h = X[complete], g[complete], h[complete]
    total = h.sum()
    if not len(x) or not total > 0:
        return None
    centre = h @ x / total
    deviation = np.sqrt(h @ (x - centre) ** 2 / total)
    used = (deviation > LEAST_SPREAD * np.maximum(1.0, np.abs(centre))) & (np.ptp(x, axis=0) > 0)
    rows = weight[complete].sum()
    if bound > 0:
        rows = min(rows, total / bound)
    if rows < ROWS_PER_SLOPE * (used.sum() + 1):
        return None
    while used.any():
        z = (x[:, used] - centre[used]) / deviation[used]
        # Σ g f + ½ h f² is ½ Σ h (f + g / h)², plus a constant.
        root = np.sqrt(h)
        response = np.divide(-g, root, out=np.zeros_like(g), where=root > 0)
        top = np.vstack([root[:, None] * z, np.sqrt(l2) * np.eye(used.sum())])
        u = np.linalg.lstsq(top, np.append(response, np.zeros(used.sum())), rcond=1e-7)[0]
        # Rows of hessian 0 contribute only their gradient, which least squares cannot represent.
        assert (h > 0).all()
        wrong = u * direction[used] < 0
        if not wrong.any():
            slope = np.zeros(X.shape[1])
            slope[used] = u / deviation[used]
            u_score = z @ u
            spread = float(np.sqrt(h @ u_score**2 / total))
            return LinearLeaf(slope, centre, spread, complete) if slope.any() else None
        used[np.flatnonzero(used)[wrong]] = False
    return None


def path_features(tree: Tree, node: int, numbers: set[int]) -> list[int]:
    """Return the numeric features of the splits on the path to a node."""
    found = set()
    while node:
        (node,) = np.flatnonzero((tree.left == node) | (tree.right == node))
        found.add(int(tree.feature[node]))
    return sorted(found & numbers)


def leaf_prediction(tree: Tree, node: int, row: Vector) -> float:
    """Return the prediction of a leaf for a row, operation by operation as documented."""
    lines = tree.linear_leaves
    if lines is None or node not in lines.node:
        return float(tree.value[node])
    i = int(np.flatnonzero(lines.node == node)[0])
    total = float(lines.intercept[i])
    with np.errstate(all="ignore"):
        for k in range(int(lines.start[i]), int(lines.start[i + 1])):
            total += float(lines.slope[k]) * (float(row[lines.feature[k]]) - float(lines.centre[k]))
    if np.isnan(total) or (np.isinf(total) and not lines.beyond[i]):
        return float(tree.value[node])
    total = min(max(total, float(lines.low[i])), float(lines.high[i]))
    grain = float(lines.grain[i])
    return float(np.rint(total / grain) * grain) if grain > 0 else total
