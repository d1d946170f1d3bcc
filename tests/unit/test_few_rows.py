"""Rows that are read cell by cell equal those of the general path, to the bit."""

from __future__ import annotations

import warnings
from dataclasses import make_dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagewise.data import CategoricalFeatures, Features, UnknownCategories, read_table
from stagewise.validation.messages import collect_warnings

TRAINED = pd.DataFrame(
    {
        "real": [0.5, 1.5, -2.0, 3.0],
        "whole": [1, 2, 3, 4],
        "text": ["a", "b", "1", "2.0"],
        "code": [1, 2, 3, 2**40],
        "share": [0.1, 0.5, float(np.float32(0.1)), 2.0**70],
        "both": pd.Series([1, 2.5, "a", "1"], dtype=object),
    }
)
CATEGORICAL = ("text", "code", "share", "both")
FEATURES = Features.learn(
    read_table(TRAINED, caller="Model", categorical=CategoricalFeatures(CATEGORICAL))
)

NUMBERS = st.one_of(
    st.sampled_from([None, True, -0.0, np.nan, np.inf, 2**53, 2**53 + 1, -(2**60), 2**70]),
    st.sampled_from([np.float32(0.1), np.float64(0.1), np.int64(3), np.int8(3), pd.NA, "1", "x"]),
    st.integers(-5, 5),
    st.floats(),
)
CATEGORIES = st.one_of(
    st.sampled_from(["a", "b", "1", "2.0", "z", "", 2**40, 2**70, 2.0**70, float(2**40)]), NUMBERS
)
PLAIN = {
    "real": st.none() | st.floats(),
    "whole": st.none() | st.integers(-(2**53), 2**53),
    "text": st.sampled_from(["a", "b", "1", "2.0", None]),
    "code": st.sampled_from([1, 2, 3, 2**40, True, 2.0, None, np.nan]),
    "share": st.sampled_from([0.1, 0.5, None]),
    "both": st.sampled_from([1, 2.5, "a", "1", 1.0, None]),
}
ODD = st.dictionaries(st.sampled_from(list(TRAINED)), CATEGORIES, max_size=1)
ROW = st.builds(lambda plain, odd: plain | odd, st.fixed_dictionaries(PLAIN), ODD)
"""Rows of plain cells, of which at most one is replaced by any cell."""
TYPES = {
    "real": ["f8", "f4", "f2", "i8", "i2", "u8", "bool", "object", "Float64", "category"],
    "whole": ["i8", "i4", "u1", "f8", "f4", "object", "Int64", "bool", "M8[ns]"],
    "text": ["object", "str", "string", "category"],
    "code": ["i8", "f8", "f4", "i4", "u2", "object", "Int64", "category", "str", "bool"],
    "share": ["f8", "f4", "object", "category", "i8", "Float64"],
    "both": ["object", "category", "i8", "f8", "str"],
}


def outcome(match: Any, rule: Any) -> Any:
    """Return the columns as bytes with the warnings, or the error."""
    with collect_warnings() as warned:  # all, also those that a column causes once
        try:
            found = match(rule)
        except (ValueError, TypeError) as error:
            return type(error), str(error)
    columns = found.T if isinstance(found, np.ndarray) else found
    # The sign of NaN has no meaning.
    bits = [np.where(np.isnan(c), np.nan, np.asarray(c, np.float64)).tobytes() for c in columns]
    return bits, warned


def general(X: Any, rule: Any) -> Any:
    """Return the columns by the path that any table can take."""
    unknown = UnknownCategories(rule)
    columns = FEATURES.columns(FEATURES.read(X, "Model"), unknown)
    unknown.refuse(FEATURES.names)
    unknown.warn(FEATURES.names)
    return columns


def assert_same(X: Any, rule: Any) -> None:
    of_few = outcome(lambda rule: FEATURES.match(X, "Model", rule), rule)
    assert of_few == outcome(lambda rule: general(X, rule), rule)


RULES = st.sampled_from(["missing", "error", "prior"])
EXTRA = st.sampled_from([{}, {"id": "7"}, {"id": None, "z": [1]}])


@settings(max_examples=150, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=3), RULES, EXTRA, st.permutations(list(TRAINED)))
def test_rows_with_names_have_the_result_of_the_general_path(
    rows: list[Any], rule: Any, extra: Any, order: list[str]
) -> None:
    named = [{**extra, **{name: row[name] for name in order}} for row in rows]
    assert_same(named, rule)
    assert_same(named[0], rule)
    assert_same(make_dataclass("Row", order)(**rows[0]), rule)


@settings(max_examples=150, deadline=None)
@given(st.data(), RULES, st.permutations(list(TRAINED)), st.booleans(), st.booleans())
def test_pandas_frames_have_the_result_of_the_general_path(
    data: Any, rule: Any, order: list[str], extra: bool, absent: bool
) -> None:
    n_rows = data.draw(st.integers(1, 3))
    columns: dict[str, Any] = {"id": ["x"] * n_rows} if extra else {}
    for name in order[1:] if absent and data.draw(st.booleans()) else order:
        cells = data.draw(st.lists(PLAIN[name], min_size=n_rows, max_size=n_rows))
        series = pd.Series(cells, dtype=object)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                columns[name] = series.astype(data.draw(st.sampled_from(TYPES[name])))
        except (ValueError, TypeError, OverflowError):
            columns[name] = series
    X = pd.DataFrame(columns)
    if data.draw(st.integers(0, 9)) == 0:
        X = X.rename(columns={order[-1]: data.draw(st.sampled_from([order[1], 3, "new"]))})
    assert_same(X, rule)


POLARS = {
    "real": [pl.Float64, pl.Float32, pl.Int64, pl.Boolean, pl.String],
    "whole": [pl.Int64, pl.UInt8, pl.Float64, pl.Int128, pl.Time, pl.Date],
    "text": [pl.String, pl.Categorical, pl.Enum(["a", "b", "1", "2.0", "z"])],
    "code": [pl.Int64, pl.Float32, pl.Float64, pl.String, pl.Boolean],
    "share": [pl.Float64, pl.Float32, pl.Int64],
    "both": [pl.String, pl.Categorical, pl.Float64],
}


@settings(max_examples=100, deadline=None)
@given(st.data(), RULES, st.permutations(list(TRAINED)))
def test_polars_frames_have_the_result_of_the_general_path(
    data: Any, rule: Any, order: list[str]
) -> None:
    n_rows = data.draw(st.integers(1, 3))
    columns = []
    for name in order:
        cells = data.draw(st.lists(PLAIN[name], min_size=n_rows, max_size=n_rows))
        kind: Any = data.draw(st.sampled_from(POLARS[name]))
        texts = kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)
        if texts:
            cells = [cell if cell is None or isinstance(cell, str) else "z" for cell in cells]
        else:
            cells = [cell if not isinstance(cell, str) else None for cell in cells]
        try:
            columns.append(pl.Series(name, cells, dtype=kind, strict=False))
        except (TypeError, pl.exceptions.PolarsError):
            columns.append(pl.Series(name, [None] * n_rows, dtype=kind))
    assert_same(pl.DataFrame(columns), rule)


ROW_OF_PLAIN = {"real": 0.5, "whole": 1, "text": "b", "code": 2, "share": 0.5, "both": "a"}
FRAME = pd.DataFrame([ROW_OF_PLAIN])
CORNERS = {
    "integer beyond 2**53": {**ROW_OF_PLAIN, "whole": 2**53 + 1},
    "category beyond 64 bits": {**ROW_OF_PLAIN, "share": 2**70},
    "text that spells a category": {**ROW_OF_PLAIN, "code": "3"},
    "number that a category spells": {**ROW_OF_PLAIN, "text": 2},
    "key that is not text": {**ROW_OF_PLAIN, 3: 1.0},
    "missing key": {name: ROW_OF_PLAIN[name] for name in CATEGORICAL},
    "ignored column": {**ROW_OF_PLAIN, "tags": ["x", "y"]},
    "columns": {name: [value] for name, value in ROW_OF_PLAIN.items()},
    "rows of several kinds": [ROW_OF_PLAIN, (1, 2)],
    "duplicate label": pd.concat([FRAME, FRAME[["text"]]], axis=1),
    "duplicate label of an ignored column": pd.DataFrame(
        [[*ROW_OF_PLAIN.values(), 1, 2]], columns=[*ROW_OF_PLAIN, "id", "id"]
    ),
    "labels of two types": FRAME.assign(id=1).rename(columns={"id": 7}),
    "category type of a number": FRAME.astype({"real": "category"}),
    "text type of a number": FRAME.astype({"real": "str"}),
    "categories of float32": FRAME.assign(share=np.float32([0.1])),
    "polars categories of float32": pl.DataFrame(ROW_OF_PLAIN).with_columns(
        share=pl.lit(0.1, pl.Float32)
    ),
    "polars integers of 128 bits": pl.DataFrame(ROW_OF_PLAIN).with_columns(
        whole=pl.lit(1, pl.Int128)
    ),
    "no rows": FRAME[:0],
    "no rows of polars": pl.DataFrame(ROW_OF_PLAIN)[:0],
}


@pytest.mark.parametrize("X", CORNERS.values(), ids=CORNERS)
def test_corner_cases_have_the_result_of_the_general_path(X: Any) -> None:
    for rule in ("missing", "error", "prior"):
        assert_same(X, rule)


@pytest.mark.parametrize("make", [dict, lambda row: pd.DataFrame([row]), pl.DataFrame])
def test_plain_rows_are_read_cell_by_cell(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Features, "read", None)  # the general path
    found: Any = FEATURES.match(make(ROW_OF_PLAIN), "Model")
    np.testing.assert_array_equal(found, [[0.5, 1, 3, 1, 2, 3]])


@pytest.mark.parametrize("n_rows", [32, 33])
def test_few_rows_and_more_have_the_same_columns(n_rows: int) -> None:
    assert_same(pd.concat([TRAINED] * 9)[:n_rows], "error")
    assert_same(TRAINED.to_dict("records") * 8 + [TRAINED.to_dict("records")[0]], "error")


def test_other_missing_values_are_found_in_single_rows() -> None:
    known = Features(FEATURES, type(FEATURES.missing_values).of([1]))
    row = {"real": 1, "whole": 1, "text": "b", "code": 1, "share": 0.5, "both": 1}
    found: Any = known.match(row, "Model")
    assert [bool(np.isnan(column[0])) for column in found] == [True, True, False, True, False, True]
