"""Missing values are found in the type of each column, and all other values are unchanged."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagewise.data.features import Features
from stagewise.data.reading.missing_values import MissingValues
from stagewise.data.reading.table import Table, read_table

BIG = 2**53 + 1


def found(cells: Any, *values: float) -> list[bool]:
    mask = MissingValues.of(values).mask_in(np.asarray(cells))
    return [False] * len(cells) if mask is None else mask.tolist()


def read(X: Any, *values: float) -> Table:
    return read_table(X, caller="Model", missing_values=MissingValues.of(values))


def cells(table: Table) -> list[list[Any]]:
    """Return the columns as lists of Python numbers, None where missing."""
    columns = []
    for j in range(table.n_features):
        values, missing, _ = table.column(j)
        gone = np.isnan(values) if values.dtype.kind == "f" else missing
        gone = np.zeros(len(values), bool) if gone is None else gone
        columns.append([None if g else v for v, g in zip(values.tolist(), gone, strict=True)])
    return columns


# The values


def test_equal_values_are_merged_and_integers_come_first() -> None:
    values = MissingValues.of([1e20, 0.5, -999.0, -999, -0.0, 2**64 - 1, -(2.0**63)])
    assert values.values == (-(2**63), -999, 0, 2**64 - 1, 0.5, 1e20)
    assert [type(v) for v in values.values] == [int] * 4 + [float] * 2


def test_without_values_nothing_is_searched() -> None:
    assert not MissingValues.of([])
    assert MissingValues().mask_in(np.zeros(3)) is None


# Types


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "g", "i2", "i4", "i8", ">i8", object])
def test_an_integer_is_found_in_every_type_that_can_represent_it(dtype: str) -> None:
    for value in (-999, -999.0):
        assert found(np.array([-999, 0, -998], dtype), value) == [True, False, False]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("value", [-999.9, 0.1, 1 / 3])
def test_a_value_is_rounded_to_the_type_of_the_column(dtype: type, value: float) -> None:
    column = np.array([value, np.nextafter(dtype(value), dtype(0))], dtype)
    assert float(column[0]) != value
    assert found(column, value) == [True, False]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (np.array([np.inf, -np.inf, 3.4e38], np.float32), 1e39),
        (np.array([np.inf, 65504], np.float16), 1e20),
        (np.array([0.0, -0.0, 1e-45], np.float32), 1e-300),
        (np.array([0, 255, 25], np.uint8), -999),
        (np.array([0, 127, -128, 25], np.int8), -999),
        (np.array([0, 1], np.uint64), -1),
        (np.array([-1, 2**63 - 1], np.int64), 2**64 - 1),
        (np.array([-999, -1000]), -999.5),
        (np.array([10, 2**63 - 1]), 1e20),
        (np.array([False, True]), 2),
        (np.array([0, -999], "M8[ns]"), -999),
        (np.array([0, -999], "m8[s]"), -999),
        (np.array(["-999", "0"]), -999),
        (np.array(["-999", None, [-999], {}, -999j], dtype=object), -999),
    ],
    ids=lambda v: str(getattr(v, "dtype", v)),
)
def test_a_value_that_the_type_cannot_represent_is_not_found(column: Any, value: float) -> None:
    assert not any(found(column, value))


def test_integers_are_compared_as_integers() -> None:
    assert found(np.array([BIG - 1, BIG, BIG + 1]), BIG) == [False, True, False]
    column = np.array([2**64 - 2, 2**64 - 1], np.uint64)
    assert found(column, 2**64 - 1) == [False, True]


def test_booleans_are_zero_and_one() -> None:
    assert found([False, True], 1) == [False, True]
    assert found(np.array([False, True, None], object), 0.0) == [True, False, False]


def test_both_zeros_are_equal() -> None:
    assert found([0.0, -0.0, 1.0], 0) == [True, True, False]


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.floats(-1e19, 1e19), max_size=3),
)
def test_integers_are_found_exactly_when_they_are_equal(column, values) -> None:
    values = [*values, column[0], float(column[-1])]
    expected = [any(Fraction(cell) == Fraction(v) for v in values) for cell in column]
    assert found(np.array(column, np.int64), *values) == expected
    assert found(np.array(column, object), *values) == expected


# Tables


def test_an_array_without_missing_values_is_not_copied() -> None:
    for X in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((4, 2), np.float32))):
        table = read(X, -999, 1e20)
        assert table.columns is X
        assert table.taken_as_missing == {}


def test_arguments_are_not_modified() -> None:
    X = np.array([[1.0, -999.0], [-999.0, 2.0]])
    X.flags.writeable = False
    assert cells(read(X, -999)) == [[1, None], [None, 2]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_float_columns_of_a_large_frame_are_copied_only_if_needed(library: str) -> None:
    data = {"a": np.arange(100_000.0), "b": np.arange(100_000.0) - 7}
    X = pd.DataFrame(data) if library == "pandas" else pl.DataFrame(data)
    table = read(X, -7)
    kept = [np.shares_memory(table.columns[j], X[name].to_numpy()) for j, name in enumerate("ab")]
    assert kept == [True, False]
    assert np.isnan(table.columns[1][0])


def test_missing_values_of_an_array_are_counted() -> None:
    X = np.array([[-999, 5, 1], [-999, 1e20, 2]])
    assert read(X, -999, 1e20).taken_as_missing == {0: 2, 1: 1}
    assert read(X.astype(object), -999, 1e20).taken_as_missing == {0: 2, 1: 1}


def test_nan_is_not_counted() -> None:
    X = np.ma.array([[0, 1], [0, 2]], mask=[[1, 0], [0, 0]])
    table = read(X, 0)
    assert table.taken_as_missing == {0: 1}
    assert cells(table) == [[None, None], [1, 2]]
    assert read(pl.DataFrame({"a": [None, 5]}), 0).taken_as_missing == {}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("n_copies", [1, 40_000], ids=["small", "large"])
def test_each_column_of_a_frame_is_compared_in_its_own_type(make, n_copies: int) -> None:
    X = make(
        {
            "float64": np.tile([-999.9, 1.5], n_copies),
            "float32": np.tile(np.array([-999.9, 1.5], np.float32), n_copies),
            "int64": np.tile([-999, 2**53 + 1], n_copies),
            "int8": np.tile(np.array([-128, 1], np.int8), n_copies),
        }
    )
    table = read(X, -999.9, -999, 2**53)
    first = [column[:2] for column in cells(table)]
    assert first == [[None, 1.5], [None, 1.5], [None, BIG], [-128, 1]]
    assert table.taken_as_missing == {0: n_copies, 1: n_copies, 2: n_copies}


def test_nulls_and_missing_values_are_both_missing() -> None:
    X = pl.DataFrame({"i": [None, -999, BIG], "f": [None, -999.0, 0.5]})
    for frame in (X, X.to_arrow(), X.to_pandas(use_pyarrow_extension_array=True)):
        assert cells(read(frame, -999)) == [[None, None, BIG], [None, None, 0.5]]


def test_a_missing_value_does_not_make_a_column_wide() -> None:
    low, high = -(2**63), 2**64 - 1
    for X in ([[low], [7]], np.array([[high], [7]], np.uint64), pl.DataFrame({"a": [low, 7]})):
        table = read(X, low, high)
        assert table.columns[0].dtype == np.float64
        assert cells(table) == [[None, 7]]


def test_a_missing_fraction_does_not_prevent_exact_integers() -> None:
    assert cells(read(np.array([[BIG], [-999.5], [3]], object), -999.5)) == [[BIG, None, 3]]


def test_dates_are_not_compared_with_numbers() -> None:
    X = pl.DataFrame({"t": [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 2)]})
    assert cells(read(X, 0)) == [[0, 86400 * 10**9]]


# Features


def test_features_store_them_for_new_data() -> None:
    features = Features.learn(read(np.array([[1.0, -999.0]]), -999))
    assert features.missing_values == MissingValues.of([-999])
    for X in ([[-999, 3]], np.array([[-999, 3]], np.float32), np.array([[-999.0, 3.0]])):
        np.testing.assert_array_equal(features.match(X, "Model"), [[np.nan, 3]])
    rows = np.array([[1.0, 2.0]])
    assert features.match(rows, "Model") is rows


def test_missing_wide_integers_have_no_rank() -> None:
    features = Features.learn(read([[BIG], [BIG + 2], [-1]], -1))
    assert features[0].cuts.tolist() == [BIG + 1]
    (ranks,) = features.match([[BIG + 2], [-1], [BIG]], "Model")
    np.testing.assert_array_equal(ranks, [1, np.nan, 0])


def test_features_are_equal_when_their_missing_values_are() -> None:
    one, same, other = (Features.learn(read([[1.0]], v)) for v in (-999, -999.0, -99))
    assert one == same != other
    assert hash(one) == hash(same)
