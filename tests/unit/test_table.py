"""Tables are read with every number unchanged.

Expected values are written down, never computed by the code under test.
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import dask.dataframe as dd
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stagewise.data.reading.table import Table, read_table

BIG = 2**53 + 1
NS_2020 = 1577836800 * 10**9


def read(X: object) -> Table:
    return read_table(X, caller="Model")


def cells(table: Table) -> list[list[float]]:
    """Return the table as rows of Python numbers, None where missing."""
    columns = []
    for j in range(table.n_features):
        values, missing, _ = table.column(j)
        gone = np.isnan(values) if values.dtype.kind == "f" else missing
        gone = np.zeros(len(values), bool) if gone is None else gone
        columns.append([None if g else v for v, g in zip(values.tolist(), gone, strict=True)])
    return [list(row) for row in zip(*columns, strict=True)]


# Arrays


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_float_array_is_not_copied(dtype: type) -> None:
    X = np.arange(12, dtype=dtype).reshape(4, 3)
    assert read(X).columns is X


@pytest.mark.parametrize(
    "view",
    [
        np.asfortranarray,
        lambda X: X[::-1],
        lambda X: X[:, ::-1],
        lambda X: X[::2, 1:],
        lambda X: np.broadcast_to(X[:1], (5, 3)),
        lambda X: X.T,
    ],
    ids=["fortran", "backwards", "mirrored", "strided", "zero stride", "transposed"],
)
def test_strides_and_order_need_no_copy(view) -> None:
    X = view(np.arange(12.0).reshape(4, 3))
    X.flags.writeable = False
    columns = read(X).columns
    assert np.shares_memory(columns, X)
    assert np.array_equal(columns, X)


def test_a_large_float_array_is_not_read(tmp_path) -> None:
    # 2M x 28 values in a sparse file: reading them all would show in the memory.
    X = np.memmap(tmp_path / "X", dtype=np.float32, shape=(2_000_000, 28), mode="w+")
    code = (
        "import resource, sys, numpy as np\n"
        "from stagewise.data.reading.table import read_table\n"
        "X = np.memmap(sys.argv[1], dtype=np.float32, shape=(2_000_000, 28), mode='r')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "table = read_table(X, caller='Model')\n"
        "grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "assert np.shares_memory(table.columns, X) and grown < 10_000, grown\n"
    )
    subprocess.run([sys.executable, "-c", code, str(X.filename)], check=True)


def test_infinities_and_nan_are_kept() -> None:
    X = np.array([[np.inf, -np.inf, np.nan, 1e308, -0.0]])
    assert read(X).columns is X


def test_foreign_byte_order_is_swapped() -> None:
    X = np.array([[1.5, 2.5]], dtype=">f8")
    columns = read(X).columns
    assert columns.dtype.isnative
    assert columns.tolist() == [[1.5, 2.5]]


def test_a_field_of_packed_records_is_copied() -> None:
    records = np.zeros((3, 2), dtype=[("id", "i4"), ("x", "f8")])
    records["x"] = 7.0
    columns = read(records["x"]).columns
    assert columns.flags.aligned
    assert columns.strides[1] % 8 == 0
    assert (columns == 7.0).all()


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float16])
def test_narrow_types_become_float32(dtype: type) -> None:
    table = read(np.array([[0, 1], [1, 1]], dtype=dtype))
    assert table.columns.dtype == np.float32
    assert table.columns.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_integers_become_float64_when_that_is_exact(dtype: type) -> None:
    table = read(np.array([[2**24 + 1, 3]], dtype=dtype))
    assert table.columns.dtype == np.float64
    assert table.columns.tolist() == [[2**24 + 1, 3]]


def test_two_to_the_53_is_float64() -> None:
    assert read(np.array([[2**53, -(2**53)]])).columns.dtype == np.float64


@pytest.mark.parametrize(("dtype", "value"), [(np.int64, -BIG), (np.uint64, 2**64 - 1)])
def test_a_column_of_wide_integers_stays_integers(dtype: type, value: int) -> None:
    table = read(np.array([[value, 1], [5, 2]], dtype=dtype))
    assert [column.dtype for column in table.columns] == [dtype, np.float64]
    assert cells(table) == [[value, 1], [5, 2]]


def test_a_long_double_warns_only_if_it_changes() -> None:
    exact = np.array([[1.5]], dtype=np.longdouble)
    assert read(exact).columns.dtype == np.float64
    if np.finfo(np.longdouble).nmant == 52:
        pytest.skip("long double is double here")
    with pytest.warns(UserWarning, match="extended-precision"):
        read(exact + np.finfo(np.longdouble).eps)


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_dates_are_nanoseconds_whatever_their_unit(unit: str) -> None:
    X = np.array([["2020-01-01"], ["NaT"]], dtype=f"M8[{unit}]")
    assert cells(read(X)) == [[NS_2020], [None]]


def test_durations_are_nanoseconds() -> None:
    assert cells(read(np.array([[90], [-1]], dtype="m8[s]"))) == [[90 * 10**9], [-(10**9)]]


def test_a_date_beyond_nanoseconds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"X column 1 holds 9999-01-01 at row 0.*1678 to 2262"):
        read(np.array([["2020-01-01", "9999-01-01"]], dtype="M8[D]"))


def test_masked_values_are_missing() -> None:
    X = np.ma.array([[1, BIG], [2, 7]], mask=[[0, 0], [1, 1]])
    assert cells(read(X)) == [[1, BIG], [None, None]]


def test_values_under_a_mask_do_not_matter() -> None:
    assert read(np.ma.array([[BIG], [7]], mask=[[1], [0]])).columns[0].dtype == np.float64


# Objects and lists


def test_objects_that_are_numbers_are_read() -> None:
    X = np.array([[1, True], [None, 2.5], [pd.NA, np.float32(3)], [pd.NaT, np.int8(4)]], object)
    assert cells(read(X)) == [[1, 1], [None, 2.5], [None, 3], [None, 4]]


def test_wide_objects_stay_exact() -> None:
    X = np.array([[BIG, 2**64 - 1], [None, 3.0], [np.int64(BIG + 1), float("nan")]], object)
    table = read(X)
    assert [column.dtype for column in table.columns] == [np.int64, np.uint64]
    assert cells(table) == [[BIG, 2**64 - 1], [None, 3], [BIG + 1, None]]


@pytest.mark.parametrize("column", [[BIG, 0.5], [2**64 + 1, 0], [-1, 2**64 - 1], [10**400, 0]])
def test_objects_that_fit_no_number_type_are_refused(column: list[object]) -> None:
    with pytest.raises(ValueError, match=r"X column 0 holds .* exactly"):
        read(np.array([[cell] for cell in column], dtype=object))


def test_a_list_keeps_large_integers_next_to_fractions() -> None:
    assert cells(read([[BIG, 0.5], [3, 1e300]])) == [[BIG, 0.5], [3, 1e300]]


def test_none_in_a_list_is_missing() -> None:
    assert cells(read([[1, None], [None, 2]])) == [[1, None], [None, 2]]


def test_error_names_the_row_of_a_ragged_list() -> None:
    with pytest.raises(ValueError, match="X row 1 has 1 cells where row 0 has 2"):
        read([[1, 2], [3]])


@pytest.mark.parametrize(
    ("cell", "error", "words"),
    [
        ("red", ValueError, "X column 1 holds the text 'red' at row 1.*categorical_features"),
        ("1.5", ValueError, "X column 1 holds the text '1.5' at row 1.*astype"),
        (1j, ValueError, "Complex data not supported: X column 1 holds 1j at row 1"),
        (b"1", TypeError, "X column 1 holds a bytes, b'1' at row 1"),
        ({"a{}": 1}, TypeError, "argument must be .* string.* number"),
        ([1], TypeError, "X column 1 holds a list"),
        (dt.date(2020, 1, 1), TypeError, "X column 1 holds the number 2 at row 0 and the date"),
    ],
)
def test_error_names_a_value_that_is_not_a_number(cell: object, error: type, words: str) -> None:
    X = np.empty((2, 2), dtype=object)
    X[:] = [[1, 2], [3, 4]]
    X[1, 1] = cell
    with pytest.raises(error, match=words):
        read(X)
    with pytest.raises(error, match=words.replace("column 1", "column 'b'")):
        read(pd.DataFrame({"a": X[:, 0], "b": pd.Series(X[:, 1], dtype=object)}))


@pytest.mark.parametrize("X", [[["1", 2]], np.array([["1"]]), np.array([[b"1"]])])
def test_text_is_never_read_as_a_number(X: object) -> None:
    with pytest.raises((ValueError, TypeError), match="X column 0 holds"):
        read(X)


# Shapes


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros(3), "Expected 2D array, got 1D array instead.*Reshape your data"),
        (np.float64(3), "Expected 2D array, got scalar array instead"),
        (np.zeros((2, 2, 2)), "Found array with dim 3"),
        (np.zeros((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.zeros((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required"),
        (pd.DataFrame(index=range(12)), r"0 feature\(s\) \(shape=\(12, 0\)\)"),
        (pl.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.Series([1.0]), "Reshape your data"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
    ],
)
def test_input_without_two_dimensions_is_refused(X: object, words: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){words}"):
        read(X)


def test_no_rows_are_accepted_with_allow_empty() -> None:
    table = read_table(np.zeros((0, 3)), caller="Model", allow_empty=True)
    assert (table.n_rows, table.n_features) == (0, 3)
    table = read_table(pd.DataFrame(columns=["a", "b"]), caller="Model", allow_empty=True)
    assert [len(column) for column in table.columns] == [0, 0]


# Frames


def frames() -> dict[str, object]:
    integers, floats, flags = [BIG, None, 3], [1.5, None, -0.5], [True, None, False]
    polars = pl.DataFrame({"i": integers, "f": floats, "b": flags})
    arrow = polars.to_arrow()
    nullable = pd.DataFrame(
        {
            "i": pd.array(integers, "Int64"),
            "f": pd.array(floats, "Float64"),
            "b": pd.array(flags, "boolean"),
        }
    )
    return {
        "polars": polars,
        "pyarrow": arrow,
        "record batch": arrow.to_batches()[0],
        "pandas nullable": nullable,
        "pandas pyarrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas objects": nullable.astype(object),
        "narwhals": nw.from_native(polars),
    }


@pytest.mark.parametrize("library", frames())
def test_every_library_gives_the_same_values(library: str) -> None:
    table = read(frames()[library])
    assert table.names == ["i", "f", "b"]
    assert cells(table) == [[BIG, 1.5, 1], [None, None, None], [3, -0.5, 0]]


@pytest.mark.parametrize("library", [name for name in frames() if name != "record batch"])
def test_frames_in_many_chunks_give_the_same_values(library: str) -> None:
    pieces = [nw.from_native(frames()[library])] * 5
    table = read(nw.concat(pieces).to_native())
    assert cells(table) == [[BIG, 1.5, 1], [None, None, None], [3, -0.5, 0]] * 5


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_float_columns_of_a_large_frame_are_not_copied(library: str) -> None:
    data = {name: np.arange(100_000.0) for name in "ab"}
    X = pd.DataFrame(data) if library == "pandas" else pl.DataFrame(data)
    assert all(
        np.shares_memory(column, X[name].to_numpy())
        for column, name in zip(read(X).columns, "ab", strict=True)
    )


def test_a_small_frame_of_integers_and_floats_is_one_array() -> None:
    table = read(pd.DataFrame({"i": [1, 2], "f": [0.5, np.nan]}))
    assert cells(table) == [[1, 0.5], [2, None]]
    table = read(pl.DataFrame({"i": [1, 2], "f": [0.5, 1.5]}))
    assert table.columns.tolist() == [[1, 0.5], [2, 1.5]]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_small_frame_does_not_round_large_integers(make) -> None:
    assert cells(read(make({"i": [BIG, 2], "f": [0.5, 1.5]}))) == [[BIG, 0.5], [2, 1.5]]


def test_dates_in_frames_are_nanoseconds() -> None:
    midnight = dt.datetime(2020, 1, 1)
    polars = pl.DataFrame({"t": [midnight, None], "d": [midnight.date(), None]})
    polars = polars.with_columns(z=pl.col("t").dt.replace_time_zone("UTC"))
    for X in (polars, polars.to_arrow(), polars.to_pandas(use_pyarrow_extension_array=True)):
        assert cells(read(X)) == [[NS_2020] * 3, [None] * 3]
    stamps = pd.to_datetime(["2020-01-01", None])
    X = pd.DataFrame({"t": stamps, "z": stamps.tz_localize("UTC").tz_convert("Asia/Tokyo")})
    assert cells(read(X)) == [[NS_2020] * 2, [None] * 2]


def test_empty_columns_are_missing() -> None:
    X = pl.DataFrame(
        {
            "null": pl.Series([None, None], dtype=pl.Null),
            "text": pl.Series([None, None], dtype=pl.String),
            "category": pl.Series([None, None], dtype=pl.Categorical),
        }
    )
    assert cells(read(X)) == [[None] * 3] * 2
    assert cells(read(X.to_arrow())) == [[None] * 3] * 2


def test_sparse_and_float16_columns_of_pandas_are_read() -> None:
    X = pd.DataFrame({"s": pd.arrays.SparseArray([0.0, 2.0]), "h": np.array([1, 2], np.float16)})
    assert cells(read(X)) == [[0, 1], [2, 2]]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"n": [1, 2], "c": pd.Categorical([None, 5])}),
        pd.DataFrame({"n": [1, 2], "c": pd.Categorical([None, "5"])}),
        pl.DataFrame({"n": [1, 2], "c": pl.Series([None, "5"], dtype=pl.Categorical)}),
        pl.DataFrame({"n": [1, 2], "c": pl.Series([None, "5"], dtype=pl.Enum(["5"]))}),
    ],
)
def test_categories_are_refused_with_the_remedy(X: object) -> None:
    with pytest.raises(
        ValueError, match=r"X column 'c' is categorical.*5.* at row 1.*categorical_features"
    ):
        read(X)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pl.Series([None, "x"]), "the text 'x' at row 1"),
        (pl.Series([None, [1]]), "a ndarray, .* at row 1"),
        (pl.Series([1], dtype=pl.Int128), "Cast it to Int64"),
    ],
)
def test_frame_columns_that_are_no_numbers_are_refused(column: pl.Series, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"X column 'c' .*{words}"):
        read(pl.DataFrame({"c": column}))


@pytest.mark.parametrize("dtype", ["str", "string[python]", pd.ArrowDtype(pa.string()), object])
def test_text_columns_of_pandas_are_refused(dtype: object) -> None:
    with pytest.raises(ValueError, match="X column 'c' holds the text 'x' at row 1"):
        read(pd.DataFrame({"c": pd.Series([None, "x"], dtype=dtype)}))


def test_error_for_a_lazy_frame_suggests_collect() -> None:
    with pytest.raises(TypeError, match=r"X is a lazy frame .*\.collect\(\)"):
        read(pl.LazyFrame({"a": [1]}))
    with pytest.raises(TypeError, match=r"X is a lazy frame .*Call \.compute\(\)"):
        read(dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1))


# Names


def test_any_text_is_a_valid_name() -> None:
    names = ['[x]<"{}:', "größe", "", "a\nb"]
    assert read(pd.DataFrame([[1, 2, 3, 4]], columns=names)).names == names


def test_default_column_numbers_are_no_names() -> None:
    assert read(pd.DataFrame([[1.0, 2.0]])).names is None


def test_labels_that_are_not_text_are_named_by_their_repr() -> None:
    assert read(pd.DataFrame([[1, 2]], columns=[7, 3])).names == ["7", "3"]
    columns = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    assert read(pd.DataFrame([[1, 2]], columns=columns)).names == ["('a', 1)", "('a', 2)"]


def test_text_mixed_with_numbers_as_names_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Feature names are only supported if all.* int, str"):
        read(pd.DataFrame([[1, 2]], columns=["a", 0]))


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pa.table([[1], [2], [3]], names=["a", "b", "a"]),
    ],
)
def test_duplicate_names_are_refused_by_name(X: object) -> None:
    with pytest.raises(ValueError, match="X has duplicate column names: 'a'"):
        read(X)


def test_no_frame_library_is_needed() -> None:
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow']))  # cannot be imported\n"
        "import stagewise.data as data\n"
        "table = data.read_table([[1, None], [2**60 + 1, 0.5]], caller='Model')\n"
        "data.Features.learn(table).match([[1, 2]], 'Model')\n"
        "data.read_target([1, 2], 2), data.read_weight([1, 2], 2)\n"
        "data.read_labels(['a', 'b'], 2)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_periods_have_the_conversion_to_datetimes() -> None:
    X = pd.DataFrame({"month": pd.period_range("2024-01", periods=2, freq="M")})
    words = (
        r"X column 'month' holds the period Period\('2024-01', 'M'\) at row 0.*to_timestamp\(\)\.$"
    )
    with pytest.raises(TypeError, match=words):
        read_table(X, caller="Model")
