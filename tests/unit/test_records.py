"""Rows with names: what is a row, what is a column, and what is refused."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from stagewise.data import CategoricalFeatures, Features, Table, UnknownCategories, read_table

ROWS: list[dict[str, Any]] = [
    {"age": 3, "city": "Rome", "since": dt.date(2020, 1, 1)},
    {"age": None, "city": "Oslo", "since": dt.date(2021, 1, 1)},
    {"age": 2.5, "city": None, "since": None},
]


class Person(NamedTuple):
    """A row as a named tuple."""

    age: Any
    city: Any
    since: Any


@dataclass
class Citizen:
    """A row as a dataclass instance."""

    age: Any
    city: Any
    since: Any


def read(X: Any) -> Table:
    return read_table(X, caller="Model", categorical=CategoricalFeatures(("city",)))


def features() -> Features:
    return Features.learn(read(pd.DataFrame(ROWS)))


def columns(X: Any) -> list[list[float]]:
    """Return the columns of X by the general path, without the one of few rows."""
    known = features()
    found: Any = known.columns(known.read(X, "Model"), UnknownCategories("error"))
    return [np.asarray(column, dtype=np.float64).tolist() for column in found]


KINDS = {
    "dictionaries": ROWS,
    "ordered dictionaries": [OrderedDict(row) for row in ROWS],
    "read-only mappings": [MappingProxyType(row) for row in ROWS],
    "named tuples": [Person(**row) for row in ROWS],
    "dataclass instances": [Citizen(**row) for row in ROWS],
    "columns": {name: [row[name] for row in ROWS] for name in ROWS[0]},
    "columns of arrays": {
        "since": np.array(["2020-01-01", "2021-01-01", "NaT"], "M8[D]"),
        "age": np.ma.array([3, -1, 2.5], mask=[False, True, False]),
        "city": ("Rome", "Oslo", None),
    },
    "other keys": [{"id": 7, **row} for row in ROWS],
    "other order": [dict(reversed(row.items())) for row in ROWS],
}


@pytest.mark.parametrize("X", KINDS.values(), ids=KINDS)
def test_rows_with_names_equal_a_data_frame(X: Any) -> None:
    np.testing.assert_array_equal(columns(X), columns(pd.DataFrame(ROWS)))


@pytest.mark.parametrize("make", [dict, Person, Citizen])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_row_equals_its_place_in_the_table(make: Any, place: int) -> None:
    one = [column[0] for column in columns(make(**ROWS[place]))]
    np.testing.assert_array_equal(one, [column[place] for column in columns(ROWS)])


def test_a_fit_learns_names_and_categories_from_dictionaries() -> None:
    known = Features.learn(read(ROWS))
    assert known.names == ["age", "city", "since"]
    assert known == features()


def test_text_in_dictionaries_is_found_by_the_selection_of_text() -> None:
    chosen = CategoricalFeatures("text")
    assert list(read_table(ROWS, caller="Model", categorical=chosen).factors) == [1]


@pytest.mark.parametrize("cell", [7, 2**60 + 1, Decimal("0.5"), True, np.float32(0.1), np.int8(3)])
def test_a_number_keeps_its_value(cell: Any) -> None:
    (column,) = read_table([{"a": cell}], caller="Model").columns
    assert column[0] == cell


def test_a_table_that_is_a_dataclass_instance_is_no_row() -> None:
    @dataclass
    class Grid:
        cells: Any

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.asarray(self.cells, dtype=dtype)

    table = read_table(Grid([[1.0, 2.0], [3.0, 4.0]]), caller="Model")
    assert (table.names, table.n_rows, table.n_features) == (None, 2, 2)


def test_a_sparse_matrix_that_is_a_dictionary_is_no_row() -> None:
    X = scipy.sparse.dok_array(np.eye(3))
    assert isinstance(X, dict)
    assert read_table(X, caller="Model").n_rows == 3


def test_an_array_of_no_dimension_is_a_single_value() -> None:
    assert read_table({"a": np.float64(2)}, caller="Model").n_rows == 1
    with pytest.raises(TypeError, match="ndarray"):
        read_table({"a": np.array(2.0)}, caller="Model")


FAULTS: dict[str, tuple[Any, str]] = {
    "mixture": (
        {"age": [1, 2], "city": "Rome", "since": None},
        "'age' is a column .* and 'city' is a single value .*'Rome'.* Pass single values",
    ),
    "missing key": (
        {"age": 1, "town": "Rome", "since": None},
        "at fit time:\n- town\n.*yet now missing:\n- city\n.*Pass None or NaN",
    ),
    "names in another case": (
        {"Age": 1, "citi": "Rome", "since": None},
        "missing:\n- age\n- city\nDid you mean 'age' by 'Age' and 'city' by 'citi'\\?\nPass",
    ),
    "missing key of a row": ([ROWS[0], {"age": 1, "since": None}], "In row 1 of X: .*- city\n"),
    "missing column": ({"age": [1], "since": [None]}, "now missing:\n- city"),
    "no keys": ({}, "now missing:\n- age\n- city\n- since"),
    "lengths": (
        {"age": [1, 2], "city": ["Rome"], "since": [None, None]},
        "'city' has 1 values where 'age' has 2",
    ),
    "matrix": (
        {"age": np.zeros((2, 2)), "city": ["a", "b"], "since": [None] * 2},
        r"'age' is an array of shape \(2, 2\)",
    ),
    "text as a number": ({**ROWS[0], "age": "3"}, "X column 'age' holds the text '3' at row 0"),
    "unknown category": ({**ROWS[0], "city": "Nome"}, "X column 'city' has unknown cat.*'Nome'"),
}


@pytest.mark.parametrize(("X", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_refused_with_its_name_and_the_remedy(X: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){words}"):
        features().match(X, "Model", "error")


def test_the_names_of_itertuples_are_explained() -> None:
    X = pd.DataFrame({"age": [1.0, 2.0], "capital-gain": [3.0, 4.0]})
    features = Features.learn(read_table(X, caller="Model"))
    words = (
        r"(?s)- _2\n.*missing:\n- capital-gain\nNamed tuples.*itertuples\(\) of pandas, have the "
        r"name '_2' instead of .* 'capital-gain'\. Pass X\.iloc\[\[i\]\] or .*to_dict\("
    )
    with pytest.raises(ValueError, match=words):
        features.match(next(X.itertuples()), "Model")


WRONG_TYPES: dict[str, tuple[Any, str]] = {
    "series": (
        {name: pd.Series([row]) for name, row in ROWS[0].items()},
        "'age' is a pandas.*Series. Pass lists",
    ),
    "row without names": ([ROWS[0], (1, "Rome", None)], r"X row 1 is a tuple, .*where row 0 is a"),
    "names of numbers": ({0: 1.0, 1: "Rome", 2: None}, "X has the name 0, a int"),
    "nested": ({**ROWS[0], "age": {"years": 3}}, "X column 'age' holds a dict"),
    "set": ({**ROWS[0], "age": {3}}, "X column 'age' holds a set"),
}


@pytest.mark.parametrize(("X", "words"), WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_a_wrong_type_is_refused_with_its_name(X: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        features().match(X, "Model", "error")


@pytest.mark.parametrize(
    "second", [{"age": 1, "city": "Rome"}, {**ROWS[0], "id": 3}], ids=["missing", "new"]
)
def test_rows_of_a_fit_must_have_the_same_names(second: Any) -> None:
    name = "since" if len(second) == 2 else "id"
    with pytest.raises(ValueError, match=f"has the name '{name}', which row . does not have"):
        read([ROWS[0], second])


@pytest.mark.parametrize("X", [{"a": 1.0}, [{"a": 1.0}], [Person(1, 2, 3)], Citizen(1, 2, 3)])
def test_a_model_without_names_refuses_rows_with_names(X: Any) -> None:
    known = Features.learn(read_table(np.zeros((3, 1)), caller="Model"))
    with pytest.raises(ValueError, match=r"Model was fitted without feature names\. Pass an array"):
        known.match(X, "Model")
