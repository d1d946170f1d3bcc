"""Trees from presorted rows: candidates are all values of a node, or those of a proposal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import tree as reference
from reference.core import Growth, same_trees
from reference.tree import Rules
from stagewise import GradientBoostingClassifier, SplitSearch
from stagewise._native import Bins, Columns, Workers
from stagewise.data.bins import rank_values
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]


def make_data(seed: int, n: int = 70, features: int = 3) -> tuple[Vector, Vector, Vector]:
    """Return many different values, some equal, some missing, some infinite."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, features)) * 10) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.02] = np.inf
    signal = (
        np.nan_to_num(X[:, 0], nan=1.0, posinf=30.0) / 8 - np.nan_to_num(X[:, -1], posinf=9) / 9
    )
    gradient = np.round((np.sin(signal) + rng.normal(size=n)) * 4096) / 4096
    return X, gradient, rng.integers(64, 512, n) / 256


def grow(
    X: Vector,
    g: Vector,
    h: Vector,
    rules: Rules,
    *,
    weight: Vector | None = None,
    threads: int = 1,
    n_categories: tuple[int, ...] = (),
    bag: npt.NDArray[np.uint32] | None = None,
    **more: Any,
) -> Tree:
    workers = Workers(threads)
    ranks = rank_values(workers, Columns(X), n_categories)
    return Growth(workers, ranks, weight, rules, **more).grow(g, h, bag)


def assert_same(tree: Tree, expected: Tree) -> None:
    for name in ("feature", "left", "right", "missing_left"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)
    big = np.finfo(float).max  # between a number and infinity there is no middle
    finite = np.abs(expected.threshold) < big
    np.testing.assert_allclose(tree.threshold[finite], expected.threshold[finite], rtol=1e-12)
    np.testing.assert_allclose(tree.value, expected.value, rtol=1e-9)
    np.testing.assert_allclose(tree.gain, expected.gain, rtol=1e-7, atol=1e-9)


RULES = {
    "plain": Rules(),
    "few leaves": Rules(max_leaves=5),
    "shallow": Rules(max_depth=2),
    "penalised": Rules(l1=0.5, l2=1.5),
    "bounded": Rules(max_step=0.25, l2=1.0),
    "heavy": Rules(min_hessian=4.5),
    "enough rows": Rules(min_samples_leaf=6.0),
    "gaining": Rules(min_gain=0.5),
}


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("depth_wise", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_each_rule_gives_the_brute_force_tree(name: str, depth_wise: bool, weights: bool) -> None:
    X, g, h = make_data(len(name))
    rules = replace(RULES[name], depth_wise=depth_wise)
    weight = np.random.default_rng(1).integers(1, 5, len(X)).astype(float) if weights else None
    tree = grow(X, g, h, rules, weight=weight)
    assert_same(tree, reference.grow(X, g, h, weight, [None] * 3, rules))


def test_a_bag_and_categories_give_the_brute_force_tree() -> None:
    X, g, h = make_data(20, 120)
    X[:, 1] = np.random.default_rng(2).integers(0, 9, 120)
    bag = np.arange(0, 120, 3, dtype=np.uint32)
    rules = Rules(max_leaves=8, category_smoothing=1.0, l2=1.0)
    tree = grow(X, g, h, rules, bag=bag, n_categories=(0, 9, 0))
    codes = [None, np.arange(9, dtype=np.uint32), None]
    assert_same(tree, reference.grow(X, g, h, None, codes, rules, bag))
    score = np.zeros(120)
    workers = Workers(1)
    growth = Growth(workers, rank_values(workers, Columns(X), (0, 9, 0)), None, rules)
    again = growth.grow(g, h, bag)
    growth.grower.add_scores(growth.grown, again.value, score)
    np.testing.assert_array_equal(score, reference.predict(tree, X, (0, 9, 0)))
    elsewhere = np.zeros(120)
    Columns(X).add_tree(workers, growth.grown, again.value, elsewhere)
    np.testing.assert_array_equal(elsewhere, score)


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 60), kind=st.sampled_from(["f4", "f8"]))
def test_any_small_table_gives_the_brute_force_tree(seed: int, n: int, kind: str) -> None:
    X, g, h = make_data(seed, n, 2)
    X = X.astype(kind)
    rules = Rules(l2=1.0)
    tree = grow(X, g, h, rules)
    assert_same(tree, reference.grow(X.astype(float), g, h, None, [None, None], rules))


@pytest.mark.parametrize("more", [{}, {"proposal": "global", "sketch_eps": 0.05}])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_matter(threads: int, more: dict[str, Any]) -> None:
    X, g, h = make_data(21, 30_000)
    rules = Rules(max_leaves=25, min_samples_leaf=20.0)
    assert same_trees(grow(X, g, h, rules, **more), grow(X, g, h, rules, threads=threads, **more))


@pytest.mark.parametrize("few", [2, 7])
def test_bins_for_every_value_find_the_same_splits(few: int) -> None:
    """Thresholds differ: those of bins lie between values of the table, not of the node."""
    X, g, h = make_data(22, 400)
    X = np.where(np.isfinite(X), X, 0.0)
    rules = Rules(max_leaves=few, l2=1.0)
    exact = grow(X, g, h, rules)
    workers = Workers(1)
    cuts = [(u := np.unique(x))[:-1] / 2 + u[1:] / 2 for x in X.T]
    binned = Growth(workers, Bins(workers, Columns(X), cuts), None, rules).grow(g, h)
    np.testing.assert_array_equal(exact.feature, binned.feature)
    np.testing.assert_array_equal(exact.gain, binned.gain)
    np.testing.assert_array_equal(reference.predict(exact, X), reference.predict(binned, X))


# --- proposals ---------------------------------------------------------------------------------


def proposed(x: Vector, h: Vector, sketch_eps: float) -> list[float]:
    """Return the values at which the hessians of the sorted rows pass a multiple of ε."""
    order = np.argsort(x, kind="stable")
    values, total = np.unique(x), h.sum()
    below = np.array([h[order][x[order] <= v].sum() for v in values[:-1]])
    steps = np.floor(below / (sketch_eps * total) * (1 + 1e-12))
    passed = np.diff(steps, prepend=0) > 0
    return [float(v) for v in values[:-1][passed]]


@pytest.mark.parametrize("proposal", ["global", "local"])
@pytest.mark.parametrize("sketch_eps", [0.3, 0.1, 0.04])
def test_the_root_is_split_at_a_weighted_quantile(proposal: str, sketch_eps: float) -> None:
    X, g, h = make_data(23, 300, 1)
    X = np.where(np.isfinite(X), X, 0.0)
    tree = grow(X, g, h, Rules(max_leaves=2), proposal=proposal, sketch_eps=sketch_eps)
    x = X[:, 0]
    candidates = proposed(x, h, sketch_eps)
    scores = []
    for v in candidates:
        left = x <= v
        scores.append(sum(g[s].sum() ** 2 / h[s].sum() / 2 for s in (left, ~left)))
    gain = max(scores) - g.sum() ** 2 / h.sum() / 2
    assert tree.gain[0] == pytest.approx(gain, rel=1e-6)


@pytest.mark.parametrize("proposal", ["all", "global", "local"])
@pytest.mark.parametrize("sketch_eps", [0.3, 0.07])
def test_rows_reach_the_leaves_that_they_were_counted_in(proposal: str, sketch_eps: float) -> None:
    X, g, h = make_data(25, 400)
    more = {} if proposal == "all" else {"proposal": proposal, "sketch_eps": sketch_eps}
    tree = grow(X, g, h, Rules(max_leaves=10), **more)
    node = np.zeros(len(X), dtype=int)
    for _ in range(len(tree.feature)):
        f = tree.feature[node]
        x = X[np.arange(len(X)), np.maximum(f, 0)]
        left = np.where(np.isnan(x), tree.missing_left[node] == 1, x <= tree.threshold[node])
        node = np.where(f < 0, node, np.where(left, tree.left[node], tree.right[node]))
    leaves = np.flatnonzero(tree.feature < 0)
    assert len(leaves) == 10
    np.testing.assert_array_equal(
        np.bincount(node, minlength=len(tree.cover))[leaves], tree.cover[leaves]
    )


def test_a_small_epsilon_is_exact_and_local_cuts_follow_the_node() -> None:
    X, g, h = make_data(24, 500)
    rules = Rules(max_leaves=12, l2=1.0)
    exact = grow(X, g, h, rules)
    for proposal in ("global", "local"):
        fine = grow(X, g, h, rules, proposal=proposal, sketch_eps=1e-5)
        assert same_trees(fine, exact)
    coarse = {
        p: grow(X, g, h, rules, proposal=p, sketch_eps=0.2).gain.sum() for p in ("global", "local")
    }
    assert coarse["global"] < coarse["local"] < exact.gain.sum() * 1.2


def test_constraints_hold_for_presorted_rows() -> None:
    X, g, h = make_data(25, 600)
    tree = grow(
        X, g, h, Rules(max_leaves=20), monotone=[1, 0, -1], interaction_groups=[[0, 1], [2]]
    )
    grid = np.linspace(-30, 30, 50)
    for row in np.nan_to_num(X[:20]):
        for feature, direction in ((0, 1), (2, -1)):
            rows = np.repeat(row[None], 50, axis=0)
            rows[:, feature] = grid
            assert (np.diff(reference.predict(tree, rows)) * direction >= 0).all()


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.parametrize("proposal", ["global", "local"])
def test_proposals_with_vanishing_hessians_terminate(proposal: str) -> None:
    """With such hessians, the step from one proposed value to the next is 0."""
    X = np.arange(20.0)[:, np.newaxis]
    split = SplitSearch(method="approx", proposal=proposal)
    model = GradientBoostingClassifier(
        split=split,
        n_estimators=100,
        learning_rate=1.0,
        min_samples_leaf=1,
        l2_regularization=0.0,
        min_hessian=0.0,
    )
    assert model.fit(X, X[:, 0] > 9).score(X, X[:, 0] > 9) == 1
    weighted = GradientBoostingClassifier(split=split, n_estimators=5)
    weighted.fit(X[:3], [0, 1, 2], sample_weight=[1, 1, 10**9])
