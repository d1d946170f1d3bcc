"""Trees for class targets equal those of brute force.

Weights of rows are multiples of a power of two, and few: packed as integers they are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import class_tree
from reference.core import ALL_ROWS, Growth, bin_table, rules_of, same_trees
from reference.tree import Rules, leaf_of
from stagewise._native import Gradients, Grower, Workers, supported_isas
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

CRITERIA = ["misclassification", "gini", "entropy"]


class Data:
    def __init__(
        self,
        seed: int,
        n: int = 80,
        features: int = 3,
        n_classes: int = 3,
        weights: str = "none",
        values: int = 6,
    ) -> None:
        rng = np.random.default_rng([seed, 5])
        self.k = n_classes
        self.X = rng.integers(0, values, (n, features)) * (3 / values)
        signal = self.X[:, 0] - 1.5 * self.X[:, -1] + rng.normal(size=n)
        self.codes: Codes = (np.argsort(np.argsort(signal)) * n_classes // n).astype(np.int32)
        self.X[rng.random(self.X.shape) < 0.15] = np.nan
        self.row_weight = rng.integers(1, 512, n) / 256
        self.weight = {
            "none": None,
            "whole": rng.integers(0, 5, n).astype(float),
            "fractional": rng.integers(1, 24, n) / 8,
        }[weights]

    def growth(
        self,
        rules: Rules,
        criterion: str,
        workers: Workers | None = None,
        max_bins: int = 255,
        **more: Any,
    ) -> Growth:
        workers = workers or Workers(1)
        bins, self.cuts = bin_table(workers, self.X, self.weight, max_bins)
        return Growth(
            workers,
            bins,
            self.weight,
            rules,
            classes=self.codes,
            n_classes=self.k,
            hessian_bound=1.0,
            hessian_is_weight=True,
            criterion=criterion,
            **more,
        )

    def grow(
        self, rules: Rules, criterion: str, workers: Workers | None = None, **more: Any
    ) -> Tree:
        return self.growth(rules, criterion, workers, **more).grow(
            self.row_weight, np.ones(len(self.codes))
        )

    def brute_force(self, rules: Rules, criterion: str) -> Tree:
        return class_tree.grow(
            self.X, self.codes, self.row_weight, self.weight, self.cuts, rules, criterion, self.k
        )


def assert_same(tree: Tree, expected: Tree) -> None:
    for name in ("feature", "left", "right", "threshold", "missing_left"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)
    np.testing.assert_allclose(tree.gain, expected.gain, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(tree.cover, expected.cover, rtol=1e-12)


RULES = {
    "plain": Rules(),
    "few leaves": Rules(max_leaves=5),
    "stump": Rules(max_depth=1),
    "min_samples_leaf": Rules(min_samples_leaf=6.0),
    "depth-wise": Rules(max_leaves=7, depth_wise=True),
}


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("name", RULES)
def test_each_rule_gives_the_brute_force_tree(
    name: str, n_classes: int, weights: str, criterion: str
) -> None:
    data = Data(len(name), n_classes=n_classes, weights=weights)
    trees = [data.grow(RULES[name], criterion, few_rows=few) for few in (0, ALL_ROWS, None)]
    expected = data.brute_force(RULES[name], criterion)
    for tree in trees:
        assert_same(tree, expected)


@pytest.mark.parametrize("few_rows", [0, ALL_ROWS])
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("n_classes", [3, 26])
@pytest.mark.parametrize("least", [1.0, 4.0])
def test_many_bins_give_the_brute_force_tree(
    least: float, n_classes: int, weights: str, few_rows: int
) -> None:
    """With many bins a cut is found class by class, many bins at once."""
    data = Data(11, 150, 2, n_classes, weights, values=64)
    rules = Rules(max_leaves=20, min_samples_leaf=least)
    tree = data.grow(rules, "gini", few_rows=few_rows)
    assert_same(tree, data.brute_force(rules, "gini"))


@pytest.mark.parametrize("more", [{}, {"random_thresholds": True}])
def test_more_bins_than_codes_of_a_byte(more: dict[str, Any]) -> None:
    """A node may have far fewer rows than codes, and more bins than are evaluated at once."""
    data = Data(12, 2_500, 3, 5, "whole", values=1_500)
    rules = Rules(max_leaves=300, min_samples_leaf=2)
    tree = data.grow(rules, "gini", max_bins=1_000, few_rows=0, **more)
    assert max(len(cuts) for cuts in data.cuts) > 512
    for few_rows in (20, 300, ALL_ROWS):
        other = data.grow(rules, "gini", max_bins=1_000, few_rows=few_rows, **more)
        assert same_trees(tree, other)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([2, 3, 10, 60]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([2, 5]),
    st.sampled_from(["none", "whole", "fractional"]),
    st.sampled_from([1.0, 3.0]),
    st.sampled_from(CRITERIA),
    st.sampled_from([0, 10, ALL_ROWS]),
    st.sampled_from([6, 30]),
)
def test_any_small_problem_gives_the_brute_force_tree(
    seed: int,
    n: int,
    features: int,
    n_classes: int,
    weights: str,
    least: float,
    criterion: str,
    few_rows: int,
    values: int,
) -> None:
    data = Data(seed, n, features, n_classes, weights, values)
    rules = Rules(min_samples_leaf=least)
    tree = data.grow(rules, criterion, few_rows=few_rows)
    assert_same(tree, data.brute_force(rules, criterion))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("more", [{}, {"random_thresholds": True}, {"max_features": 0.4}])
def test_the_search_method_of_a_node_does_not_matter(
    criterion: str, weights: str, more: dict[str, Any]
) -> None:
    """By a histogram, by sums of its rows or in order; with many bins and with few."""
    for n_classes, spread in ((2, 0), (9, 0), (3, 300)):
        data = Data(4, 3_000, 5, n_classes, weights)
        data.X += np.random.default_rng(0).integers(0, spread + 1, data.X.shape) / 1000
        rules = Rules(max_leaves=150, min_samples_leaf=2)
        tree = data.grow(rules, criterion, few_rows=0, **more)
        assert len(tree.feature) > 8
        for few_rows in (20, 400, ALL_ROWS):
            assert same_trees(tree, data.grow(rules, criterion, few_rows=few_rows, **more))


def test_random_thresholds_lie_between_the_values_of_the_node() -> None:
    data = Data(6, 400)
    rules = Rules(max_leaves=10)
    best = data.grow(rules, "gini").gain[0]
    roots = set()
    for seed in range(40):
        growth = data.growth(rules, "gini", random_thresholds=True)
        tree = growth.grow(data.row_weight, np.ones(400), seed=seed)
        assert 0 < tree.threshold[0] < 2.5
        assert tree.gain[0] <= best * (1 + 1e-9)
        roots.add((int(tree.feature[0]), float(tree.threshold[0])))
    assert len(roots) == 5


@pytest.mark.parametrize("criterion", CRITERIA)
def test_nodes_of_one_class_are_leaves(criterion: str) -> None:
    data = Data(7, 300, 2, 3)
    tree = data.grow(Rules(), criterion)
    leaf = np.array([leaf_of(tree, row) for row in data.X])
    for node in np.flatnonzero(tree.feature >= 0):
        below = {int(node)}
        for child in range(int(node), len(tree.feature)):
            if child in below and tree.feature[child] >= 0:
                below |= {int(tree.left[child]), int(tree.right[child])}
        assert len(set(data.codes[np.isin(leaf, list(below))].tolist())) > 1
    data.codes[:] = 1
    assert data.grow(Rules(), criterion).feature.tolist() == [-1]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("few_rows", [0, ALL_ROWS])
def test_weight_two_equals_the_row_twice_and_zero_its_absence(
    criterion: str, few_rows: int
) -> None:
    data = Data(8, 200, 3, 3, "whole")
    assert data.weight is not None
    rules = Rules(max_leaves=12, min_samples_leaf=3)
    tree = data.grow(rules, criterion, few_rows=few_rows)
    other = Data(8, 200, 3, 3)
    times = data.weight.astype(int)
    other.X, other.codes = np.repeat(data.X, times, axis=0), np.repeat(data.codes, times)
    other.row_weight = np.repeat(data.row_weight, times)
    assert same_trees(tree, other.grow(rules, criterion, few_rows=few_rows))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("few_rows", [0, ALL_ROWS])
def test_the_order_of_rows_does_not_matter(criterion: str, few_rows: int) -> None:
    data = Data(10, 500, 3, 4, "whole")
    rules = Rules(max_leaves=30)
    tree = data.grow(rules, criterion, few_rows=few_rows)
    order = np.random.default_rng(1).permutation(500)
    assert data.weight is not None
    data.X, data.codes, data.weight = data.X[order], data.codes[order], data.weight[order]
    data.row_weight = data.row_weight[order]
    assert same_trees(tree, data.grow(rules, criterion, few_rows=few_rows))


def test_the_gain_of_entropy_is_in_nats() -> None:
    data = Data(9, 200, 2, 2)
    data.X = np.where(data.codes[:, np.newaxis] == 1, 3.0, data.codes[:, np.newaxis] * 1.0)
    data.row_weight = np.ones(200)
    tree = data.grow(Rules(), "entropy")
    assert tree.gain.tolist() == pytest.approx([200 * np.log(2), 0.0, 0.0])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_hot_columns_and_full_bytes(criterion: str) -> None:
    data = Data(3, 500, 2, 4)
    rng = np.random.default_rng(0)
    groups = np.eye(6)[rng.integers(0, 6, 500)]
    data.X = np.hstack([groups, data.X + rng.integers(0, 80, data.X.shape) / 200])
    rules = Rules(max_leaves=6)
    assert_same(data.grow(rules, criterion), data.brute_force(rules, criterion))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [3_000, 60_000])
def test_threads_and_instruction_sets_do_not_matter(n: int, criterion: str) -> None:
    data = Data(1, n, 12, 5)
    data.X += np.random.default_rng(0).integers(0, 40, data.X.shape) / 100
    rules = Rules(max_leaves=20, min_samples_leaf=5)
    tree = data.grow(rules, criterion)
    assert len(tree.feature) == 39
    for isa in supported_isas():
        for threads in (1, 2, 3):
            assert same_trees(tree, data.grow(rules, criterion, Workers(threads, isa)))


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
def test_leaf_sums_are_those_of_the_rows_of_the_leaf(weights: str) -> None:
    data = Data(2, 200, 3, 3, weights)
    growth = data.growth(Rules(max_leaves=6), "gini")
    tree = growth.grow(data.row_weight, np.ones(200))
    pairs = Gradients(200)
    gradient = np.random.default_rng(0).integers(-99, 99, 200) / 64
    hessian = np.random.default_rng(1).integers(0, 99, 200) / 64
    pairs.assign(growth.workers, gradient, hessian, data.weight)
    by_class, of_hessian = growth.grower.leaf_sums(pairs)
    leaves = growth.grower.leaf_nodes()
    leaf = np.array([leaf_of(tree, row) for row in data.X])
    w = np.ones(200) if data.weight is None else data.weight
    for j, sums, h in zip(leaves, by_class.reshape(len(leaves), 3), of_hessian, strict=True):
        rows = leaf == j
        np.testing.assert_allclose(h, (w * hessian)[rows].sum(), rtol=1e-12)
        expected = np.bincount(data.codes[rows], (w * gradient)[rows], minlength=3)
        np.testing.assert_allclose(sums, expected, atol=1e-12)


def test_transform_changes_pairs_as_documented() -> None:
    rng = np.random.default_rng(0)
    n = 5_000
    gradient = rng.normal(size=n).astype(np.float32).astype(float)
    hessian = rng.random(n).astype(np.float32).astype(float)
    workers = Workers(2)
    changes: list[tuple[dict[str, Any], Vector, Vector]] = [
        ({"unit_hessians": True}, gradient, np.ones(n)),
        ({"limit": 2.0}, np.clip(gradient, -2 * hessian, 2 * hessian), hessian),
        ({"unit_hessians": True, "absolute": True}, np.abs(gradient), np.ones(n)),
    ]
    for settings_, g, h in changes:
        pairs = Gradients(n)
        pairs.assign(workers, gradient, hessian, None)
        pairs.transform(workers, None, **settings_)
        both = pairs.pairs().reshape(-1, 2)
        np.testing.assert_allclose(both[:, 0], g, rtol=1e-6)
        np.testing.assert_allclose(both[:, 1], h, rtol=1e-6)


def test_invalid_classes_are_refused() -> None:
    workers = Workers(1)
    X = np.arange(6.0)[:, np.newaxis]
    bins, _ = bin_table(workers, X)
    for codes in ([0, 1, 2, 0, 1, 2], [0, 1, -1, 0, 1, 1]):
        with pytest.raises(ValueError, match="class code is out of range"):
            Grower(workers, bins, None, rules_of(Rules()), np.array(codes, dtype=np.int32), 2)
    with pytest.raises(ValueError, match="one class per row"):
        Grower(workers, bins, None, rules_of(Rules()), np.zeros(5, dtype=np.int32), 2)
