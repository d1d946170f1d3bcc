"""Pruning by brute force: every pruned subtree is tried.

This module does not call the code that it is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.trees.tree import CategorySets, Tree

__all__ = [
    "best_leaves",
    "fractional_prediction",
    "fractions",
    "leaf_sets",
    "random_tree",
    "rows_below",
]

Vector = npt.NDArray[np.float64]


def random_tree(seed: int, splits: int, features: int = 3, n_categories: int = 0) -> Tree:
    """Split leaves at random; the last feature is a category if n_categories is above 0."""
    rng = np.random.default_rng(seed)
    feature, left, right = [-1], [-1], [-1]
    starts, bits = [-1], []
    threshold = [0.0]
    for _ in range(splits):
        node = int(rng.choice([t for t, f in enumerate(feature) if f < 0]))
        feature[node] = int(rng.integers(features))
        if n_categories and feature[node] == features - 1:
            starts[node] = len(bits)
            words = n_categories // 64 + 1
            bits += [int(x) for x in rng.integers(0, 2**63, words)]
        else:
            threshold[node] = float(rng.integers(-3, 3) + 0.5)
        left[node], right[node] = len(feature), len(feature) + 1
        for values, new in ((feature, -1), (left, -1), (right, -1), (starts, -1)):
            values += [new, new]
        threshold += [0.0, 0.0]
    n = len(feature)
    cover = np.zeros(n)
    for t in range(n)[::-1]:
        cover[t] = 1 + rng.integers(9) if feature[t] < 0 else cover[left[t]] + cover[right[t]]
    inner = np.array(feature) >= 0
    sets = CategorySets(np.array(starts, dtype=np.int32), np.array(bits, dtype=np.uint64))
    return Tree(
        np.array(feature, dtype=np.int32),
        np.array(threshold),
        (inner & (rng.random(n) < 0.5)).astype(np.uint8),
        np.array(left, dtype=np.int32),
        np.array(right, dtype=np.int32),
        rng.normal(size=n),
        np.where(inner, rng.random(n), 0.0),
        cover,
        sets if bits else None,
    )


def leaf_sets(tree: Tree, node: int = 0) -> Iterator[frozenset[int]]:
    """Yield the leaves of every pruned subtree of a node."""
    yield frozenset([node])
    if tree.feature[node] >= 0:
        rights = list(leaf_sets(tree, int(tree.right[node])))
        for a in leaf_sets(tree, int(tree.left[node])):
            for b in rights:
                yield a | b


def best_leaves(tree: Tree, cost: Vector, alpha: float) -> frozenset[int]:
    """Return the leaves of the subtree with least Σ cost + α · leaves; of ties, the smallest."""
    return min(
        leaf_sets(tree),
        key=lambda s: (round(sum(float(cost[t]) for t in s) + alpha * len(s), 9), len(s)),
    )


def rows_below(tree: Tree, leaf: npt.NDArray[Any], node: int) -> npt.NDArray[np.bool_]:
    """Return whether each row's leaf is below a node, or is it."""
    below, stack = set(), [node]
    while stack:
        t = stack.pop()
        below.add(t)
        if tree.feature[t] >= 0:
            stack += [int(tree.left[t]), int(tree.right[t])]
    return np.array([int(t) in below for t in leaf], dtype=bool)


def goes_left(tree: Tree, node: int, x: float) -> bool:
    if tree.category_sets is not None and tree.category_sets.start[node] >= 0:
        first, code = int(tree.category_sets.start[node]), int(x)
        return bool(int(tree.category_sets.bits[first + code // 64]) >> (code % 64) & 1)
    return bool(x <= tree.threshold[node])


def fractions(tree: Tree, row: Vector, node: int = 0) -> dict[int, float]:
    """Return the share of a row that reaches each leaf."""
    if tree.feature[node] < 0:
        return {node: 1.0}
    left, right = int(tree.left[node]), int(tree.right[node])
    x = float(row[tree.feature[node]])
    if np.isnan(x):
        share = float(tree.cover[left] / (tree.cover[left] + tree.cover[right]))
    else:
        share = 1.0 if goes_left(tree, node, x) else 0.0
    found: dict[int, float] = {}
    for child, part in ((left, share), (right, 1 - share)):
        if part > 0:
            found |= {t: part * p for t, p in fractions(tree, row, child).items()}
    return found


def fractional_prediction(tree: Tree, row: Vector) -> float:
    """Return the weighted mean of the leaves that a fractional row reaches."""
    return sum(p * float(tree.value[t]) for t, p in fractions(tree, row).items())
