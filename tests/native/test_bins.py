"""Bin codes equal the reference for every memory layout of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.binning import bin_codes
from reference.core import bin_table, cuts_of
from stagewise._native import Bins, Columns, Workers, supported_isas

pytestmark = pytest.mark.native

Table = npt.NDArray[Any]

ODD = [-np.inf, -1e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 1.0, 1e38, 1e308, np.inf, np.nan]

LAYOUTS: dict[str, Callable[[Table], Any]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "every third row and second column": lambda X: np.repeat(np.repeat(X, 3, 0), 2, 1)[::3, ::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "a list of columns": lambda X: [np.ascontiguousarray(c) for c in X.T],
    "a list of strided columns": lambda X: list(X.T),
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
}


def table(rng: np.random.Generator, n: int) -> Table:
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.choice(ODD, n)
    X[:, 2] = np.where(rng.random(n) < 0.2, np.nan, rng.integers(-3, 3, n))
    X[:, 3] = 2.5
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("max_bins", [5, 254, 255, 400])
def test_codes_equal_the_reference(
    workers: Workers, dtype: type, layout: str, max_bins: int
) -> None:
    with np.errstate(over="ignore"):
        X = table(np.random.default_rng(max_bins), 700).astype(dtype)
    laid = LAYOUTS[layout](X)
    bins, cuts = bin_table(workers, laid, None, max_bins)
    codes = bins.codes()
    for f, c in enumerate(cuts):
        np.testing.assert_array_equal(codes[:, f], bin_codes(X[:, f], c))
        assert bins.value_bins(f) == len(c) + 1
        assert bins.has_missing(f) == np.isnan(X[:, f]).any()
    assert (bins.n_rows, bins.n_features) == X.shape
    assert bins.code_bytes == (1 if max(map(len, cuts)) + 2 <= 256 else 2)


def test_a_column_with_stride_zero_is_read(workers: Workers) -> None:
    X = np.broadcast_to(np.array([[1.5, np.nan]]), (300, 2))
    assert X.strides == (0, 8)
    bins = Bins(workers, Columns(X), [np.array([1.0, 1.5, 2.0]), np.array([0.0])])
    assert (bins.codes() == [1, 2]).all()


def test_columns_of_two_widths_may_share_a_table(workers: Workers) -> None:
    rng = np.random.default_rng(5)
    X = [rng.normal(size=50).astype(np.float32), rng.normal(size=50)]
    bins, cuts = bin_table(workers, X)
    for f in (0, 1):
        np.testing.assert_array_equal(bins.codes()[:, f], bin_codes(X[f], cuts[f]))


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("n_cuts", [0, 1, 15, 16, 17, 254, 255, 256, 257, 4095, 4097])
def test_search_is_right_for_every_number_of_cuts(n_cuts: int, isa: str) -> None:
    rng = np.random.default_rng(n_cuts)
    cuts = np.sort(rng.normal(size=n_cuts))
    x = np.concatenate([cuts, np.nextafter(cuts, np.inf), rng.normal(size=40), ODD])
    bins = Bins(Workers(2, isa), Columns([x]), [cuts])
    expected = np.where(np.isnan(x), n_cuts + 1, np.searchsorted(cuts, x, side="left"))
    np.testing.assert_array_equal(bins.codes()[:, 0], expected)


def test_the_maximum_of_bins_leaves_a_code_for_missing(workers: Workers) -> None:
    cuts = np.arange(65_534.0)
    x = np.array([np.nan, -1.0, 0.0, 0.5, 65_533.0, 65_533.5, np.inf])
    bins = Bins(workers, Columns([x]), [cuts])
    assert bins.codes()[:, 0].tolist() == [65_535, 0, 0, 1, 65_533, 65_534, 65_534]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(), min_size=1, max_size=50),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=50),
    st.booleans(),
)
def test_codes_of_any_numbers_equal_the_reference(
    values: list[float], learned: list[float], narrow: bool
) -> None:
    with np.errstate(over="ignore"):
        x = np.array(values).astype(np.float32 if narrow else np.float64)
    workers = Workers(1)
    (cuts,) = cuts_of(workers, [np.array(learned)])
    codes = Bins(workers, Columns([x]), [cuts]).codes()[:, 0]
    np.testing.assert_array_equal(codes, bin_codes(x, cuts))


def test_selected_rows_are_binned_like_a_copy_of_them(workers: Workers) -> None:
    rng = np.random.default_rng(8)
    X = table(rng, 400)
    rows = rng.integers(0, 400, 150).astype(np.uint32)
    chosen = Columns(X).take(rows)
    cuts = cuts_of(workers, X)
    assert (chosen.n_rows, chosen.n_features) == (150, 4)
    np.testing.assert_array_equal(
        Bins(workers, chosen, cuts).codes(), Bins(workers, Columns(X[rows]), cuts).codes()
    )


def test_a_float32_copy_of_the_table_has_the_same_codes(workers: Workers) -> None:
    # As long as the values differ in float32, which they do when they are 1e-6 apart.
    rng = np.random.default_rng(9)
    X = np.round(rng.normal(size=(2_000, 2)), 5)
    bins, cuts = bin_table(workers, X)
    copy = Bins(workers, Columns(X.astype(np.float32)), cuts)
    np.testing.assert_array_equal(bins.codes(), copy.codes())


def test_many_blocks_of_rows_and_columns_are_binned_in_parallel(workers: Workers) -> None:
    rng = np.random.default_rng(10)
    X = rng.integers(0, 9, (5_000, 70)).astype(np.float32)
    X[rng.random(X.shape) < 0.01] = np.nan
    bins, cuts = bin_table(workers, X)
    codes = bins.codes()
    for f in (0, 33, 69):
        np.testing.assert_array_equal(codes[:, f], bin_codes(X[:, f], cuts[f]))
    np.testing.assert_array_equal(codes, Bins(Workers(1), Columns(X), cuts).codes())
