"""Shapley values by their definition: every set of features, one after another.

One idea: nothing but v(S) and the formula. Takes time 2^p, so tables must have few features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial

import numpy as np
import numpy.typing as npt

from reference.lines import say
from stagewise.trees.tree import Tree

Vector = npt.NDArray[np.float64]
Game = Callable[[frozenset[int]], Vector]


def goes_left(tree: Tree, node: int, x: float, levels: Sequence[int]) -> bool:
    if np.isnan(x):
        return bool(tree.missing_left[node])
    n_levels = levels[tree.feature[node]] if len(levels) else 0
    if n_levels:
        assert tree.category_sets is not None
        known = 0 <= x < n_levels
        return bool(tree.category_sets.goes_left(node, n_levels)[int(x) if known else n_levels])
    return bool(x <= tree.threshold[node])


def expected(
    tree: Tree, x: Vector, known: frozenset[int], levels: Sequence[int], node: int = 0
) -> Vector:
    """What a tree says when only some features are known; both ways, by cover, where not."""
    f = int(tree.feature[node])
    if f < 0:
        return np.atleast_1d(tree.value[node] if tree.linear_leaves is None else say(tree, node, x))
    left, right = int(tree.left[node]), int(tree.right[node])
    if f in known:
        to = left if goes_left(tree, node, x[f], levels) else right
        return expected(tree, x, known, levels, to)
    a, b = tree.cover[left], tree.cover[right]
    said = [expected(tree, x, known, levels, child) for child in (left, right)]
    return (a * said[0] + b * said[1]) / (a + b)


def path_game(trees: Sequence[Tree], x: Vector, outputs: int, levels: Sequence[int]) -> Game:
    def value(known: frozenset[int]) -> Vector:
        total = np.zeros(outputs)
        for t, tree in enumerate(trees):
            said = expected(tree, x, known, levels)
            if len(said) == outputs:
                total += said
            else:
                total[t % outputs] += said[0]
        return total

    return value


def interventional_game(
    trees: Sequence[Tree],
    x: Vector,
    background: Vector,
    outputs: int,
    levels: Sequence[int],
) -> Game:
    def value(known: frozenset[int]) -> Vector:
        everything = frozenset(range(len(x)))
        said = []
        for other in background:
            mixed = np.array([x[j] if j in known else other[j] for j in range(len(x))])
            said.append(path_game(trees, mixed, outputs, levels)(everything))
        return np.mean(said, axis=0)

    return value


def _sets(features: Sequence[int]) -> list[frozenset[int]]:
    return [
        frozenset(chosen) for n in range(len(features) + 1) for chosen in combinations(features, n)
    ]


def shapley(game: Game, p: int) -> Vector:
    """Return the credit of each feature, shape (p, n_outputs)."""
    worth = {chosen: game(chosen) for chosen in _sets(range(p))}
    credit = np.zeros((p, len(worth[frozenset()])))
    for j in range(p):
        for chosen in _sets([k for k in range(p) if k != j]):
            share = factorial(len(chosen)) * factorial(p - len(chosen) - 1) / factorial(p)
            credit[j] += share * (worth[chosen | {j}] - worth[chosen])
    return credit


def interactions(game: Game, p: int) -> Vector:
    """Return Shapley interaction values, shape (p, p, n_outputs); rows add up to `shapley`."""
    worth = {chosen: game(chosen) for chosen in _sets(range(p))}
    credit = np.zeros((p, p, len(worth[frozenset()])))
    for i, j in combinations(range(p), 2):
        for chosen in _sets([k for k in range(p) if k not in (i, j)]):
            n = len(chosen)
            share = factorial(n) * factorial(p - n - 2) / (2 * factorial(p - 1))
            both = worth[chosen | {i, j}] - worth[chosen | {i}] - worth[chosen | {j}]
            credit[i, j] += share * (both + worth[chosen])
        credit[j, i] = credit[i, j]
    single = shapley(game, p)
    for i in range(p):
        credit[i, i] = single[i] - credit[i].sum(axis=0)
    return credit
