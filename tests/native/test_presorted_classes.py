"""Trees for class targets from presorted rows equal brute force, scikit-learn and binned trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.tree import DecisionTreeClassifier

from reference import class_tree
from reference.core import Growth, bin_categories, same_trees
from reference.tree import Rules, leaf_of
from stagewise._native import Bins, Columns, Workers
from stagewise.data.bins import rank_values
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

CRITERIA = ["misclassification", "gini", "entropy"]


def make_data(seed: int, n: int = 70, features: int = 3, k: int = 3) -> tuple[Vector, Codes]:
    """Return many different values, some equal, some missing."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, features)) * 10) / 2
    signal = np.sin(X[:, 0] / 4) - X[:, -1] / 9 + rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, (np.argsort(np.argsort(signal)) * k // n).astype(np.int32)


def weights_of(kind: str, n: int) -> Vector | None:
    rng = np.random.default_rng(n)
    return {
        "none": None,
        "whole": rng.integers(0, 4, n).astype(float),
        "fractional": rng.integers(1, 24, n) / 8,
    }[kind]


def grow(
    table: Bins,
    y: Codes,
    rules: Rules,
    criterion: str,
    workers: Workers,
    weight: Vector | None = None,
    row_weight: Vector | None = None,
    **more: Any,
) -> Tree:
    own = {"hessian_bound": 1.0, "hessian_is_weight": True, "criterion": criterion, **more}
    growth = Growth(workers, table, weight, rules, classes=y, n_classes=int(y.max()) + 1, **own)
    ones = np.ones(len(y))
    return growth.grow(ones if row_weight is None else row_weight, ones)


RULES = {
    "plain": Rules(),
    "few leaves": Rules(max_leaves=6),
    "shallow": Rules(max_depth=2),
    "heavy leaves": Rules(min_samples_leaf=5),
    "depth-wise": Rules(max_leaves=9, depth_wise=True),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
def test_a_tree_equals_that_of_brute_force(name: str, criterion: str, weights: str) -> None:
    for seed in range(3):
        X, y = make_data(seed, k=2 + seed)
        weight = weights_of(weights, len(y))
        workers = Workers(1)
        ranks = rank_values(workers, Columns(X), ())
        counts = (
            np.random.default_rng(seed).integers(1, 512, len(y)) / 256
        )  # no two splits have the same gain
        tree = grow(ranks, y, RULES[name], criterion, workers, weight, counts)
        expected = class_tree.grow(
            X, y, counts, weight, [None] * 3, RULES[name], criterion, int(y.max()) + 1
        )
        for array in ("feature", "left", "right", "missing_left"):
            np.testing.assert_array_equal(getattr(tree, array), getattr(expected, array))
        np.testing.assert_allclose(tree.gain, expected.gain, rtol=1e-7, atol=1e-9)
        # A cut between rows of weight 0 is arbitrary.
        if weights != "whole":
            np.testing.assert_allclose(tree.threshold, expected.threshold, rtol=1e-12)


def same_splits(tree: Tree, other: Any, node: int = 0, number: int = 0) -> bool:
    """Return whether two trees have the same splits; the other one is scikit-learn's.

    With few rows several features may have the same gain. And scikit-learn splits pure nodes whose
    impurity is a rounding error.
    """
    feature = int(tree.feature[node])
    if other.n_node_samples[number] < 40:
        return True
    ended = other.feature[number] < 0 or other.impurity[number] < 1e-12
    if feature < 0 or ended:
        return feature < 0 and ended
    return (
        feature == other.feature[number]
        and tree.threshold[node] == pytest.approx(other.threshold[number], rel=1e-6)
        and same_splits(tree, other, int(tree.left[node]), int(other.children_left[number]))
        and same_splits(tree, other, int(tree.right[node]), int(other.children_right[number]))
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("k", [2, 4])
def test_splits_equal_those_of_scikit_learn(criterion: str, k: int) -> None:
    """With random weights no two splits of many rows have the same gain."""
    for seed in range(4):
        rng = np.random.default_rng([seed, k])
        X = rng.normal(size=(400, 4)).astype(np.float32)
        y = np.digitize(X[:, 0] + X[:, 1] ** 2 + rng.normal(size=400), np.arange(k - 1)).astype(
            "i4"
        )
        weight = rng.uniform(0.5, 1.5, 400)
        workers = Workers(1)
        ranks = rank_values(workers, Columns(X.astype(float)), ())
        rules = Rules(max_depth=4, min_hessian=1.0)
        tree = grow(ranks, y, rules, criterion, workers, row_weight=weight)
        other = DecisionTreeClassifier(criterion=criterion, max_depth=4, random_state=0)
        other.fit(X, y, sample_weight=weight)
        assert same_splits(tree, other.tree_)
        shares = other.tree_.weighted_n_node_samples
        inner = (other.tree_.children_left >= 0) & (other.tree_.impurity > 1e-12)
        left, right = other.tree_.children_left[inner], other.tree_.children_right[inner]
        lost = shares * other.tree_.impurity * (np.log(2) if criterion == "entropy" else 1)
        expected = lost[inner] - lost[left] - lost[right]
        np.testing.assert_allclose(np.sort(tree.gain[tree.feature >= 0]), np.sort(expected), 1e-5)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("random_thresholds", [False, True])
def test_categories_are_split_as_in_binned_trees(criterion: str, random_thresholds: bool) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, (300, 2)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0] * 5 + X[:, 1]) % 7 // 2 + rng.integers(0, 2, 300)) % 4
    workers = Workers(1)
    ranks = rank_values(workers, Columns(X), (9, 9))
    bins, _ = bin_categories(workers, X, (9, 9))
    rules = Rules(max_leaves=12, min_samples_leaf=3)
    more = {"random_thresholds": random_thresholds}
    trees = [grow(t, y.astype("i4"), rules, criterion, workers, **more) for t in (ranks, bins)]
    for array in ("feature", "left", "gain", "cover", "missing_left"):
        np.testing.assert_array_equal(getattr(trees[0], array), getattr(trees[1], array))
    leaves = [[leaf_of(tree, row, (9, 9)) for row in X] for tree in trees]
    assert leaves[0] == leaves[1]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("more", [{}, {"random_thresholds": True}])
def test_threads_do_not_matter(criterion: str, more: dict[str, Any]) -> None:
    X, y = make_data(5, 20_000, 4)
    X += np.random.default_rng(0).integers(0, 9, X.shape) / 64
    rules = Rules(max_leaves=40, min_samples_leaf=3)
    trees = []
    for threads in (1, 2, 3):
        workers = Workers(threads)
        ranks = rank_values(workers, Columns(X), ())
        trees.append(grow(ranks, y, rules, criterion, workers, **more))
    assert same_trees(trees[0], trees[1])
    assert same_trees(trees[0], trees[2])


def test_a_monotone_transform_changes_no_leaf_of_a_row() -> None:
    X, y = make_data(6, 200)
    workers = Workers(1)
    found = []
    for table in (X, np.exp(X / 8)):
        ranks = rank_values(workers, Columns(table), ())
        tree = grow(ranks, y, Rules(), "gini", workers)
        found.append([leaf_of(tree, row) for row in table])
    assert found[0] == found[1]
