"""Trees of more than 256 leaves: many rows walk by codes, and equal plain traversal to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_samples import random_tree
from reference import tree as reference
from reference.core import forest_of
from stagewise._native import Columns, Workers, supported_isas
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

ENOUGH = 100_000
"""Rows after which every forest of these tests is walked by codes."""


def table(rng: np.random.Generator, n: int, features: int, missing: float) -> np.ndarray:
    X = rng.normal(size=(n, features))
    X[rng.random(X.shape) < 0.05] = np.inf
    X[rng.random(X.shape) < 0.05] = -np.inf
    if missing:
        X[: n // 2][rng.random((n // 2, features)) < missing] = np.nan
    return X


def deep_tree(rng: np.random.Generator, X: np.ndarray, splits: int) -> Tree:
    """Return a random tree whose thresholds are values of X, their neighbours and infinities."""
    tree = random_tree(rng, X.shape[1], splits)
    values = np.append(X[~np.isnan(X)].astype(np.float64), [np.inf, -np.inf])
    chosen = rng.choice(values, len(tree.threshold))
    chosen = np.where(rng.random(len(chosen)) < 0.3, np.nextafter(chosen, -np.inf), chosen)
    return replace(tree, threshold=np.where(tree.feature >= 0, chosen, 0.0))


def leaves_of(trees: list[Tree], X: np.ndarray) -> np.ndarray:
    return np.array([[reference.leaf_of(tree, row) for tree in trees] for row in X])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([256, 257, 300, 700]),
    features=st.sampled_from([1, 3, 40]),
    splits=st.sampled_from([256, 300, 900]),
    missing=st.sampled_from([0.0, 0.2]),
    dtype=st.sampled_from([np.float32, np.float64]),
    outputs=st.sampled_from([1, 3]),
    isa=st.sampled_from(supported_isas()),
)
def test_walks_by_codes_equal_plain_traversal(
    seed, n, features, splits, missing, dtype, outputs, isa
):
    rng = np.random.default_rng(seed)
    X = table(rng, n, features, missing).astype(dtype)
    some = [int(rng.integers(1, 80)) for _ in range(outputs)]  # nearly flat beside deep ones
    trees = [deep_tree(rng, X, size) for size in [splits] * outputs + some]
    workers = Workers(1, isa)
    forest = forest_of(trees, features, outputs, scored=ENOUGH)
    where = leaves_of(trees, X)
    start = rng.normal(size=n * outputs)
    expected = start.reshape(n, outputs).copy()
    for t, tree in enumerate(trees):
        expected[:, t % outputs] += tree.value[where[:, t]]
    scores = start.copy()
    forest.add_scores(workers, Columns(X), 0, len(trees), scores)
    np.testing.assert_array_equal(scores.reshape(n, outputs), expected)
    leaves = np.empty(n * len(trees), dtype=np.int32)
    forest.leaves(workers, Columns(X), leaves)
    np.testing.assert_array_equal(leaves.reshape(n, len(trees)), where)


def test_vector_leaves_and_ranges_of_trees_equal_plain_traversal() -> None:
    rng = np.random.default_rng(1)
    X = table(rng, 600, 4, 0.0)
    trees = []
    for _ in range(3):
        tree = deep_tree(rng, X, 400)
        trees.append(replace(tree, value=rng.normal(size=(len(tree.feature), 5))))
    forest = forest_of(trees, 4, 5, outputs_per_tree=5, scored=ENOUGH)
    where = leaves_of(trees, X)
    for first, last in ((0, 3), (1, 2), (2, 2)):
        scores = np.zeros(600 * 5)
        forest.add_scores(Workers(1), Columns(X), first, last, scores)
        expected = np.zeros((600, 5))
        for t in range(first, last):
            expected += trees[t].value[where[:, t]]
        np.testing.assert_array_equal(scores.reshape(600, 5), expected)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_threads_do_not_change_walks_by_codes(missing: float) -> None:
    rng = np.random.default_rng(2)
    X = table(rng, 9_000, 5, missing)
    trees = [deep_tree(rng, X, 500) for _ in range(4)]
    where = leaves_of(trees, X[::10])
    results = []
    # Of a forest that has scored no rows, the first 3,000 walk by values.
    for threads, scored in ((1, 0), (1, ENOUGH), (3, ENOUGH)):
        scores = np.zeros(len(X))
        forest = forest_of(trees, 5, scored=scored)
        for part in (
            slice(0, 3_000),
            slice(3_000, None),
        ):
            forest.add_scores(Workers(threads), Columns(X[part]), 0, 4, scores[part])
        results.append(scores)
    expected = np.zeros(len(X[::10]))
    for t, tree in enumerate(trees):
        expected += tree.value[where[:, t]]
    for scores in results:
        np.testing.assert_array_equal(scores[::10], expected)
        np.testing.assert_array_equal(scores, results[0])


@pytest.mark.parametrize("depth", [15, 16])  # 65,535 thresholds are too many for codes
def test_a_feature_with_tens_of_thousands_of_thresholds_works(depth: int) -> None:
    rng = np.random.default_rng(depth)
    splits = 2**depth - 1
    nodes = np.arange(2 * splits + 1)
    inner = nodes < splits
    X = rng.normal(size=(300, 1))
    X[:20] = np.nan
    X[20:30] = np.inf
    tree = Tree(
        feature=np.where(inner, 0, -1).astype(np.int32),
        threshold=np.where(inner, rng.permutation(np.sort(rng.normal(size=len(nodes)))), 0.0),
        missing_left=(inner & (rng.random(len(nodes)) < 0.5)).astype(np.uint8),
        left=np.where(inner, 2 * nodes + 1, -1).astype(np.int32),
        right=np.where(inner, 2 * nodes + 2, -1).astype(np.int32),
        value=rng.normal(size=len(nodes)),
        gain=np.zeros(len(nodes)),
        cover=np.ones(len(nodes)),
    )
    scores = np.zeros(300)
    forest = forest_of([tree], 1, scored=600_000)
    forest.add_scores(Workers(1), Columns(X), 0, 1, scores)
    np.testing.assert_array_equal(scores, reference.predict(tree, X))
