"""Trees of the grower equal those of brute force.

Gradients and hessians here are multiples of a power of two, and few: packed as integers they are
exact, so structure, values and gains must agree to rounding in float64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import tree as reference
from reference.core import ALL_ROWS, Growth, bin_table, same_trees
from reference.tree import Rules
from stagewise._native import Gradients, Workers, supported_isas
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]


@dataclass
class Data:
    X: Vector
    gradient: Vector
    hessian: Vector
    weight: Vector | None


def make_data(
    seed: int, n: int = 60, features: int = 3, weights: str = "none", missing: float = 0.15
) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, features)) / 2
    X[rng.random(X.shape) < missing] = np.nan
    signal = np.nan_to_num(X[:, 0], nan=2.0) - 1.5 * np.nan_to_num(X[:, -1], nan=0.5)
    gradient = np.round((signal + rng.normal(size=n)) * 4096) / 4096
    hessian = rng.integers(64, 512, n) / 256
    weight = {
        "none": None,
        "whole": rng.integers(1, 5, n).astype(float),
        "fractional": rng.integers(1, 24, n) / 8,
    }[weights]
    return Data(X, gradient, hessian, weight)


def grow(data: Data, rules: Rules, few_rows: int | None = None, **more: Any) -> Tree:
    workers = Workers(1)
    bins, _ = bin_table(workers, data.X, data.weight)
    growth = Growth(workers, bins, data.weight, rules, few_rows=few_rows, **more)
    return growth.grow(data.gradient, data.hessian)


def brute_force(data: Data, rules: Rules) -> Tree:
    _, cuts = bin_table(Workers(1), data.X, data.weight)
    return reference.grow(data.X, data.gradient, data.hessian, data.weight, cuts, rules)


def assert_same(tree: Tree, expected: Tree) -> None:
    for name in ("feature", "left", "right", "threshold", "missing_left"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)
    np.testing.assert_allclose(tree.value, expected.value, rtol=1e-9, atol=1e-24)
    room = 1e-9 * expected.gain.max()
    np.testing.assert_allclose(tree.gain, expected.gain, rtol=1e-7, atol=room)
    np.testing.assert_allclose(tree.cover, expected.cover, rtol=1e-12)


PATHS = [0, ALL_ROWS, None]
"""Up to how many rows a node is searched without histograms: none, any number, as it comes."""
RULES = {
    "plain": Rules(),
    "few leaves": Rules(max_leaves=5),
    "one leaf": Rules(max_leaves=1),
    "shallow": Rules(max_depth=2),
    "l1": Rules(l1=2.5),
    "a large l1": Rules(l1=15.0),
    "l2": Rules(l2=3.0),
    "a huge l2": Rules(l2=1e13),
    "l1 and l2": Rules(l1=1.25, l2=0.5),
    "max_step": Rules(max_step=0.375, l2=1.0),
    "all three": Rules(l1=1.0, l2=1.0, max_step=0.5),
    "min_hessian": Rules(min_hessian=7.3),
    "min_samples_leaf": Rules(min_samples_leaf=6.0),
    "min_gain": Rules(min_gain=3.0),
    "everything": Rules(8, 4, 3.0, 2.0, 0.25, 0.5, 1.5, 2.0),
}


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("depth_wise", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_each_rule_gives_the_brute_force_tree(name: str, depth_wise: bool, weights: str) -> None:
    rules = replace(RULES[name], depth_wise=depth_wise)
    data = make_data(len(name), weights=weights)
    expected = brute_force(data, rules)
    for few_rows in PATHS:
        assert_same(grow(data, rules, few_rows), expected)


@pytest.mark.parametrize("features", [1, 8, 11])
def test_features_with_255_bins_give_the_brute_force_tree(features: int) -> None:
    data = make_data(features, 320, features, missing=0.02)
    rng = np.random.default_rng([features, 1])
    data.X = np.where(np.isnan(data.X), np.nan, data.X + rng.integers(0, 80, data.X.shape) / 200)
    workers = Workers(1)
    bins, cuts = bin_table(workers, data.X, max_bins=255)
    assert bins.codes_per_row == features
    assert min(len(c) for c in cuts) > 200
    rules = Rules(max_leaves=5, l2=1.0)
    tree = Growth(workers, bins, None, rules, few_rows=0).grow(data.gradient, data.hessian)
    assert_same(tree, reference.grow(data.X, data.gradient, data.hessian, None, cuts, rules))


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("values", [3, 40, 200])
@pytest.mark.parametrize("n", [39, 64, 127, 128, 129])
def test_a_node_with_few_rows_gives_the_brute_force_tree(n: int, values: int, isa: str) -> None:
    rng = np.random.default_rng([n, values])
    X = rng.integers(0, values, (n, 9)).astype(float)
    hessian = rng.integers(64, 512, n) / 256
    workers = Workers(1, isa)
    bins, cuts = bin_table(workers, X)
    for least, shift in [(1.0, 0.0), (20.0, 0.0), (20.0, 40.0)]:
        rules = Rules(min_samples_leaf=least, max_leaves=6, l2=1.0)
        gradient = np.round((rng.normal(size=n) - X[:, 5] / values + shift) * 4096) / 4096
        expected = reference.grow(X, gradient, hessian, None, cuts, rules)
        for few_rows in (0, ALL_ROWS):
            growth = Growth(workers, bins, None, rules, few_rows=few_rows)
            assert_same(growth.grow(gradient, hessian), expected)


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("least", [1.0, 20.0, 60.0])
def test_many_features_are_left_out_by_bounds_without_another_tree(least: float, isa: str) -> None:
    rng = np.random.default_rng(int(least))
    X = rng.integers(0, 90, (400, 300)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 280] = X[:, 30]  # equally good: the first one is taken
    hessian = rng.integers(16, 256, 400) / 256
    y = np.nan_to_num(X[:, 30]) / 60 + np.nan_to_num(X[:, 200]) / 90
    gradient = np.round((rng.normal(size=400) - y) * 4096) / 4096
    rules = Rules(min_samples_leaf=least, max_leaves=7, l2=1.0)
    bins, _ = bin_table(Workers(1, isa), X)
    plain = Growth(Workers(1, isa), bins, None, rules, feature_penalty=[0.0] * 300, few_rows=0)
    expected = plain.grow(gradient, hessian)  # penalties have no bounds
    for threads in (1, 2, 3):
        growth = Growth(Workers(threads, isa), bins, None, rules, few_rows=0)
        assert_same(growth.grow(gradient, hessian), expected)


some_rules = st.builds(
    Rules,
    max_leaves=st.sampled_from([0, 2, 4, 9]),
    max_depth=st.sampled_from([0, 0, 1, 3]),
    min_samples_leaf=st.sampled_from([1.0, 1.0, 2.0, 5.0, 12.0]),
    min_hessian=st.sampled_from([0.0, 1e-3, 3.3]),
    min_gain=st.sampled_from([0.0, 0.0, 0.7]),
    l1=st.sampled_from([0.0, 0.0, 0.8]),
    l2=st.sampled_from([0.0, 1.0, 10.0]),
    max_step=st.sampled_from([0.0, 0.0, 0.6]),
    depth_wise=st.booleans(),
)


@settings(max_examples=120, deadline=None)
@given(
    some_rules,
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 3, 10, 30, 90]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["none", "whole", "fractional"]),
    st.sampled_from([0.0, 0.1, 0.6]),
)
def test_any_small_problem_gives_the_brute_force_tree(
    rules: Rules, seed: int, n: int, features: int, weights: str, missing: float
) -> None:
    data = make_data(seed, n, features, weights, missing)
    by_histogram = grow(data, rules, 0)
    assert_same(by_histogram, brute_force(data, rules))
    assert same_trees(by_histogram, grow(data, rules, ALL_ROWS))
    assert same_trees(by_histogram, grow(data, rules, 10))


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
def test_a_bag_gives_the_tree_of_its_rows(weights: str) -> None:
    data = make_data(7, 80, weights=weights)
    bag = np.flatnonzero(np.random.default_rng(2).random(80) < 0.5).astype(np.uint32)
    rules = Rules(l2=1.0, min_samples_leaf=2.0)
    workers = Workers(1)
    bins, cuts = bin_table(workers, data.X, data.weight)
    growth = Growth(workers, bins, data.weight, rules)
    tree = growth.grow(data.gradient, data.hessian, bag)
    expected = reference.grow(data.X, data.gradient, data.hessian, data.weight, cuts, rules, bag)
    assert_same(tree, expected)
    assert sorted(growth.grower.leaf_rows()[0].tolist()) == bag.tolist()


def test_the_root_is_the_newton_step_of_the_totals(workers: Workers) -> None:
    # Above 32,768 rows gradients are rounded at random: 2^-31 of Σ|g| per row, unbiased.
    rng = np.random.default_rng(0)
    for n in (10, 5_000, 100_000):
        X = rng.normal(size=(n, 1))
        gradient, hessian, weight = rng.normal(size=n), rng.random(n), rng.exponential(size=n)
        growth = Growth(workers, bin_table(workers, X)[0], weight, Rules(max_leaves=1, l2=2.0))
        tree = growth.grow(gradient, hessian)
        exact = -(gradient * weight).sum() / ((hessian * weight).sum() + 2.0)
        room = np.sqrt(n) * 2**-30 * (np.abs(gradient) * weight).sum() / (hessian * weight).sum()
        assert tree.value[0] == pytest.approx(exact, rel=1e-6, abs=room + 1e-7)
        assert tree.cover[0] == pytest.approx(weight.sum(), rel=1e-6)


def test_a_parent_is_the_sum_of_its_children() -> None:
    data = make_data(3, 200, weights="whole")
    tree = grow(data, Rules())
    inner = tree.feature >= 0
    np.testing.assert_array_equal(
        tree.cover[inner], tree.cover[tree.left[inner]] + tree.cover[tree.right[inner]]
    )
    assert (tree.gain[inner] > 0).all()
    assert (tree.gain[~inner] == 0).all()


def test_an_integer_weight_equals_copies() -> None:
    data = make_data(5, 150, weights="whole")
    assert data.weight is not None
    times = data.weight.astype(int)
    copied = Data(
        np.repeat(data.X, times, axis=0),
        np.repeat(data.gradient, times),
        np.repeat(data.hessian, times),
        None,
    )
    rules = Rules(l2=1.0, min_samples_leaf=4.0)
    assert same_trees(grow(data, rules), grow(copied, rules))


def test_weight_zero_equals_absence() -> None:
    data = make_data(6, 100, weights="whole")
    assert data.weight is not None
    data.weight[::3] = 0.0
    kept = data.weight > 0
    alone = Data(data.X[kept], data.gradient[kept], data.hessian[kept], data.weight[kept])
    rules = Rules(min_samples_leaf=3.0)
    assert_same(grow(data, rules), brute_force(alone, rules))


def test_no_signal_gives_a_single_leaf() -> None:
    data = make_data(1, 100)
    data.gradient[:] = 0.75
    data.hessian[:] = 1.0
    for few_rows in (0, ALL_ROWS):
        assert grow(data, Rules(), few_rows).feature.tolist() == [-1]


def test_a_split_by_missing_values_only() -> None:
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    gradient = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    tree = grow(Data(X, gradient, np.ones(5), None), Rules())
    assert tree.threshold[0] == np.inf
    assert tree.missing_left[0] == 0
    assert tree.value[tree.right[0]] == 1.0


@pytest.mark.parametrize("heavy_left", [False, True])
def test_a_missing_value_not_in_training_follows_the_heavier_child(heavy_left: bool) -> None:
    x = np.where(np.arange(20) < (13 if heavy_left else 7), 0.0, 1.0)
    tree = grow(Data(x[:, np.newaxis], x - 0.5, np.ones(20), None), Rules())
    assert tree.missing_left.tolist() == [int(heavy_left), 0, 0]


# ---- features that share a code -----------------------------------------------------------------


def one_hot(rng: np.random.Generator, n: int, n_values: int) -> Vector:
    return np.eye(n_values)[rng.integers(0, n_values, n)]


@pytest.mark.parametrize("damage", ["none", "one conflict", "missing", "sorted", "more values"])
def test_exclusive_columns_share_a_code_without_changing_the_tree(damage: str) -> None:
    rng = np.random.default_rng(len(damage))
    n = 400
    soil, region, number = one_hot(rng, n, 30), one_hot(rng, n, 4), rng.normal(size=(n, 1))
    if damage == "one conflict":
        soil[7] = 0.0
        soil[7, [3, 19]] = 1.0
    if damage == "missing":
        soil[rng.random(soil.shape) < 0.01] = np.nan
    if damage == "sorted":
        soil = soil[np.argsort(soil.argmax(axis=1))]
    if damage == "more values":
        soil *= rng.integers(1, 5, (n, 1))
    X = np.hstack([soil[:, :11], number, region, soil[:, 11:]])
    gradient = np.nan_to_num(soil) @ rng.normal(size=30) + region[:, 1] + np.sin(number[:, 0])
    gradient = np.round((gradient + rng.normal(size=n) / 4) * 4096) / 4096
    data = Data(X, gradient, np.ones(n), None)
    bins, _ = bin_table(Workers(1), X)
    assert bins.codes_per_row <= (2 if damage in ("none", "sorted") else 4)
    rules = Rules(max_leaves=25, min_samples_leaf=2.0, l2=1.0)
    expected = brute_force(data, rules)
    for few_rows in PATHS:
        assert_same(grow(data, rules, few_rows), expected)


# ---- the same tree on every code path -----------------------------------------------------------


def large_data(features: int, values: int, n: int) -> tuple[Vector, npt.NDArray[np.int32], Vector]:
    rng = np.random.default_rng([features, values])
    X = rng.integers(0, values, (n, features)).astype(np.float64)
    X[rng.random(X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) / values + np.nan_to_num(X[:, -1]) / values
    y = (signal + rng.normal(size=n) / 2 > 1).astype(np.int32)
    return X, y, rng.normal(size=n)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize(
    ("features", "values", "n"),
    [(4, 200, 70_000), (3, 2_000, 30_000), (70, 30, 4_000), (6, 100, 6_000)],
    ids=["many rows", "two bytes a code", "many features", "small leaves"],
)
def test_threads_instruction_sets_and_code_paths_change_no_bit(
    features: int, values: int, n: int, weights: str
) -> None:
    X, y, score = large_data(features, values, n)
    rng = np.random.default_rng(1)
    weight = {"none": None, "whole": rng.integers(1, 4, n) * 1.0, "fractional": rng.random(n)}[
        weights
    ]
    rules = Rules(max_leaves=40, min_samples_leaf=25.0, l2=1.0)
    trees = []
    for threads, isa, few_rows in [
        (1, "generic", None),
        (2, supported_isas()[-1], None),
        (5, supported_isas()[-1], 0),
        (2, "generic", n // 10),
        (1, supported_isas()[-1], ALL_ROWS),
    ]:
        workers = Workers(threads, isa)
        bins, _ = bin_table(workers, X, weight, 4_000)
        growth = Growth(workers, bins, weight, rules, few_rows=few_rows, hessian_bound=0.25)
        gradients = Gradients(n)
        gradients.logistic(workers, y, score, weight)
        trees.append(growth.from_gradients(gradients, seed=9, number=3))
    assert (trees[0].feature < 0).sum() == 40
    for other in trees[1:]:
        assert same_trees(trees[0], other)


@pytest.mark.parametrize("depth_wise", [False, True])
@pytest.mark.parametrize("bagged", [False, True])
def test_every_leaf_lists_its_rows_in_order_for_any_number_of_threads(
    bagged: bool, depth_wise: bool
) -> None:
    n = 9_000
    X, y, score = large_data(5, 150, n)
    bag = np.flatnonzero(np.random.default_rng(2).random(n) < 0.6).astype(np.uint32)
    listed = []
    for threads in (1, 2, 5):
        workers = Workers(threads)
        bins, _ = bin_table(workers, X)
        rules = Rules(max_leaves=23, min_samples_leaf=30.0, depth_wise=depth_wise)
        growth = Growth(workers, bins, None, rules)
        gradients = Gradients(n)
        gradients.logistic(workers, y, score, None)
        growth.from_gradients(gradients, bag if bagged else None)
        rows, begin = growth.grower.leaf_rows()
        listed.append(np.split(rows, np.sort(begin).astype(int)[1:]))
        assert all((np.diff(leaf.astype(np.int64)) > 0).all() for leaf in listed[-1])
    for other in listed[1:]:
        assert len(other) == len(listed[0])
        for a, b in zip(listed[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_second_tree_does_not_depend_on_the_first() -> None:
    data = make_data(8, 300)
    workers = Workers(2)
    bins, _ = bin_table(workers, data.X)
    rules, more = Rules(max_leaves=9), {"max_features_per_tree": 0.7}
    growth = Growth(workers, bins, None, rules, few_rows=20, **more)
    for number in range(6):
        gradient = np.roll(data.gradient, number)
        bag = np.arange(number, 300, 2, dtype=np.uint32) if number % 2 else None
        fresh = Growth(workers, bins, None, rules, few_rows=20, **more)
        assert same_trees(
            growth.grow(gradient, data.hessian, bag, 0, number),
            fresh.grow(gradient, data.hessian, bag, 0, number),
        )
