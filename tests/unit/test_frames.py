"""The numbers of every column type, in every library: the table of docs/data.md."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stagewise.data.reading.table import Table, read_table

NS = 10**9
BIG = 2**53 + 1
DAY = dt.date(2020, 1, 1)
NOON = dt.datetime(2020, 1, 1, 12)
CLOCK = dt.time(1, 2, 3, 4)
CLOCK_NS = (3723 * 10**6 + 4) * 1000
MIDNIGHT_NS = 1577836800 * NS


def read(X: Any) -> Table:
    return read_table(X, caller="Model")


def column(table: Table) -> list[Any]:
    """Return the first column as Python numbers, None where missing."""
    values, missing, _ = table.column(0)
    gone = np.isnan(values) if values.dtype.kind == "f" else missing
    gone = np.zeros(len(values), bool) if gone is None else gone
    return [None if g else v for v, g in zip(values.tolist(), gone, strict=True)]


class OnlyStream:
    """A table with only Arrow's C stream interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


# Type: values, the Arrow type, and the expected numbers.
KINDS: dict[str, tuple[list[Any], pa.DataType, list[Any]]] = {
    "float64": ([0.5, None, -1e300], pa.float64(), [0.5, None, -1e300]),
    "float32": ([0.5, None, 2.0], pa.float32(), [0.5, None, 2.0]),
    "boolean": ([True, None, False], pa.bool_(), [1, None, 0]),
    "int8": ([-5, None, 7], pa.int8(), [-5, None, 7]),
    "uint16": ([5, None, 65535], pa.uint16(), [5, None, 65535]),
    "int32": ([-5, None, 2**31 - 1], pa.int32(), [-5, None, 2**31 - 1]),
    "int64": ([BIG, None, -BIG], pa.int64(), [BIG, None, -BIG]),
    "uint64": ([2**64 - 1, None, 0], pa.uint64(), [2**64 - 1, None, 0]),
    "integers without nulls": ([1, 2, 3], pa.int64(), [1, 2, 3]),
    "decimal": (
        [Decimal("0.10"), None, Decimal("-2.00")], pa.decimal128(20, 2), [0.1, None, -2],
    ),
    "large decimal": (
        [Decimal(BIG), None, Decimal(3)], pa.decimal128(30, 0), [BIG, None, 3],
    ),
    "date": ([DAY, None, dt.date(1969, 12, 31)], pa.date32(), [MIDNIGHT_NS, None, -86_400 * NS]),
    "datetime": (
        [NOON, None, dt.datetime(1970, 1, 1)], pa.timestamp("us"),
        [MIDNIGHT_NS + 43_200 * NS, None, 0],
    ),
    "datetime in seconds": ([NOON, None], pa.timestamp("s"), [MIDNIGHT_NS + 43_200 * NS, None]),
    "datetime in a zone": (
        [NOON.replace(tzinfo=dt.UTC), None], pa.timestamp("us", "Asia/Tokyo"),
        [MIDNIGHT_NS + 43_200 * NS, None],
    ),
    "duration": (
        [dt.timedelta(days=1, microseconds=1), None, dt.timedelta(seconds=-1)], pa.duration("us"),
        [86_400 * NS + 1000, None, -NS],
    ),
    "time of day": ([CLOCK, None, dt.time(0)], pa.time64("us"), [CLOCK_NS, None, 0]),
    "time of day in ns": ([CLOCK, None], pa.time64("ns"), [CLOCK_NS, None]),
    "time of day in seconds": ([dt.time(1, 2, 3), None], pa.time32("s"), [3723 * NS, None]),
    "nothing": ([None, None], pa.float64(), [None, None]),
}  # fmt: skip

LIBRARIES: dict[str, Any] = {
    "pyarrow": lambda table: table,
    "pyarrow in pieces": lambda table: pa.concat_tables([table[:1], table[1:]]),
    "record batch": lambda table: table.to_batches()[0],
    "Arrow stream": OnlyStream,
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(),
    "pandas with Arrow types": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas with objects": lambda table: pd.DataFrame(
        {"c": pd.Series(table["c"].to_pylist(), dtype=object)}
    ),
    "an array of objects": lambda table: np.array([table["c"].to_pylist()], dtype=object).T,
}


def make(kind: str, library: str) -> Any:
    cells, dtype, _ = KINDS[kind]
    table = pa.table({"c": pa.array(cells, dtype)})
    return LIBRARIES[library](table)


# pandas converts nullable integers to floats itself, before they can be read.
ROUNDED = {("int64", "pandas"), ("uint64", "pandas")}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_type_gives_the_same_numbers_in_every_library(kind: str, library: str) -> None:
    if (kind, library) in ROUNDED:
        pytest.skip("pandas has rounded the integers")
    assert column(read(make(kind, library))) == KINDS[kind][2]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_nanoseconds_whatever_their_unit(unit: str) -> None:
    table = pa.table({"c": pa.array([7, None], pa.int64()).cast(pa.duration(unit))})
    factor = {"s": NS, "ms": 10**6, "us": 1000, "ns": 1}[unit]
    for X in (table, table.to_pandas(), table.to_pandas(types_mapper=pd.ArrowDtype)):
        assert column(read(X)) == [7 * factor, None]


def test_nanoseconds_of_a_time_of_day_are_kept() -> None:
    table = pa.table({"c": pa.array([1, None], pa.int64()).cast(pa.time64("ns"))})
    for X in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        assert column(read(X)) == [1, None]


def test_a_stream_of_pandas_nanoseconds_is_exact() -> None:
    stamp = pd.Timestamp("2020-01-01") + pd.Timedelta(1, "ns")
    objects = pd.DataFrame({"c": pd.Series([stamp, pd.NaT], dtype=object)})
    assert column(read(objects)) == [MIDNIGHT_NS + 1, None]
    duration = pd.DataFrame({"c": pd.Series([pd.Timedelta(5, "ns"), None], dtype=object)})
    assert column(read(duration)) == [5, None]


def test_numpys_own_datetimes_as_objects_are_read() -> None:
    X = np.array([[np.datetime64("2020-01-01")], [np.datetime64("NaT")]], dtype=object)
    assert column(read(X)) == [MIDNIGHT_NS, None]
    X = np.array([[np.timedelta64(3, "s")], [None]], dtype=object)
    assert column(read(X)) == [3 * NS, None]


def test_dates_give_the_same_table_as_objects_and_as_a_type() -> None:
    objects = pd.DataFrame({"c": pd.Series([DAY, dt.date(2021, 1, 1)], dtype=object)})
    typed = pd.DataFrame({"c": pd.to_datetime(objects["c"])})
    assert read(objects).columns[0].dtype == read(typed).columns[0].dtype == np.int64


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([1, DAY], r"the number 1 at row 0 and the date .* at row 1, which cannot be compared"),
        ([DAY, dt.timedelta(1)], "the date .* at row 0 and the duration .* at row 1"),
        ([CLOCK, None, NOON], "the time of day .* at row 0 and the date .* at row 2"),
    ],
)
def test_types_that_cannot_be_compared_are_refused(cells: list[Any], words: str) -> None:
    with pytest.raises(TypeError, match=f"X column 'c' holds {words}"):
        read(pd.DataFrame({"c": pd.Series(cells, dtype=object)}))


def test_nan_among_dates_is_only_missing() -> None:
    X = pd.DataFrame({"c": pd.Series([DAY, float("nan")], dtype=object)})
    assert column(read(X)) == [MIDNIGHT_NS, None]


@pytest.mark.parametrize(
    "cell", [dt.date(9999, 1, 1), dt.datetime(1600, 1, 1), dt.timedelta(10**6)], ids=repr
)
def test_datetimes_beyond_nanoseconds_are_refused(cell: Any) -> None:
    with pytest.raises(ValueError, match=r"X column 'c' holds .* at row 1.*1678 to 2262"):
        read(pd.DataFrame({"c": pd.Series([None, cell], dtype=object)}))


@pytest.mark.parametrize("cell", [Decimal("1e400"), Decimal("1e100000"), Decimal("0.5e401")])
def test_decimals_beyond_all_doubles_are_refused(cell: Decimal) -> None:
    with pytest.raises(ValueError, match=r"X column 'c' holds .* at row 0.*no numeric type"):
        read(pd.DataFrame({"c": pd.Series([cell], dtype=object)}))


def test_a_decimal_is_the_nearest_double() -> None:
    cells = [Decimal("0.1"), Decimal("1.15"), Decimal("123456789.987654321"), Decimal("Infinity")]
    X = pd.DataFrame({"c": pd.Series(cells, dtype=object)})
    assert column(read(X)) == [0.1, 1.15, 123456789.987654321, float("inf")]


def test_polars_alone_can_read_a_stream() -> None:
    code = (
        "import sys\n"
        "sys.modules['pyarrow'] = None  # cannot be imported\n"
        "import polars as pl\n"
        "from stagewise.data import read_table\n"
        "class OnlyStream:\n"
        "    def __arrow_c_stream__(self, schema=None):\n"
        "        return pl.DataFrame({'a': [1.5]}).__arrow_c_stream__(schema)\n"
        "assert read_table(OnlyStream(), caller='Model').column(0).values.tolist() == [1.5]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_a_library_a_stream_is_refused_with_the_remedy() -> None:
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow']))\n"
        "from stagewise.data import read_table\n"
        "class OnlyStream:\n"
        "    def __arrow_c_stream__(self, schema=None): raise AssertionError\n"
        "try:\n"
        "    read_table(OnlyStream(), caller='Model')\n"
        "except TypeError as error:\n"
        "    assert 'Install one of pyarrow, polars' in str(error), error\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_float_columns_next_to_categories_are_not_copied(library: str) -> None:
    from stagewise.data.categories.categorical_features import CategoricalFeatures

    data = {"x": np.arange(100_000.0), "c": ["a", "b"] * 50_000}
    X = pd.DataFrame(data) if library == "pandas" else pl.DataFrame(data)
    table = read_table(X, caller="Model", categorical=CategoricalFeatures("text"))
    assert np.shares_memory(table.columns[0], X["x"].to_numpy())


def test_a_category_type_of_pandas_is_read_like_its_cells() -> None:
    from stagewise.data.categories.categorical_features import CategoricalFeatures

    cells = ["b", None, "a", "b", "c"]
    kinds = {
        "text": pd.Series(cells, dtype=object),
        "categories": pd.Series(pd.Categorical(cells, categories=["z", "c", "b", "a", "y"])),
    }
    found = {}
    for name, column in kinds.items():
        table = read_table(
            pd.DataFrame({"c": column}), caller="Model", categorical=CategoricalFeatures("text")
        )
        factor = table.factors[0]
        assert set(factor.values) == {"a", "b", "c"}  # z and y have no row
        found[name] = [None if code < 0 else factor.values[code] for code in factor.codes]
    assert found["text"] == found["categories"] == cells


@pytest.mark.parametrize("categories", [[1, 2], [0.5, 1.5], ["a", 1]])
def test_category_types_of_pandas_that_are_not_text(categories: list[object]) -> None:
    from stagewise.data.categories.categorical_features import CategoricalFeatures

    column = pd.Series(pd.Categorical([categories[1], None, categories[0]], categories=categories))
    chosen = CategoricalFeatures([0])
    table = read_table(pd.DataFrame({"c": column}), caller="Model", categorical=chosen)
    factor = table.factors[0]
    found = [None if code < 0 else factor.values[code] for code in factor.codes]
    assert found == [categories[1], None, categories[0]]
