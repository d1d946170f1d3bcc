"""Trees for the absolute error equal those of brute force and scikit-learn, binned or presorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from reference import median_tree
from reference.core import Growth, bin_categories, rules_of, same_trees
from reference.tree import Rules, leaf_of
from stagewise._native import Bins, Columns, Gradients, Grower, Workers
from stagewise.data.bins import rank_values
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]
TABLES = ["bins", "ranks"]


class Data:
    """Numbers with equal and missing values, and optionally a category."""

    def __init__(
        self,
        seed: int,
        n: int = 60,
        n_categories: int = 0,
        weights: str = "none",
        ties: bool = True,
    ) -> None:
        rng = np.random.default_rng([seed, 7])
        self.X = rng.integers(0, 9, (n, 3)) / 2
        self.n_categories = (0, 0, n_categories)
        if n_categories:
            self.X[:, 2] = rng.integers(0, n_categories, n)
        y = self.X[:, 0] - np.cos(self.X[:, 2] * 3) * 2 + rng.standard_cauchy(n)
        self.y = np.round(y * 4) / 4 if ties else y
        self.X[rng.random(self.X.shape) < 0.12] = np.nan
        self.weight = {
            "none": None,
            "whole": rng.integers(0, 4, n).astype(float),
            "fractional": rng.integers(1, 24, n) / 8,
        }[weights]

    def growth(
        self, table: str, rules: Rules, workers: Workers | None = None, **more: Any
    ) -> Growth:
        workers = workers or Workers(1)
        made: Bins
        if table == "ranks":
            made = rank_values(workers, Columns(self.X), self.n_categories)
            _, codings = bin_categories(workers, self.X, self.n_categories)
            self.cuts = [c if c.dtype == np.uint32 else None for c in codings]
        else:
            made, self.cuts = bin_categories(workers, self.X, self.n_categories)
        named = {"criterion": "absolute_error", "target": self.y, **more}
        return Growth(workers, made, self.weight, rules, **named)

    def grow(self, table: str, rules: Rules, workers: Workers | None = None, **more: Any) -> Tree:
        return self.growth(table, rules, workers, **more).grow_medians()


def assert_same(data: Data, tree: Tree, expected: Tree) -> None:
    for name in ("feature", "left", "right", "missing_left"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)
    np.testing.assert_allclose(tree.value, expected.value, rtol=1e-12)
    np.testing.assert_allclose(tree.gain, expected.gain, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tree.cover, expected.cover)
    own, other = ([leaf_of(t, row, data.n_categories) for row in data.X] for t in (tree, expected))
    counted = np.ones(len(data.y), dtype=bool) if data.weight is None else data.weight > 0
    np.testing.assert_array_equal(np.array(own)[counted], np.array(other)[counted])


RULES = {
    "plain": Rules(),
    "few leaves": Rules(max_leaves=5),
    "shallow": Rules(max_depth=2),
    "heavy leaves": Rules(min_samples_leaf=6),
    "large gains": Rules(min_gain=6.0),
    "depth-wise": Rules(max_leaves=7, depth_wise=True),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("n_categories", [0, 3, 12])
def test_a_tree_equals_that_of_brute_force(
    name: str, weights: str, table: str, n_categories: int
) -> None:
    data = Data(len(name), n_categories=n_categories, weights=weights)
    tree = data.grow(table, RULES[name])
    expected = median_tree.grow(data.X, data.y, data.weight, data.cuts, RULES[name])
    assert_same(data, tree, expected)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 3, 9, 40]),
    st.sampled_from(["none", "whole", "fractional"]),
    st.sampled_from(TABLES),
    st.sampled_from([1.0, 3.0]),
)
def test_any_small_problem_gives_the_brute_force_tree(
    seed: int, n: int, weights: str, table: str, least: float
) -> None:
    data = Data(seed, n, 4, weights)
    rules = Rules(min_samples_leaf=least)
    tree = data.grow(table, rules)
    assert_same(data, tree, median_tree.grow(data.X, data.y, data.weight, data.cuts, rules))


def test_a_bag_equals_a_table_of_its_rows() -> None:
    data = Data(3, 80)
    bag = np.arange(0, 80, 2, dtype=np.uint32)
    for table in TABLES:
        tree = data.growth(table, Rules()).grow_medians(bag)
        expected = median_tree.grow(data.X, data.y, None, data.cuts, Rules(), bag)
        for name in ("feature", "left", "value", "gain"):
            np.testing.assert_allclose(getattr(tree, name), getattr(expected, name), rtol=1e-9)


def test_splits_equal_those_of_scikit_learn() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(250, 3)).astype(np.float32)
        y = X[:, 0] + 2 * X[:, 1] ** 2 + rng.standard_t(2, 250)
        weight = rng.uniform(0.5, 1.5, 250)
        for own in (None, weight):
            workers = Workers(1)
            ranks = rank_values(workers, Columns(X.astype(float)), ())
            growth = Growth(
                workers, ranks, own, Rules(max_depth=3, min_samples_leaf=0.1),
                criterion="absolute_error", target=y,
            )  # fmt: skip
            tree = growth.grow_medians()
            other = DecisionTreeRegressor(criterion="absolute_error", max_depth=3, random_state=0)
            other.fit(X, y, sample_weight=own)
            theirs = other.tree_
            nodes = [(0, 0)]
            for node, number in nodes:
                if theirs.n_node_samples[number] < 10:  # several features may have the same gain
                    continue
                assert tree.feature[node] == max(-1, theirs.feature[number])
                assert tree.value[node] == pytest.approx(theirs.value[number, 0, 0])
                if tree.feature[node] < 0:
                    continue
                assert tree.threshold[node] == pytest.approx(theirs.threshold[number], rel=1e-6)
                nodes.append((int(tree.left[node]), int(theirs.children_left[number])))
                nodes.append((int(tree.right[node]), int(theirs.children_right[number])))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("more", [{}, {"random_thresholds": True}])
def test_threads_do_not_matter(table: str, more: dict[str, Any]) -> None:
    data = Data(4, 6_000, 20, "fractional", ties=False)
    data.X[:, :2] += np.random.default_rng(0).integers(0, 40, (6_000, 2)) / 100
    rules = Rules(max_leaves=60, min_samples_leaf=3)
    tree = data.grow(table, rules, **more)
    assert len(tree.feature) == 119
    for threads in (2, 3):
        assert same_trees(tree, data.grow(table, rules, Workers(threads), **more))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("n_categories", [0, 9])
def test_random_thresholds_lie_between_the_values_of_the_node(
    table: str, n_categories: int
) -> None:
    data = Data(5, 300, n_categories)
    best = data.grow(table, Rules(max_leaves=2)).gain[0]
    growth = data.growth(table, Rules(max_leaves=2), random_thresholds=True)
    trees = [growth.grow_medians(seed=seed) for seed in range(40)]
    assert all(0 < t.gain[0] <= best * (1 + 1e-12) for t in trees if t.feature[0] >= 0)
    assert len({float(t.gain[0]) for t in trees}) > 5
    assert all(0 <= t.threshold[0] < 4.5 for t in trees)


@pytest.mark.parametrize("table", TABLES)
def test_weight_two_equals_the_row_twice_and_zero_its_absence(table: str) -> None:
    data = Data(6, 120, 5, "whole")
    assert data.weight is not None
    rules = Rules(max_leaves=9, min_samples_leaf=3)
    counted = np.flatnonzero(data.weight > 0).astype(np.uint32)
    tree = data.growth(table, rules).grow_medians(counted)
    times = data.weight.astype(int)
    other = Data(6, 120, 5)
    other.X, other.y = np.repeat(data.X, times, axis=0), np.repeat(data.y, times)
    again = other.grow(table, rules)
    for name in ("feature", "left", "value", "gain", "cover", "missing_left"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(again, name), err_msg=name)


@pytest.mark.parametrize("table", TABLES)
def test_the_order_of_rows_does_not_matter(table: str) -> None:
    data = Data(9, 300, 12, "fractional", ties=False)
    rules = Rules(max_leaves=40)
    tree = data.grow(table, rules)
    order = np.random.default_rng(1).permutation(300)
    assert data.weight is not None
    data.X, data.y, data.weight = data.X[order], data.y[order], data.weight[order]
    assert same_trees(tree, data.grow(table, rules))


@pytest.mark.parametrize(("a", "b"), [(4.0, 0.0), (1e-3, 1e6), (1e200, 0.0), (1e-290, 0.0)])
def test_y_scale_does_not_matter(a: float, b: float) -> None:
    data = Data(7, 200)
    rules = Rules(max_leaves=9)
    tree = data.grow("bins", rules)
    data.y = a * data.y + b
    other = data.grow("bins", rules)
    np.testing.assert_array_equal(tree.feature, other.feature)
    np.testing.assert_allclose(other.value, a * tree.value + b, rtol=1e-9)
    np.testing.assert_allclose(other.gain, a * tree.gain, rtol=1e-5)


def test_incompatible_arguments_are_refused() -> None:
    data = Data(8, 20)
    workers = Workers(1)
    bins, _ = bin_categories(workers, data.X, data.n_categories)
    medians = rules_of(Rules(), criterion="absolute_error")
    with pytest.raises(ValueError, match="go together"):
        Grower(workers, bins, None, medians)
    with pytest.raises(ValueError, match="go together"):
        Grower(workers, bins, None, rules_of(Rules()), target=data.y)
    with pytest.raises(ValueError, match="one target per row"):
        Grower(workers, bins, None, medians, target=data.y[:5].copy())
    with pytest.raises(ValueError, match="not finite"):
        Grower(workers, bins, None, medians, target=np.full(20, np.nan))
    smooth = rules_of(Rules(), criterion="absolute_error", path_smoothing=1.0)
    with pytest.raises(ValueError, match="do not support such a rule"):
        Grower(workers, bins, None, smooth, target=data.y)
    grower = Grower(workers, bins, None, medians, target=data.y)
    gradients = Gradients(20)
    gradients.assign(workers, data.y, np.ones(20), None)
    with pytest.raises(ValueError, match="no gradients"):
        grower.grow(gradients, None, 0, 0)
    plain = Grower(workers, bins, None, rules_of(Rules()))
    with pytest.raises(ValueError, match="need a target"):
        plain.grow_medians(None, 0, 0)
