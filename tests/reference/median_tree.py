"""A tree of medians by brute force: every split of every node is tried.

A node costs Σ w |y - median|, and the gain of a split is the decrease of this cost; Breiman et al.
(1984), section 8.11. This module does not call the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.quantile import weighted_quantile
from reference.tree import (
    NOTHING,
    SAME,
    Mask,
    Node,
    Problem,
    Rules,
    Split,
    as_tree,
    candidates,
    next_leaf,
)
from stagewise.trees.tree import Tree

__all__ = ["cost", "grow", "median"]

Vector = npt.NDArray[np.float64]


def median(y: Vector, weight: Vector) -> float:
    return float(weighted_quantile(y, weight, 0.5)) if weight.sum() > 0 else 0.0


def cost(y: Vector, weight: Vector) -> float:
    """Return Σ w |y - median|."""
    return float((weight * np.abs(y - median(y, weight))).sum()) if weight.sum() > 0 else 0.0


def category_candidates(problem: Problem, y: Vector, rows: Mask, feature: int) -> Iterator[Split]:
    """Yield every cut of the order of the categories by their medians; ties by bin."""
    bin_of = problem.cuts[feature]
    assert bin_of is not None
    x = problem.X[:, feature]
    codes = np.where(np.isnan(x), -1, bin_of[np.nan_to_num(x).astype(int)].astype(int))
    missing = rows & (codes < 0) & (problem.weight > 0)
    present = sorted(set(codes[rows & (codes >= 0) & (problem.weight > 0)].tolist()))
    middle = {}
    for b in present:
        own = rows & (codes == b)
        middle[b] = median(y[own], problem.weight[own])
    order = sorted(present, key=lambda b: (middle[b], b))
    for way in (False, True) if missing.any() else (False,):
        for k in range(1, len(order) + 1):
            left = rows & (np.isin(codes, order[:k]) | (missing & way))
            w = problem.weight
            heavier = bool(w[left].sum() >= w[rows & ~left].sum())
            goes_left = np.full(int(bin_of.max()) + 2, heavier)
            goes_left[present] = np.isin(present, order[:k])
            left_categories = np.append(goes_left[bin_of], goes_left[-1])
            direction = way if missing.any() else heavier
            yield Split(0.0, feature, 0.0, direction, left, left_categories)


def splits(problem: Problem, y: Vector, rows: Mask) -> Iterator[Split]:
    for feature, cuts in enumerate(problem.cuts):
        if cuts is not None and cuts.dtype == np.uint32:
            yield from category_candidates(problem, y, rows, feature)
            continue
        own = Problem(
            problem.X[:, [feature]],
            problem.gradient,
            problem.hessian,
            problem.weight,
            [cuts],
            problem.rules,
        )
        for split in candidates(own, rows):
            split.feature = feature
            yield split


def best_split(problem: Problem, y: Vector, rows: Mask) -> Split | None:
    w = problem.weight
    best, least = None, np.inf
    for split in splits(problem, y, rows):
        sides = (split.left, rows & ~split.left)
        if any(w[s].sum() < problem.rules.min_samples_leaf or w[s].sum() == 0 for s in sides):
            continue
        both = sum(cost(y[s], w[s]) for s in sides)
        if best is None or both < least - SAME * abs(least):
            best, least = split, both
    if best is None:
        return None
    whole = cost(y[rows], w[rows])
    best.gain = whole - least
    return best if best.gain > max(NOTHING * whole, problem.rules.min_gain) else None


def grow(
    X: npt.NDArray[Any],
    y: Vector,
    weight: Vector | None,
    cuts: Sequence[npt.NDArray[Any] | None],
    rules: Rules,
    bag: npt.NDArray[Any] | None = None,
) -> Tree:
    """Fit a tree of medians to y."""
    w = np.ones(len(X)) if weight is None else weight
    problem = Problem(X, w, w, w, cuts, rules)

    def add(rows: Mask, depth: int) -> int:
        node = Node(rows, depth, median(y[rows], w[rows]), float(w[rows].sum()))
        if rules.max_depth == 0 or depth < rules.max_depth:
            node.split = best_split(problem, y, rows)
        problem.nodes.append(node)
        return len(problem.nodes) - 1

    add(np.ones(len(X), dtype=bool) if bag is None else np.isin(np.arange(len(X)), bag), 0)
    leaves = 1
    while (rules.max_leaves == 0 or leaves < rules.max_leaves) and (leaf := next_leaf(problem)):
        assert leaf.split is not None
        leaf.done = True
        left = add(leaf.split.left, leaf.depth + 1)
        leaf.children = (left, add(leaf.rows & ~leaf.split.left, leaf.depth + 1))
        leaves += 1
    return as_tree(problem.nodes)
