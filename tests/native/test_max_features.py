"""Feature sampling: a tree, a depth and a node use at most their share of the features."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from reference import tree as reference
from reference.core import ALL_ROWS, Growth, bin_table, same_trees
from reference.sampling import draws
from reference.tree import Rules
from stagewise._native import Bins, Columns, Workers
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

N, FEATURES = 400, 12
RULES = Rules(max_leaves=40)


@pytest.fixture(scope="module")
def problem(workers: Workers) -> tuple[Bins, npt.NDArray[np.float64]]:
    """All features are equally good, so every allowed one is soon used."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, FEATURES))
    return bin_table(workers, X)[0], X.sum(axis=1) + rng.normal(size=N)


def depths(tree: Tree) -> npt.NDArray[np.int64]:
    depth = np.zeros(len(tree.feature), dtype=np.int64)
    for node in np.flatnonzero(tree.feature >= 0):
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return depth


def used(tree: Tree) -> set[int]:
    return set(tree.feature[tree.feature >= 0].tolist())


@pytest.mark.parametrize("few_rows", [0, ALL_ROWS])
def test_a_tree_uses_at_most_its_share(
    workers: Workers, problem: tuple[Bins, npt.NDArray[np.float64]], few_rows: int
) -> None:
    bins, gradient = problem
    growth = Growth(workers, bins, None, RULES, few_rows=few_rows, max_features_per_tree=0.25)
    sets = [used(growth.grow(gradient, np.ones(N), None, 5, t)) for t in range(30)]
    assert max(map(len, sets)) == 3
    assert set().union(*sets) == set(range(FEATURES))


def test_a_depth_uses_at_most_its_share(
    workers: Workers, problem: tuple[Bins, npt.NDArray[np.float64]]
) -> None:
    bins, gradient = problem
    growth = Growth(workers, bins, None, RULES, max_features_per_level=0.25)
    seen: set[int] = set()
    for t in range(10):
        tree = growth.grow(gradient, np.ones(N), None, 5, t)
        depth_of = depths(tree)
        for d in range(depth_of.max()):
            inner = (depth_of == d) & (tree.feature >= 0)
            assert len(set(tree.feature[inner].tolist())) <= 3
        seen |= used(tree)
    assert len(seen) > 6


def test_a_node_uses_at_most_its_share_of_the_features_of_its_tree(
    workers: Workers, problem: tuple[Bins, npt.NDArray[np.float64]]
) -> None:
    bins, gradient = problem
    growth = Growth(
        workers,
        bins,
        None,
        RULES,
        max_features_per_tree=0.5,
        max_features_per_level=0.5,
        max_features=0.34,
    )
    for t in range(10):  # 12 features, 6 per tree, 3 per depth, 1 per node
        tree = growth.grow(gradient, np.ones(N), None, 5, t)
        assert len(used(tree)) <= 6
        roots = {int(growth.grow(gradient, np.ones(N), None, s, t).feature[0]) for s in range(20)}
        assert len(roots) > 3  # one feature drawn at random for each root


def test_a_tree_of_some_features_equals_the_tree_on_these_alone(workers: Workers) -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 5, (60, 6)).astype(float)
    gradient = rng.integers(-999, 999, 60) / 256
    bins, cuts = bin_table(workers, X)
    growth = Growth(workers, bins, None, Rules(l2=1.0), max_features_per_tree=0.5)
    for t in range(5):
        tree = growth.grow(gradient, np.ones(60), None, 1, t)
        chosen = used(tree)
        assert len(chosen) == 3  # all that a full tree may use
        allowed = [c if f in chosen else np.empty(0) for f, c in enumerate(cuts)]
        expected = reference.grow(X, gradient, np.ones(60), None, allowed, Rules(l2=1.0))
        np.testing.assert_array_equal(tree.feature, expected.feature)
        np.testing.assert_array_equal(tree.threshold, expected.threshold)
        np.testing.assert_allclose(tree.value, expected.value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "share", ["max_features_per_tree", "max_features_per_level", "max_features"]
)
def test_the_draw_depends_on_seed_and_tree_number_only(
    workers: Workers, problem: tuple[Bins, npt.NDArray[np.float64]], share: str
) -> None:
    bins, gradient = problem
    first = Growth(workers, bins, None, RULES, **{share: 0.3})
    other = Growth(Workers(1), bins, None, RULES, few_rows=0, **{share: 0.3})
    forwards = [first.grow(gradient, np.ones(N), None, 3, t) for t in range(6)]
    backwards = [other.grow(gradient, np.ones(N), None, 3, t) for t in reversed(range(6))][::-1]
    assert all(same_trees(a, b) for a, b in zip(forwards, backwards, strict=True))
    assert not same_trees(forwards[0], forwards[1])
    assert not same_trees(forwards[0], first.grow(gradient, np.ones(N), None, 4, 0))


def test_a_tiny_share_is_one_feature(
    workers: Workers, problem: tuple[Bins, npt.NDArray[np.float64]]
) -> None:
    bins, gradient = problem
    growth = Growth(workers, bins, None, RULES, max_features_per_tree=1e-9)
    assert len(used(growth.grow(gradient, np.ones(N)))) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_column_is_returned_as_float64(dtype: type) -> None:
    X = np.arange(24, dtype=dtype).reshape(6, 4)[::-1, ::2]
    rows = np.array([4, 0, 0], dtype=np.uint32)
    for columns in (Columns(X), Columns([X[:, 0], X[:, 1]])):
        found = columns.column(1)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, X[:, 1])
        np.testing.assert_array_equal(columns.take(rows).column(1), X[rows, 1])
        with pytest.raises(ValueError, match="no such feature"):
            columns.column(2)


def shuffled(features: int, wanted: int, tree: int) -> npt.NDArray[np.intp]:
    """Choose by a shuffle; its first part is chosen or, if that is the smaller part, left out."""
    out = 2 * wanted > features
    first = features - wanted if out else wanted
    order = list(range(features))
    for i, lot in zip(range(first), draws(11, 3, tree, range(first)), strict=True):
        other = i + ((int(lot) >> 32) * (features - i) >> 32)
        order[i], order[other] = order[other], order[i]
    return np.array(order[first:] if out else order[:first])


@pytest.mark.parametrize("share", [0.0005, 0.01, 0.3, 0.5, 0.7, 0.995])
def test_the_chosen_features_are_those_of_a_shuffle(workers: Workers, share: float) -> None:
    rng = np.random.default_rng(7)
    n, features = 200, 1500
    X = rng.integers(0, 2, (n, features)).astype(float)
    gradient = rng.integers(-999, 999, n) / 256
    gain = (X.T @ gradient) ** 2 / X.sum(axis=0)
    gain += ((1 - X).T @ gradient) ** 2 / (n - X.sum(axis=0))
    growth = Growth(
        workers, bin_table(workers, X)[0], None, Rules(max_leaves=2), max_features_per_tree=share
    )
    wanted = max(1, int(share * features + 0.5))
    for tree in range(20):
        chosen = shuffled(features, wanted, tree)
        root = growth.grow(gradient, np.ones(n), None, 11, tree).feature[0]
        assert root == chosen[np.argmax(gain[chosen])]
