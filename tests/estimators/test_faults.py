"""What users meet in features and at predict: odd values are used exactly, wrong ones are named.

Each table of cases is a specification: what is passed, and what must come of it.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from estimators.tables import hashed, make_table, quick
from stagewise import GradientBoostingRegressor

ROWS = 300


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS, missing=False)


@pytest.fixture(scope="module")
def model(table):
    return fitted(table.X, table)


def fitted(X, table, **params):
    """Fit X, which is the table's own in another form."""
    return quick(GradientBoostingRegressor, **params).fit(X, table.number)


def sharp(**params):
    """A regressor that can tell any two values apart."""
    return GradientBoostingRegressor(
        **{"n_estimators": 40, "learning_rate": 0.5, "min_samples_leaf": 1, **params}
    )


# ---- values that are odd but meant --------------------------------------------------------------

NEIGHBOURS = {
    "values of 1e-36": np.array([1e-36, 2e-36]),
    "values of 1e-300": np.array([1e-300, 2e-300]),
    "subnormal values": np.array([1e-310, 2e-310]),
    "the smallest subnormal and zero": np.array([0.0, 5e-324]),
    "both signs of 1e-40": np.array([-1e-40, 1e-40]),
    "values of 1e300": np.array([1e300, 2e300]),
    "1e308 and infinity": np.array([1e308, np.inf]),
    "the largest double and infinity": np.array([np.finfo(float).max, np.inf]),
    "minus infinity and -1e308": np.array([-np.inf, -1e308]),
    "the two infinities": np.array([-np.inf, np.inf]),
    "a billionth apart": np.array([1.0, 1.0 + 1e-9]),
    "neighbouring doubles": np.array([1.0, np.nextafter(1.0, 2.0)]),
    "neighbours beyond the range of float32": np.array([1e39, np.nextafter(1e39, 1e40)]),
    "seconds since 1970": np.array([1.7e9, 1.7e9 + 1]),
    "integers around 2**24": np.array([2**24, 2**24 + 1]),
    "integers around 2**53": np.array([2**53, 2**53 + 1]),
    "the largest int64": np.array([2**63 - 2, 2**63 - 1]),
    "the smallest int64": np.array([-(2**63), -(2**63) + 1]),
    "the largest uint64": np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64),
    "nanoseconds since 1970": np.array([1_700_000_000_000_000_000, 1_700_000_000_000_000_001]),
    "dates a nanosecond apart": np.array([1, 2]).astype("M8[ns]") + np.timedelta64(20000, "D"),
    "dates a day apart": np.array(["2024-02-28", "2024-02-29"], dtype="M8[D]"),
    "durations": np.array([1, 2], dtype="m8[us]"),
    "booleans": np.array([False, True]),
    "halves": np.array([1.0, 1.001], dtype=np.float16),
}


@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_two_different_values_are_told_apart(pair):
    side = hashed(200, 1)[:, 0] % 2
    X = pair[side][:, np.newaxis]
    model = sharp().fit(X, side)
    np.testing.assert_allclose(model.predict(pair[:, np.newaxis]), [0.0, 1.0], atol=1e-3)


def test_all_of_many_neighbouring_wide_integers_are_told_apart():
    ids = np.arange(2**53 - 6, 2**53 + 7)
    X = np.repeat(ids, 10)[:, np.newaxis]
    model = sharp().fit(X, X[:, 0] % 2)
    np.testing.assert_allclose(model.predict(ids[:, np.newaxis]), ids % 2, atol=1e-3)


def test_wide_integers_are_the_same_in_every_frame():
    ids = [None if i % 7 == 0 else 2**60 + i for i in range(200)]
    y = np.arange(200) % 5
    frames = [
        pd.DataFrame({"id": pd.array(ids, dtype="Int64")}),
        pl.DataFrame({"id": ids}, schema={"id": pl.Int64}),
        pl.DataFrame({"id": ids}, schema={"id": pl.UInt64}),
        pd.DataFrame({"id": np.array(ids, dtype=object)}),
    ]
    models = [sharp().fit(frame, y) for frame in frames]
    for one, frame in zip(models, frames, strict=True):
        np.testing.assert_array_equal(one.predict(frames[0]), models[0].predict(frame))


def test_negative_zero_is_zero(table):
    signed = np.where(table.X[:, :1] > 2000, 0.0, -0.0)
    with pytest.warns(UserWarning, match="Every feature is constant"):
        model = sharp().fit(signed, table.number)
    assert model.fit_report_["constant_features"] == ["column 0"]


def test_infinity_at_predict_is_beyond_all_numbers(model):
    top, bottom = np.full((3, 5), 1e308), np.full((3, 5), -1e308)
    np.testing.assert_array_equal(model.predict(np.full((3, 5), np.inf)), model.predict(top))
    np.testing.assert_array_equal(model.predict(np.full((3, 5), -np.inf)), model.predict(bottom))


def test_missing_values_go_where_they_fit_best():
    X = np.array([0.0, 1.0, np.nan] * 60)[:, np.newaxis]
    for values in ([0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 5.0]):
        model = sharp().fit(X, np.array(values * 60))
        np.testing.assert_allclose(model.predict(X[:3]), values, atol=1e-3)


def test_a_missing_value_never_seen_follows_the_heavier_child(table):
    model = quick(GradientBoostingRegressor, n_estimators=1).fit(table.X, table.number)
    tree = model.model_.ensemble.trees[0]
    inner = np.flatnonzero(tree.feature >= 0)
    heavier_left = tree.cover[tree.left[inner]] >= tree.cover[tree.right[inner]]
    np.testing.assert_array_equal(tree.missing_left[inner].astype(bool), heavier_left)
    reached = model.apply(np.full((1, 5), np.nan))[0, 0]
    node = 0
    while tree.feature[node] >= 0:
        node = tree.left[node] if tree.missing_left[node] else tree.right[node]
    assert reached == node


@pytest.mark.parametrize("gone", [np.nan, None, pd.NA, pd.NaT], ids=repr)
def test_whatever_stands_for_missing_is_missing(gone, table):
    X = table.X.astype(object)
    X[::5, 1] = gone
    plain = np.where(np.arange(ROWS)[:, np.newaxis] % 5 == 0, [0, np.nan, 0, 0, 0], 0) + table.X
    assert fitted(X, table).fingerprint() == fitted(plain, table).fingerprint()


def test_a_column_that_is_all_missing_is_left_alone(table):
    X = np.column_stack([table.X, np.full(ROWS, np.nan)])
    model = fitted(X, table, columns_per_node=1.0)  # a column more is another draw
    plain = fitted(table.X, table, columns_per_node=1.0)
    np.testing.assert_array_equal(model.predict(X), plain.predict(table.X))
    assert model.fit_report_["features_known_only_as_missing"] == ["column 5"]


@pytest.mark.parametrize("value", [np.nan, 3.0, np.inf], ids=["missing", "three", "infinite"])
def test_a_table_that_says_nothing_gives_the_mean_and_a_warning(value, table):
    X = np.full((ROWS, 3), value)
    with pytest.warns(UserWarning, match=r"Every feature is constant or missing in every row"):
        model = sharp().fit(X, table.number)
    # Gradients keep 31 bits, so the mean of the residuals is zero to about a millionth.
    np.testing.assert_allclose(model.predict(X[:2]), table.number.mean(), rtol=1e-6)


def test_one_value_or_missing_is_something_to_learn_from(table):
    X = np.where(table.number > np.median(table.number), 1.0, np.nan)[:, np.newaxis]
    assert sharp().fit(X, table.number).score(X, table.number) > 0.5


# ---- cells that are no numbers ------------------------------------------------------------------


def with_cell(table, cell, row=7, column=2):
    X = table.X.astype(object)
    X[row, column] = cell
    return X


CELLS = {
    "text": ("blue", ValueError, r"'blue' at row 7.*categorical_features"),
    "a number as text": ("1.5", ValueError, r"'1\.5' at row 7.*astype\(float\)"),
    "a complex number": (1 + 2j, ValueError, r"holds \(1\+2j\) at row 7.*imaginary part"),
    "a list": ([1, 2], TypeError, r"a list, \[1, 2\] at row 7.*numeric type"),
    "a dictionary": ({"a": 1}, TypeError, r"a dict.*at row 7"),
    "bytes": (b"1", TypeError, r"a bytes, b'1' at row 7"),
    "an integer no type holds": (10**30, ValueError, r"10{30} at row 7.*float64 if rounding"),
}


@pytest.mark.parametrize(("cell", "error", "words"), CELLS.values(), ids=CELLS)
def test_a_cell_that_is_no_number_is_named(cell, error, words, table, model):
    X = with_cell(table, cell)
    with pytest.raises(error, match=f"X column 2.*{words}"):
        sharp().fit(X, table.number)
    with pytest.raises(error, match=f"X column 2.*{words}"):
        model.predict(X)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_text_column_of_a_frame_is_named(library, table):
    frame = library({"size": table.number, "colour": ["red", "blue", "red"] * 100})
    with pytest.raises(ValueError, match=r"column 'colour'.*'red' at row 0.*categorical_features"):
        sharp().fit(frame, table.number)


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([[1.0, 2.0]] * ROWS),
        pl.Series([[1.0, 2.0]] * ROWS, dtype=pl.Array(pl.Float64, 2)),
        pl.Series([{"a": 1.0}] * ROWS),
    ],
    ids=["lists", "arrays", "records"],
)
def test_a_column_of_nested_cells_is_named(cells, table):
    with pytest.raises(TypeError, match=r"column 'c' holds .* at row 0.*a number or missing"):
        sharp().fit(pl.DataFrame({"a": table.number, "c": cells}), table.number)


WHOLE_TABLES = {
    "complex numbers": (lambda X: X + 1j, ValueError, "Complex data not supported"),
    "text": (lambda X: X.astype(str), ValueError, "text is not read as a number"),
    "records": (lambda X: np.zeros((ROWS, 5), dtype=[("a", float)]), TypeError, "a void"),
    "three dimensions": (lambda X: X[np.newaxis], ValueError, "dim 3"),
    "one dimension": (lambda X: X[:, 0], ValueError, "Expected 2D array, got 1D array"),
    "a number": (lambda X: 3.0, ValueError, "Expected 2D array, got scalar"),
    "nothing": (lambda X: None, ValueError, "Expected 2D array"),
    "rows of different lengths": (
        lambda X: [[1.0, 2.0], [3.0]],
        ValueError,
        "row 1 has 1 cells where row 0 has 2",
    ),
    "a sparse matrix of complex numbers": (
        lambda X: scipy.sparse.csr_array(np.nan_to_num(X) * 1j),
        ValueError,
        "Complex data not supported",
    ),
    "a lazy frame": (lambda X: pl.DataFrame(X).lazy(), TypeError, r"lazy frame.*collect\(\)"),
    "no columns": (lambda X: X[:, :0], ValueError, r"0 feature\(s\) \(shape=\(300, 0\)\)"),
}


@pytest.mark.parametrize(("make", "error", "words"), WHOLE_TABLES.values(), ids=WHOLE_TABLES)
def test_what_is_no_table_of_numbers_is_refused(make, error, words, table, model):
    with pytest.raises(error, match=words):
        sharp().fit(make(table.X), table.number)
    with pytest.raises(error, match=words):
        model.predict(make(table.X))


def test_no_rows_are_refused_at_fit(table):
    with pytest.raises(ValueError, match=re.escape("0 sample(s) (shape=(0, 5))")):
        sharp().fit(table.X[:0], table.number[:0])


def test_extended_precision_is_rounded_with_a_warning_only_if_it_must(table):
    X = table.X.astype(np.longdouble)
    plain = fitted(table.X, table)
    assert plain.fingerprint() == fitted(X, table).fingerprint()
    if np.finfo(np.longdouble).nmant > 52:
        X[3, 1] += np.longdouble(2) ** -60
        with pytest.warns(UserWarning, match=r"extended-precision"):
            fitted(X, table)
