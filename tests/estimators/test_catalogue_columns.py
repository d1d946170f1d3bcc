"""The catalogue of faults, 1 to 27: values, types and names of columns, for every estimator.

Trees compare values, so they accept every value as it is. Linear models multiply them: where their
result differs, the case has its own expected result.
"""

from __future__ import annotations

import decimal
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from estimators.every import (
    EVERY,
    classifies,
    has,
    is_bagging,
    is_linear,
    labelled,
    passes_on,
    predictions,
    side_target,
    small,
)
from estimators.tables import hashed, make_table
from stagewise import AdaBoostRegressor

ROWS = 60
SIDE = hashed(ROWS, 1, 5)[:, 0] % 2
NO_CELL = r"X column 0 is (infinite|missing).*a linear model cannot use it. Impute"
TOO_WIDE = r"X column 0 holds integers beyond 2\*\*53, dates or durations.*Convert the column"
TOO_FAR = r"X column 0 ranges from -1.5e\+308 to 1.5e\+308.*Divide the column by a constant"
TOO_CLOSE = r"X column 0 has values so close .* coefficient is beyond .*Multiply the column"
APART, CONSTANT = "separated", "a constant, with a warning"


@pytest.fixture(scope="module")
def table() -> Any:
    return make_table(ROWS, missing=False)


def quiet(model: Any, X: Any, y: Any, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y, **given)


# The values of a column, and the expected result of a linear model.
PAIRS: dict[str, tuple[np.ndarray, str]] = {
    "1 infinity and the largest double": (np.array([np.finfo(float).max, np.inf]), NO_CELL),
    "1 minus infinity and -1e308": (np.array([-np.inf, -1e308]), NO_CELL),
    "1 the two infinities": (np.array([-np.inf, np.inf]), NO_CELL),
    "3 values beyond the range of float32": (np.array([1e300, 2e300]), APART),
    "3 values around the largest double": (np.array([-1.5e308, 1.5e308]), TOO_FAR),
    "3 zero and the largest double": (np.array([0.0, np.finfo(float).max]), APART),
    "3 minus the largest double and zero": (np.array([-np.finfo(float).max, 0.0]), APART),
    "3 1e308 and 1.7e308": (np.array([1e308, 1.7e308]), APART),
    "4 values of 1e-36": (np.array([1e-36, 2e-36]), APART),
    "5 values of 1e-300": (np.array([1e-300, 2e-300]), APART),
    "5 subnormal values": (np.array([1e-310, 2e-310]), TOO_CLOSE),
    "5 zero and the smallest subnormal": (np.array([0.0, 5e-324]), TOO_CLOSE),
    "6 both signs of 1e-40": (np.array([-1e-40, 1e-40]), APART),
    "7 doubles a billionth apart": (np.array([1.0, 1.0 + 1e-9]), APART),
    "7 neighbouring doubles": (np.array([1.0, np.nextafter(1.0, 2.0)]), CONSTANT),
    "7 neighbours beyond the range of float32": (
        np.array([1e39, np.nextafter(1e39, 1e40)]),
        CONSTANT,
    ),
    "7 seconds since 1970": (np.array([1.7e9, 1.7e9 + 1]), APART),
    "8 integers around 2**24": (np.array([2**24, 2**24 + 1]), APART),
    "9 integers around 2**53": (np.array([2**53, 2**53 + 1]), TOO_WIDE),
    "9 the smallest int64": (np.array([-(2**63), -(2**63) + 1]), TOO_WIDE),
    "9 the largest int64": (np.array([2**63 - 2, 2**63 - 1]), TOO_WIDE),
    "9 the largest uint64": (np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64), TOO_WIDE),
    "17 booleans": (np.array([False, True]), APART),
    "18 float16": (np.array([1.0, 1.001], dtype=np.float16), APART),
    "20 dates a nanosecond apart": (
        np.array([1, 2]).astype("M8[ns]") + np.timedelta64(20000, "D"),
        TOO_WIDE,
    ),
    "20 days": (np.array(["2024-02-28", "2024-02-29"], dtype="M8[D]"), TOO_WIDE),
    "20 durations": (np.array([2**54, 2**54 + 1]).astype("m8[ns]"), TOO_WIDE),
    "23 decimals": (np.array([decimal.Decimal("0.1"), decimal.Decimal("0.2")]), APART),
}


@EVERY
@pytest.mark.parametrize(("pair", "linear"), PAIRS.values(), ids=PAIRS)
def test_two_different_values_are_separated(kind: type, pair: np.ndarray, linear: str) -> None:
    X, y = pair[SIDE][:, np.newaxis], side_target(kind, SIDE)
    if is_linear(kind) and linear not in (APART, CONSTANT):
        with pytest.raises(ValueError, match=linear):
            small(kind).fit(X, y)
        return
    if is_linear(kind) and linear == CONSTANT:
        with pytest.warns(UserWarning, match="constant"):
            model = small(kind).fit(X, y)
        np.testing.assert_allclose(model.predict(pair[:, np.newaxis]), y.mean(), rtol=1e-6)
        return
    model = small(kind).fit(X, y)
    np.testing.assert_allclose(model.predict(pair[:, np.newaxis]), [0, 1], atol=1e-3)


@EVERY
def test_2_infinity_at_predict_is_above_all_numbers(kind: type, table: Any) -> None:
    model = small(kind).fit(table.X, labelled(kind, table))
    for infinite, largest in ((np.inf, 1e308), (-np.inf, -1e308)):
        X = np.full((2, 5), infinite)
        if is_linear(kind):
            with pytest.raises(ValueError, match=NO_CELL):
                model.predict(X)
        else:
            np.testing.assert_array_equal(
                predictions(model, X), predictions(model, np.full((2, 5), largest))
            )


@EVERY
def test_10_a_column_that_is_all_missing_changes_nothing(kind: type, table: Any) -> None:
    X = np.column_stack([np.full(ROWS, np.nan), table.X])
    y = labelled(kind, table)
    if is_linear(kind):
        with pytest.raises(ValueError, match=NO_CELL):
            small(kind).fit(X, y)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, plain = small(kind).fit(X, y), small(kind).fit(table.X, y)
    if not ("Extra" in kind.__name__ or has(kind, "quality")):
        # Random thresholds and features of nodes depend on the index of the column.
        np.testing.assert_array_equal(predictions(model, X), predictions(plain, table.X))
    report = model.fit_report_
    if is_bagging(kind):
        report = model.estimators_[0].fit_report_
    assert report["constant_or_missing_features"] == ["column 0"]


@EVERY
@pytest.mark.parametrize(
    "value", [np.nan, 3.0, -np.inf], ids=["11 all missing", "12 constant", "12 infinite"]
)
def test_a_table_without_information_gives_a_constant_and_a_warning(
    kind: type, value: float, table: Any
) -> None:
    X, y = np.full((ROWS, 2), value), labelled(kind, table)
    if is_linear(kind) and not np.isfinite(value):
        with pytest.raises(ValueError, match=NO_CELL):
            small(kind).fit(X, y)
        return
    with pytest.warns(UserWarning, match=r"[Ee]very feature is constant|is constant") as caught:
        model = small(kind).fit(X, y)
    assert len(caught) == 1
    predicted = predictions(model, X)
    np.testing.assert_array_equal(predicted, predicted[:1].repeat(ROWS, axis=0))
    averages = has(kind, "bootstrap") or is_bagging(kind) or kind is AdaBoostRegressor
    if not classifies(kind) and not averages:
        np.testing.assert_allclose(predicted, y.mean(), rtol=1e-6)


@EVERY
def test_13_a_missing_value_not_in_training_follows_the_larger_child(kind: type) -> None:
    heavy = np.arange(ROWS) < ROWS // 3
    X, y = heavy.astype(float)[:, np.newaxis], side_target(kind, heavy)
    model = small(kind).fit(X, y)
    if is_linear(kind):
        with pytest.raises(ValueError, match=NO_CELL):
            model.predict([[np.nan]])
        return
    np.testing.assert_array_equal(predictions(model, [[np.nan]]), predictions(model, [[0.0]]))


@EVERY
@pytest.mark.parametrize("gone", [None, pd.NA, pd.NaT, np.float32("nan")], ids=repr)
def test_14_all_missing_value_markers_are_missing(kind: type, gone: Any, table: Any) -> None:
    objects, plain = table.X.astype(object), table.X.copy()
    objects[::4, 0], plain[::4, 0] = gone, np.nan
    y = labelled(kind, table)
    if is_linear(kind):
        with pytest.raises(ValueError, match=NO_CELL):
            small(kind).fit(objects, y)
        return
    model, other = small(kind).fit(objects, y), small(kind).fit(plain, y)
    np.testing.assert_array_equal(predictions(model, objects), predictions(other, plain))


@EVERY
def test_15_custom_missing_values_are_missing(kind: type, table: Any) -> None:
    if not passes_on(kind, "missing_values"):
        # Linear models refuse missing values in any form.
        assert is_linear(kind)
        with pytest.raises(TypeError, match="missing_values"):
            small(kind, missing_values=[-999])
        return
    plain = table.X.copy()
    plain[::4, 0] = np.nan
    marked = np.where(np.isnan(plain), -999.0, plain)
    y = labelled(kind, table)
    model, other = small(kind, missing_values=[-999]).fit(marked, y), small(kind).fit(plain, y)
    np.testing.assert_array_equal(predictions(model, marked), predictions(other, plain))


@EVERY
def test_16_negative_zero_is_zero(kind: type, table: Any) -> None:
    X = table.X.copy()
    X[::3, 0] = 0.0
    signed = X.copy()
    signed[::6, 0] = -0.0
    y = labelled(kind, table)
    model, other = small(kind).fit(signed, y), small(kind).fit(X, y)
    np.testing.assert_array_equal(predictions(model, X), predictions(other, signed))


@EVERY
def test_18_extended_precision_warns_only_if_rounded(kind: type, table: Any) -> None:
    X, y = table.X.astype(np.longdouble), labelled(kind, table)
    model = small(kind).fit(X, y)
    np.testing.assert_array_equal(predictions(model, X), predictions(model, table.X))
    if np.finfo(np.longdouble).nmant > 52:
        X[:, 1] += np.longdouble(2) ** -60
        with pytest.warns(UserWarning, match="extended-precision"):
            small(kind).fit(X, y)


CELLS: dict[str, tuple[Any, str]] = {
    "19 a complex number": (1 + 2j, r"holds \(1\+2j\) at row 7.*imaginary part"),
    "21 text": ("blue", r"'blue' at row 7.*categorical_features"),
    "22 a number as text": ("1.5", r"'1\.5' at row 7.*astype\(float\)"),
    "23 a list": ([1, 2], r"a list, \[1, 2\] at row 7.*numeric type"),
    "23 a dictionary": ({"a": 1}, r"a dict.*at row 7"),
    "23 bytes": (b"1", r"a bytes, b'1' at row 7"),
    "23 an integer no type holds": (10**30, r"10{30} at row 7.*float64 if rounding"),
}


@EVERY
@pytest.mark.parametrize(("cell", "words"), CELLS.values(), ids=CELLS)
def test_error_names_a_value_that_is_not_a_number(
    kind: type, cell: Any, words: str, table: Any
) -> None:
    X, y = table.X.astype(object), labelled(kind, table)
    X[7, 2] = cell
    with pytest.raises((TypeError, ValueError), match=f"X column 2.*{words}"):
        small(kind).fit(X, y)
    model = small(kind).fit(table.X, y)
    with pytest.raises((TypeError, ValueError), match=f"X column 2.*{words}"):
        model.predict(X)


@EVERY
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_21_error_names_a_text_column_of_a_frame(kind: type, library: Any, table: Any) -> None:
    frame = library({"size": table.number, "colour": ["red", "blue", "red"] * (ROWS // 3)})
    remedy = r"(X\.astype\(\{'colour': 'category'|set categorical_features=\['colour')"
    with pytest.raises(ValueError, match=rf"column 'colour'.*'red' at row 0.*{remedy}"):
        small(kind).fit(frame, labelled(kind, table))


@EVERY
def test_19_complex_tables_are_refused(kind: type, table: Any) -> None:
    y = labelled(kind, table)
    model = small(kind).fit(table.X, y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        small(kind).fit(table.X + 1j, y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.predict(table.X + 1j)


@EVERY
def test_24_categories_may_be_of_several_types_and_missing(kind: type) -> None:
    categories = np.array([1, "1", 2.5, "b"], dtype=object)
    X = categories[np.arange(ROWS) % 4][:, np.newaxis]
    y = side_target(kind, np.arange(ROWS) % 2)
    searches = {"quality": 2} if has(kind, "quality") else {}  # leaves of one row
    model = small(kind, categorical_features=[0], **searches).fit(X, y)
    close = 0.1 if searches else 1e-3
    np.testing.assert_allclose(model.predict(categories[:, np.newaxis]), [0, 1, 0, 1], atol=close)
    gone = np.array([[None]], dtype=object)
    if is_linear(kind):
        with pytest.raises(ValueError, match=NO_CELL):
            model.predict(gone)
    else:
        assert np.isfinite(predictions(model, gone)).all()


@EVERY
def test_25_duplicate_column_names_are_refused(kind: type, table: Any) -> None:
    frame = pd.DataFrame(table.X, columns=list("abcda"))
    with pytest.raises(ValueError, match=r"duplicate column names: 'a'"):
        small(kind).fit(frame, labelled(kind, table))


@EVERY
def test_26_columns_may_have_any_names(kind: type, table: Any) -> None:
    names = ["a[b]", '<"x">', "{}:,", "日本語 😀", ""]
    X, y = pd.DataFrame(table.X, columns=names), labelled(kind, table)
    model = small(kind).fit(X, y)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(predictions(model, X[names[::-1]]), predictions(model, X))


@EVERY
def test_27_names_that_are_not_text_are_accepted_and_mixed_ones_refused(
    kind: type, table: Any
) -> None:
    y = labelled(kind, table)
    pairs = pd.DataFrame(table.X, columns=pd.MultiIndex.from_product([["x"], range(5)]))
    model = small(kind).fit(pairs, y)
    assert model.feature_names_in_[0] == "('x', 0)"
    np.testing.assert_array_equal(
        predictions(model, pairs.iloc[:, ::-1]), predictions(model, pairs)
    )
    counted = small(kind).fit(pd.DataFrame(table.X), y)
    assert not hasattr(counted, "feature_names_in_")
    np.testing.assert_array_equal(predictions(counted, table.X), predictions(model, pairs))
    with pytest.raises(TypeError, match=r"types int, str.*astype\(str\)"):
        small(kind).fit(pd.DataFrame(table.X, columns=["a", 1, 2, 3, 4]), y)
