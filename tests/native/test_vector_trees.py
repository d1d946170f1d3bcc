"""Vector trees equal those of brute force, and with one output scalar trees.

Gradients are multiples of a power of two, and few: packed as integers they are exact.
"""

from __future__ import annotations

import numpy as np
import pytest

from reference import vector_tree
from reference.core import ALL_ROWS, forest_of, same_trees
from reference.tree import Rules, leaf_of
from reference.vector_data import Data, assert_same
from stagewise._native import (
    Columns,
    Gradients,
    Grower,
    TreeRules,
    VectorGradients,
    Workers,
    supported_isas,
)
from stagewise.trees.tree import NODE_ARRAYS

pytestmark = pytest.mark.native

RULES = {
    "plain": Rules(max_leaves=8),
    "deep": Rules(max_leaves=0, min_samples_leaf=4, l2=1.0),
    "depth-wise": Rules(max_leaves=7, depth_wise=True, l2=0.5),
    "shallow": Rules(max_depth=2, l2=1.0),
    "penalties": Rules(max_leaves=8, l1=2.0, l2=3.0, min_gain=0.4),
    "small steps": Rules(max_leaves=8, max_step=0.25, l2=1.0),
    "heavy leaves": Rules(max_leaves=8, min_samples_leaf=17, min_hessian=9.0),
}


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("curved", [False, True])
def test_a_tree_equals_that_of_brute_force(name: str, weights: str, curved: bool) -> None:
    for seed in range(3):
        data = Data(seed, weights=weights, curved=curved, outputs=2 + seed)
        tree = data.grow(RULES[name])
        rows = None if data.weight is None else np.flatnonzero(data.weight > 0)
        if rows is not None:
            rows32 = rows.astype(np.uint32)
            tree = data.growth(RULES[name]).grow_vectors(data.g, data.h, rows32)
        expected = vector_tree.grow(
            data.X, data.g, data.h, data.weight, data.cuts, RULES[name], rows
        )
        assert_same(data, tree, expected)


@pytest.mark.parametrize("n_categories", [3, 9, 30])
def test_categories_are_split_along_their_principal_direction(n_categories: int) -> None:
    rules = Rules(
        max_leaves=6, min_samples_leaf=3, category_smoothing=5, category_l2=2, category_chance=0.5
    )
    for seed in range(4):
        data = Data(seed, n=150, n_categories=n_categories, curved=True)
        tree = data.grow(rules)
        expected = vector_tree.grow(data.X, data.g, data.h, None, data.cuts, rules)
        assert_same(data, tree, expected)


MORE = pytest.mark.parametrize("more", [{}, {"random_thresholds": True}], ids=["all", "random"])


@MORE
@pytest.mark.parametrize("few_rows", [0, 20, ALL_ROWS])
@pytest.mark.parametrize("n_categories", [0, 3, 12])
def test_the_search_method_of_a_node_does_not_matter(
    few_rows: int, n_categories: int, more: dict[str, bool]
) -> None:
    data = Data(1, n=400, n_categories=n_categories, curved=True, weights="whole")
    rules = Rules(max_leaves=20, min_samples_leaf=3, l2=1)
    assert same_trees(data.grow(rules, **more), data.grow(rules, few_rows=few_rows, **more))


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("n_categories", [0, 3, 20])
@pytest.mark.parametrize("name", RULES)
@MORE
def test_one_output_gives_the_scalar_tree(
    name: str, n_categories: int, weights: str, more: dict[str, bool]
) -> None:
    data = Data(3, n=300, outputs=1, n_categories=n_categories, weights=weights, curved=True)
    growth = data.growth(RULES[name], outputs=0, **more)
    scalar = growth.grow(data.g[:, 0].copy(), data.h[:, 0].copy())
    tree = data.grow(RULES[name], **more)
    assert same_trees(tree.with_values(tree.value[:, 0].copy()), scalar)


@MORE
@pytest.mark.parametrize("curved", [False, True])
def test_identical_outputs_give_the_tree_of_one(curved: bool, more: dict[str, bool]) -> None:
    data = Data(4, n=300, outputs=1, curved=curved, n_categories=12)
    rules = Rules(max_leaves=12, min_samples_leaf=5, l2=1, category_smoothing=10, category_chance=1)
    growth = data.growth(rules, outputs=0, **more)
    scalar = growth.grow(data.g[:, 0].copy(), data.h[:, 0].copy())
    data.g, data.h, data.k = np.repeat(data.g, 4, axis=1), np.repeat(data.h, 4, axis=1), 4
    tree = data.grow(rules, **more)
    for name in ("feature", "threshold", "left", "right", "missing_left", "cover"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(scalar, name))
    np.testing.assert_array_equal(tree.value, np.repeat(scalar.value[:, None], 4, axis=1))
    np.testing.assert_allclose(tree.gain, 4 * scalar.gain, rtol=1e-12)


@pytest.mark.parametrize("outputs", [2, 4, 7, 11, 16, 19, 40])
def test_a_permutation_of_outputs_permutes_values(outputs: int) -> None:
    data = Data(5, n=500, outputs=outputs, curved=True)
    rules = Rules(max_leaves=10, min_samples_leaf=5, l2=1)
    tree = data.grow(rules)
    order = np.random.default_rng(0).permutation(outputs)
    data.g, data.h = data.g[:, order], data.h[:, order]
    other = data.grow(rules)
    for name in ("feature", "threshold", "left", "right", "missing_left", "cover"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))
    np.testing.assert_array_equal(other.value, tree.value[:, order])


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_instruction_sets_do_not_matter(threads: int, isa: str) -> None:
    data = Data(6, n=60_000, outputs=5, curved=True, n_categories=9)
    rules = Rules(max_leaves=31, min_samples_leaf=20, l2=1)
    expected = data.grow(rules)
    assert len(expected.feature) > 21
    assert same_trees(data.grow(rules, Workers(threads, isa)), expected)


def test_a_bag_equals_a_table_of_its_rows() -> None:
    data = Data(7, n=300, curved=True)
    rules = Rules(max_leaves=8, min_samples_leaf=4, l2=1)
    bag = np.flatnonzero(np.random.default_rng(0).random(300) < 0.5).astype(np.uint32)
    tree = data.growth(rules).grow_vectors(data.g, data.h, bag)
    expected = vector_tree.grow(data.X, data.g, data.h, None, data.cuts, rules, bag)
    assert_same(data, tree, expected)


@pytest.mark.parametrize("n_categories", [0, 9])
@pytest.mark.parametrize("leaves", [8, 40, 90])
def test_every_scoring_method_finds_the_same_leaves(n_categories: int, leaves: int) -> None:
    workers = Workers(2)
    data = Data(8, n=1000, outputs=5, n_categories=n_categories, curved=True)
    rules = Rules(max_leaves=leaves, min_samples_leaf=1, l2=1)
    bag = np.arange(0, 1000, 3, dtype=np.uint32)
    growth = data.growth(rules, workers)
    trees = [growth.grow_vectors(data.g, data.h, bag), growth.grow_vectors(data.g * 3, data.h)]
    walked = sum(t.value[[leaf_of(t, row, data.n_categories) for row in data.X]] for t in trees)
    forest = forest_of(trees, 3, 5, data.n_categories, outputs_per_tree=5)
    many, few = np.zeros((1000, 5)), np.zeros((1000, 5))
    forest.add_scores(workers, Columns(data.X), 0, 2, many.reshape(-1))
    forest.add_rows(data.X, 0, 2, few.reshape(-1))
    np.testing.assert_array_equal(many, walked)
    np.testing.assert_array_equal(few, walked)


@pytest.mark.parametrize("bagged", [False, True])
def test_training_and_other_scores_equal_those_of_the_leaves(bagged: bool) -> None:
    data = Data(9, n=700, outputs=3, n_categories=9)
    growth = data.growth(Rules(max_leaves=12, l2=1), Workers(2))
    bag = np.arange(0, 700, 2, dtype=np.uint32) if bagged else None
    tree = growth.grow_vectors(data.g, data.h, bag)
    expected = tree.value[[leaf_of(tree, row, data.n_categories) for row in data.X]].T
    value = tree.value.reshape(-1)
    for add in (
        lambda out: growth.grower.add_scores(growth.grown, value, out),
        lambda out: growth.bins.add_tree(growth.workers, growth.grown, value, out),
        lambda out: Columns(data.X).add_tree(growth.workers, growth.grown, value, out),
    ):
        out = np.zeros((3, 700))
        add(out.reshape(-1))
        np.testing.assert_array_equal(out, expected)


def test_inconsistent_parts_are_refused() -> None:
    data = Data(0)
    growth = data.growth(Rules(max_leaves=4))
    one = Gradients(90)
    with pytest.raises(ValueError, match="filled by a loss"):
        VectorGradients(90, 3).take(0, one)
    one.assign(growth.workers, data.g[:, 0].copy(), data.h[:, 0].copy(), None)
    with pytest.raises(ValueError, match="no such output"):
        VectorGradients(90, 3).take(3, one)
    with pytest.raises(ValueError, match="gradients of all outputs"):
        growth.grower.grow(one, None, 0, 0)
    with pytest.raises(ValueError, match="other outputs"):
        growth.grower.grow(VectorGradients(90, 2), None, 0, 0)
    with pytest.raises(ValueError, match="filled by a loss"):
        growth.grower.grow(VectorGradients(90, 3), None, 0, 0)
    with pytest.raises(ValueError, match="do not support such a rule"):
        Grower(growth.workers, growth.bins, None, TreeRules({"path_smoothing": 1.0}), None, 0, 3)


def test_all_arrays_of_a_tree_are_valid() -> None:
    tree = Data(1).grow(Rules(max_leaves=5))
    assert tree.value.shape == (9, 3)
    assert all(len(getattr(tree, name)) == 9 for name in NODE_ARRAYS)


def test_histograms_beyond_the_memory_limit_change_no_tree() -> None:
    rng = np.random.default_rng(0)
    data = Data(0, n=900, outputs=1500)
    data.X = rng.normal(size=(900, 3))
    rules = Rules(max_leaves=100, min_samples_leaf=3, l2=1)
    # At most sixty of a hundred leaves can keep their 9 MB.
    assert same_trees(data.grow(rules, few_rows=0), data.grow(rules, few_rows=ALL_ROWS))
