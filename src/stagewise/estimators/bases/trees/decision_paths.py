"""The nodes on the paths of rows through a tree, as a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from stagewise.trees.tree import Tree

__all__ = ["decision_paths"]


def decision_paths(tree: Tree, leaf: npt.NDArray[Any]) -> csr_matrix:
    """Return 1 for each node on the path of a row, the root and its leaf included.

    Parameters
    ----------
    tree : Tree
        The tree.
    leaf : integer array of shape (n_rows,)
        The node number of the leaf of each row.

    Returns
    -------
    csr_matrix of int64, shape (n_rows, n_nodes)
    """
    n_rows, n_nodes = len(leaf), len(tree.feature)
    parent = np.full(n_nodes, -1)
    inner = np.flatnonzero(tree.feature >= 0)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    rows, nodes = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    row, node = np.arange(n_rows), np.asarray(leaf, dtype=np.intp)
    while len(row):  # from the leaves to the root
        rows.append(row)
        nodes.append(node)
        above = parent[node]
        row, node = row[above >= 0], above[above >= 0]
    where = np.concatenate(rows), np.concatenate(nodes)
    paths = csr_matrix((np.ones(len(where[0]), dtype=np.int64), where), shape=(n_rows, n_nodes))
    paths.sort_indices()
    return paths
