"""Symmetric vector trees equal those of brute force, and with one output symmetric scalar trees."""

from __future__ import annotations

import numpy as np
import pytest

from reference import vector_tree
from reference.core import ALL_ROWS, same_trees
from reference.tree import Rules, leaf_of
from reference.vector_data import Data, assert_same
from stagewise._native import Workers, supported_isas

pytestmark = pytest.mark.native

RULES = {
    "plain": Rules(max_leaves=8),
    "deep": Rules(max_leaves=0, min_samples_leaf=4, l2=1.0),
    "depth three": Rules(max_depth=3, l2=0.5),
    "penalties": Rules(max_leaves=16, l1=2.0, l2=3.0, min_gain=0.4),
    "small steps": Rules(max_leaves=8, max_step=0.25, l2=1.0),
    "heavy leaves": Rules(max_leaves=16, min_samples_leaf=12, min_hessian=6.0),
}
SQUARED = {"hessian_is_weight": True, "hessian_bound": 1.0}  # rows are counted by hessians
SHAPE = ("feature", "threshold", "left", "right", "missing_left", "cover")


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("curved", [False, True])
def test_a_tree_equals_that_of_brute_force(name: str, weights: str, curved: bool) -> None:
    for seed in range(3):
        data = Data(seed, weights=weights, curved=curved, outputs=2 + seed)
        rows = None if data.weight is None else np.flatnonzero(data.weight > 0).astype(np.uint32)
        growth = data.growth(RULES[name], grow_policy="symmetric")
        tree = growth.grow_vectors(data.g, data.h, rows)
        expected = vector_tree.grow_symmetric(
            data.X, data.g, data.h, data.weight, data.cuts, RULES[name], rows
        )
        assert len(expected) > 1
        assert_same(data, tree, expected)


@pytest.mark.parametrize("n_categories", [3, 9, 30])
def test_categories_are_sorted_by_the_sums_of_all_leaves(n_categories: int) -> None:
    rules = Rules(max_leaves=16, min_samples_leaf=3, l2=1, category_smoothing=5)
    for seed in range(4):
        data = Data(seed, n=150, n_categories=n_categories, curved=True)
        data.g += np.rint(np.sin(np.nan_to_num(data.X[:, 2:]) * [1, 2, 3]) * 1024) / 1024
        tree = data.grow(rules, grow_policy="symmetric")
        expected = vector_tree.grow_symmetric(data.X, data.g, data.h, None, data.cuts, rules)
        assert (tree.feature == 2).any()
        assert_same(data, tree, expected)


def test_a_leaf_with_too_few_rows_is_not_split() -> None:
    data = Data(3, n=400, outputs=4, curved=True)
    tree = data.grow(Rules(max_leaves=64, min_samples_leaf=15, l2=1), grow_policy="symmetric")
    leaves = tree.feature < 0
    assert tree.cover[leaves].min() >= 15
    assert 8 < leaves.sum() < 64
    assert leaves.sum() & (leaves.sum() - 1)  # not a power of two: some leaves were not split


@pytest.mark.parametrize("few_rows", [0, 20, ALL_ROWS])
@pytest.mark.parametrize("n_categories", [0, 12])
def test_sums_of_histograms_and_of_rows_give_the_same_tree(
    few_rows: int, n_categories: int
) -> None:
    data = Data(1, n=400, n_categories=n_categories, curved=True, weights="whole")
    rules = Rules(max_leaves=32, min_samples_leaf=3, l2=1)
    expected = data.grow(rules, grow_policy="symmetric")
    assert same_trees(data.grow(rules, grow_policy="symmetric", few_rows=few_rows), expected)


@pytest.mark.parametrize("weights", ["none", "whole"])
@pytest.mark.parametrize("n_categories", [0, 3, 20])
@pytest.mark.parametrize("rules", RULES)
def test_one_output_gives_the_scalar_tree(rules: str, n_categories: int, weights: str) -> None:
    data = Data(3, n=300, outputs=1, n_categories=n_categories, weights=weights)
    growth = data.growth(RULES[rules], outputs=0, grow_policy="symmetric", **SQUARED)
    scalar = growth.grow(data.g[:, 0].copy(), data.h[:, 0].copy())
    tree = data.grow(RULES[rules], grow_policy="symmetric", **SQUARED)
    for name in (*SHAPE, "value"):
        np.testing.assert_array_equal(np.squeeze(getattr(tree, name)), getattr(scalar, name))
    np.testing.assert_allclose(tree.gain, scalar.gain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("copies", [2, 4, 5])
def test_identical_outputs_give_the_scalar_tree(curved: bool, copies: int) -> None:
    data = Data(4, n=300, outputs=1, curved=curved, n_categories=12)
    rules = Rules(max_leaves=32, min_hessian=3, l2=1, category_smoothing=10)
    growth = data.growth(rules, outputs=0, grow_policy="symmetric")
    scalar = growth.grow(data.g[:, 0].copy(), data.h[:, 0].copy())
    data.g, data.h = np.repeat(data.g, copies, axis=1), np.repeat(data.h, copies, axis=1)
    data.k = copies
    tree = data.grow(rules, grow_policy="symmetric")
    for name in SHAPE:
        np.testing.assert_array_equal(getattr(tree, name), getattr(scalar, name))
    np.testing.assert_array_equal(tree.value, np.repeat(scalar.value[:, None], copies, axis=1))
    np.testing.assert_allclose(tree.gain, copies * scalar.gain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("outputs", [2, 4, 7, 11, 16, 19, 40])
def test_a_permutation_of_outputs_permutes_values(outputs: int) -> None:
    data = Data(5, n=500, outputs=outputs, curved=True)
    rules = Rules(max_leaves=16, min_samples_leaf=5, l2=1)
    tree = data.grow(rules, grow_policy="symmetric")
    order = np.random.default_rng(0).permutation(outputs)
    data.g, data.h = data.g[:, order], data.h[:, order]
    other = data.grow(rules, grow_policy="symmetric")
    for name in SHAPE:
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))
    np.testing.assert_array_equal(other.value, tree.value[:, order])


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_instruction_sets_do_not_matter(threads: int, isa: str) -> None:
    data = Data(6, n=60_000, outputs=5, curved=True, n_categories=9)
    rules = Rules(max_leaves=64, min_samples_leaf=20, l2=1)
    expected = data.grow(rules, grow_policy="symmetric")
    assert len(expected.feature) > 63
    assert same_trees(data.grow(rules, Workers(threads, isa), grow_policy="symmetric"), expected)


def test_weights_equal_repeated_rows() -> None:
    data = Data(7, n=300, weights="whole", curved=True, n_categories=9)
    rules = Rules(max_leaves=16, min_samples_leaf=6, l2=1)
    assert data.weight is not None
    tree = data.grow(rules, grow_policy="symmetric")
    rows = np.repeat(np.arange(300), data.weight.astype(int))
    data.X, data.g, data.h, data.weight = data.X[rows], data.g[rows], data.h[rows], None
    repeated = data.grow(rules, grow_policy="symmetric")
    for name in ("feature", "threshold", "left", "right", "cover"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(repeated, name))
    np.testing.assert_allclose(tree.value, repeated.value, rtol=1e-9)


@pytest.mark.parametrize("name", ["max_features_per_tree", "max_features_per_level"])
def test_features_are_drawn_by_tree_and_by_depth(name: str) -> None:
    data = Data(8, n=2000, curved=True)
    growth = data.growth(Rules(max_depth=4, l2=1), grow_policy="symmetric", **{name: 0.4})
    trees = [growth.grow_vectors(data.g, data.h, number=number) for number in range(10)]
    assert {int(tree.feature[0]) for tree in trees} == {0, 1, 2}
    used = [len(np.unique(tree.feature[tree.feature >= 0])) for tree in trees]
    assert max(used) == (1 if name == "max_features_per_tree" else 3)


@pytest.mark.parametrize("n_categories", [0, 9])
def test_training_rows_are_in_the_leaves_that_predict_them(n_categories: int) -> None:
    data = Data(9, n=700, outputs=3, n_categories=n_categories)
    growth = data.growth(Rules(max_leaves=16, l2=1), Workers(2), grow_policy="symmetric")
    bag = np.arange(0, 700, 2, dtype=np.uint32)
    tree = growth.grow_vectors(data.g, data.h, bag)
    out = np.zeros((3, 700))
    growth.grower.add_scores(growth.grown, tree.value.reshape(-1), out.reshape(-1))
    expected = tree.value[[leaf_of(tree, row, data.n_categories) for row in data.X]].T
    np.testing.assert_array_equal(out, expected)


def test_histograms_beyond_the_memory_limit_change_no_tree() -> None:
    data = Data(0, n=900, outputs=1500)
    data.X = np.random.default_rng(0).normal(size=(900, 3))
    rules = Rules(max_leaves=128, min_samples_leaf=3, l2=1)
    # At most sixty leaves can keep their 9 MB.
    trees = [
        data.grow(rules, grow_policy="symmetric", few_rows=few_rows) for few_rows in (0, ALL_ROWS)
    ]
    assert same_trees(*trees)
    assert len(trees[0].feature) > 129
