"""What a tree says of rows with missing cells that go both ways.

The one idea: where a question cannot be answered, the row goes left with the probability that
training rows did, and right with the rest; it gets the mean of the leaves it reaches, weighted by
the products on its paths (Quinlan 1993, section 3.1). Must not know where rows come from.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stagewise.trees.tree import Tree

__all__ = ["predict_fractional"]

Matrix = npt.NDArray[np.float64]


def predict_fractional(tree: Tree, X: Matrix) -> Matrix:
    """Return what the tree says of each row, shape (n_rows, n_outputs).

    Parameters
    ----------
    tree : Tree
        Of constants; the sides of its splits are weighed by `cover`.
    X : float64 array of shape (n_rows, n_features)
        Numbers, numbers of levels, and NaN.
    """
    value = tree.value.reshape(len(tree.feature), -1)
    out = np.zeros((len(X), value.shape[1]))
    rows, nodes, share = np.arange(len(X)), np.zeros(len(X), dtype=np.intp), np.ones(len(X))
    while len(rows):
        ended = tree.feature[nodes] < 0
        np.add.at(out, rows[ended], share[ended, np.newaxis] * value[nodes[ended]])
        rows, nodes, share = rows[~ended], nodes[~ended], share[~ended]
        left = _goes_left(tree, nodes, X[rows, tree.feature[nodes]])
        sides = []
        for children, part in ((tree.left, left), (tree.right, 1.0 - left)):
            taken = part > 0
            sides.append((rows[taken], children[nodes[taken]], share[taken] * part[taken]))
        rows, nodes, share = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    return out


def _goes_left(tree: Tree, nodes: npt.NDArray[np.intp], x: npt.NDArray[np.float64]) -> Matrix:
    """Return the share of each row that goes left: 0 or 1, unless its cell is missing."""
    left = (x <= tree.threshold[nodes]).astype(np.float64)
    if tree.category_sets is not None:
        asks = (tree.category_sets.start[nodes] >= 0) & ~np.isnan(x)
        category = x[asks].astype(np.int64)
        words = tree.category_sets.bits[tree.category_sets.start[nodes[asks]] + category // 64]
        left[asks] = (words >> (category % 64).astype(np.uint64)) & np.uint64(1)
    missing = np.isnan(x)
    cover = [tree.cover[children[nodes[missing]]] for children in (tree.left, tree.right)]
    left[missing] = cover[0] / (cover[0] + cover[1])
    return left
