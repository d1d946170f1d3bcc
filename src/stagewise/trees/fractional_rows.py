"""Predictions for rows with missing values, by fractional rows (C4.5).

Where the value of the split feature is missing, a row goes to both children, with the fractions of
the training rows that went left and right. Its prediction is the mean of the leaves that it
reaches, weighted by the products of the fractions on its paths (Quinlan 1993, section 3.1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stagewise.trees.tree import Tree

__all__ = ["predict_fractional"]

Matrix = npt.NDArray[np.float64]


def predict_fractional(tree: Tree, X: Matrix) -> Matrix:
    """Return the prediction of the tree for each row, shape (n_rows, n_outputs).

    Parameters
    ----------
    tree : Tree
        With constant leaves; the fractions are those of `cover`.
    X : float64 array of shape (n_rows, n_features)
        Numbers, codes of categories, and NaN.
    """
    value = tree.value.reshape(len(tree.feature), -1)
    out = np.zeros((len(X), value.shape[1]))
    rows, nodes, fraction = np.arange(len(X)), np.zeros(len(X), dtype=np.intp), np.ones(len(X))
    while len(rows):
        ended = tree.feature[nodes] < 0
        np.add.at(out, rows[ended], fraction[ended, np.newaxis] * value[nodes[ended]])
        rows, nodes, fraction = rows[~ended], nodes[~ended], fraction[~ended]
        left = _goes_left(tree, nodes, X[rows, tree.feature[nodes]])
        sides = []
        for children, part in ((tree.left, left), (tree.right, 1.0 - left)):
            taken = part > 0
            sides.append((rows[taken], children[nodes[taken]], fraction[taken] * part[taken]))
        rows, nodes, fraction = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    return out


def _goes_left(tree: Tree, nodes: npt.NDArray[np.intp], x: npt.NDArray[np.float64]) -> Matrix:
    """Return the fraction of each row that goes left: 0 or 1, unless its value is missing."""
    left = (x <= tree.threshold[nodes]).astype(np.float64)
    if tree.category_sets is not None:
        has_set = (tree.category_sets.start[nodes] >= 0) & ~np.isnan(x)
        category = x[has_set].astype(np.int64)
        words = tree.category_sets.bits[tree.category_sets.start[nodes[has_set]] + category // 64]
        left[has_set] = (words >> (category % 64).astype(np.uint64)) & np.uint64(1)
    missing = np.isnan(x)
    cover = [tree.cover[children[nodes[missing]]] for children in (tree.left, tree.right)]
    left[missing] = cover[0] / (cover[0] + cover[1])
    return left
