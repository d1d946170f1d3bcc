"""A regression tree by brute force: every split of every feature of every node is tried.

There is no histogram, no packing and no queue. Sums are float64 sums over a mask of rows, so each
rule can be checked against Chen & Guestrin (2016), eqs. 5 to 7. This module does not call the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.binning import middle_cuts
from reference.linear_leaves import leaf_prediction
from stagewise.trees.tree import NODE_ARRAYS, CategorySets, Tree

__all__ = ["Rules", "grow", "leaf_gain", "leaf_of", "leaf_value", "predict"]

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Splits of exactly the same rows sum them in another order; the first of such ties is taken.
SAME = 1e-11
# Minimum gain relative to the children's objective, so that rounding errors are not fitted.
NOTHING = 1e-10


@dataclass(frozen=True)
class Rules:
    max_leaves: int = 0  # 0: no limit
    max_depth: int = 0  # 0: no limit
    min_samples_leaf: float = 1.0
    min_hessian: float = 0.0
    min_gain: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    max_step: float = 0.0  # 0: no limit
    depth_wise: bool = False
    one_vs_rest: int = 4
    category_smoothing: float = 0.0
    category_l2: float = 0.0
    category_chance: float = 0.0


@dataclass
class Split:
    gain: float
    feature: int
    threshold: float
    missing_left: bool
    left: Mask
    left_categories: Mask | None = (
        None  # of a categorical feature: those that go left, unknown last
    )
    l2: float = 0.0  # added to the penalty
    by_chance: float = 0.0  # subtracted from the gain


@dataclass
class Node:
    rows: Mask
    depth: int
    value: float
    cover: float
    split: Split | None = None
    children: tuple[int, int] = (-1, -1)
    done: bool = False


@dataclass
class Problem:
    """The data of a tree; the derivatives include the weights."""

    X: npt.NDArray[Any]
    gradient: Vector
    hessian: Vector
    weight: Vector
    # Of a categorical feature, in uint32: the bins of its categories. None: in the middle between
    # any two values of the node.
    cuts: Sequence[npt.NDArray[Any] | None]
    rules: Rules
    nodes: list[Node] = field(default_factory=list)
    dispersion: float = 1.0  # of all rows, in the bag or not

    def sums(self, rows: Mask) -> tuple[float, float]:
        return float(self.gradient[rows].sum()), float(self.hessian[rows].sum())


def leaf_value(gradient: float, hessian: float, rules: Rules) -> float:
    """Return -sign(G) max(|G| - α, 0) / (H + λ), cut off at the largest step."""
    if hessian + rules.l2 <= 0:
        return 0.0
    w = -np.sign(gradient) * max(abs(gradient) - rules.l1, 0.0) / (hessian + rules.l2)
    return float(np.clip(w, -rules.max_step, rules.max_step) if rules.max_step else w)


def leaf_gain(gradient: float, hessian: float, rules: Rules) -> float:
    """Return how much the value of the leaf lowers Gw + ½(H + λ)w² + α|w|."""
    w = leaf_value(gradient, hessian, rules)
    return -(gradient * w + (hessian + rules.l2) * w * w / 2 + rules.l1 * abs(w))


def candidates(problem: Problem, rows: Mask) -> Iterator[Split]:
    """Yield all splits of the rows, in the order in which ties are preferred.

    Without a missing value among the rows its direction cannot be learned: it then follows the
    larger hessian, or the larger weight if the whole column has none.
    """
    for feature, cuts in enumerate(problem.cuts):
        x = problem.X[:, feature]
        weighted = rows & (problem.weight > 0)
        missing = weighted & np.isnan(x)
        if cuts is None:
            values = np.unique(x[weighted & ~missing])
            middle = values[:-1] / 2 + values[1:] / 2
            cuts = np.where(np.isfinite(middle), middle, np.finfo(float).max)
        elif cuts.dtype == np.uint32:
            yield from category_candidates(problem, rows, feature, cuts)
            continue
        else:
            cuts = middle_cuts(cuts, x[weighted & ~missing])
        for missing_left in (False, True) if missing.any() else (False,):
            for cut in [*cuts, np.inf]:
                left = rows & ((x <= cut) | (missing & missing_left))
                direction = missing_left
                if not missing.any():
                    heavy = problem.hessian if np.isnan(x).any() else problem.weight
                    direction = bool(heavy[left].sum() >= heavy[rows & ~left].sum())
                yield Split(0.0, feature, float(cut), direction, left)


def category_candidates(
    problem: Problem, rows: Mask, feature: int, bin_of: npt.NDArray[Any]
) -> Iterator[Split]:
    """Yield each of a few bins of categories alone, or every cut of the order of many.

    Bins without rows in the node go where the larger hessian goes.
    """
    rules = problem.rules
    x = problem.X[:, feature]
    codes = np.where(np.isnan(x), -1, bin_of[np.nan_to_num(x).astype(int)].astype(int))
    missing = rows & (codes < 0) & (problem.weight > 0)
    present = sorted(set(codes[rows & (codes >= 0)].tolist()))
    ratio = {}
    for b in present:
        g, h = problem.sums(rows & (codes == b))
        ratio[b] = g / (h + rules.category_smoothing)
    order = sorted(present, key=lambda b: (ratio[b], b))
    ways = (False, True) if missing.any() else (False,)
    if len(order) <= rules.one_vs_rest:
        choices = [([b], way, 0.0) for b in order for way in ways]
        by_chance = 0.0
    else:
        ends = range(1, len(order) + 1)
        choices = [(order[:k], way, rules.category_l2) for way in ways for k in ends]
        means = max(0.0, 2 / np.pi * (len(order) - 1) - 6)
        by_chance = rules.category_chance * problem.dispersion / 2 * means
    for chosen, way, l2 in choices:
        left = rows & (np.isin(codes, chosen) | (missing & way))
        heavier = bool(problem.hessian[left].sum() >= problem.hessian[rows & ~left].sum())
        direction = way
        if not missing.any():
            heavy = problem.hessian if np.isnan(x).any() else problem.weight
            direction = bool(heavy[left].sum() >= heavy[rows & ~left].sum())
        goes_left = np.full(int(bin_of.max()) + 2, heavier)
        goes_left[present] = np.isin(present, chosen)
        left_categories = np.append(goes_left[bin_of], goes_left[-1])
        yield Split(0.0, feature, 0.0, direction, left, left_categories, l2, by_chance)


def best_split(problem: Problem, rows: Mask) -> Split | None:
    rules, best, best_score = problem.rules, None, -np.inf
    for split in candidates(problem, rows):
        sides = (split.left, rows & ~split.left)
        if any(problem.weight[s].sum() < rules.min_samples_leaf or not s.any() for s in sides):
            continue
        sums = [problem.sums(s) for s in sides]
        if any(h < rules.min_hessian or h <= 0 for _, h in sums):
            continue
        score = sum(leaf_gain(g, h, replace(rules, l2=rules.l2 + split.l2)) for g, h in sums)
        score -= split.by_chance
        if best is None or score > best_score + SAME * abs(best_score):
            best, best_score = split, score
    if best is None:
        return None
    best.gain = best_score - leaf_gain(*problem.sums(rows), rules)
    enough = best.gain > NOTHING * best_score and best.gain > rules.min_gain
    return best if enough else None


def add_node(problem: Problem, rows: Mask, depth: int) -> int:
    node = Node(
        rows,
        depth,
        leaf_value(*problem.sums(rows), problem.rules),
        float(problem.weight[rows].sum()),
    )
    if problem.rules.max_depth == 0 or depth < problem.rules.max_depth:
        node.split = best_split(problem, rows)
    problem.nodes.append(node)
    return len(problem.nodes) - 1


def next_leaf(problem: Problem) -> Node | None:
    """Return the leaf to split: the best one, or the shallowest; of ties the oldest."""
    open_leaves = [n for n in problem.nodes if n.split is not None and not n.done]
    if not open_leaves:
        return None
    if problem.rules.depth_wise:
        return min(open_leaves, key=lambda n: n.depth)
    best = max(n.split.gain for n in open_leaves if n.split is not None)
    return next(n for n in open_leaves if n.split is not None and n.split.gain >= best * (1 - SAME))


def grow(
    X: npt.NDArray[Any],
    gradient: Vector,
    hessian: Vector,
    weight: Vector | None,
    cuts: Sequence[npt.NDArray[Any] | None],
    rules: Rules,
    bag: npt.NDArray[Any] | None = None,
) -> Tree:
    """Fit a tree to gradients and hessians of rows of weight 1."""
    w = np.ones(len(X)) if weight is None else weight
    problem = Problem(X, gradient * w, hessian * w, w, cuts, rules)
    problem.dispersion = float((w * gradient**2).sum() / (w * hessian).sum())
    rows = np.ones(len(X), dtype=bool) if bag is None else np.isin(np.arange(len(X)), bag)
    add_node(problem, rows, 0)
    leaves = 1
    while (rules.max_leaves == 0 or leaves < rules.max_leaves) and (leaf := next_leaf(problem)):
        assert leaf.split is not None
        leaf.done = True
        left = add_node(problem, leaf.split.left, leaf.depth + 1)
        leaf.children = (left, add_node(problem, leaf.rows & ~leaf.split.left, leaf.depth + 1))
        leaves += 1
    return as_tree(problem.nodes)


def as_tree(nodes: list[Node]) -> Tree:
    rows = []
    for n in nodes:
        s = n.split if n.done else None
        condition = (-1, 0.0, 0) if s is None else (s.feature, s.threshold, s.missing_left)
        rows.append((*condition, *n.children, n.value, 0.0 if s is None else s.gain, n.cover))
    columns = zip(*rows, strict=True)
    arrays = [np.array(c, t) for c, t in zip(columns, NODE_ARRAYS.values(), strict=True)]
    return Tree(*arrays, category_sets=as_sets(nodes))


def as_sets(nodes: list[Node]) -> CategorySets | None:
    start, bits = np.full(len(nodes), -1, np.int32), np.empty(0, np.uint64)
    for i, n in enumerate(nodes):
        if n.done and n.split is not None and n.split.left_categories is not None:
            start[i] = len(bits)
            words = np.zeros(len(n.split.left_categories) // 64 * 64 + 64, dtype=bool)
            words[: len(n.split.left_categories)] = n.split.left_categories
            own = np.packbits(words, bitorder="little").view("<u8")
            bits = np.append(
                bits, own[: (len(n.split.left_categories) - 1) // 64 + 1].astype(np.uint64)
            )
    return CategorySets(start, bits) if len(bits) else None


def leaf_of(tree: Tree, row: npt.NDArray[Any], n_categories: Sequence[int] = ()) -> int:
    """Walk one row from the root to its leaf."""
    node = 0
    while tree.feature[node] >= 0:
        x = row[tree.feature[node]]
        count = n_categories[tree.feature[node]] if n_categories else 0
        if np.isnan(x):
            left = tree.missing_left[node] == 1
        elif count:
            assert tree.category_sets is not None
            known = 0 <= x < count
            left = tree.category_sets.goes_left(node, count)[int(x) if known else count]
        else:
            left = x <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return node


def predict(tree: Tree, X: npt.NDArray[Any], n_categories: Sequence[int] = ()) -> Vector:
    """Return the prediction of the leaf that each row reaches."""
    return np.array(
        [leaf_prediction(tree, leaf_of(tree, row, n_categories), row) for row in X],
        dtype=np.float64,
    )
