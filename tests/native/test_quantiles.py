"""Quantiles, of an array and in the leaves of a tree, equal NumPy's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.core import Growth, bin_table
from reference.quantile import weighted_quantile as reference_quantile
from reference.tree import Rules
from stagewise._native import Workers, residual_quantile, weighted_quantile
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]

few = st.integers(-4, 4).map(float)
lists = st.lists(st.one_of(few, st.floats(-1e9, 1e9)), min_size=1, max_size=40)


@settings(max_examples=300, deadline=None)
@given(lists)
def test_the_half_quantile_is_the_median(values: list[float]) -> None:
    x = np.array(values)
    room = 1e-15 * np.abs(x).max()  # of the middle of two numbers that nearly cancel
    assert weighted_quantile(x, None, 0.5) == pytest.approx(np.median(x), rel=1e-15, abs=room)


@settings(max_examples=300, deadline=None)
@given(lists, st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), st.integers(0, 2**32))
def test_an_integer_weight_equals_copies(values: list[float], q: float, seed: int) -> None:
    x = np.array(values)
    weight = np.random.default_rng(seed).integers(1, 5, len(x))
    weighted = weighted_quantile(x, weight.astype(float), q)
    assert weighted == weighted_quantile(np.repeat(x, weight), None, q)
    assert weighted == reference_quantile(x, weight.astype(float), q)


@settings(max_examples=300, deadline=None)
@given(lists, st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_fractional_weights_equal_the_reference(values: list[float], q: float, seed: int) -> None:
    x = np.array(values)
    weight = np.random.default_rng(seed).integers(1, 64, len(x)) / 16  # sums are exact
    assert weighted_quantile(x, weight, q) == reference_quantile(x, weight, q)


def test_weight_zero_equals_absence() -> None:
    x, weight = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 1.0])
    assert weighted_quantile(x, weight, 0.5) == 2.0
    x, weight = np.array([1.0, 2.5, 3.0]), np.array([1.0, 0.0, 1.0])
    assert weighted_quantile(x, weight, 0.5) == 2.0


def test_the_quantile_of_no_values_is_zero() -> None:
    assert weighted_quantile(np.empty(0), None, 0.5) == 0.0


def test_the_middle_of_the_largest_numbers_does_not_overflow() -> None:
    assert weighted_quantile(np.array([1.7e308, 1.6e308]), None, 0.5) == pytest.approx(1.65e308)


def leaves_of(growth: Growth, n: int) -> npt.NDArray[np.int64]:
    """Return the node of each row, -1 for out-of-bag rows, from the grower's own lists."""
    rows, begin = (a.astype(np.int64) for a in growth.grower.leaf_rows())
    nodes = growth.grower.leaf_nodes()
    where = np.full(n, -1)
    ends = np.sort(np.append(begin, len(rows)))
    for node, first in zip(nodes, begin, strict=True):
        last = ends[np.searchsorted(ends, first, side="right")]
        where[rows[first:last]] = node
    return where


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bagged", [False, True])
@pytest.mark.parametrize("q", [0.5, 0.1])
def test_leaf_quantiles_equal_those_of_the_rows_of_each_leaf(
    workers: Workers, weighted: bool, bagged: bool, q: float
) -> None:
    rng = np.random.default_rng(11)
    n = 900
    X, y = rng.normal(size=(n, 3)), rng.normal(size=n)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    bag = np.flatnonzero(rng.random(n) < 0.6).astype(np.uint32) if bagged else None
    growth = Growth(workers, bin_table(workers, X)[0], weight, Rules(max_leaves=12))
    tree = growth.grow(-y, np.ones(n), bag)
    found = growth.grower.leaf_quantiles(y, q)
    where = leaves_of(growth, n)
    assert len(found) == 12
    for node, value in zip(growth.grower.leaf_nodes(), found, strict=True):
        rows = where == node
        assert value == reference_quantile(y[rows], None if weight is None else weight[rows], q)
        if weight is None and q == 0.5:
            assert value == np.median(y[rows])
    check_covers(tree, where, weight)


def check_covers(tree: Tree, where: npt.NDArray[np.int64], weight: Vector | None) -> None:
    inside = where >= 0
    held = np.bincount(
        where[inside],
        weights=None if weight is None else weight[inside],
        minlength=len(tree.feature),
    )
    leaf = tree.feature < 0
    np.testing.assert_array_equal(tree.cover[leaf], held[leaf])


@pytest.mark.parametrize("n", [2049, 5000, 5001])
@pytest.mark.parametrize("law", ["normal", "heavy", "few", "equal", "two", "tiny"])
def test_many_values_have_numpys_quantiles(law: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x = {
        "normal": rng.normal(size=n),
        "heavy": rng.standard_cauchy(size=n) ** 3,
        "few": rng.integers(0, 3, n).astype(float),
        "equal": np.full(n, 2.5),
        "two": np.where(np.arange(n) % 2 == 0, -1e300, 1e300),
        "tiny": rng.normal(size=n) * 1e-320,
    }[law]
    for q in (0.0, 0.001, 0.25, 0.5, 0.9, 0.999, 1.0):
        assert weighted_quantile(x, None, q) == reference_quantile(x, np.ones(n), q)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [100, 40_000, 40_001])
@pytest.mark.parametrize("law", ["normal", "heavy", "equal", "zero", "two"])
def test_quantiles_of_residuals_equal_those_of_their_values(law: str, n: int, threads: int) -> None:
    rng = np.random.default_rng(n)
    score = rng.normal(size=n)
    away = {
        "normal": rng.normal(size=n),
        "heavy": rng.standard_cauchy(size=n) ** 3,
        "equal": np.ones(n),
        "zero": np.zeros(n),
        "two": np.where(np.arange(n) % 2 == 0, 0.0, 1e300),
    }[law]
    y = score + away
    weight = rng.integers(0, 3, n).astype(float)
    for q in (0.001, 0.5, 0.9, 1.0):
        for w in (None, weight):
            expected = weighted_quantile(np.abs(y - score), w, q)
            assert residual_quantile(Workers(threads), y, score, w, q) == expected
