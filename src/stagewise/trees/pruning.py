"""Pruning of decision trees.

A pruned tree is the same tree with some inner nodes turned into leaves. Every method chooses them
from one number per node: the cost of the rows that reach it, if it were a leaf. This module must
not grow trees.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stagewise.trees.impurity import RowCosts
from stagewise.trees.tree import NODE_ARRAYS, CategorySets, Tree

__all__ = [
    "PruningPath",
    "node_costs",
    "nodes_by_depth",
    "path_costs",
    "prune",
    "pruned_node_of",
    "pruning_path",
    "reduced_error_nodes",
    "split_order",
    "weakest_links",
]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

SAME = 1e-12
"""Costs that differ by less, relative to the cost of the root, count as equal."""


def nodes_by_depth(tree: Tree) -> list[Indices]:
    """Return the nodes of each depth, the root first."""
    nodes = [np.zeros(1, dtype=np.intp)]
    while True:
        inner = nodes[-1][tree.feature[nodes[-1]] >= 0]
        if not len(inner):
            return nodes
        nodes.append(np.concatenate([tree.left[inner], tree.right[inner]]).astype(np.intp))


def parents_of(tree: Tree) -> Indices:
    """Return the parent of every node; -1 for the root."""
    parent = np.full(len(tree.feature), -1, dtype=np.intp)
    inner = np.flatnonzero(tree.feature >= 0)
    for children in (tree.left, tree.right):
        parent[children[inner]] = inner
    return parent


def sums_below(tree: Tree, of_leaves: Vector) -> Vector:
    """Return for every node the sum over the leaves below it; of a leaf, its own value."""
    total = np.where(tree.feature < 0, of_leaves, 0.0)
    for nodes in reversed(nodes_by_depth(tree)):
        inner = nodes[tree.feature[nodes] >= 0]
        total[inner] = total[tree.left[inner]] + total[tree.right[inner]]
    return total


def node_costs(tree: Tree, leaf: Indices, costs: RowCosts, weight: Vector | None) -> Vector:
    """Return for every node Σ w · cost over the rows that reach it, if it were a leaf.

    Parameters
    ----------
    tree : Tree
        The tree.
    leaf : array of shape (n_rows,)
        The leaf that each row reaches.
    costs : RowCosts
        The cost of a row at a node.
    weight : float64 array or None
        The weights of the rows; None: 1.
    """
    total, parent = np.zeros(len(tree.feature)), parents_of(tree)
    rows, nodes = np.arange(len(leaf)), leaf
    while len(rows):
        own = costs(rows, nodes)
        own = own if weight is None else own * weight[rows]
        total += np.bincount(nodes, weights=own, minlength=len(total))
        nodes = parent[nodes]
        rows, nodes = rows[nodes >= 0], nodes[nodes >= 0]
    return total


def weakest_links(tree: Tree, cost: Vector) -> Vector:
    """Return for every inner node the smallest α at which it is a leaf; -inf for leaves.

    T(α) is the smallest tree that minimises cost(T) + α · (number of leaves). As α grows, the node
    with the smallest

        g(t) = (cost(t) - cost(T_t)) / (number of leaves of T_t - 1)

    becomes a leaf, repeatedly (Breiman et al. 1984, section 3.3). The α of a node is never above
    that of its parent, so T(α) is the tree pruned at all nodes whose α is at most α.
    """
    inner = tree.feature >= 0
    least, n_below = sums_below(tree, cost), sums_below(tree, np.ones(len(cost)))
    links = np.where(inner, (cost - least) / np.maximum(n_below - 1, 1), np.inf)
    # Lists, since single items of a list are read several times as fast as those of an array.
    own, below, leaves, current = cost.tolist(), least.tolist(), n_below.tolist(), links.tolist()
    parent, left, right = parents_of(tree).tolist(), tree.left.tolist(), tree.right.tolist()
    heap = [(current[t], t) for t in np.flatnonzero(inner).tolist()]
    heapq.heapify(heap)
    open_, strength = inner.tolist(), [-np.inf] * len(own)
    same, alpha = SAME * own[0], 0.0
    while heap:
        g, node = heapq.heappop(heap)
        if not open_[node]:
            continue
        if current[node] > g:  # outdated: g only grows, so the node is put back
            heapq.heappush(heap, (current[node], node))
            continue
        alpha = alpha if g <= alpha + same else g
        branch = [node]
        while branch:
            t = branch.pop()
            if open_[t]:
                open_[t], strength[t] = False, alpha
                branch += [left[t], right[t]]
        change, fewer = own[node] - below[node], leaves[node] - 1
        above = parent[node]
        while above >= 0:
            below[above] += change
            leaves[above] -= fewer
            current[above] = (own[above] - below[above]) / (leaves[above] - 1)
            above = parent[above]
    return np.array(strength)


@dataclass(frozen=True, eq=False)
class PruningPath:
    """The sequence of trees of cost-complexity pruning, from the full tree to the root.

    Attributes
    ----------
    alphas : float64 array
        The smallest α for which each tree is optimal; increasing, the first is 0.
    impurities : float64 array
        The mean impurity of the training rows in the leaves of each tree.
    n_leaves : int64 array
        The number of leaves of each tree.
    errors, standard_errors : float64 array or None
        The cross-validated error of each tree, and its standard error.
    """

    alphas: Vector
    impurities: Vector
    n_leaves: npt.NDArray[np.int64]
    errors: Vector | None = None
    standard_errors: Vector | None = None

    @property
    def ccp_alphas(self) -> Vector:
        """The same as `alphas`: scikit-learn's name of them."""
        return self.alphas

    def in_units(self, unit: float) -> PruningPath:
        """Return the same path, with α, impurities and errors multiplied by a unit."""
        return PruningPath(
            self.alphas * unit,
            self.impurities * unit,
            self.n_leaves,
            None if self.errors is None else self.errors * unit,
            None if self.standard_errors is None else self.standard_errors * unit,
        )


def pruning_path(tree: Tree, cost: Vector, strength: Vector) -> PruningPath:
    """Return the path of a tree from the costs of its nodes and the result of `weakest_links`."""
    alphas = np.unique(np.append(strength[tree.feature >= 0], 0.0))
    first, last = _leaf_range(tree, strength, alphas)
    total, leaves = np.zeros(len(alphas) + 1), np.zeros(len(alphas) + 1, dtype=np.int64)
    for at, sign in ((first, 1), (last, -1)):
        np.add.at(total, at, sign * cost)
        np.add.at(leaves, at, sign)
    return PruningPath(alphas, np.cumsum(total)[:-1], np.cumsum(leaves)[:-1])


def _leaf_range(tree: Tree, strength: Vector, alphas: Vector) -> tuple[Indices, Indices]:
    """Return for every node the range of αs, as indices, in which it is a leaf."""
    above = np.append(strength, np.inf)[parents_of(tree)]  # the root's parent, -1: the last entry
    return np.searchsorted(alphas, strength), np.searchsorted(alphas, above)


def path_costs(
    tree: Tree,
    strength: Vector,
    leaf: Indices,
    costs: RowCosts,
    weight: Vector | None,
    alphas: Vector,
) -> npt.NDArray[np.float64]:
    """Return Σ w · cost and Σ w · cost² of the rows in each tree T(α), shape (2, n_alphas)."""
    first, last = _leaf_range(tree, strength, alphas)
    parent = parents_of(tree)
    total = np.zeros((2, len(alphas) + 1))
    rows, nodes = np.arange(len(leaf)), leaf
    while len(rows):
        own = costs(rows, nodes)
        w = np.ones(len(rows)) if weight is None else weight[rows]
        for power, to in enumerate(total, start=1):
            np.add.at(to, first[nodes], w * own**power)
            np.subtract.at(to, last[nodes], w * own**power)
        nodes = parent[nodes]
        rows, nodes = rows[nodes >= 0], nodes[nodes >= 0]
    return np.cumsum(total, axis=1)[:, :-1]


def reduced_error_nodes(tree: Tree, cost: Vector) -> Mask:
    """Return the nodes at which reduced-error pruning prunes (Quinlan 1987).

    From the leaves up, a node becomes a leaf unless the subtree below it has a lower cost. `cost`
    is the cost of the validation rows at each node.
    """
    best, at = cost.copy(), np.zeros(len(cost), dtype=bool)
    for nodes in reversed(nodes_by_depth(tree)):
        inner = nodes[tree.feature[nodes] >= 0]
        below = best[tree.left[inner]] + best[tree.right[inner]]
        # A difference by rounding only does not keep a subtree.
        at[inner] = cost[inner] <= below + SAME * cost[0]
        best[inner] = np.where(at[inner], cost[inner], below)
    return at


def split_order(tree: Tree) -> Indices:
    """Return the inner nodes in the order in which they were split.

    Children are added in pairs when their parent is split, so their numbers give the order.
    """
    inner = np.flatnonzero(tree.feature >= 0)
    return inner[np.argsort(tree.left[inner], kind="stable")]


def pruned_node_of(tree: Tree, at: Mask) -> Indices:
    """Return for every node the node that replaces it if the tree is pruned at some nodes.

    It is the topmost pruned ancestor, or the node itself if it stays in the tree.
    """
    replacement = np.arange(len(tree.feature))
    for nodes in nodes_by_depth(tree):
        inner = nodes[tree.feature[nodes] >= 0]
        ended = inner[at[inner] | (replacement[inner] != inner)]
        for children in (tree.left, tree.right):
            replacement[children[ended]] = replacement[ended]
    return replacement


def prune(tree: Tree, at: Mask) -> Tree:
    """Return the tree with some nodes turned into leaves, and the nodes below them removed.

    Parameters
    ----------
    tree : Tree
        With constant leaves.
    at : array of bool
        The nodes that become leaves; leaves and nodes below other such nodes are allowed.
    """
    assert tree.linear_leaves is None
    kept = np.flatnonzero(pruned_node_of(tree, at) == np.arange(len(at)))
    leaf = at[kept] | (tree.feature[kept] < 0)
    number = np.full(len(at), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept))
    arrays = {name: getattr(tree, name)[kept].copy() for name in NODE_ARRAYS}
    for name, none in (("feature", -1), ("threshold", 0.0), ("missing_left", 0), ("gain", 0.0)):
        arrays[name][leaf] = none
    for name in ("left", "right"):
        arrays[name] = np.where(leaf, -1, number[arrays[name]]).astype(np.int32)
    return replace(tree, **arrays, category_sets=_kept_sets(tree.category_sets, kept, leaf))


def _kept_sets(sets: CategorySets | None, kept: Indices, leaf: Mask) -> CategorySets | None:
    """Return the category sets of the remaining inner nodes, without gaps; None if none has one."""
    if sets is None:
        return None
    begins = np.sort(sets.start[sets.start >= 0])
    ends = dict(zip(begins.tolist(), [*begins[1:].tolist(), len(sets.bits)], strict=True))
    start, bits, n = np.full(len(kept), -1, dtype=np.int32), [], 0
    for place in np.flatnonzero((sets.start[kept] >= 0) & ~leaf):
        begin = int(sets.start[kept[place]])
        start[place] = n
        bits.append(sets.bits[begin : ends[begin]])
        n += len(bits[-1])
    return CategorySets(start, np.concatenate(bits)) if bits else None
