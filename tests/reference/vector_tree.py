"""A tree with a vector in every leaf, by brute force.

The objective of a leaf is the sum of those of its outputs. So every split of every feature of every
node is tried, and its gain is the sum of the gains of the outputs. Categories are ordered along the
first principal direction of their leaf vectors, by NumPy's eigenvectors. In a symmetric tree all
leaves of a depth have the split with the largest sum of gains. This module does not call the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.tree import NOTHING, SAME, Rules, leaf_gain, leaf_value

__all__ = ["VectorNode", "grow", "grow_symmetric"]

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass
class VectorNode:
    rows: Mask
    depth: int
    value: Matrix
    gain: float = -np.inf
    feature: int = -1
    left: Mask | None = None
    missing_left: bool | None = None  # None: no missing values
    children: tuple[int, int] = (-1, -1)


@dataclass
class Problem:
    X: Matrix
    gradient: Matrix  # (n_rows, n_outputs); both include the weights
    hessian: Matrix
    weight: npt.NDArray[np.float64]
    cuts: Sequence[npt.NDArray[Any]]  # in uint32: the bins of categories
    rules: Rules
    dispersion: float


def score(p: Problem, rows: Mask, l2: float = 0.0) -> float:
    rules = replace(p.rules, l2=p.rules.l2 + l2)
    sums = zip(p.gradient[rows].sum(axis=0), p.hessian[rows].sum(axis=0), strict=True)
    return sum(leaf_gain(float(g), float(h), rules) for g, h in sums)


def order_of(p: Problem, rows: Mask, codes: npt.NDArray[Any]) -> tuple[list[int], float]:
    """Return the bins of a node in order, and the share of the variance along this direction."""
    present = sorted(set(codes[rows & (codes >= 0)].tolist()))
    masks = [rows & (codes == b) for b in present]
    h = np.array([p.hessian[m].sum(axis=0) for m in masks])
    points = np.array([p.gradient[m].sum(axis=0) for m in masks])
    points = points / (h + p.rules.category_smoothing)
    mass = h.sum(axis=1)
    centred = points - np.average(points, axis=0, weights=mass)
    values, vectors = np.linalg.eigh((centred * mass[:, None]).T @ centred)
    direction = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
    along = points @ direction
    share = values[-1] / values.sum() if len(present) > 1 else 1.0
    return [present[i] for i in np.argsort(along, kind="stable")], float(share)


def candidates(p: Problem, rows: Mask) -> Iterator[tuple[int, Mask, bool | None, float, float]]:
    """Yield (feature, rows that go left, missing values left, added l2, gain by chance)."""
    for f, cuts in enumerate(p.cuts):
        x = p.X[:, f]
        missing = rows & np.isnan(x)
        ways = (False, True) if missing.any() else (None,)
        if cuts.dtype == np.uint32:
            codes = np.where(np.isnan(x), -1, cuts[np.nan_to_num(x).astype(int)].astype(int))
            order, share = order_of(p, rows, codes)
            alone = len(order) <= p.rules.one_vs_rest
            sets = [[b] for b in order] if alone else [order[: k + 1] for k in range(len(order))]
            chance = max(0.0, 2 / np.pi * (len(order) - 1) - 6) * share * p.dispersion / 2
            more = (0.0, 0.0) if alone else (p.rules.category_l2, p.rules.category_chance * chance)
            choices = [np.isin(codes, chosen) for chosen in sets]
        else:
            more = (0.0, 0.0)
            choices = [x <= cut for cut in [*cuts, np.inf]]
        for way in ways:
            for chosen in choices:
                yield f, rows & (chosen | (missing & bool(way))), way, *more


def is_possible(p: Problem, sides: tuple[Mask, Mask]) -> bool:
    """Return whether both sides have enough rows and hessian."""
    rules = p.rules
    if any(p.weight[s].sum() < rules.min_samples_leaf or not s.any() for s in sides):
        return False
    least = min(p.hessian[s].sum(axis=0).mean() for s in sides)
    return bool(least >= rules.min_hessian and least > 0)


def split(p: Problem, node: VectorNode) -> None:
    rules, best = p.rules, -np.inf
    if rules.max_depth and node.depth >= rules.max_depth:
        return
    for feature, left, way, l2, chance in candidates(p, node.rows):
        sides = (left, node.rows & ~left)
        if not is_possible(p, sides):
            continue
        found = sum(score(p, s, l2) for s in sides) - chance
        if found > best + SAME * abs(best) or best == -np.inf:
            best = found
            node.feature, node.left, node.missing_left = feature, left, way
    node.gain = best - score(p, node.rows)
    if not (node.gain > NOTHING * best and node.gain > rules.min_gain):
        node.gain = -np.inf


def problem(
    X: Matrix,
    gradient: Matrix,
    hessian: Matrix,
    weight: npt.NDArray[np.float64] | None,
    cuts: Sequence[npt.NDArray[Any]],
    rules: Rules,
) -> Problem:
    w = np.ones(len(X)) if weight is None else weight
    g, h = gradient * w[:, None], hessian * w[:, None]
    dispersion = float(((w[:, None] * gradient**2).sum(axis=0) / h.sum(axis=0)).sum())
    return Problem(X, g, h, w, cuts, rules, dispersion)


def root_rows(X: Matrix, bag: npt.NDArray[Any] | None) -> Mask:
    return np.ones(len(X), bool) if bag is None else np.isin(np.arange(len(X)), bag)


def make_node(p: Problem, rows: Mask, depth: int) -> VectorNode:
    sums = zip(p.gradient[rows].sum(axis=0), p.hessian[rows].sum(axis=0), strict=True)
    values = np.array([leaf_value(float(a), float(b), p.rules) for a, b in sums])
    return VectorNode(rows, depth, values)


def grow(
    X: Matrix,
    gradient: Matrix,
    hessian: Matrix,
    weight: npt.NDArray[np.float64] | None,
    cuts: Sequence[npt.NDArray[Any]],
    rules: Rules,
    bag: npt.NDArray[Any] | None = None,
) -> list[VectorNode]:
    """Return the nodes of a tree, children after their parents, in the order of creation."""
    p = problem(X, gradient, hessian, weight, cuts, rules)
    nodes: list[VectorNode] = []

    def add(rows: Mask, depth: int) -> int:
        nodes.append(make_node(p, rows, depth))
        split(p, nodes[-1])
        return len(nodes) - 1

    add(root_rows(X, bag), 0)
    leaves = 1
    while rules.max_leaves == 0 or leaves < rules.max_leaves:
        ready = [n for n in nodes if n.gain > -np.inf and n.children == (-1, -1)]
        if not ready:
            break
        if rules.depth_wise:
            leaf = min(ready, key=lambda n: n.depth)
        else:
            most = max(n.gain for n in ready)
            leaf = next(n for n in ready if n.gain >= most * (1 - SAME))
        assert leaf.left is not None
        leaf.children = (
            add(leaf.left, leaf.depth + 1),
            add(leaf.rows & ~leaf.left, leaf.depth + 1),
        )
        leaves += 1
    return nodes


def level_candidates(p: Problem, rows: Mask) -> Iterator[tuple[int, Mask, bool]]:
    """Yield (feature, rows of the table that go left, missing values left)."""
    for f, cuts in enumerate(p.cuts):
        x = p.X[:, f]
        missing = np.isnan(x)
        if cuts.dtype == np.uint32:
            codes = np.where(missing, -1, cuts[np.nan_to_num(x).astype(int)].astype(int))
            order, _ = order_of(p, rows, codes)
            choices = [np.isin(codes, order[: k + 1]) for k in range(len(order))]
        else:
            choices = [x <= cut for cut in [*cuts, np.inf]]
        for way in (False, True) if (rows & missing).any() else (False,):
            for chosen in choices:
                yield f, chosen | (missing & way), way


def common_split(p: Problem, leaves: list[VectorNode]) -> tuple[int, Mask, bool] | None:
    """Return the split with the largest sum of gains, or None if it has no gain."""
    rows = np.any([leaf.rows for leaf in leaves], axis=0)
    unsplit = sum(score(p, leaf.rows) for leaf in leaves)
    best, chosen = -np.inf, None
    for feature, left, way in level_candidates(p, rows):
        found = 0.0
        for leaf in leaves:
            sides = (leaf.rows & left, leaf.rows & ~left)
            parts = sides if is_possible(p, sides) else (leaf.rows,)
            found += sum(score(p, part) for part in parts)
        if found > best + SAME * abs(best) or best == -np.inf:
            best, chosen = found, (feature, left, way)
    gain = best - unsplit
    return chosen if gain > NOTHING * abs(best) and gain > p.rules.min_gain else None


def grow_symmetric(
    X: Matrix,
    gradient: Matrix,
    hessian: Matrix,
    weight: npt.NDArray[np.float64] | None,
    cuts: Sequence[npt.NDArray[Any]],
    rules: Rules,
    bag: npt.NDArray[Any] | None = None,
) -> list[VectorNode]:
    """Return the nodes of a symmetric tree, depth by depth."""
    p = problem(X, gradient, hessian, weight, cuts, rules)
    nodes = [make_node(p, root_rows(X, bag), 0)]
    leaves, depth = nodes[:], 0
    while not (rules.max_depth and depth >= rules.max_depth) and not (
        rules.max_leaves and 2 * len(leaves) > rules.max_leaves
    ):
        common = common_split(p, leaves)
        if common is None:
            break
        feature, left, way = common
        next_leaves = []
        for leaf in leaves:
            sides = (leaf.rows & left, leaf.rows & ~left)
            if not is_possible(p, sides):
                next_leaves.append(leaf)
                continue
            leaf.feature, leaf.left = feature, sides[0]
            leaf.missing_left = way if (leaf.rows & np.isnan(X[:, feature])).any() else None
            leaf.gain = max(0.0, sum(score(p, side) for side in sides) - score(p, leaf.rows))
            leaf.children = (len(nodes), len(nodes) + 1)
            nodes += [make_node(p, side, leaf.depth + 1) for side in sides]
            next_leaves += nodes[-2:]
        leaves, depth = next_leaves, depth + 1
    return nodes
