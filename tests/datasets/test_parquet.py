"""Parquet files as one table: rows, row numbers, columns and faults."""

from __future__ import annotations

import gc
import os
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import stagewise
from datasets.table_files import ROWS, make_table, write_parts
from stagewise import read_parquet


@pytest.fixture
def whole(tmp_path):
    return write_parts(tmp_path)


@pytest.mark.parametrize("batch_rows", [1, 7, 40, 10**6])
def test_batches_have_all_rows_in_order(tmp_path, whole, batch_rows):
    batches = list(read_parquet(tmp_path).batches(batch_rows=batch_rows))
    assert pa.concat_tables([batch.table for batch in batches]).equals(whole)
    assert [b.first_row for b in batches] == list(
        range(0, 300, 1)
        if batch_rows == 1
        else [f + g for f in range(0, 300, 100) for g in starts(batch_rows)]
    )


def starts(batch_rows):
    """Return the first rows of the batches of a file with row groups of 40, 40 and 20 rows."""
    return [g + b for g, n in ((0, 40), (40, 40), (80, 20)) for b in range(0, n, batch_rows)]


def test_the_number_of_rows_comes_from_the_footers(tmp_path, whole):
    dataset = read_parquet(tmp_path)
    assert dataset.n_rows == 300
    assert [(p.row_group, p.first_row, p.n_rows) for p in dataset.parts][2:5] == [
        (2, 80, 20),
        (0, 100, 40),
        (1, 140, 40),
    ]


@pytest.mark.usefixtures("whole")
def test_a_dataset_can_be_read_twice(tmp_path):
    dataset = read_parquet(tmp_path)
    assert dataset.to_table().equals(dataset.to_table())


@pytest.mark.usefixtures("whole")
def test_a_batch_has_its_file_and_row_group(tmp_path):
    batch = list(read_parquet(tmp_path).batches())[4]
    assert batch.place.startswith("rows 140 to 179 of the dataset")
    assert "part-1.parquet', row group 1" in batch.place


@pytest.mark.usefixtures("whole")
def test_roles_are_taken_out_of_the_features(tmp_path):
    dataset = read_parquet(tmp_path, target="price", weight="rooms")
    assert dataset.features == ("area", "city")
    assert dataset.schema.names == ["area", "city", "price", "rooms"]


@pytest.mark.usefixtures("whole")
def test_only_chosen_columns_are_read(tmp_path):
    dataset = read_parquet(tmp_path, columns=["rooms"], target="price")
    assert next(dataset.batches()).table.column_names == ["rooms", "price"]
    assert next(dataset.batches(columns=["city"])).table.column_names == ["city"]


@pytest.mark.usefixtures("whole")
def test_repr_has_rows_columns_roles_and_files(tmp_path):
    assert repr(read_parquet(tmp_path, target="price")) == (
        "Dataset(300 rows, 3 features: area, rooms, city, target 'price'; "
        "3 Parquet files, 9 row groups)"
    )


def test_memory_holds_a_few_batches_and_not_a_row_group(tmp_path):
    table = pa.table({f"x{j}": np.random.default_rng(j).normal(size=10**6) for j in range(4)})
    parquet.write_table(table, tmp_path / "t.parquet", use_dictionary=False, data_page_size=2**16)
    gc.collect()
    pool = pa.default_memory_pool()
    before, peak = pool.bytes_allocated(), 0
    for _ in read_parquet(tmp_path).batches(batch_rows=10_000):
        peak = max(peak, pool.bytes_allocated() - before)
    assert peak < table.nbytes / 4


# --- which files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source", ["{0}", "{0}/*.parquet", "{0}/part-?.parquet", ["{0}/part-1.parquet", "{0}"]]
)
def test_folders_patterns_and_lists_name_the_same_files(tmp_path, whole, source):
    texts = [source] if isinstance(source, str) else source
    texts = [text.format(tmp_path) for text in texts]
    found = read_parquet(texts[0] if isinstance(source, str) else texts)
    assert found.to_table().equals(whole)


def test_files_are_in_the_order_of_their_paths(tmp_path):
    for name in ["b", "a/z", "c"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        parquet.write_table(make_table(), tmp_path / f"{name}.parquet")
    names = [file.name for file in read_parquet(tmp_path).files]
    assert names == ["a/z.parquet", "b.parquet", "c.parquet"]


def test_hidden_and_other_files_of_a_folder_are_ignored(tmp_path, whole):
    for name in ["_SUCCESS", ".part-0.parquet.tmp", ".x.parquet", "_meta/x.parquet", "notes.txt"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"not data")
    assert read_parquet(tmp_path).to_table().equals(whole)


def test_folders_with_values_become_columns(tmp_path):
    for year, kind in [(2023, "x"), (2024, "y%20z")]:
        folder = tmp_path / f"year={year}" / f"kind={kind}"
        folder.mkdir(parents=True)
        parquet.write_table(make_table(n_rows=2), folder / "part.parquet")
    table = read_parquet(tmp_path).to_table(columns=["kind", "rooms", "year"])
    assert table["year"].to_pylist() == [2023, 2023, 2024, 2024]
    assert table["kind"].to_pylist() == ["x", "x", "y z", "y z"]
    assert read_parquet(tmp_path).to_table(columns=["year"]).num_rows == 4


def test_a_missing_folder_value_is_null(tmp_path):
    for value in ["7", "__HIVE_DEFAULT_PARTITION__"]:
        (tmp_path / f"day={value}").mkdir()
        parquet.write_table(make_table(n_rows=1), tmp_path / f"day={value}" / "part.parquet")
    assert read_parquet(tmp_path).to_table()["day"].to_pylist() == [7, None]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("none.parquet", "There is no file"),
        ("*.parquet", "No file matches"),
        ("", "has no file that ends in .parquet or .pq"),
        ([], "list of files is empty"),
    ],
)
def test_no_file_is_an_error(tmp_path, source, words):
    given = source if isinstance(source, list) else tmp_path / source
    with pytest.raises(FileNotFoundError, match=words):
        read_parquet(given)


def test_data_in_memory_are_not_a_source_of_files():
    with pytest.raises(TypeError, match="read_batches"):
        read_parquet([make_table()])


# --- columns that differ ----------------------------------------------------------------------


def test_no_rows_are_an_error(tmp_path):
    for name in "ab":
        parquet.write_table(make_table().slice(0, 0), tmp_path / f"{name}.parquet")
    with pytest.raises(
        ValueError, match=r"a.parquet' \(and 1 other file\) has columns but no rows"
    ):
        read_parquet(tmp_path)


@pytest.mark.usefixtures("whole")
def test_a_file_without_rows_among_others_is_read(tmp_path):
    parquet.write_table(make_table().slice(0, 0), tmp_path / "part-00.parquet")
    dataset = read_parquet(tmp_path)
    assert (dataset.n_rows, len(dataset.files), dataset.to_table().num_rows) == (300, 4, 300)


def test_a_column_that_one_file_lacks_is_an_error(tmp_path):
    parquet.write_table(make_table(), tmp_path / "a.parquet")
    parquet.write_table(make_table().drop(["city"]), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b.parquet' has no column 'city', which .*a.parquet'"):
        read_parquet(tmp_path)
    assert read_parquet(tmp_path, columns=["area"]).n_rows == 2 * ROWS


def test_a_type_that_differs_is_an_error_with_the_remedy(tmp_path):
    parquet.write_table(make_table(), tmp_path / "a.parquet")
    other = make_table().set_column(1, "rooms", pa.array([1.5] * ROWS))
    parquet.write_table(other, tmp_path / "b.parquet")
    with pytest.raises(
        ValueError, match=r"'rooms' is double in .*b.parquet', but int64 in .*a.par"
    ):
        read_parquet(tmp_path)
    table = read_parquet(tmp_path, types={"rooms": "double"}).to_table()
    assert table.schema.field("rooms").type == pa.float64()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(["a"]), pa.array(["b"], pa.large_string())),
        (pa.array([None]), pa.array([1.5])),
        (
            pa.array(["a"]).dictionary_encode(),
            pa.array(["b"], pa.large_string()).dictionary_encode(),
        ),
    ],
)
def test_types_of_the_same_values_agree(tmp_path, one, other):
    for name, values in (("a", one), ("b", other)):
        parquet.write_table(pa.table({"x": values}), tmp_path / f"{name}.parquet")
    column = read_parquet(tmp_path).to_table()["x"]
    assert column.to_pylist() == one.to_pylist() + other.to_pylist()


def test_a_value_that_does_not_fit_the_chosen_type_is_an_error(tmp_path):
    parquet.write_table(pa.table({"x": [1.5]}), tmp_path / "a.parquet")
    dataset = read_parquet(tmp_path, types={"x": "int64"})
    with pytest.raises(ValueError, match=r"Column 'x' of .*a.parquet' cannot be read as int64"):
        dataset.to_table()


def test_an_unknown_type_is_an_error(tmp_path, whole):
    with pytest.raises(ValueError, match=r"types\['area'\] is 'flaot', which is not an Arrow type"):
        read_parquet(tmp_path, types={"area": "flaot"})


def test_duplicate_column_names_are_an_error(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t.parquet' has more than one column named 'a'"):
        read_parquet(tmp_path)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"target": "prize"}, "target: the dataset has no column 'prize'. Did you mean 'price'?"),
        ({"weight": "room"}, "weight: the dataset has no column 'room'. Did you mean 'rooms'?"),
        ({"columns": ["aera"]}, "columns: the dataset has no column 'aera'. Did you mean 'area'?"),
        ({"columns": ["area", "area"]}, "each feature once"),
        ({"columns": ["area"], "target": "area"}, "cannot be a feature"),
        ({"target": "area", "weight": "area"}, "both the target and the weight"),
    ],
)
@pytest.mark.usefixtures("whole")
def test_a_wrong_role_is_an_error_with_the_nearest_name(tmp_path, roles, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        read_parquet(tmp_path, **roles)


def test_a_single_name_as_columns_is_refused(tmp_path):
    with pytest.raises(TypeError, match="list of names"):
        read_parquet(tmp_path, columns="area")


@pytest.mark.parametrize("batch_rows", [0, 1.5, True])
@pytest.mark.usefixtures("whole")
def test_a_batch_has_at_least_one_row(tmp_path, batch_rows):
    with pytest.raises(ValueError, match="batch_rows must be a whole number"):
        read_parquet(tmp_path).batches(batch_rows=batch_rows)


# --- files that are damaged or change ---------------------------------------------------------


@pytest.mark.usefixtures("whole")
def test_a_truncated_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "part-1.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"part-1.parquet' cannot be read as Parquet: .*write it"):
        read_parquet(tmp_path)


def test_damaged_bytes_are_an_error_that_names_file_and_row_group(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(make_table(), path, row_group_size=50, write_page_checksum=True)
    group = parquet.read_metadata(path).row_group(1).column(0)
    content = bytearray(path.read_bytes())
    middle = group.data_page_offset + group.total_compressed_size // 2
    content[middle : middle + 8] = b"\xff" * 8
    path.write_bytes(content)
    batches = read_parquet(path).batches()
    assert next(batches).first_row == 0
    with pytest.raises(ValueError, match=r"t.parquet', row group 1 cannot be read: .*damaged"):
        next(batches)


@pytest.mark.usefixtures("whole")
def test_a_file_that_changes_between_passes_is_an_error(tmp_path):
    dataset = read_parquet(tmp_path)
    dataset.to_table()
    parquet.write_table(make_table(7), tmp_path / "part-2.parquet")
    os.utime(tmp_path / "part-2.parquet", ns=(0, 0))
    with pytest.raises(ValueError, match=r"part-2.parquet' has changed since"):
        dataset.to_table()


@pytest.mark.usefixtures("whole")
def test_a_file_that_disappears_is_an_error(tmp_path):
    dataset = read_parquet(tmp_path)
    (tmp_path / "part-0.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"part-0.parquet' has disappeared"):
        dataset.to_table()


def test_missing_pyarrow_is_an_error_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'stagewise\[datasets\]'"):
        stagewise.read_parquet(tmp_path)
