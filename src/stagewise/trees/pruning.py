"""Smaller trees out of a large one.

The one idea: a pruned tree is the same tree with some inner nodes made leaves, and every way to
choose them needs one number of each node: what the rows that reach it would cost if it were a leaf.
Must not know what a cost is, nor how trees are grown.
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
"""Strengths of links that differ by less, relative to what the root costs, are the same."""


def nodes_by_depth(tree: Tree) -> list[Indices]:
    """Return the nodes of each depth, the root's first."""
    levels = [np.zeros(1, dtype=np.intp)]
    while True:
        inner = levels[-1][tree.feature[levels[-1]] >= 0]
        if not len(inner):
            return levels
        levels.append(np.concatenate([tree.left[inner], tree.right[inner]]).astype(np.intp))


def parents_of(tree: Tree) -> Indices:
    """Return the parent of every node; -1 for the root."""
    parent = np.full(len(tree.feature), -1, dtype=np.intp)
    inner = np.flatnonzero(tree.feature >= 0)
    for children in (tree.left, tree.right):
        parent[children[inner]] = inner
    return parent


def sums_below(tree: Tree, of_leaves: Vector) -> Vector:
    """Return for every node the sum over the leaves below it, or its own number if it is one."""
    total = np.where(tree.feature < 0, of_leaves, 0.0)
    for level in reversed(nodes_by_depth(tree)):
        inner = level[tree.feature[level] >= 0]
        total[inner] = total[tree.left[inner]] + total[tree.right[inner]]
    return total


def node_costs(tree: Tree, leaf: Indices, costs: RowCosts, weight: Vector | None) -> Vector:
    """Return Σ w · cost over the rows that reach each node, if it were a leaf.

    Parameters
    ----------
    tree : Tree
        The tree.
    leaf : array of shape (n_rows,)
        The leaf that each row reaches.
    costs : RowCosts
        What a row costs at a node.
    weight : float64 array or None
        How often each row counts; None: once.
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
    """Return for every inner node the α from which on it is a leaf; -inf for leaves.

    T(α) minimises cost(T) + α · (number of leaves); of equals it is the smallest. As α grows, the
    node with the least

        g(t) = (cost(t) - cost(T_t)) / (number of leaves of T_t - 1)

    becomes a leaf, again and again (Breiman et al. 1984, section 3.3). The number of a node is
    never above that of a node over it, so T(α) is what `cut` makes at the nodes of at most α.
    """
    inner = tree.feature >= 0
    least, n_below = sums_below(tree, cost), sums_below(tree, np.ones(len(cost)))
    links = np.where(inner, (cost - least) / np.maximum(n_below - 1, 1), np.inf)
    # Node by node, so plain lists: they are read several times as fast as arrays.
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
        if current[node] > g:  # links only get stronger, so whoever is due is looked at in time
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
    """The trees that weakest-link pruning goes through, from the largest to the root.

    Attributes
    ----------
    alphas : float64 array
        From which α on each is the best one; increasing, the first is 0.
    impurities : float64 array
        The mean impurity of the training rows in its leaves.
    n_leaves : int64 array
        How many leaves it has.
    errors, standard_errors : float64 array or None
        The error of rows that were held out of a cross-validation, and its standard error.
    """

    alphas: Vector
    impurities: Vector
    n_leaves: npt.NDArray[np.int64]
    errors: Vector | None = None
    standard_errors: Vector | None = None

    def in_units(self, unit: float) -> PruningPath:
        """Return the same path, with α and impurities multiplied by a unit."""
        return PruningPath(
            self.alphas * unit,
            self.impurities * unit,
            self.n_leaves,
            None if self.errors is None else self.errors * unit,
            None if self.standard_errors is None else self.standard_errors * unit,
        )


def pruning_path(tree: Tree, cost: Vector, strength: Vector) -> PruningPath:
    """Return the path of a tree whose nodes cost so much and whose links are so strong."""
    alphas = np.unique(np.append(strength[tree.feature >= 0], 0.0))
    first, last = _reign(tree, strength, alphas)
    total, leaves = np.zeros(len(alphas) + 1), np.zeros(len(alphas) + 1, dtype=np.int64)
    for at, sign in ((first, 1), (last, -1)):
        np.add.at(total, at, sign * cost)
        np.add.at(leaves, at, sign)
    return PruningPath(alphas, np.cumsum(total)[:-1], np.cumsum(leaves)[:-1])


def _reign(tree: Tree, strength: Vector, alphas: Vector) -> tuple[Indices, Indices]:
    """Return for every node the first of the αs at which it is a leaf, and the first after."""
    above = np.append(strength, np.inf)[parents_of(tree)]  # the root's parent, -1, is the last
    return np.searchsorted(alphas, strength), np.searchsorted(alphas, above)


def path_costs(
    tree: Tree,
    strength: Vector,
    leaf: Indices,
    costs: RowCosts,
    weight: Vector | None,
    alphas: Vector,
) -> npt.NDArray[np.float64]:
    """Return Σ w · cost and Σ w · cost² of rows in the trees T(α), shape (2, number of αs)."""
    first, last = _reign(tree, strength, alphas)
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
    """Return the nodes to cut so that rows which were held out cost least (Quinlan 1987).

    From the leaves up, a node becomes a leaf unless the tree below it costs less; `cost` is that of
    the held-out rows at each node.
    """
    best, at = cost.copy(), np.zeros(len(cost), dtype=bool)
    for level in reversed(nodes_by_depth(tree)):
        inner = level[tree.feature[level] >= 0]
        below = best[tree.left[inner]] + best[tree.right[inner]]
        # What differs by rounding only is no reason for a larger tree.
        at[inner] = cost[inner] <= below + SAME * cost[0]
        best[inner] = np.where(at[inner], cost[inner], below)
    return at


def split_order(tree: Tree) -> Indices:
    """Return the inner nodes in the order in which they were split.

    Children are added in pairs when their parent is split, so it is the order of these.
    """
    inner = np.flatnonzero(tree.feature >= 0)
    return inner[np.argsort(tree.left[inner], kind="stable")]


def pruned_node_of(tree: Tree, at: Mask) -> Indices:
    """Return for every node the one that answers for it once the tree is cut at some nodes."""
    answer = np.arange(len(tree.feature))
    for level in nodes_by_depth(tree):
        inner = level[tree.feature[level] >= 0]
        ended = inner[at[inner] | (answer[inner] != inner)]
        for children in (tree.left, tree.right):
            answer[children[ended]] = answer[ended]
    return answer


def prune(tree: Tree, at: Mask) -> Tree:
    """Return the tree with some nodes made leaves, and those below them left out.

    Parameters
    ----------
    tree : Tree
        Of constants.
    at : array of bool
        The nodes that shall be leaves; those that are leaves, or below another one, may be among
        them.
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
    """Return the sets of the nodes that still ask, without gaps; None: none asks about levels."""
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
