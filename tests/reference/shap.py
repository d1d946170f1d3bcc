"""Shapley values by their definition: every set of features, one after another.

Only v(S) and the formula are used. It takes time 2^p, so tables must have few features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial

import numpy as np
import numpy.typing as npt

from reference.linear_leaves import leaf_prediction
from stagewise.trees.tree import Tree

Vector = npt.NDArray[np.float64]
Game = Callable[[frozenset[int]], Vector]


def goes_left(tree: Tree, node: int, x: float, n_categories: Sequence[int]) -> bool:
    if np.isnan(x):
        return bool(tree.missing_left[node])
    count = n_categories[tree.feature[node]] if len(n_categories) else 0
    if count:
        assert tree.category_sets is not None
        known = 0 <= x < count
        return bool(tree.category_sets.goes_left(node, count)[int(x) if known else count])
    return bool(x <= tree.threshold[node])


def expected(
    tree: Tree, x: Vector, known: frozenset[int], n_categories: Sequence[int], node: int = 0
) -> Vector:
    """Expectation of a tree given some features; other splits average both children by cover."""
    f = int(tree.feature[node])
    if f < 0:
        return np.atleast_1d(
            tree.value[node] if tree.linear_leaves is None else leaf_prediction(tree, node, x)
        )
    left, right = int(tree.left[node]), int(tree.right[node])
    if f in known:
        to = left if goes_left(tree, node, x[f], n_categories) else right
        return expected(tree, x, known, n_categories, to)
    a, b = tree.cover[left], tree.cover[right]
    sides = [expected(tree, x, known, n_categories, child) for child in (left, right)]
    return (a * sides[0] + b * sides[1]) / (a + b)


def path_game(trees: Sequence[Tree], x: Vector, outputs: int, n_categories: Sequence[int]) -> Game:
    def value(known: frozenset[int]) -> Vector:
        total = np.zeros(outputs)
        for t, tree in enumerate(trees):
            mean = expected(tree, x, known, n_categories)
            if len(mean) == outputs:
                total += mean
            else:
                total[t % outputs] += mean[0]
        return total

    return value


def interventional_game(
    trees: Sequence[Tree],
    x: Vector,
    background: Vector,
    outputs: int,
    n_categories: Sequence[int],
) -> Game:
    def value(known: frozenset[int]) -> Vector:
        everything = frozenset(range(len(x)))
        scores = []
        for other in background:
            mixed = np.array([x[j] if j in known else other[j] for j in range(len(x))])
            scores.append(path_game(trees, mixed, outputs, n_categories)(everything))
        return np.mean(scores, axis=0)

    return value


def _sets(features: Sequence[int]) -> list[frozenset[int]]:
    return [
        frozenset(chosen) for n in range(len(features) + 1) for chosen in combinations(features, n)
    ]


def shapley(game: Game, p: int) -> Vector:
    """Return the Shapley value of each feature, shape (p, n_outputs)."""
    value_of = {chosen: game(chosen) for chosen in _sets(range(p))}
    attribution = np.zeros((p, len(value_of[frozenset()])))
    for j in range(p):
        for chosen in _sets([k for k in range(p) if k != j]):
            share = factorial(len(chosen)) * factorial(p - len(chosen) - 1) / factorial(p)
            attribution[j] += share * (value_of[chosen | {j}] - value_of[chosen])
    return attribution


def interactions(game: Game, p: int) -> Vector:
    """Return Shapley interaction values, shape (p, p, n_outputs); rows sum to `shapley`."""
    value_of = {chosen: game(chosen) for chosen in _sets(range(p))}
    attribution = np.zeros((p, p, len(value_of[frozenset()])))
    for i, j in combinations(range(p), 2):
        for chosen in _sets([k for k in range(p) if k not in (i, j)]):
            n = len(chosen)
            share = factorial(n) * factorial(p - n - 2) / (2 * factorial(p - 1))
            both = value_of[chosen | {i, j}] - value_of[chosen | {i}] - value_of[chosen | {j}]
            attribution[i, j] += share * (both + value_of[chosen])
        attribution[j, i] = attribution[i, j]
    single = shapley(game, p)
    for i in range(p):
        attribution[i, i] = single[i] - attribution[i].sum(axis=0)
    return attribution
