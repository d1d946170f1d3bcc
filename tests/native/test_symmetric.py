"""Symmetric trees: all leaves of a depth have the split with the largest total gain."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reference import tree as reference
from reference.core import Growth, bin_categories, bin_table, same_trees
from reference.tree import Rules
from stagewise._native import Workers
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def make_data(seed: int, n: int = 200, missing: float = 0.1) -> tuple[Vector, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 3)) / 2
    X[rng.random(X.shape) < missing] = np.nan
    wave = np.sin(np.nan_to_num(X, nan=1.0) @ rng.normal(size=3) * 3)
    return (
        X,
        np.round((wave + 0.3 * rng.normal(size=n)) * 4096) / 4096,
        rng.integers(64, 512, n) / 256,
    )


def grow(X: Vector, g: Vector, h: Vector, rules: Rules, threads: int = 1, **more: Any) -> Tree:
    workers = Workers(threads)
    bins, _ = bin_table(workers, X)
    return Growth(workers, bins, None, rules, grow_policy="symmetric", **more).grow(g, h)


def leaf_score(g: Vector, h: Vector, rows: Mask, l2: float) -> float:
    return float(g[rows].sum() ** 2 / (h[rows].sum() + l2) / 2)


def brute_force(X: Vector, g: Vector, h: Vector, rules: Rules) -> tuple[list[Any], list[Mask]]:
    """Return the split of every depth and the rows of the final leaves."""
    workers = Workers(1)
    _, cuts = bin_table(workers, X)
    leaves = [np.ones(len(X), dtype=bool)]
    chosen = []
    while 2 * len(leaves) <= rules.max_leaves and len(chosen) < (rules.max_depth or 99):
        best, best_score = None, sum(leaf_score(g, h, rows, rules.l2) for rows in leaves)
        for feature in range(X.shape[1]):
            x = X[:, feature]
            absent = np.isnan(x)
            some = any((rows & absent).any() for rows in leaves)
            for way, cut in product((False, True) if some else (False,), [*cuts[feature], np.inf]):
                left = (x <= cut) | (absent & way)
                score = 0.0
                for rows in leaves:
                    sides = [rows & left, rows & ~left]
                    heavy = all(
                        s.sum() >= rules.min_samples_leaf and h[s].sum() >= rules.min_hessian
                        for s in sides
                    )
                    score += (
                        sum(leaf_score(g, h, s, rules.l2) for s in sides)
                        if heavy
                        else leaf_score(g, h, rows, rules.l2)
                    )
                if score > best_score * (1 + 1e-10):
                    best, best_score = (feature, cut, left), score
        if best is None:
            break
        chosen.append(best[:2])
        divided = []
        for rows in leaves:
            sides = [rows & best[2], rows & ~best[2]]
            heavy = all(
                s.sum() >= max(1, rules.min_samples_leaf) and h[s].sum() >= rules.min_hessian
                for s in sides
            )
            divided += sides if heavy else [rows]
        leaves = divided
    return chosen, leaves


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "rules",
    [
        Rules(max_leaves=8, l2=1.0),
        Rules(max_leaves=64, max_depth=3, l2=0.5),
        Rules(max_leaves=16, l2=1.0, min_hessian=4.0),
        Rules(max_leaves=16, l2=1.0, min_samples_leaf=25.0),
    ],
    ids=["eight leaves", "depth three", "heavy", "many rows"],
)
def test_the_split_of_each_depth_equals_brute_force(seed: int, rules: Rules) -> None:
    X, g, h = make_data(seed)
    tree = grow(X, g, h, rules)
    chosen, leaves = brute_force(X, g, h, rules)
    inner = tree.feature >= 0
    splits_of_tree = set(
        zip(tree.feature[inner].tolist(), tree.threshold[inner].tolist(), strict=True)
    )
    assert splits_of_tree == {(f, float(cut)) for f, cut in chosen}
    expected = np.zeros(len(X))
    for rows in leaves:
        expected[rows] = -g[rows].sum() / (h[rows].sum() + rules.l2)
    np.testing.assert_allclose(reference.predict(tree, X), expected, rtol=1e-9)


@pytest.mark.parametrize("n", [240, 254, 255, 256, 257, 400, 2000])
def test_any_number_of_rows_and_bins_with_few_features_per_depth(n: int) -> None:
    """One thread reads the rows of a few features instead of histograms."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    g, h = np.round(rng.normal(size=n) * 4096) / 4096, rng.integers(64, 512, n) / 256
    rules = Rules(max_leaves=64, l2=1.0)
    trees = [grow(X, g, h, rules, t, max_features_per_level=0.4) for t in (1, 2)]
    assert same_trees(*trees)


def test_leaves_below_min_samples_leaf_are_not_split() -> None:
    X, g, h = make_data(7, 300)
    tree = grow(X, g, h, Rules(max_leaves=64, min_samples_leaf=15.0))
    assert tree.cover[tree.feature < 0].min() >= 15
    assert (tree.feature < 0).sum() > 8


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_matter(threads: int) -> None:
    X, g, h = make_data(8, 30_000)
    rules = Rules(max_leaves=64, min_samples_leaf=20.0, l2=1.0)
    assert same_trees(grow(X, g, h, rules), grow(X, g, h, rules, threads))


def test_categories_are_split_by_one_set_per_depth() -> None:
    X, g, h = make_data(9, 2000, missing=0.0)
    X[:, 0] = np.random.default_rng(9).integers(0, 30, 2000)
    g = g - np.sin(X[:, 0])
    workers = Workers(1)
    bins, _ = bin_categories(workers, X, [30, 0, 0])
    rules = Rules(max_leaves=8, category_smoothing=1.0)
    tree = Growth(workers, bins, None, rules, grow_policy="symmetric").grow(g, h)
    assert tree.feature[0] == 0
    assert tree.category_sets is not None
    mean = np.array([-(g[X[:, 0] == k]).sum() / h[X[:, 0] == k].sum() for k in range(30)])
    left = tree.category_sets.goes_left(0, 30)[:30]
    assert mean[left].min() > mean[~left].max() or mean[left].max() < mean[~left].min()


def test_predictions_are_monotone() -> None:
    for seed in range(10):
        X, g, h = make_data(seed, 300)
        tree = grow(X, g, h, Rules(max_leaves=32, l2=1.0), monotone=[1, 0, -1])
        values = np.arange(0, 3, 0.5)
        f = reference.predict(tree, np.array(list(product(values, values, values))))
        f = f.reshape(6, 6, 6)
        assert (np.diff(f, axis=0) >= 0).all()
        assert (np.diff(f, axis=2) <= 0).all()
