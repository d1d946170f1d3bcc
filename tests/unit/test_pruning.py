"""Pruning: fast algorithms compared with all pruned subtrees."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from reference.pruning import best_leaves, fractional_prediction, fractions, random_tree, rows_below
from stagewise.trees.fractional_rows import predict_fractional
from stagewise.trees.impurity import IMPURITIES
from stagewise.trees.pruning import (
    node_costs,
    nodes_by_depth,
    path_costs,
    prune,
    pruned_node_of,
    pruning_path,
    reduced_error_nodes,
    split_order,
    weakest_links,
)

SEEDS = pytest.mark.parametrize("seed", range(12))


def made(seed, splits=7, *, whole=False):
    """Return a tree and the costs of its nodes; an inner node costs at least as its children."""
    rng = np.random.default_rng(seed + 100)
    tree = random_tree(seed, splits)
    cost = rng.integers(1, 6, len(tree.feature)).astype(float)
    for t in range(len(cost))[::-1]:
        if tree.feature[t] >= 0:
            more = rng.integers(0, 4) if whole else rng.random() * 3
            cost[t] = cost[tree.left[t]] + cost[tree.right[t]] + more
    return tree, cost


def leaves_of(tree, at):
    """Return the nodes that are leaves after pruning, by their old indices."""
    new_leaf = pruned_node_of(tree, at)
    return frozenset(new_leaf[tree.feature < 0].tolist())


@SEEDS
@pytest.mark.parametrize("whole", [False, True])  # integers: links of equal strength
def test_weakest_links_give_the_best_tree_for_every_alpha(seed, whole):
    tree, cost = made(seed, whole=whole)
    strength = weakest_links(tree, cost)
    for alpha in [0.0, *np.unique(strength[tree.feature >= 0]), *np.linspace(0.05, 6, 25)]:
        at = (tree.feature >= 0) & (strength <= alpha)
        assert leaves_of(tree, at) == best_leaves(tree, cost, alpha)


@SEEDS
def test_a_link_is_never_stronger_than_one_above_it(seed):
    tree, cost = made(seed, 30)
    strength = weakest_links(tree, cost)
    for t in np.flatnonzero(tree.feature >= 0):
        assert strength[tree.left[t]] <= strength[t] >= strength[tree.right[t]]


@SEEDS
def test_a_path_describes_its_trees(seed):
    tree, cost = made(seed, 20, whole=seed % 2 == 0)
    strength = weakest_links(tree, cost)
    path = pruning_path(tree, cost, strength)
    assert path.alphas[0] == 0.0
    assert path.n_leaves[-1] == 1
    assert (np.diff(path.alphas) > 0).all()
    assert (np.diff(path.n_leaves) < 0).all()
    for alpha, impurity, n in zip(path.alphas, path.impurities, path.n_leaves, strict=True):
        leaves = leaves_of(tree, (tree.feature >= 0) & (strength <= alpha))
        assert n == len(leaves)
        assert impurity == pytest.approx(cost[list(leaves)].sum())


def held_out(tree, seed, n=60):
    rng = np.random.default_rng(seed)
    leaf = rng.choice(np.flatnonzero(tree.feature < 0), n)
    return leaf, rng.integers(0, 3, n).astype(float), rng.random(n)


@SEEDS
def test_node_costs_are_the_sums_of_their_rows(seed):
    tree, _ = made(seed, 9)
    leaf, y, weight = held_out(tree, seed)
    costs = IMPURITIES["squared_error"](tree.value, y)
    for w in (None, weight):
        found = node_costs(tree, leaf, costs, w)
        for t in range(len(found)):
            inside = rows_below(tree, leaf, t)
            times = np.ones(len(y)) if w is None else w
            assert found[t] == pytest.approx((times * (y - tree.value[t]) ** 2)[inside].sum())


@SEEDS
def test_row_costs_along_a_path_equal_those_of_each_of_its_trees(seed):
    tree, cost = made(seed, 12)
    strength = weakest_links(tree, cost)
    leaf, y, weight = held_out(tree, seed)
    alphas = np.append(np.sort(np.random.default_rng(seed).random(9) * 4), 1e300)
    costs = IMPURITIES["absolute_error"](tree.value, y)
    found = path_costs(tree, strength, leaf, costs, weight, alphas)
    for alpha, first, second in zip(alphas, *found, strict=True):
        node = pruned_node_of(tree, (tree.feature >= 0) & (strength <= alpha))[leaf]
        error = np.abs(y - tree.value[node])
        assert first == pytest.approx((weight * error).sum())
        assert second == pytest.approx((weight * error**2).sum())


@SEEDS
def test_reduced_error_pruning_gives_the_tree_with_the_fewest_errors(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, 7)
    cost = rng.integers(0, 5, len(tree.feature)).astype(float)  # of other rows: in no order
    assert leaves_of(tree, reduced_error_nodes(tree, cost)) == best_leaves(tree, cost, 0.0)


@SEEDS
@pytest.mark.parametrize("n_categories", [0, 5, 64, 130])
def test_a_pruned_tree_predicts_the_values_of_its_nodes(seed, n_categories):
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, 25, n_categories=n_categories)
    at = (tree.feature >= 0) & (rng.random(len(tree.feature)) < 0.3)
    small = prune(tree, at)
    leaf = small.feature < 0
    for name, none in (("left", -1), ("right", -1), ("threshold", 0), ("missing_left", 0)):
        assert (getattr(small, name)[leaf] == none).all()
    inner = np.flatnonzero(~leaf)
    assert (small.left[inner] > inner).all()
    assert sorted([0, *small.left[inner], *small.right[inner]]) == list(range(len(small.feature)))
    new_leaf = pruned_node_of(tree, at)
    X = rng.integers(-3, 4, (50, 3)).astype(float)
    X[:, 2] = rng.integers(0, max(n_categories, 4), 50)
    for row in X:
        (old,), (new,) = fractions(tree, row), fractions(small, row)
        assert small.value[new] == tree.value[new_leaf[old]]


def test_a_tree_that_is_pruned_at_its_root_is_a_leaf():
    tree = random_tree(0, 9, n_categories=5)
    small = prune(tree, np.arange(len(tree.feature)) == 0)
    assert small.feature.tolist() == [-1]
    assert small.category_sets is None
    assert small.cover[0] == tree.cover[0]


def test_no_pruning_changes_nothing():
    tree = random_tree(3, 20, n_categories=70)
    same = prune(tree, np.zeros(len(tree.feature), dtype=bool))
    for name in ("feature", "threshold", "missing_left", "left", "right", "value", "cover"):
        np.testing.assert_array_equal(getattr(same, name), getattr(tree, name))
    for node in np.flatnonzero(tree.category_sets.start >= 0):
        np.testing.assert_array_equal(
            same.category_sets.goes_left(node, 70), tree.category_sets.goes_left(node, 70)
        )


def test_splits_were_made_in_the_order_of_children():
    tree = random_tree(1, 12)
    assert tree.left[split_order(tree)].tolist() == list(range(1, 25, 2))


def test_categories_of_nodes():
    tree = random_tree(2, 15)
    found = nodes_by_depth(tree)
    assert sorted(np.concatenate(found).tolist()) == list(range(31))
    for category, below in pairwise(found):
        parents = {int(t) for t in category if tree.feature[t] >= 0}
        assert all(any(child in (tree.left[t], tree.right[t]) for t in parents) for child in below)


@SEEDS
@pytest.mark.parametrize("n_categories", [0, 90])
def test_fractional_rows_equal_the_reference(seed, n_categories):
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, 20, n_categories=n_categories)
    X = rng.integers(-3, 4, (40, 3)).astype(float)
    X[:, 2] = rng.integers(0, max(n_categories, 4) + 1, 40)  # with the unknown category
    X[rng.random(X.shape) < 0.4] = np.nan
    expected = [fractional_prediction(tree, row) for row in X]
    np.testing.assert_allclose(predict_fractional(tree, X)[:, 0], expected, atol=1e-12)
    one_by_one = [predict_fractional(tree, row[np.newaxis])[0, 0] for row in X]
    np.testing.assert_array_equal(predict_fractional(tree, X)[:, 0], one_by_one)


def test_impurities_are_means_of_row_costs():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    p = np.bincount(y) / 500
    rows, nodes = np.arange(500), np.zeros(500, dtype=np.intp)
    expected = {
        "gini": (p * (1 - p)).sum(),
        "entropy": -(p * np.log(p)).sum(),
        "misclassification": 1 - p.max(),
    }
    for name, impurity in expected.items():
        assert IMPURITIES[name](p[np.newaxis], y)(rows, nodes).mean() == pytest.approx(impurity)
    z = rng.normal(size=500)
    squares = IMPURITIES["squared_error"](np.array([z.mean()]), z)(rows, nodes)
    assert squares.mean() == pytest.approx(z.var())
