"""A classification tree by brute force: every split of every node is tried.

The score of a node is the weight of its most frequent class, or its purity; the tree is grown best
leaf first. This module does not call the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.tree import NOTHING, SAME, Mask, Node, Problem, Rules, Split, as_tree, candidates
from reference.tree import next_leaf as next_open_leaf
from stagewise.trees.tree import Tree

__all__ = ["grow", "node_score"]

Vector = npt.NDArray[np.float64]


@dataclass
class ClassProblem(Problem):
    codes: npt.NDArray[Any] | None = None
    n_classes: int = 2
    criterion: str = "misclassification"

    def score(self, rows: Mask) -> float:
        assert self.codes is not None
        weights = np.bincount(self.codes[rows], self.gradient[rows], minlength=self.n_classes)
        return node_score(weights, self.criterion)


def node_score(weights: Vector, criterion: str) -> float:
    """Return the weight of the most frequent class, or Σ W_k² / W, or Σ W_k log W_k - W log W."""
    if criterion == "misclassification":
        return float(weights.max())
    if criterion == "entropy":
        own = weights[weights > 0]
        return float((own * np.log(own / own.sum())).sum())
    return float((weights**2).sum() / weights.sum()) if weights.sum() > 0 else 0.0


def best_split(problem: ClassProblem, rows: Mask) -> Split | None:
    best, best_score = None, -np.inf
    for split in candidates(problem, rows):
        sides = (split.left, rows & ~split.left)
        if any(problem.weight[s].sum() < problem.rules.min_samples_leaf for s in sides):
            continue
        score = sum(problem.score(s) for s in sides)
        if best is None or score > best_score + SAME * problem.gradient[rows].sum():
            best, best_score = split, score
    if best is None:
        return None
    best.gain = best_score - problem.score(rows)
    return best if best.gain > NOTHING * problem.gradient[rows].sum() else None


def add_node(problem: ClassProblem, rows: Mask, depth: int) -> int:
    node = Node(rows, depth, 0.0, float(problem.weight[rows].sum()))
    if problem.rules.max_depth == 0 or depth < problem.rules.max_depth:
        node.split = best_split(problem, rows)
    problem.nodes.append(node)
    return len(problem.nodes) - 1


def grow(
    X: npt.NDArray[Any],
    codes: npt.NDArray[Any],
    row_weight: Vector,
    weight: Vector | None,
    cuts: Sequence[Vector | None],
    rules: Rules,
    criterion: str,
    n_classes: int | None = None,
) -> Tree:
    """Fit a tree to classes; row_weight is the count of a row of weight 1."""
    w = np.ones(len(X)) if weight is None else weight
    k = int(codes.max()) + 1 if n_classes is None else n_classes
    problem = ClassProblem(
        X, row_weight * w, w, w, cuts, rules, codes=codes, n_classes=k, criterion=criterion
    )
    add_node(problem, np.ones(len(X), dtype=bool), 0)
    leaves = 1
    while (rules.max_leaves == 0 or leaves < rules.max_leaves) and (
        leaf := next_open_leaf(problem)
    ):
        assert leaf.split is not None
        leaf.done = True
        left = add_node(problem, leaf.split.left, leaf.depth + 1)
        leaf.children = (left, add_node(problem, leaf.rows & ~leaf.split.left, leaf.depth + 1))
        leaves += 1
    return as_tree(problem.nodes)
