"""Monotone and interaction constraints, forced splits, random thresholds, feature penalties."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import tree as reference
from reference.core import ALL_ROWS, Growth, bin_categories, bin_table, same_trees
from reference.tree import Rules
from stagewise._native import Workers
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]


def make_data(seed: int, n: int, features: int = 3) -> tuple[Vector, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n, features)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    wave = np.sin(np.nan_to_num(X, nan=3.0) @ rng.normal(size=features) * 2)
    return X, np.round((wave + 0.3 * rng.normal(size=n)) * 4096) / 4096, np.ones(n)


def grow(
    X: Vector, g: Vector, h: Vector, rules: Rules, *, threads: int = 1, seed: int = 0, **more: Any
) -> Tree:
    workers = Workers(threads)
    bins, _ = bin_table(workers, X)
    return Growth(workers, bins, None, rules, **more).grow(g, h, seed=seed)


def paths(tree: Tree) -> list[set[int]]:
    """Return the features on the path to every leaf."""
    above: list[set[int]] = [set() for _ in tree.feature]
    for node, feature in enumerate(tree.feature.tolist()):
        if feature >= 0:
            for child in (tree.left[node], tree.right[node]):
                above[child] = above[node] | {feature}
    return [above[node] for node in np.flatnonzero(tree.feature < 0)]


# --- monotone ----------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    directions=st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3),
    depth_wise=st.booleans(),
    max_leaves=st.integers(2, 25),
    few_rows=st.sampled_from([0, ALL_ROWS, None]),
    smoothing=st.sampled_from([0.0, 3.0]),
)
def test_predictions_are_monotone(
    seed: int,
    directions: list[int],
    depth_wise: bool,
    max_leaves: int,
    few_rows: int | None,
    smoothing: float,
) -> None:
    """Over the whole grid of values, missing ones included (these are not above or below any)."""
    X, g, h = make_data(seed, 150)
    rules = Rules(max_leaves=max_leaves, l2=1.0, depth_wise=depth_wise)
    tree = grow(X, g, h, rules, few_rows=few_rows, monotone=directions, path_smoothing=smoothing)
    values = [*np.arange(8.0), np.nan]
    grid = np.array(list(product(values, values, values)))
    f = reference.predict(tree, grid).reshape(9, 9, 9)
    for axis, direction in enumerate(directions):
        steps = np.diff(np.moveaxis(f, axis, 0)[:8], axis=0)
        assert (steps * direction >= 0).all()


@pytest.mark.parametrize("direction", [-1, 1])
def test_one_split_is_the_best_monotone_one(direction: int) -> None:
    X, g, h = make_data(3, 80, 1)
    tree = grow(X, g, h, Rules(max_leaves=2), monotone=[direction])
    x = X[:, 0]
    best = -np.inf
    for cut, missing_left in product([*np.arange(0.5, 7.5), np.inf], (False, True)):
        left = (x <= cut) | (np.isnan(x) & missing_left)
        if left.all() or not left.any():
            continue
        wl, wr = (-g[s].sum() / h[s].sum() for s in (left, ~left))
        if direction * (wr - wl) >= 0:
            both = sum(g[s].sum() ** 2 / h[s].sum() / 2 for s in (left, ~left))
            best = max(best, both - g.sum() ** 2 / h.sum() / 2)
    assert tree.gain[0] == pytest.approx(best, rel=1e-6)


def test_bounds_come_from_neighbours_not_from_the_middle() -> None:
    """The first split has leaves 4 and 10; a part of the lower side is 8: above 7, allowed."""
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 50, axis=0)
    f = np.repeat([0.0, 8.0, 10.0, 10.0], 50)
    tree = grow(X, -f, np.ones(200), Rules(max_leaves=4), monotone=[1, 0])
    assert tree.feature[0] == 0
    np.testing.assert_array_equal(tree.value[[tree.left[0], tree.right[0]]], [4.0, 10.0])
    np.testing.assert_array_equal(reference.predict(tree, X), f)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_matter(threads: int) -> None:
    X, g, h = make_data(4, 30_000)
    rules = Rules(max_leaves=20, l2=1.0)
    groups = [[0, 1], [2]]
    more: dict[str, Any] = {
        "monotone": [1, 0, -1],
        "path_smoothing": 2.0,
        "interaction_groups": groups,
    }
    assert same_trees(grow(X, g, h, rules, **more), grow(X, g, h, rules, threads=threads, **more))


def test_given_leaf_values_are_made_monotone() -> None:
    X, g, h = make_data(5, 300, 2)
    workers = Workers(1)
    bins, _ = bin_table(workers, X)
    growth = Growth(workers, bins, None, Rules(max_leaves=12), monotone=[1, -1])
    tree = growth.grow(g, h)
    leaves = np.flatnonzero(tree.feature < 0)
    rng = np.random.default_rng(6)
    for values in (rng.normal(size=len(leaves)), tree.value[leaves]):
        value = tree.value.copy()
        value[leaves] = growth.grower.enforce_monotone(values)
        grid = np.array(list(product(np.arange(8.0), np.arange(8.0))))
        f = reference.predict(tree.with_values(value), grid).reshape(8, 8)
        assert (np.diff(f, axis=0) >= 0).all()
        assert (np.diff(f, axis=1) <= 0).all()
    own = tree.value[leaves]
    np.testing.assert_array_equal(growth.grower.enforce_monotone(own), own)


# --- interactions ------------------------------------------------------------------------------


@pytest.mark.parametrize("depth_wise", [False, True])
def test_a_path_has_only_features_of_one_group(depth_wise: bool) -> None:
    X, g, h = make_data(7, 2000, 5)
    groups = [[0, 1], [1, 2], [3, 4]]
    tree = grow(X, g, h, Rules(max_leaves=40, depth_wise=depth_wise), interaction_groups=groups)
    assert all(any(p <= set(group) for group in groups) for p in paths(tree))
    assert max(len(p) for p in paths(tree)) == 2


@pytest.mark.parametrize("most", [1, 2])
def test_a_path_has_at_most_max_interaction_order_features(most: int) -> None:
    X, g, h = make_data(8, 2000, 5)
    tree = grow(X, g, h, Rules(max_leaves=40), max_interaction_order=most)
    assert max(len(p) for p in paths(tree)) == most


def test_one_group_of_all_features_changes_nothing() -> None:
    X, g, h = make_data(9, 500, 3)
    rules = Rules(max_leaves=15)
    assert same_trees(grow(X, g, h, rules), grow(X, g, h, rules, interaction_groups=[[0, 1, 2]]))


# --- smoothing ---------------------------------------------------------------------------------


def test_path_smoothing_shrinks_towards_the_parent() -> None:
    """w = -(G - s u) / (H + λ + s), and the gain is the decrease of the whole objective."""
    X, g, h = make_data(10, 200)
    s, l2 = 5.0, 1.0
    tree = grow(X, g, h, Rules(max_leaves=6, l2=l2), path_smoothing=s)
    rows = [np.zeros(len(X), dtype=bool) for _ in tree.feature]
    rows[0][:] = True
    for node in np.flatnonzero(tree.feature >= 0):
        x = X[:, tree.feature[node]]
        goes = np.where(np.isnan(x), tree.missing_left[node] == 1, x <= tree.threshold[node])
        rows[tree.left[node]], rows[tree.right[node]] = rows[node] & goes, rows[node] & ~goes
    G, H = ([float(v[r].sum()) for r in rows] for v in (g, h))
    assert tree.value[0] == pytest.approx(-G[0] / (H[0] + l2))
    for node in np.flatnonzero(tree.feature >= 0):
        u = tree.value[node]
        gain = G[node] * u + (H[node] + l2) * u * u / 2
        for child in (tree.left[node], tree.right[node]):
            w = tree.value[child]
            assert w == pytest.approx(-(G[child] - s * u) / (H[child] + l2 + s), rel=1e-9)
            gain -= G[child] * w + (H[child] + l2) * w * w / 2 + s * (w - u) ** 2 / 2
        assert tree.gain[node] == pytest.approx(gain, rel=1e-6)


# --- random thresholds -------------------------------------------------------------------------


def test_random_thresholds_lie_between_the_values_of_the_node() -> None:
    X, g, h = make_data(11, 400)
    rules = Rules(max_leaves=10)
    trees = [grow(X, g, h, rules, seed=k, random_thresholds=True) for k in range(40)]
    again = [
        grow(X, g, h, rules, seed=k, random_thresholds=True, few_rows=ALL_ROWS) for k in range(40)
    ]
    assert all(same_trees(a, b) for a, b in zip(trees, again, strict=True))
    roots = {(int(t.feature[0]), float(t.threshold[0])) for t in trees}
    assert len(roots) > 5
    assert all(0 < threshold < 7 for _, threshold in roots)
    best = grow(X, g, h, rules).gain[0]
    assert max(t.gain[0] for t in trees) <= best * (1 + 1e-9)


def test_random_subsets_of_categories_do_not_depend_on_the_search() -> None:
    X, g, h = make_data(12, 400)
    workers = Workers(1)
    bins, _ = bin_categories(workers, X, [8, 8, 0])
    rules = Rules(max_leaves=10)
    growths = [
        Growth(workers, bins, None, rules, few_rows=few, random_thresholds=True)
        for few in (0, ALL_ROWS)
    ]
    assert same_trees(*(growth.grow(g, h) for growth in growths))


# --- forced splits, feature penalties, feature weights -----------------------------------------


def test_trees_begin_with_the_forced_splits() -> None:
    X, g, h = make_data(13, 500)
    workers = Workers(1)
    bins, cuts = bin_table(workers, X)
    assert bins.bin_below(2, 3.6) == 3
    assert bins.bin_below(2, -50.0) == 0
    assert bins.bin_below(2, 50.0) == len(cuts[2]) - 1
    forced = [(2, 3, 1, -1), (1, 5, -1, -1)]
    for few_rows in (0, ALL_ROWS):
        tree = Growth(
            workers, bins, None, Rules(max_leaves=8), few_rows=few_rows, forced_splits=forced
        ).grow(g, h)
        assert (tree.feature[0], tree.threshold[0]) == (2, cuts[2][3])
        left = int(tree.left[0])
        assert (tree.feature[left], tree.threshold[left]) == (1, cuts[1][5])
        assert (tree.feature >= 0).sum() == 7


def test_a_forced_split_with_an_empty_side_is_not_made() -> None:
    X, g, h = make_data(14, 500)
    X[:, 2] = np.where(np.arange(500) < 490, 0.0, X[:, 2])
    rules = Rules(max_leaves=8, min_samples_leaf=20.0)
    more: dict[str, Any] = {"forced_splits": [(2, 0, -1, -1)]}
    assert same_trees(grow(X, g, h, rules, **more), grow(X, g, h, rules))


def test_the_first_use_of_a_feature_has_a_penalty() -> None:
    X, g, h = make_data(15, 400)
    rules = Rules(max_leaves=2)
    free = grow(X, g, h, rules)
    first, gain = int(free.feature[0]), float(free.gain[0])
    price = [0.0, 0.0, 0.0]
    price[first] = gain * 0.999
    workers = Workers(1)
    bins, _ = bin_table(workers, X)
    growth = Growth(workers, bins, None, rules, feature_penalty=price)
    assert growth.grow(g, h).feature[0] != first
    forced = Growth(
        workers, bins, None, rules, feature_penalty=price, forced_splits=[(first, 3, -1, -1)]
    )
    forced.grow(g, h)
    paid = Growth(workers, bins, None, Rules(max_leaves=2), feature_penalty=[gain * 0.5] * 3)
    a, b = paid.grow(g, h), paid.grow(g, h)
    assert a.feature[0] == b.feature[0] == first
    assert a.gain[0] == pytest.approx(gain * 0.5, rel=1e-6)
    assert b.gain[0] == pytest.approx(gain, rel=1e-6)


def test_features_are_drawn_by_weight() -> None:
    X, g, h = make_data(16, 300, 4)
    workers = Workers(1)
    bins, _ = bin_table(workers, X)
    weights = [1.0, 3.0, 0.0, 4.0]
    growth = Growth(
        workers,
        bins,
        None,
        Rules(max_leaves=2),
        max_features_per_tree=0.25,
        feature_weights=weights,
    )
    roots = [int(growth.grow(g, h, seed=k).feature[0]) for k in range(2000)]
    share = np.bincount(roots, minlength=4) / len(roots)
    assert share[2] == 0
    np.testing.assert_allclose(share, np.array(weights) / 8, atol=0.04)
