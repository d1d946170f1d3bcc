"""Adding trees to scores: every method equals plain traversal, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_samples import random_tree, symmetric_tree
from reference import tree as reference
from reference.core import Growth, bin_table, forest_of
from reference.tree import Rules
from stagewise._native import Bins, Columns, Workers, supported_isas
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]


def odd_table(rng: np.random.Generator, n: int, features: int) -> Vector:
    X = rng.normal(size=(n, features))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[rng.random(X.shape) < 0.05] = np.inf
    X[rng.random(X.shape) < 0.05] = -np.inf
    X[rng.random(X.shape) < 0.02] = 1e308
    return X


def plain(
    trees: list[Tree],
    X: npt.NDArray[Any],
    start: Vector,
    outputs: int = 1,
    categories: Sequence[int] = (),
) -> Vector:
    """Add the trees one after another, in order, as the core does."""
    scores = start.copy().reshape(len(X), outputs)
    for t, tree in enumerate(trees):
        scores[:, t % outputs] += reference.predict(tree, X, categories)
    return scores


def with_thresholds(tree: Tree, X: npt.NDArray[Any], rng: np.random.Generator) -> Tree:
    """Use thresholds that occur in X, their neighbours, and infinities."""
    values = np.append(X[~np.isnan(X)].astype(np.float64), [0.0, np.inf, -np.inf])
    chosen = rng.choice(values, len(tree.threshold))
    chosen = np.where(rng.random(len(chosen)) < 0.3, np.nextafter(chosen, -np.inf), chosen)
    return replace(tree, threshold=np.where(tree.feature >= 0, chosen, 0.0))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 2, 31, 33, 65, 300]),
    st.sampled_from([1, 2, 5]),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([1, 3]),
    st.sampled_from([0, 1, 7, 31, 32, 63, 64, 120, 255, 256]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from(supported_isas()),
)
def test_a_forest_equals_plain_traversal(
    seed: int,
    n: int,
    features: int,
    rounds: int,
    outputs: int,
    splits: int,
    dtype: type,
    isa: str,
) -> None:
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        X = odd_table(rng, n, features).astype(dtype)
    trees = [
        with_thresholds(random_tree(rng, features, int(rng.integers(splits + 1))), X, rng)
        for _ in range(rounds * outputs)
    ]
    if trees:
        trees[-1] = with_thresholds(random_tree(rng, features, splits), X, rng)
    forest, workers = forest_of(trees, features, outputs), Workers(1, isa)
    assert forest.n_trees == len(trees)
    start = rng.normal(size=n * outputs)
    expected = plain(trees, X, start, outputs)
    scores = start.copy()
    forest.add_scores(workers, Columns(X), 0, len(trees), scores)
    np.testing.assert_array_equal(scores.reshape(n, outputs), expected)
    walked = start.copy()
    new = forest_of(trees, features, outputs, scored=0)
    new.add_scores(workers, Columns(X), 0, len(trees), walked)
    np.testing.assert_array_equal(walked, scores)
    few = start.copy()
    forest.add_rows(np.ascontiguousarray(X, dtype=np.float64), 0, len(trees), few)
    np.testing.assert_array_equal(few, scores)
    leaves = np.empty(n * len(trees), dtype=np.int32)
    forest.leaves(workers, Columns(X), leaves)
    where = [[reference.leaf_of(tree, row) for tree in trees] for row in X]
    assert leaves.reshape(n, len(trees)).tolist() == where


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 15, 17, 31, 33, 70, 255, 257, 600]),
    depth=st.integers(0, 9),
    whole=st.sampled_from([1.0, 0.9, 0.5]),
    categories=st.sampled_from([(0, 0, 0), (3, 0, 70)]),
    sides=st.booleans(),
    late=st.booleans(),
    outputs=st.sampled_from([1, 3]),
    isa=st.sampled_from(supported_isas()),
)
def test_symmetric_trees_equal_plain_traversal(
    seed, n, depth, whole, categories, sides, late, outputs, isa
):
    rng = np.random.default_rng(seed)
    X = odd_table(rng, n, 3)
    if sides:  # no value of the first block is missing
        X[:256] = np.nan_to_num(X[:256])
    for feature, count in enumerate(categories):
        if count:
            X[:, feature] = rng.integers(-1, count + 2, n)
            X[rng.random(n) < 0.2, feature] = np.nan
    trees = [
        symmetric_tree(rng, X, categories, depth, whole, sides, late) for _ in range(2 * outputs)
    ]
    start = rng.normal(size=n * outputs)
    scores = start.copy()
    forest = forest_of(trees, 3, outputs, n_categories=categories)
    forest.add_scores(Workers(1, isa), Columns(X), 0, len(trees), scores)
    expected = plain(trees, X, start, outputs, categories)
    np.testing.assert_array_equal(scores.reshape(n, outputs), expected)


def test_threads_that_score_at_once_share_the_tables_of_a_new_forest() -> None:
    rng = np.random.default_rng(0)
    X = odd_table(rng, 2000, 3)
    trees = [with_thresholds(random_tree(rng, 3, 20), X, rng) for _ in range(30)]
    forest = forest_of(trees, 3, scored=0)

    def score(_: int) -> Vector:
        scores = np.zeros(len(X))
        forest.add_scores(Workers(1), Columns(X), 0, len(trees), scores)
        return scores

    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(score, range(8)):
            np.testing.assert_array_equal(scores, plain(trees, X, np.zeros(len(X)))[:, 0])


@pytest.mark.parametrize("distinct", [1, 253, 254, 255, 256, 600])
def test_any_number_of_thresholds_of_a_feature_works(workers: Workers, distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    cuts = np.sort(rng.normal(size=distinct))
    X = np.concatenate([cuts, np.nextafter(cuts, np.inf), [np.nan, np.inf, -np.inf]])[:, np.newaxis]
    stumps = [replace(random_tree(rng, 1, 1), threshold=np.array([cut, 0.0, 0.0])) for cut in cuts]
    scores = np.zeros(len(X))
    forest_of(stumps, 1).add_scores(workers, Columns(X), 0, distinct, scores)
    np.testing.assert_array_equal(scores, plain(stumps, X, np.zeros(len(X)))[:, 0])


def test_selected_rows_are_scored_like_a_copy_of_them(workers: Workers) -> None:
    rng = np.random.default_rng(13)
    X = odd_table(rng, 500, 3)
    rows = rng.integers(0, 500, 300).astype(np.uint32)
    for splits in (20, 80, 300):
        trees = [random_tree(rng, 3, splits) for _ in range(3)]
        scores = np.zeros(300)
        forest_of(trees, 3).add_scores(workers, Columns(X).take(rows), 0, 3, scores)
        np.testing.assert_array_equal(scores, plain(trees, X[rows], np.zeros(300))[:, 0])


@pytest.mark.parametrize("splits", [30, 90, 300])  # by masks, by walking
def test_many_rows_in_many_threads_equal_plain_traversal(splits: int) -> None:
    rng = np.random.default_rng(1)
    X = odd_table(rng, 3_000, 4)
    trees = [random_tree(rng, 4, splits) for _ in range(6)]
    expected = plain(trees, X, np.zeros(3_000))[:, 0]
    forest, columns = forest_of(trees, 4), Columns(np.asfortranarray(X))
    for threads in (1, 2, 4):
        scores = np.zeros(3_000)
        forest.add_scores(Workers(threads), columns, 0, 6, scores)
        np.testing.assert_array_equal(scores, expected)


def test_a_range_of_trees_adds_these_trees_only(workers: Workers) -> None:
    rng = np.random.default_rng(2)
    X = odd_table(rng, 100, 3)
    trees = [random_tree(rng, 3, 8) for _ in range(9)]
    forest = forest_of(trees, 3, 3)
    scores = np.zeros(300)
    forest.add_scores(workers, Columns(X), 3, 6, scores)
    np.testing.assert_array_equal(
        scores.reshape(100, 3), plain(trees[3:6], X, np.zeros(300), outputs=3)
    )
    forest.add_scores(workers, Columns(X), 6, 6, scores)  # none
    np.testing.assert_array_equal(
        scores.reshape(100, 3), plain(trees[3:6], X, np.zeros(300), outputs=3)
    )


def test_a_very_deep_tree_is_walked_to_its_end(workers: Workers) -> None:
    depth = 3_000  # a chain: split k cuts off the values above depth - k
    nodes = 2 * depth + 1
    feature = np.full(nodes, -1, dtype=np.int32)
    left = np.full(nodes, -1, dtype=np.int32)
    inner = np.arange(0, 2 * depth, 2)
    feature[inner] = 0
    left[inner] = inner + 2
    right = np.where(feature >= 0, np.arange(nodes) + 1, -1).astype(np.int32)
    threshold = np.where(feature >= 0, depth - np.arange(nodes) / 2, 0.0)
    value = np.arange(nodes, dtype=np.float64)
    flags = np.zeros(nodes, dtype=np.uint8)
    tree = Tree(feature, threshold, flags, left, right, value, np.zeros(nodes), np.ones(nodes))
    X = np.array([[depth + 1.0], [1.5], [-5.0], [np.nan]])
    scores = np.zeros(4)
    forest_of([tree], 1).add_scores(workers, Columns(X), 0, 1, scores)
    assert scores.tolist() == [1.0, 2.0 * depth - 1, 2.0 * depth, 1.0]
    np.testing.assert_array_equal(scores, reference.predict(tree, X))


@pytest.mark.parametrize("bagged", [False, True])
@pytest.mark.parametrize(("n", "max_bins"), [(500, 255), (500, 600), (70_000, 64)])
def test_grower_bins_and_forest_agree_on_the_training_rows(
    workers: Workers, n: int, max_bins: int, bagged: bool
) -> None:
    rng = np.random.default_rng([n, max_bins])
    X = odd_table(rng, n, 4)
    bins, _ = bin_table(workers, X, None, max_bins)
    bag = np.flatnonzero(rng.random(n) < 0.4).astype(np.uint32) if bagged else None
    growth = Growth(workers, bins, None, Rules(max_leaves=31, min_samples_leaf=2.0))
    gradient = np.nan_to_num(X[:, 0], posinf=3, neginf=-3).clip(-5, 5) + rng.normal(size=n)
    tree = growth.grow(gradient, np.ones(n), bag)
    assert (tree.feature < 0).sum() == 31
    start = rng.normal(size=n)
    by_grower, by_bins, by_forest = start.copy(), start.copy(), start.copy()
    growth.grower.add_scores(growth.grown, tree.value, by_grower)
    bins.add_tree(workers, growth.grown, tree.value, by_bins)
    forest_of([tree], 4).add_scores(workers, Columns(X), 0, 1, by_forest)
    np.testing.assert_array_equal(by_grower, by_bins)
    np.testing.assert_array_equal(by_grower, by_forest)
    some = slice(0, 300)
    np.testing.assert_array_equal(by_grower[some], start[some] + reference.predict(tree, X[some]))


def test_other_rows_binned_with_the_same_cuts_get_the_same_scores(workers: Workers) -> None:
    rng = np.random.default_rng(6)
    X, other = odd_table(rng, 600, 3), odd_table(rng, 400, 3)
    bins, cuts = bin_table(workers, X)
    growth = Growth(workers, bins, None, Rules(max_leaves=20))
    tree = growth.grow(rng.normal(size=600), np.ones(600))
    scores = np.zeros(400)
    Bins(workers, Columns(other), cuts).add_tree(workers, growth.grown, tree.value, scores)
    np.testing.assert_array_equal(scores, reference.predict(tree, other))


def test_a_value_missing_only_at_predict_follows_the_default_direction(workers: Workers) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 3))
    bins, cuts = bin_table(workers, X)
    growth = Growth(workers, bins, None, Rules(max_leaves=20))
    tree = growth.grow(X[:, 0] + rng.normal(size=600), np.ones(600))
    other = odd_table(rng, 300, 3)
    scores = np.zeros(300)
    Bins(workers, Columns(other), cuts).add_tree(workers, growth.grown, tree.value, scores)
    np.testing.assert_array_equal(scores, reference.predict(tree, other))


def test_given_leaf_values_are_added_to_the_scores(workers: Workers) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 2))
    growth = Growth(workers, bin_table(workers, X)[0], None, Rules(max_leaves=6))
    tree = growth.grow(rng.normal(size=200), np.ones(200))
    scores = np.zeros(200)
    growth.grower.add_scores(growth.grown, np.arange(11.0), scores)
    assert scores.tolist() == [float(reference.leaf_of(tree, row)) for row in X]
