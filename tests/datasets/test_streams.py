"""Batches of other libraries as one table, and streams with only one pass."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset as arrow_dataset

from datasets.table_files import make_table, write_parts
from stagewise import read_batches

TABLE = make_table(n_rows=50)


def batches():
    return TABLE.to_batches(max_chunksize=20)


class Relation:
    """An object with Arrow's stream interface, as a relation of DuckDB has."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


SOURCES = {
    "table": lambda: TABLE,
    "list of batches": batches,
    "function": lambda: lambda: iter(batches()),
    "function of a reader": lambda: (
        lambda: pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    ),
    "arrow stream": Relation,
    "polars": lambda: pl.DataFrame(TABLE),
    "polars lazy frame": lambda: pl.DataFrame(TABLE).lazy(),
    "pandas": TABLE.to_pandas,
}


@pytest.mark.parametrize("name", SOURCES)
def test_rows_of_any_library_are_read_twice(name):
    dataset = read_batches(SOURCES[name](), target="price")
    assert dataset.features == ("area", "rooms", "city")
    for _ in range(2):
        assert dataset.to_table().to_pydict() == TABLE.to_pydict()
    assert dataset.n_rows == 50


def test_a_dataset_of_arrow_is_read(tmp_path):
    whole = write_parts(tmp_path)
    dataset = read_batches(arrow_dataset.dataset(tmp_path))
    assert dataset.to_table(columns=["city"]).equals(whole.select(["city"]))


def test_a_relation_of_duckdb_is_read_twice():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select i::double as x from range(10) t(i)")
    dataset = read_batches(relation)
    assert [dataset.to_table()["x"].to_pylist() for _ in range(2)] == [list(range(10))] * 2


def test_batches_have_at_most_the_requested_rows():
    found = [b.first_row for b in read_batches(batches()).batches(batch_rows=15)]
    assert found == [0, 15, 20, 35, 40]


@pytest.mark.parametrize(
    "once",
    [
        lambda: iter(batches()),
        lambda: (batch for batch in batches()),
        lambda: pa.RecordBatchReader.from_batches(TABLE.schema, batches()),
    ],
)
def test_a_stream_with_one_pass_is_refused_with_the_remedy(once):
    with pytest.raises(TypeError, match=r"only once.*function without arguments"):
        read_batches(once())


def test_a_function_that_returns_the_same_iterator_is_an_error():
    same = iter(batches())
    dataset = read_batches(lambda: same)
    with pytest.raises(ValueError, match="every pass must have the same rows"):
        [list(dataset.batches()) for _ in range(2)]


@pytest.mark.parametrize("thing", ["text", 7, {"a": 1}])
def test_an_object_without_batches_is_refused(thing):
    with pytest.raises(TypeError, match="has no record batches"):
        read_batches(thing)


def test_an_item_that_is_no_batch_is_an_error():
    with pytest.raises(TypeError, match="A batch is a int"):
        read_batches([1, 2])


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (pa.table({"y": [1]}), r"The batch at row 1 has no column 'x'"),
        (pa.table({"x": ["a"]}), r"The batch at row 1 does not have the column types"),
    ],
)
def test_batches_that_differ_are_an_error(second, words):
    dataset = read_batches([pa.table({"x": [1]}), second])
    with pytest.raises(ValueError, match=words):
        dataset.to_table()


@pytest.mark.parametrize(
    "empty", [TABLE.slice(0, 0), [], pd.DataFrame({"x": []}), lambda: iter(())]
)
def test_no_rows_are_an_error(empty):
    with pytest.raises(ValueError, match=r"rows"):
        read_batches(empty).to_table()


def test_duplicate_column_names_are_an_error():
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        read_batches(table)
