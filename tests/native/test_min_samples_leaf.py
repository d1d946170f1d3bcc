"""Every leaf has min_samples_leaf rows, and no split that respects it is refused.

The grower proves most splits from hessians and counts rows otherwise; here rows must be counted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import tree as reference
from reference.core import ALL_ROWS, Growth, bin_table
from reference.losses import logistic
from reference.tree import Rules, leaf_of
from stagewise._native import Gradients, Workers
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]
PATHS = [0, 30, ALL_ROWS]


def leaf_weights(tree: Tree, X: Vector, weight: Vector | None) -> Vector:
    """Return the weight of the rows that plain traversal sends to each leaf."""
    where = np.array([leaf_of(tree, row) for row in X])
    held = np.bincount(where, weights=weight, minlength=len(tree.feature))
    return np.asarray(held[tree.feature < 0], dtype=np.float64)


def grow_logistic(
    X: Vector,
    y: npt.NDArray[np.int32],
    score: Vector,
    weight: Vector | None,
    rules: Rules,
    few_rows: int,
) -> Tree:
    workers = Workers(1)
    growth = Growth(
        workers,
        bin_table(workers, X, weight)[0],
        weight,
        rules,
        few_rows=few_rows,
        hessian_bound=0.25,
    )
    gradients = Gradients(len(X))
    gradients.logistic(workers, y, score, weight)
    return growth.from_gradients(gradients)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1.0, 2.0, 5.0, 20.0, 50.0]),
    st.sampled_from(["none", "whole", "fractional"]),
    st.sampled_from([1.0, 8.0, 30.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(PATHS),
)
def test_every_leaf_of_a_logistic_tree_has_enough_rows(
    seed: int, least: float, weights: str, spread: float, missing: float, few_rows: int
) -> None:
    rng = np.random.default_rng(seed)
    n = 250
    X = rng.integers(0, 40, (n, 3)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    y, score = rng.integers(0, 2, n).astype(np.int32), rng.normal(size=n) * spread
    weight = {
        "none": None,
        "whole": rng.integers(1, 4, n).astype(float),
        "fractional": rng.integers(1, 24, n) / 8,
    }[weights]
    tree = grow_logistic(X, y, score, weight, Rules(min_samples_leaf=least), few_rows)
    assert leaf_weights(tree, X, weight).min() >= min(least, tree.cover[0])
    np.testing.assert_array_equal(tree.cover[tree.feature < 0], leaf_weights(tree, X, weight))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([2.0, 5.0, 20.0, 50.0]),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([1.0, 8.0]),
    st.sampled_from(PATHS),
)
def test_rows_with_a_multiplier_count_as_one_row(
    seed: int, least: float, most_weight: int | None, spread: float, few_rows: int
) -> None:
    rng = np.random.default_rng(seed)
    n = 250
    X = rng.integers(0, 30, (n, 2)).astype(float)
    y, score = rng.integers(0, 2, n).astype(np.int32), rng.normal(size=n) * spread
    weight = None if most_weight is None else rng.integers(1, most_weight + 1, n).astype(float)
    times = rng.choice(np.array([0, 1, 1, 2, 9, 60], dtype=np.float32), n)
    bag = np.flatnonzero(times > 0)
    workers = Workers(1)
    bins, cuts = bin_table(workers, X, weight)
    rules = Rules(min_samples_leaf=least, max_leaves=8)
    growth = Growth(workers, bins, weight, rules, few_rows=few_rows, hessian_bound=0.25)
    gradients = Gradients(n)
    gradients.logistic(workers, y, score, weight)
    gradients.multiply(workers, weight, times)
    tree = growth.from_gradients(gradients, bag.astype(np.uint32))
    own = None if weight is None else weight[bag]
    np.testing.assert_array_equal(tree.cover[tree.feature < 0], leaf_weights(tree, X[bag], own))
    # No split that respects it is refused: the reference tree has the same size.
    _, gradient, hessian = logistic(y, score)
    expected = reference.grow(
        X[bag], (times * gradient)[bag], (times * hessian)[bag], own, cuts, rules
    )
    np.testing.assert_array_equal(tree.cover, expected.cover)


@pytest.mark.parametrize("few_rows", PATHS)
def test_tiny_hessians_do_not_hide_that_there_are_enough_rows(few_rows: int) -> None:
    # 30 rows of hessian 4e-9 on the right side prove nothing by their hessians; they are counted.
    x = np.repeat([0.0, 1.0, 2.0], [200, 30, 10])
    y = np.repeat([0, 1], [200, 40]).astype(np.int32)
    y[::3] = 1
    score = np.where(x > 0, 19.0, 0.0)
    score[-5:] = 0.0
    tree = grow_logistic(x[:, np.newaxis], y, score, None, Rules(min_samples_leaf=20.0), few_rows)
    _, gradient, hessian = logistic(y, score)
    _, cuts = bin_table(Workers(1), x[:, np.newaxis])
    expected = reference.grow(
        x[:, np.newaxis], gradient, hessian, None, cuts, Rules(min_samples_leaf=20.0)
    )
    assert tree.cover[tree.feature < 0].tolist() == [200.0, 40.0]
    np.testing.assert_array_equal(tree.cover, expected.cover)
    np.testing.assert_allclose(tree.value, expected.value, rtol=1e-5)


@pytest.mark.parametrize("few_rows", PATHS)
def test_missing_rows_with_zero_gradient_count(few_rows: int) -> None:
    # The 25 missing rows are so certain that their gradients round to 0. On whichever side they
    # are, the five rows on the right must not be alone.
    x = np.repeat([0.0, 1.0, np.nan], [30, 5, 25])
    y = np.concatenate([np.tile([0, 1], 15), np.ones(30)]).astype(np.int32)
    score = np.repeat([0.0, 60.0], [35, 25])
    tree = grow_logistic(x[:, np.newaxis], y, score, None, Rules(min_samples_leaf=20.0), few_rows)
    assert tree.cover[tree.feature < 0].min() >= 20


def test_five_rows_are_split_off_when_min_samples_leaf_is_five() -> None:
    x = np.repeat([0.0, 1.0], [35, 5])
    y = np.concatenate([np.tile([0, 1], 17), np.ones(6)]).astype(np.int32)
    for least, leaves in ((5.0, 2), (6.0, 1)):
        for few_rows in PATHS:
            tree = grow_logistic(
                x[:, np.newaxis], y, np.zeros(40), None, Rules(min_samples_leaf=least), few_rows
            )
            assert (tree.feature < 0).sum() == leaves


SQUARED = {"hessian_bound": 1.0, "hessian_is_weight": True}


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("least", [1.0, 3.0, 7.0, 20.0])
def test_a_known_constant_hessian_gives_the_same_tree(
    workers: Workers, least: float, weights: str
) -> None:
    rng = np.random.default_rng(4)
    n = 200
    X = rng.integers(0, 30, (n, 2)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    gradient = rng.integers(-4096, 4096, n) / 1024
    weight = {
        "none": None,
        "whole": rng.integers(1, 4, n).astype(float),
        "fractional": rng.integers(1, 24, n) / 8,
    }[weights]
    bins, cuts = bin_table(workers, X, weight)
    rules = Rules(min_samples_leaf=least, l2=1.0)
    expected = reference.grow(X, gradient, np.ones(n), weight, cuts, rules)
    for few_rows in PATHS:
        growth = Growth(workers, bins, weight, rules, few_rows=few_rows, **SQUARED)
        tree = growth.grow(gradient, np.ones(n))
        np.testing.assert_array_equal(tree.feature, expected.feature)
        np.testing.assert_array_equal(tree.threshold, expected.threshold)
        np.testing.assert_array_equal(tree.cover, expected.cover)
        np.testing.assert_allclose(tree.value, expected.value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "facts",
    [
        SQUARED,
        {},
        {"hessian_bound": 1.0},
    ],
    ids=["hessian is weight", "nothing known", "hessian bounded"],
)
@pytest.mark.parametrize("few_rows", PATHS)
def test_a_fractional_limit_is_rounded_up(
    workers: Workers, facts: dict[str, float], few_rows: int
) -> None:
    X = np.arange(10.0)[:, np.newaxis]
    gradient = np.where(X[:, 0] < 2, 0.0, -5.0)
    growth = Growth(
        workers,
        bin_table(workers, X)[0],
        None,
        Rules(min_samples_leaf=2.3),
        few_rows=few_rows,
        **facts,
    )
    tree = growth.grow(gradient, np.ones(10))
    assert tree.cover[tree.feature < 0].min() >= 2.3
