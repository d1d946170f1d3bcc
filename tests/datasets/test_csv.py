"""CSV files as one table: types of all files together, and faults."""

from __future__ import annotations

import datetime as dt
import gzip

import pyarrow as pa
import pytest
from pyarrow import csv

from datasets.table_files import make_table
from stagewise import read_csv
from stagewise.datasets import csv_source


def write(folder, **contents):
    for name, content in contents.items():
        (folder / f"{name}.csv").write_text(content)


def test_files_are_one_table(tmp_path):
    for seed in range(2):
        csv.write_csv(make_table(seed), tmp_path / f"{seed}.csv")
    dataset = read_csv(tmp_path, target="price")
    expected = pa.concat_tables([csv.read_csv(tmp_path / f"{seed}.csv") for seed in range(2)])
    assert dataset.to_table().equals(expected.combine_chunks())
    assert repr(dataset).endswith("target 'price'; 2 CSV files)")


@pytest.mark.parametrize("batch_rows", [1, 30, 10**6])
def test_batches_have_row_numbers_of_the_dataset(tmp_path, batch_rows):
    for seed in range(2):
        csv.write_csv(make_table(seed), tmp_path / f"{seed}.csv")
    batches = list(read_csv(tmp_path).batches(batch_rows=batch_rows))
    ends = [batch.first_row + batch.n_rows for batch in batches]
    assert [0, *ends[:-1]] == [batch.first_row for batch in batches]
    assert ends[-1] == 200


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("1", "2.5", pa.float64()),
        ("", "3", pa.int64()),
        ("1", "x", pa.string()),
        ("2024-01-02", "2024-01-02 03:04:05", pa.timestamp("s")),
        ("true", "false", pa.bool_()),
        ("true", "7", pa.string()),
    ],
)
def test_the_type_of_a_column_holds_the_cells_of_all_files(tmp_path, one, other, kind):
    write(tmp_path, a=f"n,x\n1,{one}\n", b=f"n,x\n2,{other}\n")
    assert read_csv(tmp_path).schema.field("x").type == kind


def test_a_fraction_after_the_first_block_makes_a_column_float(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_source, "FIRST_BLOCK", 64)
    write(tmp_path, a="x,y\n" + "1,2024-01-02\n" * 50 + "2.5,2024-01-02\n")
    table = read_csv(tmp_path).to_table()
    assert table["x"].to_pylist() == [1.0] * 50 + [2.5]
    assert table["y"][0].as_py() == dt.date(2024, 1, 2)


def test_the_order_of_the_columns_may_differ(tmp_path):
    write(tmp_path, a="x,y\n1,2\n", b="y,x\n4,3\n")
    assert read_csv(tmp_path).to_table().to_pydict() == {"x": [1, 3], "y": [2, 4]}


def test_a_type_can_be_chosen(tmp_path):
    write(tmp_path, a="zip\n007\n")
    dataset = read_csv(tmp_path, types={"zip": "string"})
    assert dataset.to_table()["zip"].to_pylist() == ["007"]


def test_a_compressed_file_is_read(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a;b\n1;2\n"))
    assert read_csv(tmp_path).to_table().to_pydict() == {"a": [1], "b": [2]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", r"a.csv' is empty"),
        ("x,y\n", r"a.csv' has columns but no rows"),
        ("x,y\n1\n", r"a.csv' cannot be read as CSV"),
        ("x,x\n1,2\n", r"a.csv' has more than one column named 'x'"),
    ],
)
def test_a_faulty_file_is_an_error_that_names_it(tmp_path, content, words):
    write(tmp_path, a=content)
    with pytest.raises(ValueError, match=words):
        read_csv(tmp_path)


def test_a_column_that_one_file_lacks_is_an_error(tmp_path):
    write(tmp_path, a="x,y\n1,2\n", b="x\n1\n")
    with pytest.raises(ValueError, match=r"b.csv' has no column 'y', which .*a.csv' has"):
        read_csv(tmp_path)


def test_a_cell_that_does_not_fit_the_chosen_type_is_an_error(tmp_path):
    write(tmp_path, a="x\n1\n", b="x\nfoo\n")
    with pytest.raises(ValueError, match=r"Column 'x' of .*b.csv' cannot be read as double: .*foo"):
        read_csv(tmp_path, types={"x": "double"})


def test_a_changed_file_is_an_error(tmp_path):
    write(tmp_path, a="x\n1\n")
    dataset = read_csv(tmp_path)
    write(tmp_path, a="x\n1\n2\n")
    with pytest.raises(ValueError, match=r"a.csv' has changed"):
        dataset.to_table()
