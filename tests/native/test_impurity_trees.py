"""Trees of several targets, Poisson trees and monotone trees equal those of brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.core import bin_categories
from reference.impurity_tree import Bounds, Mask, Problem, best_gain, gain_of, lanes, mean_value
from stagewise._native import Columns, ForestGrower, Workers
from stagewise.data.bins import rank_values
from stagewise.learners.histogram_tree import HistogramTree, native_rules
from stagewise.learners.tree_learner import tree_of
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

N_CATEGORIES = 5
FREE: Bounds = (-np.inf, np.inf)
CASES = [
    ("squared_error", 2, False),
    ("squared_error", 1, True),
    ("poisson", 1, False),
    ("poisson", 2, False),
    ("poisson", 1, True),
    ("gini", 3, False),
    ("entropy", 2, False),
    ("misclassification", 2, False),
    ("gini", 1, True),
    ("entropy", 1, True),
]


def make_problem(
    seed: int, criterion: str, outputs: int, monotone: bool, weights: str, least: float, n: int = 60
) -> Problem:
    rng = np.random.default_rng([seed, 11])
    X = rng.integers(0, 12, (n, 3)) / 2.0
    X[:, 2] = rng.integers(0, N_CATEGORIES, n)
    noise = rng.normal(size=(n, outputs)) * 2
    y = X[:, [0]] - np.cos(X[:, [2]] * 3) * 2 + noise
    if criterion == "poisson":
        y = rng.poisson(np.exp(y / 4)).astype(float)
    elif criterion != "squared_error":
        classes = 2 if monotone else 3
        y = (rng.random((n, outputs)) * classes + (y > 2)).astype(int).clip(0, classes - 1) * 1.0
        y[:classes] = np.arange(classes)[:, np.newaxis]
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = {
        "none": np.ones(n),
        "whole": rng.integers(0, 4, n).astype(float),
        "fractional": rng.integers(1, 24, n) / 8,
    }[weights]
    weight[:3] += 1
    return Problem(X, y, weight, criterion, (2,), least, (1, -1, 0) if monotone else ())


def grow(problem: Problem, table: str, workers: Workers | None = None, **more: Any) -> Tree:
    workers = workers or Workers(1)
    categories = (0, 0, N_CATEGORIES)
    if table == "ranks":
        bins = rank_values(workers, Columns(problem.X), categories)
    else:
        bins, _ = bin_categories(workers, problem.X, categories)
    tree = HistogramTree(
        **{
            "max_leaf_nodes": None,
            "max_depth": 3,
            "min_samples_leaf": problem.least,
            "min_hessian": 0.0,
            "l2": 0.0,
            "criterion": problem.criterion.replace("squared_error", "gini"),
            "grow_policy": "depth_first",
            "monotone": problem.monotone,
            **more,
        }
    )
    y, outputs = problem.y, problem.y.shape[1]
    n_classes = [int(column.max()) + 1 for column in y.T] if problem.of_classes else []
    grower = ForestGrower(
        workers,
        bins,
        problem.weight,
        None if problem.of_classes else np.ascontiguousarray(y).ravel(),
        np.ascontiguousarray(y, dtype=np.int32).ravel() if problem.of_classes else None,
        n_classes,
        outputs,
        native_rules(tree, bins, hessian_bound=1.0, hessian_is_weight=True),
        False,
        1.0,
        False,
        0.0,
    )
    return tree_of(grower.grow(0, 0, 1, False)[0][0])


def goes_left(problem: Problem, tree: Tree, node: int) -> Mask:
    x = problem.X[:, tree.feature[node]]
    if tree.category_sets is not None and tree.category_sets.start[node] >= 0:
        sides = tree.category_sets.goes_left(node, N_CATEGORIES)
        left = sides[np.nan_to_num(x).astype(int)]
    else:
        left = x <= tree.threshold[node]
    return np.where(np.isnan(x), bool(tree.missing_left[node]), left)


def check_node(
    problem: Problem, tree: Tree, node: int, rows: Mask, bounds: Bounds, depth: int
) -> None:
    """The split of a node is one of the best; a leaf above the last depth has no split."""
    counted = rows & (problem.weight > 0)
    expected = np.average(lanes(problem)[counted], axis=0, weights=problem.weight[counted])
    if problem.of_classes and problem.y.shape[1] == 1:
        expected = np.array([mean_value(problem, counted)])
    if len(problem.monotone):
        expected = np.clip(expected, *bounds)
    np.testing.assert_allclose(np.ravel(tree.value[node]), expected, atol=1e-9)
    best = best_gain(problem, counted, bounds)
    if tree.feature[node] < 0:
        assert depth == 3 or best <= 1e-8
        return
    feature, left = int(tree.feature[node]), goes_left(problem, tree, node)
    own = gain_of(problem, counted, left, feature, bounds)
    np.testing.assert_allclose([own, tree.gain[node]], best, rtol=1e-8, atol=1e-8)
    inner, outer = bounds, bounds
    if len(problem.monotone) and problem.monotone[feature]:
        middle = sum(mean_value(problem, counted & side) for side in (left, ~left)) / 2
        halves = ((bounds[0], middle), (middle, bounds[1]))
        inner, outer = halves if problem.monotone[feature] > 0 else halves[::-1]
    check_node(problem, tree, tree.left[node], rows & left, inner, depth + 1)
    check_node(problem, tree, tree.right[node], rows & ~left, outer, depth + 1)


@pytest.mark.parametrize("table", ["bins", "ranks"])
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize(("criterion", "outputs", "monotone"), CASES)
def test_every_split_is_the_best_of_brute_force(criterion, outputs, monotone, weights, table):
    problem = make_problem(3, criterion, outputs, monotone, weights, 4.0)
    tree = grow(problem, table)
    assert (tree.feature >= 0).any()
    check_node(problem, tree, 0, np.ones(len(problem.X), dtype=bool), FREE, 0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(CASES), st.sampled_from(["bins", "ranks"]))
def test_every_split_of_small_tables_is_the_best(seed, case, table):
    problem = make_problem(seed, *case, "whole", 2.0, n=25)
    tree = grow(problem, table)
    check_node(problem, tree, 0, np.ones(len(problem.X), dtype=bool), FREE, 0)


@pytest.mark.parametrize(("criterion", "outputs", "monotone"), CASES)
def test_a_row_of_weight_two_is_the_row_twice(criterion, outputs, monotone):
    problem = make_problem(5, criterion, outputs, monotone, "whole", 3.0)
    times = problem.weight.astype(int)
    twice = Problem(
        np.repeat(problem.X, times, axis=0),
        np.repeat(problem.y, times, axis=0),
        np.ones(times.sum()),
        *(criterion, problem.categorical, problem.least, problem.monotone),
    )
    rules = {"grow_until_pure": True, "max_depth": None, "min_samples_split": 7.0}
    first, second = grow(problem, "ranks", **rules), grow(twice, "ranks", **rules)
    for name in ("feature", "left", "right", "missing_left", "cover", "gain"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    np.testing.assert_allclose(first.value, second.value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("criterion", "outputs", "monotone"), CASES)
@pytest.mark.parametrize("table", ["bins", "ranks"])
def test_threads_change_nothing(criterion, outputs, monotone, table):
    problem = make_problem(7, criterion, outputs, monotone, "fractional", 1.0, n=4000)
    rules = {"grow_until_pure": True, "max_depth": 8}
    one, four = (grow(problem, table, Workers(n), **rules) for n in (1, 4))
    for name in ("feature", "threshold", "left", "right", "missing_left", "value", "gain"):
        np.testing.assert_array_equal(getattr(one, name), getattr(four, name), err_msg=name)


def test_a_tree_without_a_limit_has_pure_leaves():
    problem = make_problem(9, "gini", 2, False, "none", 1.0, n=300)
    problem.X[:, 0] = np.random.default_rng(0).permutation(300)
    tree = grow(problem, "ranks", grow_until_pure=True, max_depth=None)
    leaves = tree.value[tree.feature < 0]
    assert np.isin(leaves, [0.0, 1.0]).all()
