"""Text and categories on the command line, from training to prediction."""

import json
import subprocess

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import stagewise
from cli_runs import FAST, ROWS, fails, make_table

ZIPS = ["007", "7", "0815", "10"]


@pytest.fixture(scope="module")
def towns(tmp_path_factory):
    """A folder with a table of text, of codes with leading zeros, and of dictionaries."""
    folder = tmp_path_factory.mktemp("towns")
    table = make_table(0).select(["area", "price", "flag"])
    table = table.append_column("zip", [[ZIPS[row % 4] for row in range(ROWS)]])
    csv.write_csv(table, folder / "t.csv", csv.WriteOptions(quoting_style="none"))
    encoded = table.set_column(2, "flag", table["flag"].dictionary_encode())
    parquet.write_table(encoded, folder / "t.parquet")
    return folder


def train(run, folder, name="t.csv", *more):
    model = folder / "m.stgw"
    command = ["train", folder / name, "--target", "price", "--model", model, *FAST, *more]
    code, out, err = run(*command, "--json")
    assert code == 0, err
    return model, json.loads(out)


def test_text_columns_are_categorical(run, towns):
    model, result = train(run, towns)
    assert result["categories"] == {"flag": 2}
    assert result["dropped"] == []
    table = csv.read_csv(towns / "t.csv")
    estimator = stagewise.GradientBoostingRegressor(
        n_estimators=15, min_samples_leaf=5, categorical_features="text"
    ).fit(table.drop_columns("price"), table["price"].to_numpy())
    assert stagewise.load(model).fingerprint() == estimator.fingerprint()


def test_training_prints_the_number_of_categories(run, towns, tmp_path):
    code, out, _ = run(
        *("train", towns / "t.csv", "--target", "price", "--model", tmp_path / "m.stgw", *FAST),
        *("--categorical", "zip"),
    )
    assert code == 0
    assert "flag 2, zip 4" in out
    code, out, _ = run("show", tmp_path / "m.stgw")
    assert code == 0
    assert "flag 2, zip 4" in out
    _, out, _ = run("show", tmp_path / "m.stgw", "--json")
    assert json.loads(out)["categories"] == {"flag": 2, "zip": 4}


@pytest.mark.parametrize("words", [["zip,area"], ["zip", "area"]])
def test_named_columns_are_read_as_text(run, towns, words):
    model, result = train(run, towns, "t.csv", "--categorical", *words)
    assert list(result["categories"]) == ["area", "flag", "zip"]
    categories = stagewise.load(model).model_.features[2].categories.values
    assert categories == ("007", "0815", "10", "7")
    code, out, err = run("predict", model, towns / "t.csv")
    assert code == 0
    assert "Warning" not in err
    table = csv.read_csv(
        towns / "t.csv", convert_options=csv.ConvertOptions(column_types={"zip": pa.string()})
    )
    expected = stagewise.load(model).predict(table).tolist()
    assert [float(line) for line in out.splitlines()[1:]] == expected


def test_csv_and_parquet_give_the_same_model(run, towns):
    _, first = train(run, towns, "t.csv", "--categorical", "zip")
    _, second = train(run, towns, "t.parquet")
    assert first["categories"] == second["categories"] == {"flag": 2, "zip": 4}
    assert first["fingerprint"] == second["fingerprint"]


def test_a_model_of_a_parquet_file_reads_codes_in_csv_as_text(run, towns):
    model, _ = train(run, towns, "t.parquet")
    results = [run("predict", model, towns / name) for name in ("t.csv", "t.parquet")]
    assert results[0][:2] == results[1][:2]
    assert results[0][0] == 0
    assert run("evaluate", model, towns / "t.csv")[0] == 0


def test_a_validation_file_is_read_like_the_training_file(run, towns):
    _, result = train(run, towns, "t.csv", "--categorical", "zip", "--valid", towns / "t.csv")
    assert result["validation"]["r2"] > 0.5


@pytest.mark.filterwarnings("default")
def test_unknown_categories_are_warned_about(run, towns, tmp_path):
    model, _ = train(run, towns)
    (tmp_path / "t.csv").write_text("area,flag,zip\n1,maybe,7\n2,yes,7\n")
    code, _, err = run("predict", model, tmp_path / "t.csv")
    assert code == 0
    assert "Warning: X column 'flag' has unknown categories in 1 of 2 rows: 'maybe'" in err


def test_unknown_categories_are_errors_with_handle_unknown_error(run, towns, tmp_path):
    model, _ = train(run, towns, "t.csv", "--set", "handle_unknown=error")
    (tmp_path / "t.csv").write_text("area,flag,zip\n1,maybe,7\n")
    fails(run("predict", model, tmp_path / "t.csv"), "'flag' has unknown categories", "'maybe'")


def test_text_in_a_numeric_column_is_refused(run, towns, tmp_path):
    model, _ = train(run, towns)
    (tmp_path / "t.csv").write_text("area,flag,zip\nlarge,yes,7\n")
    fails(run("predict", model, tmp_path / "t.csv"), "text in 'area'", "trained on numbers")


def test_the_cell_that_is_no_date_is_named(run, tmp_path):
    days = [f"2024-{month:02}-{day:02}" for month in (1, 2) for day in range(1, 29)]
    rows = [f"{day},{place}\n" for place, day in enumerate(days)]
    (tmp_path / "t.csv").write_text("day,price\n" + "".join(rows))
    model, _ = train(run, tmp_path)
    (tmp_path / "bad.csv").write_text("day,price\n2024-01-05,4\n2024-13-01,5\n")
    cell = "text in 'day' ('2024-13-01' in row 2 (line 3 of a CSV file))"
    messages = [run(command, model, tmp_path / "bad.csv") for command in ("evaluate", "predict")]
    for found in messages:
        fails(found, cell, "correct this column")
    assert messages[0][2].partition(": ")[2] == messages[1][2].partition(": ")[2]
    (tmp_path / "good.csv").write_text("day,price\n2024-01-05,4\n")
    found = run("predict", model, tmp_path / "good.csv", tmp_path / "bad.csv")
    fails(found, "bad.csv' has text in 'day' ('2024-13-01' in row 2 ")
    whole = pa.table({"day": days, "price": np.arange(56.0)})
    parquet.write_table(whole, tmp_path / "t.parquet", row_group_size=20)
    files = [run("predict", model, tmp_path / name)[1] for name in ("t.parquet", "t.csv")]
    assert files[0] == files[1]
    broken = pa.table({"day": [*days[:30], "soon"], "price": np.arange(31.0)})
    parquet.write_table(broken, tmp_path / "bad.parquet", row_group_size=20)
    fails(run("predict", model, tmp_path / "bad.parquet"), "('soon' in row 31 ")


@pytest.mark.parametrize("option", ["--ignore", "--categorical"])
def test_a_file_that_an_option_took_is_named_with_the_command(run, towns, option):
    file = str(towns / "t.csv")
    code, _, err = run("train", "--target", "price", option, "zip", file)
    assert code == 2
    assert f"stagewise train --target price {file} {option} zip\n" in err
    code, _, err = run("train", "--target", "price", option, "zip", "nofile.csv")
    assert err.endswith("the following arguments are required: data\n")


def test_a_file_that_an_option_of_predict_took_is_named(run, towns):
    code, _, err = run("predict", "m.stgw", "--keep", "zip", towns / "t.csv", "--quiet")
    assert code == 2
    assert f"stagewise predict m.stgw {towns / 't.csv'} --keep zip --quiet\n" in err


def write_days(path, days):
    rows = [f"{day},{place + 0.5}\n" for place, day in enumerate(days)]
    path.write_text("day,price\n" + "".join(rows))


DAYS = [(2024, month, day) for month in (1, 2, 3) for day in range(1, 29)]


def test_a_mistyped_date_among_dates_is_an_error_with_options(run, tmp_path):
    days = [f"{y}-{m:02}-{d:02}" for y, m, d in DAYS]
    write_days(tmp_path / "t.csv", [*days[:10], "2024-13-45", *days[11:]])
    command = ["train", tmp_path / "t.csv", "--target", "price", "--model", tmp_path / "m", *FAST]
    fails(
        run(*command),
        "column 'day' has dates, but '2024-13-45' in row 11 (line 12 of a CSV file) is none",
        "Correct the cell or leave it empty; or set --categorical day",
        "--ignore day",
    )
    assert not (tmp_path / "m").exists()
    assert run(*command, "--categorical", "day")[0] == 0
    write_days(tmp_path / "t.csv", ["closed", "open"] * 10 + days[:20])
    assert run(*command)[0] == 0  # other text


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("{d:02}/{m:02}/{y}", r"s#([0-9]{2})/([0-9]{2})/([0-9]{4})#\3-\2-\1#g"),
        ("{m:02}.{d:02}.{y}", r"s#([0-9]{2})\.([0-9]{2})\.([0-9]{4})#\3-\1-\2#g"),
    ],
)
def test_dates_in_figures_have_a_command_that_converts_them(run, tmp_path, form, change):
    write_days(tmp_path / "t.csv", [form.format(y=y, m=m, d=d) for y, m, d in DAYS])
    model = ["--target", "price", "--model", tmp_path / "m.stgw", *FAST]
    code, _, err = run("train", tmp_path / "t.csv", *model)
    assert code == 0
    assert "'day' has dates such as" in err
    assert "pandas" not in err
    written = subprocess.run(
        ["sed", "-E", change, tmp_path / "t.csv"], capture_output=True, check=True, text=True
    )
    assert f"'{change}'" in err
    (tmp_path / "iso.csv").write_text(written.stdout)
    code, out, _ = run("train", tmp_path / "iso.csv", *model, "--json")
    assert code == 0
    assert json.loads(out)["categories"] == {}


def test_the_basic_format_has_a_command_that_converts_it(run, tmp_path):
    write_days(tmp_path / "t.csv", [f"{y}{m:02}{d:02}T000000" for y, m, d in DAYS])
    model = ["--target", "price", "--model", tmp_path / "m.stgw", *FAST]
    code, _, err = run("train", tmp_path / "t.csv", *model)
    assert code == 0
    assert "'day' has dates such as '20240101T000000'" in err
    subprocess.run(err.partition("to train on: ")[2].splitlines()[0], shell=True, check=True)
    code, out, err = run("train", tmp_path / "iso_t.csv", *model, "--json")
    assert code == 0
    assert json.loads(out)["categories"] == {}
    assert run("predict", tmp_path / "m.stgw", tmp_path / "t.csv")[0] == 0


def test_months_and_days_as_numbers_are_warnings(run, tmp_path):
    model = ["--target", "price", "--model", tmp_path / "m.stgw", *FAST]
    write_days(tmp_path / "t.csv", [f"{y - d}-{m:02}" for y, m, d in DAYS])
    _, _, err = run("train", tmp_path / "t.csv", *model)
    assert "Write the dates of 'day' in this format and train again." in err
    write_days(tmp_path / "t.csv", [f"{y}{m:02}{d:02}" for y, m, d in DAYS])
    _, _, err = run("train", tmp_path / "t.csv", *model)
    assert "'day' has days as numbers such as 20240301" in err
    assert "pandas" not in err


def test_dates_as_text_of_a_parquet_file_need_a_type(run, tmp_path):
    days = [f"{y}-{m:02}-{d:02}" for y, m, d in DAYS]
    numbers = pa.array([7, 8] * 42).dictionary_encode()  # a category type without text
    table = pa.table({"day": days, "code": numbers, "price": np.arange(84.0)})
    parquet.write_table(table, tmp_path / "t.parquet")
    code, _, err = run(
        *("train", tmp_path / "t.parquet", "--target", "price", "--model", tmp_path / "m", *FAST)
    )
    assert code == 0
    assert "Parquet files is not read as dates. Store 'day' with a date type." in err


def test_other_dates_are_named_without_a_command(run, tmp_path):
    write_days(tmp_path / "t.csv", [f"{d} Mar {y - m}" for y, m, d in DAYS])
    _, _, err = run(
        *("train", tmp_path / "t.csv", "--target", "price", "--model", tmp_path / "m", *FAST)
    )
    assert "Write the dates of 'day' in this format and train again." in err
    assert "sed -E" not in err


def test_text_columns_can_be_ignored(run, towns):
    _, result = train(run, towns, "t.parquet", "--drop-text", "--categorical", "zip")
    assert result["dropped"] == ["flag"]
    assert result["categories"] == {"zip": 4}


def test_identifier_columns_are_warned_about(run, tmp_path):
    table = make_table(0).select(["area", "price"])
    table = table.append_column("id", [[f"row {n}" for n in range(ROWS)]])
    csv.write_csv(table, tmp_path / "t.csv")
    train = ["train", tmp_path / "t.csv", "--target", "price", "--model", tmp_path / "m.stgw"]
    code, _, err = run(*train, *FAST, "--json")
    assert code == 0
    assert "'id' has a different category in most of the 300 rows" in err
    assert "--ignore id" in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--categorical", "zap"], ["--categorical", "no column 'zap'", "did you mean 'zip'"]),
        (["--categorical", "price"], ["'price' is not a feature"]),
        (["--categorical", "flag", "--ignore", "flag"], ["'flag' is not a feature"]),
        (["--categorical", "zip", "--set", "categorical_features=text"], ["leave one of them out"]),
        (["--set", "categorical_features=none"], ["'flag' holds the text"]),
        (["--set", 'categorical_features=["zap"]'], ["'zap', which X does not have"]),
    ],
)
def test_an_error_message_is_one_sentence(run, towns, tmp_path, more, words):
    command = ["train", towns / "t.csv", "--target", "price", "--model", tmp_path / "m.stgw"]
    fails(run(*command, "--quiet", *more), *words)


def test_error_names_unsupported_columns(run, tmp_path):
    table = make_table(0).select(["area", "price"]).append_column("parts", [[[1]] * ROWS])
    parquet.write_table(table, tmp_path / "t.parquet")
    command = ["train", tmp_path / "t.parquet", "--target", "price", "--model", tmp_path / "m.stgw"]
    fails(run(*command, "--quiet"), "'parts' has list", "--ignore parts", "--drop-text")


def test_a_model_without_feature_names_reads_columns_by_position(run, towns, tmp_path):
    table = csv.read_csv(towns / "t.csv")
    X = table.select(["area", "flag"]).to_pandas().to_numpy(dtype=object)
    estimator = stagewise.GradientBoostingRegressor(n_estimators=5, categorical_features=[1])
    estimator.fit(X, table["price"].to_numpy()).save(tmp_path / "m.stgw")
    csv.write_csv(table.select(["area", "flag"]), tmp_path / "t.csv")
    code, out, _ = run("predict", tmp_path / "m.stgw", tmp_path / "t.csv", "--json")
    assert code == 0
    assert json.loads(out)["prediction"] == estimator.predict(X).tolist()
