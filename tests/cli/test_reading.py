"""Reading of files, tasks and parameters; no model is trained here."""

import gzip
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from stagewise.cli.columns import feature_table, labels, numbers, text_columns, unsupported_columns
from stagewise.cli.errors import InputError, did_you_mean, listing
from stagewise.cli.files import _FIRST_BLOCK, check_writable, read_file, write_columns
from stagewise.cli.parameters import parse_setting, read_parameters
from stagewise.cli.task import guess_task


class Estimator:
    """A stand-in for an estimator: only its signature is read."""

    def __init__(self, *, learning_rate=0.1, max_depth=None, verbose=0, callbacks=None):
        pass


def guess(values):
    return guess_task(pa.chunked_array([pa.array(values)]), "y").task


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected_from_the_header(tmp_path, sign):
    path = tmp_path / "t.csv"
    path.write_text(f"a{sign}b\n1{sign}2.5\n3{sign}4.5\n")
    assert read_file(path).to_pydict() == {"a": [1, 3], "b": [2.5, 4.5]}


def test_a_compressed_csv_is_read_like_a_plain_one(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a;b\n1;2\n"))
    assert read_file(path).to_pydict() == {"a": [1], "b": [2]}


def test_parquet_is_recognised_by_its_first_bytes(tmp_path):
    path = tmp_path / "table"
    parquet.write_table(pa.table({"a": [1, 2]}), path)
    assert read_file(path).to_pydict() == {"a": [1, 2]}


def test_a_fraction_far_down_a_file_makes_an_integer_column_float(tmp_path):
    path = tmp_path / "t.csv"
    line = b"1,xxxxxxxxxxxxxxxx\n"
    path.write_bytes(b"a,b\n" + line * (_FIRST_BLOCK // len(line) + 10) + b"2.5,y\n")
    assert read_file(path)["a"].type == pa.float64()


def test_empty_cells_are_missing_in_numbers_and_in_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n,\n")
    assert read_file(path).to_pydict() == {"a": [1, None], "b": ["x", None]}


def test_a_column_can_be_read_as_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zip,n\n007,1\n,2\n")
    table = read_file(path, ["zip", "not there"])
    assert table.to_pydict() == {"zip": ["007", None], "n": [1, 2]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1\n", "cannot be read as CSV"),
        (b"a,a\n1,2\n", "more than one column named 'a'"),
    ],
)
def test_error_for_an_invalid_table_names_the_file_and_the_reason(tmp_path, content, words):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_file(path)
    assert "bad.csv" in str(caught.value)


def test_a_damaged_parquet_file_is_an_error(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_file(path)


def test_a_missing_file_and_a_folder_are_errors(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        read_file(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_file(tmp_path)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_written_columns_are_read_back_unchanged(tmp_path, name):
    columns = {"prediction": np.array(["a", "b"]), "proba_a": np.array([0.1, 1 / 3])}
    write_columns(columns, tmp_path / name)
    table = read_file(tmp_path / name)
    assert table.to_pydict() == {"prediction": ["a", "b"], "proba_a": [0.1, 1 / 3]}
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_output_in_a_missing_folder_or_of_unknown_kind_is_refused_beforehand(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        check_writable(tmp_path / "none" / "out.csv")
    with pytest.raises(InputError, match="suffix"):
        check_writable(tmp_path / "out.xlsx", (".csv", ".parquet"))


# --- columns ----------------------------------------------------------------------------------


def test_columns_are_numeric_text_or_unsupported():
    table = pa.table(
        {
            "whole": [1, 2],
            "real": [0.5, None],
            "truth": [True, False],
            "nothing": pa.nulls(2),
            "day": pa.array([0, 1], pa.date32()),
            "text": ["a", "b"],
            "category": pa.array(["a", "b"]).dictionary_encode(),
            "codes": pa.array([7, 8]).dictionary_encode(),
            "price": pa.array([Decimal(1), None]),
            "list": [[1], [2]],
            "bytes": [b"a", b"b"],
        }
    )
    assert text_columns(table) == ["text", "category", "codes"]
    assert unsupported_columns(table) == ["list", "bytes"]


def test_an_empty_column_becomes_nan_and_a_date_a_timestamp():
    table = pa.table({"nothing": pa.nulls(2), "day": pa.array([0, 1], pa.date32())})
    types = feature_table(table, ["day", "nothing"]).schema.types
    assert types == [pa.timestamp("s"), pa.float64()]


def test_missing_targets_are_an_error_with_count_and_first_row():
    table = pa.table({"y": [1.0, None, None]})
    with pytest.raises(
        InputError, match=r"missing in 2 of 3 rows \(first in row 2 \(line 3 of a CSV"
    ):
        numbers(table, "y", "target")


def test_text_as_a_regression_target_is_refused():
    with pytest.raises(InputError, match="must be numbers, but has text"):
        numbers(pa.table({"y": ["a"]}), "y", "target")


@pytest.mark.parametrize(
    "values", [[True, False], [3, 1], ["b", "a"], pa.array(["b", "a"]).dictionary_encode()]
)
def test_labels_keep_their_values(values):
    expected = values if isinstance(values, list) else values.to_pylist()
    assert labels(pa.table({"y": values}), "y").tolist() == expected


# --- task -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0.5, 1.0, 2.0], "regression"),
        ([0.0, 1.0, 1.0], "classification"),
        ([0.25, 1.0, 1.0], "regression"),
        (list(range(100)), "regression"),
        (list(range(10)), "regression"),
        ([0, 1, 2] * 10, "classification"),
        ([0, 1], "classification"),
        ([True, False], "classification"),
        (["yes", "no"], "classification"),
    ],
)
def test_the_task_follows_from_type_and_number_of_values(values, task):
    assert guess(values) == task


def test_a_guessed_task_has_a_reason():
    reason = guess_task(pa.chunked_array([[0, 1, 1, 0]]), "churned").reason
    assert "'churned'" in reason
    assert "2 different integers" in reason


def test_a_date_cannot_be_a_target():
    with pytest.raises(InputError, match="neither numbers nor labels"):
        guess_task(pa.chunked_array([pa.array([0], pa.date32())]), "day")


# --- parameters -------------------------------------------------------------------------------


def test_settings_override_the_file(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("learning_rate = 0.5\nmax_depth = 3\n")
    parameters = read_parameters(path, ["max_depth=none"], Estimator)
    assert parameters == {"learning_rate": 0.5, "max_depth": None}


@pytest.mark.parametrize("wrong", ["lerning_rate", "Learning_Rate"])
def test_an_unknown_parameter_suggests_the_nearest(tmp_path, wrong):
    path = tmp_path / "p.toml"
    path.write_text(f"{wrong} = 0.5\n")
    with pytest.raises(InputError, match="Did you mean 'learning_rate'"):
        read_parameters(path, [], Estimator)


def test_an_unknown_parameter_without_a_near_name_lists_all_names():
    with pytest.raises(InputError, match="The parameters are learning_rate, max_depth"):
        read_parameters(None, ["zzz=1"], Estimator)


@pytest.mark.parametrize("name", ["verbose", "callbacks"])
def test_parameters_of_the_command_line_cannot_be_set(name):
    with pytest.raises(InputError, match=f"cannot set the parameter '{name}'"):
        read_parameters(None, [f"{name}=1"], Estimator)


def test_an_invalid_parameter_file_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("learning_rate: 0.5\n")
    with pytest.raises(InputError, match=r"is not valid TOML: .*line 1"):
        read_parameters(path, [], Estimator)
    with pytest.raises(InputError, match="There is no parameter file"):
        read_parameters(tmp_path / "none.toml", [], Estimator)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("p=1", 1),
        ("p=1e-3", 1e-3),
        ("p=true", True),
        ("p=False", False),
        ("p=word", "word"),
        ("p='a b'", "a b"),
        ("p=None", None),
        ("p = [1, 2]", [1, 2]),
    ],
)
def test_the_value_of_a_setting_is_parsed_as_toml(setting, value):
    assert parse_setting(setting) == ("p", value)


@pytest.mark.parametrize("setting", ["p", "=1", "p="])
def test_a_setting_without_name_or_value_is_refused(setting):
    with pytest.raises(InputError, match="name=value"):
        parse_setting(setting)


# --- name suggestions -------------------------------------------------------------------------


def test_an_unknown_name_without_a_near_one_has_no_hint():
    assert did_you_mean("zzz", ["price", "area"]) == ""


def test_a_long_list_of_names_is_truncated():
    assert listing(["a", "b", "c"], most=2) == "'a', 'b' and 1 more"
