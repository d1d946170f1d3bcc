"""Categorical columns are selected correctly, and new data are matched to known categories."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stagewise.data import CategoricalFeatures, Features, UnknownCategories, read_table
from stagewise.data.categories.categories import Categories
from stagewise.data.reading.table import Table
from stagewise.errors import UnknownCategoryWarning


def read(X: Any, selection: Any = "from_dtype") -> Table:
    return read_table(X, caller="Model", categorical=CategoricalFeatures(selection))


def learned(X: Any, selection: Any = "from_dtype", **options: Any) -> Features:
    return Features.learn(read(X, selection), **options)


def categories(features: Features) -> list[tuple[Any, ...] | None]:
    return [None if f.categories is None else f.categories.values for f in features]


def matched(features: Features, X: Any, rule: Any = "missing") -> list[list[float | None]]:
    """Return columns as lists of numbers, None for NaN."""
    columns = features.match(X, "Model", rule)
    columns = columns.T if isinstance(columns, np.ndarray) else columns  # few rows are a matrix
    return [[None if math.isnan(v) else v for v in column.tolist()] for column in columns]


# Selected columns

COLOURS = ["red", None, "blue"]
FRAMES = {
    "pandas category": pd.DataFrame({"c": pd.Categorical(COLOURS), "x": [1.0, 2.0, 3.0]}),
    "pandas ordered": pd.DataFrame(
        {"c": pd.Categorical(COLOURS, ["red", "green", "blue"], ordered=True), "x": [1, 2, 3]}
    ),
    "pandas arrow dictionary": pd.DataFrame(
        {
            "c": pd.Series(
                pa.array(COLOURS).dictionary_encode(),
                dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())),
            ),
            "x": [1, 2, 3],
        }
    ),
    "polars Categorical": pl.DataFrame(
        {"c": pl.Series(COLOURS, dtype=pl.Categorical), "x": [1, 2, 3]}
    ),
    "polars Enum": pl.DataFrame(
        {"c": pl.Series(COLOURS, dtype=pl.Enum(["red", "green", "blue"])), "x": [1, 2, 3]}
    ),
    "pyarrow dictionary": pa.table({"c": pa.array(COLOURS).dictionary_encode(), "x": [1, 2, 3]}),
    "pyarrow dictionary in pieces": pa.concat_tables(
        [
            pa.table({"c": pa.array([cell], pa.string()).dictionary_encode(), "x": [x]})
            for cell, x in zip(COLOURS, [1, 2, 3], strict=True)
        ]
    ),
}
TEXTS = {
    "pandas str": pd.DataFrame({"c": pd.Series(COLOURS, dtype="str"), "x": [1, 2, 3]}),
    "pandas string": pd.DataFrame({"c": pd.Series(COLOURS, dtype="string"), "x": [1, 2, 3]}),
    "pandas object": pd.DataFrame({"c": pd.Series(COLOURS, dtype=object), "x": [1, 2, 3]}),
    "pandas arrow text": pd.DataFrame(
        {"c": pd.Series(COLOURS, dtype=pd.ArrowDtype(pa.string())), "x": [1, 2, 3]}
    ),
    "polars": pl.DataFrame({"c": COLOURS, "x": [1, 2, 3]}),
    "pyarrow": pa.table({"c": COLOURS, "x": [1, 2, 3]}),
    "pyarrow large": pa.table({"c": pa.array(COLOURS, pa.large_string()), "x": [1, 2, 3]}),
}


@pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("selection", ["from_dtype", "text", ("c",), (0,), (True, False)], ids=repr)
def test_a_category_type_is_categorical(X: Any, selection: Any) -> None:
    features = learned(X, selection)
    assert categories(features) == [("blue", "red"), None]
    assert features.n_categories_per_feature() == [2, 0]
    assert matched(features, X) == [[1, None, 0], [1, 2, 3]]


@pytest.mark.parametrize("X", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("selection", ["text", ("c",), (0,), (True, False)], ids=repr)
def test_text_is_categorical_if_selected(X: Any, selection: Any) -> None:
    features = learned(X, selection)
    assert categories(features) == [("blue", "red"), None]
    assert matched(features, X) == [[1, None, 0], [1, 2, 3]]


@pytest.mark.parametrize("X", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("selection", ["from_dtype", None, (), ("x",), (False, True)], ids=repr)
def test_text_that_is_not_selected_is_an_error_with_a_remedy(X: Any, selection: Any) -> None:
    remedy = (
        r"Convert it first: X = X\.astype\(\{'c': 'category'\}\)\.$"
        if isinstance(X, pd.DataFrame) and selection in ("from_dtype", ())
        else r"Convert it first: set categorical_features=\[('x', )?'c'\]\.$"
    )
    with pytest.raises(ValueError, match=rf"X column 'c' holds the text 'red' at row 0.*{remedy}"):
        read(X, selection)


@pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)
def test_a_category_type_is_an_error_if_no_column_is_categorical(X: Any) -> None:
    words = r"X column 'c' is categorical .*'red' at row 0.*categorical_features to 'from_dtype'"
    with pytest.raises(ValueError, match=words):
        read(X, None)


@pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("selection", [("x",), (1,), (False, True)], ids=repr)
def test_listed_columns_are_categorical_besides_those_of_a_category_type(
    X: Any, selection: Any
) -> None:
    assert categories(learned(X, selection)) == [("blue", "red"), (1, 2, 3)]


@pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("selection", [(), (False, False)], ids=repr)
def test_an_empty_list_leaves_columns_of_a_category_type(X: Any, selection: Any) -> None:
    assert categories(learned(X, selection)) == [("blue", "red"), None]


def test_the_remedy_for_text_in_an_array_is_the_parameter_with_positions() -> None:
    for X in (np.array([["red", "1.5"]]), np.array([["red", "1.5"]], dtype=object)):
        with pytest.raises(ValueError, match=r"2 columns of text \(numbers in 1 .* text in 0") as e:
            read(X, "from_dtype")
        assert "the columns [1] by astype(float) (codes: set categorical_features=[1]);" in str(
            e.value
        )
        assert str(e.value).endswith("; set categorical_features=[0].")
    with pytest.raises(ValueError, match=r"set categorical_features=\[1, 0\]\.$"):
        read(np.array([["red", "blue"]]), (1,))
    with pytest.raises(ValueError, match=r"X = numpy\.asarray\(X\)\.astype\(float\) \(codes"):
        read([["1.5", "2"]], "from_dtype")
    with pytest.raises(ValueError, match=r"parse_dates\(pandas\.DataFrame\(X\), \['c'\]\)\.$"):
        read([{"c": "2024-03-01"}], "from_dtype")


def test_an_object_column_with_a_text_is_text() -> None:
    X = pd.DataFrame(
        {
            "numbers": pd.Series([1, None, 2.5], dtype=object),
            "late": pd.Series([None] * 2 + ["a"], dtype=object),
            "nothing": pd.Series([None] * 3, dtype=object),
        }
    )
    assert categories(learned(X, "text")) == [None, ("a",), None]
    X = pd.DataFrame({"c": pd.Series([1] * 150 + ["a"], dtype=object)})
    assert categories(learned(X, "text")) == [(1, "a")]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([3, 1, 3], (1, 3)),
        ([True, False, None], (0, 1)),
        ([0.5, 1.0, math.nan], (0.5, 1)),
        ([2**63, 5, 5], (5, 2**63)),
        (["a", 1, "1"], (1, "1", "a")),
        ([-1, -(2**40), 7], (-(2**40), -1, 7)),
    ],
)
def test_any_type_of_column_can_be_selected(column: list[Any], expected: tuple[Any, ...]) -> None:
    X = np.empty((3, 2), dtype=object)
    X[:, 0], X[:, 1] = [1.5, 2.5, 3.5], column
    for table, selection in (
        (X, (1,)),
        (X, (False, True)),
        (pd.DataFrame(X, columns=["a", "b"]), ("b",)),
    ):
        features = learned(table, selection)
        assert categories(features) == [None, expected]
        numbers = [[v for v in row if v is not None] for row in matched(features, table)]
        assert numbers[0] == [1.5, 2.5, 3.5]
        assert sorted(set(numbers[1])) == list(range(len(expected)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool, "U3", object])
def test_columns_of_an_array_can_be_selected(dtype: Any) -> None:
    X = np.array([[1, 0], [0, 1], [1, 1]]).astype(dtype)
    features = learned(X, (0, 1) if dtype == "U3" else (1,))
    expected = ("0", "1") if dtype == "U3" else (0, 1)
    assert categories(features)[1] == expected
    assert matched(features, X)[1] == [0, 1, 1]


def test_masked_values_are_missing_categories() -> None:
    X = np.ma.array([[1, 5], [2, 6]], mask=[[0, 0], [0, 1]])
    assert matched(learned(X, (1,)), X) == [[1, 2], [0, None]]


def test_a_list_of_lists_may_mix_text_and_numbers() -> None:
    features = learned([["a", 1.5], ["b", 2.5]], (0,))
    assert matched(features, [["b", 3.5], [None, 1]]) == [[1, None], [3.5, 1]]


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (("c", "colour"), r"names the column 'colour', which X does not have.*'c', 'x'"),
        ((2,), r"names the column 2, and X has 2 columns, numbered from 0 to 1"),
        ((-1,), r"names the column -1"),
        (("c", "c"), "names the column 'c' twice"),
        ((0, 0), "names the column 0 twice"),
        ((True,), "is a mask of 1 booleans, but X has 2 columns"),
        ((True, False, True), "is a mask of 3 booleans, but X has 2 columns"),
    ],
)
def test_error_names_columns_that_do_not_exist(selection: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"categorical_features {words}"):
        read(TEXTS["polars"], selection)


def test_names_are_refused_for_an_array_without_names() -> None:
    with pytest.raises(ValueError, match=r"'c', but X has no column names.*positions"):
        read(np.zeros((2, 2)), ("c",))


def test_empty_columns_have_no_categories() -> None:
    X = pl.DataFrame({"c": pl.Series([None, None], dtype=pl.Categorical)})
    for table in (X, X.to_arrow(), X.to_pandas()):
        features = learned(table)
        assert categories(features) == [()]
        assert matched(features, table) == [[None, None]]


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical([2**60 + 1, None, -(2**62) - 1]),
        pd.Series([2**60 + 1, None, -(2**62) - 1], dtype="Int64").astype("category"),
        pa.array([2**60 + 1, None, -(2**62) - 1]).dictionary_encode(),
    ],
    ids=["pandas", "pandas nullable", "pyarrow"],
)
def test_large_integers_next_to_nulls_are_exact_categories(column: Any) -> None:
    X = pa.table({"c": column}) if isinstance(column, pa.Array) else pd.DataFrame({"c": column})
    features = learned(X)
    assert categories(features) == [(-(2**62) - 1, 2**60 + 1)]
    assert matched(features, X) == [[1, None, 0]]


@pytest.mark.parametrize("column", [[True, None, False], [0.5, None, 2.0], ["b", None, "a"]])
def test_categories_of_any_type_are_their_values(column: list[Any]) -> None:
    first, last = sorted(value for value in column if value is not None)
    for X in (
        pd.DataFrame({"c": pd.Categorical(column)}),
        pa.table({"c": pa.array(column).dictionary_encode()}),
    ):
        features = learned(X)
        assert categories(features) == [(first, last)]
        assert matched(features, X)[0][1] is None


def test_a_null_in_the_categories_is_missing() -> None:
    codes = pa.array([0, 1, None, 0])
    X = pa.table({"c": pa.DictionaryArray.from_arrays(codes, pa.array(["a", None]))})
    assert matched(learned(X), X) == [[0, None, None, 0]]


# Known categories


def test_categories_without_rows_are_not_known() -> None:
    X = pd.DataFrame({"c": pd.Categorical(["b", "a"], categories=["z", "b", "a", "q"])})
    assert categories(learned(X)) == [("a", "b")]


def test_unused_rows_add_no_categories() -> None:
    X = pl.DataFrame({"c": ["a", "b", "c", "d"]})
    rows, weight = np.array([0, 2, 3], dtype=np.uint32), np.array([1.0, 1.0, 0.0, 2.0])
    assert categories(learned(X, "text", rows=rows)) == [("a", "c", "d")]
    assert categories(learned(X, "text", weight=weight)) == [("a", "b", "d")]
    assert categories(learned(X, "text", rows=rows, weight=weight)) == [("a", "d")]


def test_codes_and_their_order_do_not_matter() -> None:
    cells = ["b", "a", None, "c"]
    tables = [
        pd.DataFrame({"c": pd.Categorical(cells, categories=order, ordered=ordered)})
        for order in (["a", "b", "c"], ["c", "x", "b", "a"])
        for ordered in (False, True)
    ]
    known = [learned(table) for table in tables]
    assert all(features == known[0] for features in known)
    for features in known:
        for table in tables:
            assert matched(features, table) == [[1, 0, None, 2]]


def test_features_with_other_categories_are_not_equal() -> None:
    one, two = (learned(pl.DataFrame({"c": [value]}), "text") for value in "ab")
    assert one != two
    assert one == learned(pl.DataFrame({"c": ["a", "a"]}), "text")


# New data


@pytest.mark.parametrize("column", [[2, 1], [2.0, 1.0], ["2", "1"], ["2.0", "1.0"]], ids=repr)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_integer_categories_are_mapped_by_value(make: Any, column: Any) -> None:
    features = learned(pd.DataFrame({"c": pd.Categorical([1, 2, 3])}))
    assert matched(features, make({"c": column})) == [[1, 0]]
    array = np.array([column], dtype=object).T
    with pytest.warns(UserWarning, match="valid feature names"):
        assert matched(features, array) == [[1, 0]]


def test_text_categories_may_be_integers_in_new_data() -> None:
    features = learned(pd.DataFrame({"c": ["10", "9", "8"]}), "text")
    assert matched(features, pd.DataFrame({"c": [9, 10]})) == [[2, 0]]
    assert matched(features, pd.DataFrame({"c": pd.Categorical([9.0, None])})) == [[2, None]]


def test_text_may_be_a_category_type_in_new_data_and_vice_versa() -> None:
    text, category = pl.DataFrame({"c": ["b", "a"]}), pl.DataFrame({"c": ["b", "a"]})
    category = category.with_columns(pl.col("c").cast(pl.Categorical))
    for first, second in ((text, category), (category, text)):
        assert matched(learned(first, "text"), second) == [[1, 0]]


def test_columns_are_matched_by_name_in_any_order() -> None:
    features = learned(pd.DataFrame({"x": [1.0, 2.0], "c": pd.Categorical(["a", "b"])}))
    X = pl.DataFrame({"id": ["not read"], "c": ["b"], "x": [7.0]})
    assert matched(features, X) == [[7], [1]]


@pytest.mark.parametrize(
    ("trained", "new", "words"),
    [
        (["a", "b"], [0.5, 1.5], r"0\.5, 1\.5.* are numbers, but .* are text \('a', 'b'\)"),
        ([1, 2], ["x", "y"], r"'x', 'y'.* are text, but .* are whole numbers \(1, 2\)"),
        ([1, 2], [0.37, 3.0], r"0\.37, 3.* are numbers, but .* are whole numbers \(1, 2\)"),
        ([0.5, 2], ["x", "y"], r"'x', 'y'.* are text, but .* are numbers \(0\.5, 2\)"),
    ],
)
def test_unknown_categories_of_another_type_have_a_hint(trained: Any, new: Any, words: str) -> None:
    features = learned(pl.DataFrame({"c": trained}), ("c",))
    X = pl.DataFrame({"c": new})
    with pytest.warns(
        UnknownCategoryWarning, match=f"X column 'c' has unknown categories .*{words}"
    ):
        assert np.isnan(features.match(X, "Model")).all()
    with pytest.raises(ValueError, match=f"X column 'c' has unknown categories .*{words}"):
        features.match(X, "Model", "error")
    assert matched(features, X, "prior") == [[2, 2]]


@pytest.mark.parametrize(
    ("trained", "new"),
    [(["a"], ["b"]), ([1, 2], [3, 4]), ([0.5], [2, 3]), ([1, 2], [1, 0.5]), (["a", 1], [7, 8])],
)
def test_unknown_categories_of_the_same_type_have_no_hint(trained: Any, new: Any) -> None:
    tables = [pd.DataFrame({"c": pd.Series(cells, dtype=object)}) for cells in (trained, new)]
    with pytest.warns(UnknownCategoryWarning):
        learned(tables[0], ("c",)).match(tables[1], "Model")


@pytest.mark.parametrize(
    "column",
    [pd.Categorical(["a"]), pd.Categorical([1]), pd.Series(["a"]), pd.Series(["1"], dtype=object)],
)
def test_categories_and_text_in_numeric_columns_are_refused(column: Any) -> None:
    features = learned(pd.DataFrame({"x": [1.0, 2.0]}))
    words = r"X column 'x' .* at row 0.*It was a numeric column when Model was fitted"
    with pytest.raises(ValueError, match=words):
        features.match(pd.DataFrame({"x": column}), "Model")


# Unknown categories

NEW = pl.DataFrame({"c": ["b", "x", "y", None, "x"], "d": [1, 2, 3, 1, 9]})


def known() -> Features:
    return learned(pl.DataFrame({"c": ["a", "b"], "d": [1, 2]}), ("c", "d"))


def test_unknown_categories_are_missing_with_one_warning() -> None:
    with pytest.warns(UnknownCategoryWarning) as caught:
        assert matched(known(), NEW) == [[1, None, None, None, None], [0, 1, None, 0, None]]
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message).startswith(
        "X column 'c' has unknown categories in 3 of 5 rows: 'x', 'y'; X column 'd' has unknown "
        "categories in 2 of 5 rows: 3, 9. They are treated as missing values"
    )


def test_a_column_of_a_model_warns_once() -> None:
    features, rows = known(), [NEW[j : j + 1] for j in range(5)]
    with pytest.warns(
        UnknownCategoryWarning, match=r"'c' has .* 1 of 1 rows: 'x'; .*'d' has .*: 9"
    ):
        matched(features, rows[4])
    before = pickle.dumps(known()), known()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in rows * 3:
            matched(features, row)
    assert (pickle.dumps(features), features) == before
    for other in (known(), pickle.loads(pickle.dumps(features)), copy.deepcopy(features)):
        with pytest.warns(UnknownCategoryWarning):
            matched(other, rows[1])
    for _ in range(2):  # a filter that makes it an error does so in every call
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UnknownCategoryWarning):
                matched(other := known(), rows[1])
            with pytest.raises(UnknownCategoryWarning):
                matched(other, rows[1])
    for _ in range(2):
        with pytest.raises(ValueError, match="'c' has unknown categories"):
            matched(features, rows[1], "error")


def test_another_column_warns_later() -> None:
    features = known()
    for row, words in ((1, "^X column 'c' has"), (2, "^X column 'd' has .*: 3. They")):
        with pytest.warns(UnknownCategoryWarning, match=words):
            matched(features, NEW[row : row + 1])


def test_the_code_of_an_unknown_category_is_the_number_of_categories_with_prior() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert matched(known(), NEW, "prior") == [[1, 2, 2, None, 2], [0, 1, 2, 0, 2]]


def test_an_unknown_category_is_an_error_with_error() -> None:
    with pytest.raises(
        ValueError, match=r"'c' has unknown .* 3 of 5 rows: 'x', 'y'.*handle_unknown='missing'"
    ):
        matched(known(), NEW, "error")
    assert matched(known(), NEW[:1], "error") == [[1], [0]]


def test_only_some_unknown_categories_are_listed() -> None:
    X = pl.DataFrame({"c": [f"new {n}" for n in range(9)] + ["a"], "d": [1] * 10})
    words = r"in 9 of 10 rows: 'new 0', 'new 1', 'new 2', 'new 3', 'new 4' and 4 more"
    with pytest.warns(UnknownCategoryWarning, match=words):
        matched(known(), X)


def test_only_the_given_rows_are_counted() -> None:
    features = known()
    unknown = UnknownCategories("missing", np.array([0, 1], dtype=np.uint32))
    features.columns(features.read(NEW, "Model"), unknown)
    assert unknown.rows_per_column == {0: 1}


def test_no_rows_give_no_rows() -> None:
    X = pl.DataFrame({"c": pl.Series([], dtype=pl.String), "d": pl.Series([], dtype=pl.Int64)})
    assert matched(known(), X) == [[], []]


def test_categories_are_equal_by_value() -> None:
    assert Categories.of([1, "a"]) == Categories.of(["a", True, 1.0])
    assert hash(Categories.of([1, "a"])) == hash(Categories.of(["a", 1.0]))
