"""Splits of categorical features equal brute force, and predictions follow them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import tree as reference
from reference.binning import find_category_bins
from reference.core import ALL_ROWS, Growth, bin_categories, forest_of, same_trees
from reference.tree import Rules
from stagewise._native import Bins, Columns, Workers, learn_category_bins, supported_isas
from stagewise.model.ensemble import Ensemble
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]


@dataclass
class Data:
    X: Vector
    n_categories: list[int]
    gradient: Vector
    hessian: Vector
    weight: Vector | None


def make_data(
    seed: int, n: int = 90, n_categories: tuple[int, ...] = (7, 0, 3), weights: str = "none"
) -> Data:
    """Return categorical columns, or numeric ones where the count is 0; multiples of 2^-k."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, k or 6, n).astype(float) for k in n_categories])
    X[rng.random(X.shape) < 0.1] = np.nan
    effect = rng.normal(size=512)
    signal = effect[np.nan_to_num(X[:, 0], nan=9).astype(int)] - 0.5 * np.nan_to_num(X[:, -1])
    gradient = np.round((signal + rng.normal(size=n)) * 4096) / 4096
    weight = rng.integers(1, 5, n).astype(float) if weights == "whole" else None
    return Data(X, list(n_categories), gradient, rng.integers(64, 512, n) / 256, weight)


def grow(
    data: Data, rules: Rules, few_rows: int | None = None, max_bins: int = 255, threads: int = 1
) -> Tree:
    workers = Workers(threads)
    bins, _ = bin_categories(workers, data.X, data.n_categories, max_bins)
    growth = Growth(workers, bins, data.weight, rules, few_rows=few_rows)
    return growth.grow(data.gradient, data.hessian)


def brute_force(data: Data, rules: Rules, max_bins: int = 255) -> Tree:
    _, cuts = bin_categories(Workers(1), data.X, data.n_categories, max_bins)
    return reference.grow(data.X, data.gradient, data.hessian, data.weight, cuts, rules)


def assert_same(tree: Tree, expected: Tree, n_categories: list[int]) -> None:
    for name in ("feature", "left", "right", "threshold", "missing_left"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)
    np.testing.assert_allclose(tree.value, expected.value, rtol=1e-9)
    np.testing.assert_allclose(tree.gain, expected.gain, rtol=1e-7, atol=1e-9)
    for node, feature in enumerate(tree.feature.tolist()):
        if feature >= 0 and n_categories[feature]:
            assert tree.category_sets is not None
            assert expected.category_sets is not None
            np.testing.assert_array_equal(
                tree.category_sets.goes_left(node, n_categories[feature]),
                expected.category_sets.goes_left(node, n_categories[feature]),
            )


RULES = {
    "plain": Rules(),
    "smoothed": Rules(category_smoothing=4.0, l2=1.0),
    "penalised": Rules(category_l2=3.0, l2=0.5),
    "less by chance": Rules(category_chance=1.0, one_vs_rest=0, l2=1.0),
    "always in order": Rules(one_vs_rest=0, l2=1.0),
    "always alone": Rules(one_vs_rest=100, l2=1.0),
    "enough rows": Rules(min_samples_leaf=7.0, category_smoothing=1.0),
    "enough rows, alone": Rules(min_samples_leaf=7.0, one_vs_rest=100),
    "few leaves": Rules(max_leaves=4, l1=0.5),
}


@pytest.mark.parametrize("weights", ["none", "whole"])
@pytest.mark.parametrize("name", RULES)
def test_each_rule_gives_the_brute_force_tree(name: str, weights: str) -> None:
    data = make_data(len(name), weights=weights)
    expected = brute_force(data, RULES[name])
    for few_rows in (0, ALL_ROWS, None):
        assert_same(grow(data, RULES[name], few_rows), expected, data.n_categories)


@pytest.mark.parametrize("n_categories", [(70, 0), (200, 3), (130, 130)])
def test_many_categories(n_categories: tuple[int, ...]) -> None:
    data = make_data(5, 400, n_categories)
    for chance in (0.0, 0.3):
        rules = Rules(max_leaves=6, category_smoothing=2.0, l2=1.0, category_chance=chance)
        for few_rows in (0, ALL_ROWS):
            assert_same(grow(data, rules, few_rows), brute_force(data, rules), data.n_categories)


@pytest.mark.parametrize("max_bins", [2, 5, 20])
def test_rare_categories_share_a_bin(max_bins: int) -> None:
    data = make_data(6, 300, (40, 0))
    rules = Rules(max_leaves=6, l2=1.0)
    for few_rows in (0, ALL_ROWS):
        tree = grow(data, rules, few_rows, max_bins)
        assert_same(tree, brute_force(data, rules, max_bins), data.n_categories)


def test_the_most_frequent_categories_have_their_own_bins() -> None:
    x = np.repeat([0.0, 1.0, 2.0, 3.0, np.nan], [3, 50, 2, 40, 9])
    assert learn_category_bins(Columns([x]), 0, 4, None, 255).tolist() == [0, 1, 2, 3]
    assert learn_category_bins(Columns([x]), 0, 4, None, 3).tolist() == [2, 0, 2, 1]
    heavy = np.where(x == 2.0, 100.0, 1.0)
    assert learn_category_bins(Columns([x]), 0, 4, heavy, 2).tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("max_bins", [1, 2, 5, 30])
def test_bins_of_categories_equal_the_reference(max_bins: int) -> None:
    rng = np.random.default_rng(max_bins)
    x = rng.choice(30, 400, p=rng.dirichlet(np.ones(30))).astype(float)
    x[::9] = np.nan
    found = learn_category_bins(Columns([x]), 0, 30, None, max_bins)
    np.testing.assert_array_equal(found, find_category_bins(x, 30, max_bins))


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_no_subset_of_categories_is_better_than_the_best_cut_of_their_order(
    seed: int, size: int
) -> None:
    """Fisher's theorem, without smoothing and penalties."""
    data = make_data(seed, 40, (size,))
    data.X = np.nan_to_num(data.X)
    tree = grow(data, Rules(max_leaves=2, one_vs_rest=0))

    def score(chosen: Any) -> float:
        left = np.isin(data.X[:, 0], chosen)
        parts = [left, ~left]
        if not all(p.any() for p in parts):
            return 0.0
        return sum(data.gradient[p].sum() ** 2 / data.hessian[p].sum() / 2 for p in parts)

    whole = data.gradient.sum() ** 2 / data.hessian.sum() / 2
    ways = [c for k in range(1, size) for c in combinations(range(size), k)]
    best = max(score(np.array(c, dtype=float)) for c in ways) - whole
    assert tree.gain[0] == pytest.approx(best, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("n_categories", [(7, 0, 3), (70, 12, 300)])
def test_threads_do_not_matter(threads: int, n_categories: tuple[int, ...]) -> None:
    data = make_data(8, 40_000, n_categories)
    rules = Rules(max_leaves=20, category_smoothing=10.0, category_l2=10.0, min_samples_leaf=20.0)
    assert same_trees(grow(data, rules), grow(data, rules, threads=threads))


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("max_leaves", [8, 200])
def test_predictions_follow_the_category_sets(isa: str, max_leaves: int) -> None:
    """Up to 64 leaves by masks, beyond by walking; unknown and missing categories, too."""
    data = make_data(9, 900, (7, 0, 70))
    workers = Workers(2, isa)
    trees = [
        grow(replace(data, gradient=data.gradient * sign), Rules(max_leaves=max_leaves))
        for sign in (1.0, -1.0)
    ]
    forest = forest_of(trees, 3, n_categories=data.n_categories)
    X = np.vstack([data.X, [[7.0, 1.0, 70.0], [99.0, 2.0, -3.0], [np.nan] * 3]])
    expected = sum(reference.predict(t, X, data.n_categories) for t in trees)
    out = np.zeros(len(X))
    forest.add_scores(workers, Columns(X), 0, 2, out)
    np.testing.assert_array_equal(out, expected)
    rows = np.zeros(len(X))
    forest.add_rows(np.ascontiguousarray(X), 0, 2, rows)
    np.testing.assert_array_equal(rows, expected)
    leaves = np.empty(2 * len(X), dtype=np.int32)
    forest.leaves(workers, Columns(X), leaves)
    walked = [[reference.leaf_of(t, row, data.n_categories) for t in trees] for row in X]
    np.testing.assert_array_equal(leaves.reshape(-1, 2), walked)


def test_training_scores_are_predictions() -> None:
    """For rows in the bag, out-of-bag rows, and other rows with the same coding."""
    data = make_data(10, 500, (30, 0, 4))
    workers = Workers(1)
    bins, codings = bin_categories(workers, data.X, data.n_categories, 16)
    growth = Growth(workers, bins, None, Rules(max_leaves=9, l2=1.0))
    bag = np.arange(0, 500, 2, dtype=np.uint32)
    tree = growth.grow(data.gradient, data.hessian, bag)
    expected = reference.predict(tree, data.X, data.n_categories)
    score = np.zeros(500)
    growth.grower.add_scores(growth.grown, tree.value, score)
    np.testing.assert_array_equal(score, expected)
    other = np.vstack([data.X[:50], [[30.0, 1.0, 4.0], [np.nan] * 3]])
    score = np.zeros(len(other))
    Bins(workers, Columns(other), codings).add_tree(workers, growth.grown, tree.value, score)
    np.testing.assert_array_equal(score, reference.predict(tree, other, data.n_categories))


def test_flat_arrays_give_the_same_trees() -> None:
    data = make_data(11, 300, (30, 0, 4))
    numbers = grow(replace(data, n_categories=[0, 0, 0]), Rules(max_leaves=5))
    trees = [grow(data, Rules(max_leaves=k)) for k in (9, 1, 4)]
    ensemble = Ensemble(3, np.zeros(1), [numbers, *trees, numbers], data.n_categories)
    again = Ensemble.from_flat(3, np.zeros(1), ensemble.flat(), data.n_categories)
    for a, b in zip(ensemble.trees, again.trees, strict=True):
        assert same_trees(a, b)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("criterion", ["misclassification", "gini"])
def test_classes_are_split_by_shares(n_classes: int, criterion: str) -> None:
    """For two classes no subset is better; for more, none that is a cut of the order of a class."""
    rng = np.random.default_rng(12)
    x = rng.integers(0, 6, 300).astype(float)
    y = ((x * 7 + rng.integers(0, 3, 300)) % n_classes).astype(np.int32)
    workers = Workers(1)
    bins, _ = bin_categories(workers, x[:, None], [6])
    named: dict[str, Any] = {"classes": y, "n_classes": n_classes, "criterion": criterion}
    growth = Growth(workers, bins, None, Rules(max_leaves=2), **named)
    tree = growth.grow(np.ones(300), np.ones(300))

    def goodness(part: npt.NDArray[np.bool_]) -> float:
        w = np.bincount(y[part], minlength=n_classes).astype(float)
        return float(w.max()) if criterion == "misclassification" else float((w**2).sum() / w.sum())

    def score(chosen: Any) -> float:
        left = np.isin(x, chosen)
        return goodness(left) + goodness(~left)

    share = np.array([np.bincount(y[x == k], minlength=n_classes) for k in range(6)])
    share = share / share.sum(axis=1, keepdims=True)
    if n_classes == 2:
        ways = [c for k in range(1, 6) for c in combinations(range(6), k)]
    else:
        ways = [tuple(np.argsort(share[:, c])[:k]) for c in range(n_classes) for k in range(1, 6)]
    best = max(score(np.array(c)) for c in ways) - goodness(np.ones(300, dtype=bool))
    assert tree.gain[0] == pytest.approx(best, rel=1e-6)
    assert tree.category_sets is not None
    assert score(np.flatnonzero(tree.category_sets.goes_left(0, 6)[:6])) - goodness(
        np.ones(300, dtype=bool)
    ) == pytest.approx(best, rel=1e-6)
