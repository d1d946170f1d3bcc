"""A sparse table gives the codes, trees and scores of its dense copy, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from model_samples import random_tree
from reference import binning
from reference import tree as reference
from reference.core import ALL_ROWS, Growth, forest_of, same_trees
from reference.tree import Rules
from stagewise._native import Bins, Columns, SparseColumns, Workers, learn_cuts, supported_isas
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]

KINDS = ["ones", "rounded", "real", "odd"]


def cells(X: npt.NDArray[Any], *, by_rows: bool = True, absent: float = 0.0) -> SparseColumns:
    """Store the values that are not absent, in the format of the core."""
    stored = ~np.isnan(X) if np.isnan(absent) else ~(X == 0.0)
    lines, index = np.nonzero(stored if by_rows else stored.T)
    start = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=X.shape[not by_rows]))])
    values = X[lines, index] if by_rows else X[index, lines]
    return SparseColumns(
        start.astype(np.int64), index.astype(np.uint32), values, *X.shape, by_rows, absent
    )


def table(rng: np.random.Generator, n: int, p: int, density: float, kind: str) -> Vector:
    values: Vector = rng.normal(size=(n, p)) - 0.2
    if kind == "ones":
        values = np.ones((n, p))
    elif kind == "rounded":
        values = values.round(1)
    elif kind == "odd":
        values = rng.choice([-np.inf, -1.0, -0.0, 5e-324, 1e300, np.inf, np.nan], (n, p))
    return np.where(rng.random((n, p)) < density, values, 0.0)


def weights(rng: np.random.Generator, n: int, kind: str) -> Vector | None:
    if kind == "none":
        return None
    return rng.integers(1, 5, n).astype(float) if kind == "whole" else rng.random(n) + 0.1


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 120),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.02, 0.3, 0.9, 1.0]),
    st.sampled_from(KINDS),
    st.sampled_from([2, 5, 40, 255, 300]),
    st.sampled_from(["none", "whole", "fractional"]),
    st.sampled_from([20, 100_000]),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_cuts_and_codes_equal_those_of_the_dense_table(
    seed: int, n: int, p: int, density: float, kind: str, max_bins: int, weighted: str,
    limit: int, by_rows: bool, dtype: type,
) -> None:  # fmt: skip
    rng, workers = np.random.default_rng(seed), Workers(2)
    with np.errstate(over="ignore"):
        X = table(rng, n, p, density, kind).astype(dtype)
    weight = weights(rng, n, weighted)
    dense, sparse = Columns(X), cells(X, by_rows=by_rows).by_columns()
    cuts = learn_cuts(workers, sparse, weight, max_bins, limit, 3)
    for own, theirs in zip(
        cuts, learn_cuts(workers, dense, weight, max_bins, limit, 3), strict=True
    ):
        np.testing.assert_array_equal(own, theirs)
    if n <= limit:
        for f, own in enumerate(cuts):
            np.testing.assert_array_equal(own, binning.find_cuts(X[:, f], weight, max_bins))
    bins = Bins(workers, sparse, cuts)
    codes = bins.codes()
    for f, own in enumerate(cuts):
        np.testing.assert_array_equal(codes[:, f], binning.bin_codes(X[:, f], own))
        assert bins.value_bins(f) == len(own) + 1
        assert bins.has_missing(f) == np.isnan(X[:, f]).any()
        assert bins.is_constant(f) == (len(set(codes[:, f])) == 1)


@pytest.mark.parametrize("density", [0.0, 0.1, 0.7, 1.0])
def test_absent_values_may_be_missing(workers: Workers, density: float) -> None:
    rng = np.random.default_rng(5)
    X = np.where(rng.random((90, 4)) < density, rng.normal(size=(90, 4)).round(1), np.nan)
    sparse = cells(X, absent=np.nan).by_columns()
    cuts = learn_cuts(workers, sparse, None, 10, 1000, 0)
    bins = Bins(workers, sparse, cuts)
    for f, own in enumerate(cuts):
        np.testing.assert_array_equal(own, binning.find_cuts(X[:, f], None, 10))
        np.testing.assert_array_equal(bins.codes()[:, f], binning.bin_codes(X[:, f], own))


def grow(
    X: Vector, sparse: bool, seed: int, weighted: str, few_rows: int | None, threads: int = 1,
    isa: str = "", bagged: bool = False, absent: float = 0.0, **more: Any,
) -> tuple[Tree, Vector]:  # fmt: skip
    """Return one tree, and its contribution to the scores of all rows."""
    rng, workers = np.random.default_rng(seed), Workers(threads, isa)
    n = len(X)
    signal = np.clip(np.nan_to_num(X[:, 0]), -3.0, 3.0)
    gradient = np.round((signal + rng.normal(size=n)) * 512) / 512
    hessian, weight = rng.integers(64, 512, n) / 256, weights(rng, n, weighted)
    columns = cells(X, absent=absent).by_columns() if sparse else Columns(X)
    bins = Bins(workers, columns, learn_cuts(workers, columns, weight, 30, 10**6, 0))
    bag = np.flatnonzero(rng.random(n) < 0.6).astype(np.uint32) if bagged else None
    rules = Rules(max_leaves=12, min_samples_leaf=3)
    growth = Growth(workers, bins, weight, rules, few_rows=few_rows, **more)
    tree = growth.grow(gradient, hessian, None if bag is None or not len(bag) else bag)
    score = np.zeros(n)
    growth.grower.add_scores(growth.grown, tree.value, score)
    elsewhere = np.zeros(n)
    bins.add_tree(workers, growth.grown, tree.value, elsewhere)
    np.testing.assert_array_equal(score, elsewhere)
    return tree, score


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    st.sampled_from(KINDS),
    st.sampled_from(["none", "whole", "fractional"]),
    st.sampled_from([None, 0, 9, ALL_ROWS]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(supported_isas()),
    st.booleans(),
    st.sampled_from(
        [
            {},
            {"grow_policy": "depth_wise"},
            {"grow_policy": "symmetric"},
            {"random_thresholds": True},
            {"max_features_per_tree": 0.5, "max_features": 0.6},
            {"monotone": [1, -1, 0, 0, 1, 0]},
            {"l1": 0.5, "path_smoothing": 2.0},
            {"interaction_groups": [[0, 1], [2, 3, 4, 5]]},
            {"feature_penalty": [3.0] * 6},
        ]
    ),
)
def test_the_tree_equals_that_of_the_dense_table(
    seed: int, density: float, kind: str, weighted: str, few_rows: int | None, threads: int,
    isa: str, bagged: bool, more: dict[str, Any],
) -> None:  # fmt: skip
    X = table(np.random.default_rng(seed), 150, 6, density, kind)
    dense, scores = grow(X, False, seed, weighted, None, bagged=bagged, **more)
    own, added = grow(X, True, seed, weighted, few_rows, threads, isa, bagged, **more)
    assert same_trees(own, dense)
    np.testing.assert_array_equal(added, scores)


@pytest.mark.parametrize("few_rows", [0, 40, ALL_ROWS])
@pytest.mark.parametrize("density", [0.05, 0.5, 1.0])
def test_missing_absent_values_go_where_missing_values_go(few_rows: int, density: float) -> None:
    rng = np.random.default_rng(8)
    X = np.where(rng.random((300, 5)) < density, rng.normal(size=(300, 5)).round(1), np.nan)
    dense, _ = grow(X, False, 1, "none", None)
    own, _ = grow(X, True, 1, "none", few_rows, absent=np.nan)
    assert same_trees(own, dense)
    assert (own.feature >= 0).any()


def test_many_blocks_on_many_threads_give_the_same_tree() -> None:
    rng = np.random.default_rng(2)
    X = np.where(rng.random((9000, 300)) < 0.1, rng.normal(size=(9000, 300)).round(2), 0.0)
    X[:, 100:200] = X[:, 100:200] != 0.0  # pairs of bins between features with many
    dense, _ = grow(X, False, 3, "none", None)
    for threads in (1, 2, 3, 7):
        assert same_trees(grow(X, True, 3, "none", None, threads)[0], dense)


def test_class_trees_equal_those_of_the_dense_table() -> None:
    rng, workers = np.random.default_rng(4), Workers(2)
    X = table(rng, 400, 8, 0.3, "rounded")
    classes = (np.abs(X[:, 0]) * 2 + rng.random(400)).astype(np.int32) % 4
    trees = []
    for columns in (Columns(X), cells(X).by_columns()):
        bins = Bins(workers, columns, learn_cuts(workers, columns, None, 20, 10**6, 0))
        rules = Rules(max_leaves=9, min_samples_leaf=2)
        growth = Growth(workers, bins, None, rules, classes=classes, n_classes=4)
        trees.append(growth.grow(rng.permutation(np.ones(400)), np.ones(400)))
    assert same_trees(*trees)
    assert (trees[0].feature >= 0).any()


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 31, 33, 300]),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([0, 7, 31, 63, 90]),
    st.sampled_from([1, 3]),
    st.sampled_from([0.0, np.nan]),
    st.booleans(),
    st.sampled_from(supported_isas()),
)
def test_scores_and_leaves_equal_plain_traversal(
    seed: int, n: int, density: float, splits: int, outputs: int, absent: float, by_rows: bool,
    isa: str,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 7)) < density, rng.normal(size=(n, 7)), absent)
    trees = [random_tree(rng, 7, splits) for _ in range(2 * outputs)]
    forest, workers = forest_of(trees, 7, outputs), Workers(2, isa)
    columns = cells(X, by_rows=by_rows, absent=absent)
    scores = np.zeros((n, outputs))
    for t, tree in enumerate(trees):
        scores[:, t % outputs] += reference.predict(tree, X)
    out = np.zeros(n * outputs)
    forest.add_scores(workers, columns, 0, len(trees), out)
    np.testing.assert_array_equal(out, scores.ravel())
    leaves, expected = np.zeros((2, n * len(trees)), dtype=np.int32)
    forest.leaves(workers, columns, leaves)
    forest.leaves(workers, Columns(X), expected)
    np.testing.assert_array_equal(leaves, expected)


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 9), st.booleans())
def test_rows_may_be_selected_in_any_order_and_repeatedly(
    seed: int, n: int, p: int, by_rows: bool
) -> None:
    rng, workers = np.random.default_rng(seed), Workers(1)
    X = table(rng, n, p, 0.4, "rounded")
    rows = rng.integers(0, n, 2 * n).astype(np.uint32)
    taken = cells(X, by_rows=by_rows).take(rows)
    assert (taken.n_rows, taken.n_features) == (2 * n, p)
    assert taken.n_stored == np.count_nonzero(X[rows])
    cuts = [np.sort(np.unique(X)).astype(np.float64)] * p
    codes = Bins(workers, taken.by_columns(), cuts).codes()
    np.testing.assert_array_equal(codes, Bins(workers, Columns(X[rows]), cuts).codes())


def arrays(**other: Any) -> tuple[Any, ...]:
    X = scipy.sparse.csr_array(np.eye(3))
    given = {
        "start": X.indptr.astype(np.int64), "index": X.indices.astype(np.uint32),
        "values": X.data, "n_rows": 3, "n_features": 3, "by_rows": True, "default_value": 0.0,
        **other,
    }  # fmt: skip
    return tuple(given.values())


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"start": np.array([1, 1, 2, 3])}, "begin at 0"),
        ({"start": np.array([0, 2, 1, 3])}, "ends before it begins"),
        ({"start": np.array([0, 1, 2, 2**40])}, "more cells than are stored"),
        ({"start": np.array([0, 1, 3])}, "one start per row or column"),
        ({"index": np.array([0, 1, 3], np.uint32)}, "outside the table"),
        ({"index": np.array([0, 1], np.uint32)}, "one place per value"),
        ({"values": np.arange(3)}, "float32 or float64"),
        ({"values": np.arange(6.0)[::2]}, "plain array"),
        ({"default_value": 1.0}, "0 or NaN"),
        ({"n_features": 2}, "outside the table"),
    ],
)
def test_inconsistent_arrays_are_refused(other: Any, words: str) -> None:
    SparseColumns(*arrays())
    with pytest.raises(ValueError, match=words):
        SparseColumns(*arrays(**other))


def test_a_table_of_another_width_or_with_categories_is_refused(workers: Workers) -> None:
    columns = SparseColumns(*arrays())
    with pytest.raises(ValueError, match="one list of cuts per feature"):
        Bins(workers, columns.by_columns(), [np.zeros(1)])
    with pytest.raises(ValueError, match="no categorical features"):
        Bins(workers, columns.by_columns(), [np.zeros(1, np.uint32)] * 3)
    with pytest.raises(ValueError, match="by columns"):
        Bins(workers, columns, [np.zeros(1)] * 3)
    narrow = forest_of([random_tree(np.random.default_rng(0), 2, 3)], 2)
    with pytest.raises(ValueError, match="width"):
        narrow.add_scores(workers, columns, 0, 1, np.zeros(3))
    with pytest.raises(ValueError, match="out of range"):
        columns.take(np.array([3], np.uint32))
