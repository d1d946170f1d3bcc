"""``stagewise train`` on files of any size: the model is that of the same rows in memory."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import stagewise
from cli_runs import fails
from stagewise.cli.training import dataset_rows

N = 3_000
FAST = ["--set", "n_estimators=10"]


def make_rows(seed=0, n=N):
    """Return rows with every kind of column and of target."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    colour = rng.choice(np.array(["red", "green", "blue", None], dtype=object), n)
    score = a + b + (colour == "red") + rng.normal(size=n)
    return pa.table(
        {
            "a": a,
            "b": pa.array(b, mask=rng.random(n) < 0.1),
            "day": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
            "nothing": pa.nulls(n),
            "rooms": rng.integers(1, 9, n),
            "colour": pa.array(colour),
            "price": score,
            "flag": score > 0,
            "size": np.select([score > 1, score < -1], ["large", "small"], "middle"),
            "stars": np.digitize(score, [-1, 0, 1]),
            "weight": rng.integers(0, 4, n),
        }
    )


TARGETS = ["price", "flag", "size", "stars"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the rows as one file and as parts of several sizes, and validation rows."""
    folder = tmp_path_factory.mktemp("files")
    table = make_rows()
    (folder / "parts").mkdir()
    for number, first in enumerate([0, 1_000, 1_700]):
        last = [1_000, 1_700, N][number]
        path = folder / "parts" / f"{number}.parquet"
        parquet.write_table(table.slice(first, last - first), path, row_group_size=300)
    parquet.write_table(table, folder / "whole.parquet")
    parquet.write_table(make_rows(1, 900), folder / "valid.parquet")
    return folder


@pytest.fixture
def folder(files):
    """The folder in which `run` runs commands."""
    return files


@pytest.fixture
def train(run, tmp_path):
    """Train; return the exit code, the result and the errors."""

    def train(*argv):
        code, out, err = run("train", *argv, "--model", tmp_path / "m.stgw", "--json")
        return code, json.loads(out) if code == 0 else out, err

    return train


def others(target):
    return ["--ignore", *(name for name in TARGETS if name != target)]


def results(train, *commands):
    """Return the results of commands that succeed."""
    found = []
    for command in commands:
        code, result, err = train(*command)
        assert code == 0, err
        found.append(result)
    return found


SAME = ("fingerprint", "task", "reason", "rows", "features", "train_loss", "categories", "rounds")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "data", [["parts/*.parquet"], ["parts"], ["whole.parquet", "--cache", "."]]
)
def test_files_give_the_model_of_the_table_in_memory(train, target, data):
    common = ["--target", target, *FAST, "--weight", "weight", *others(target)]
    one, other = results(train, ["whole.parquet", *common], [*data, *common])
    assert [one[name] for name in SAME] == [other[name] for name in SAME]


def test_csv_files_with_text_that_looks_like_numbers(train, tmp_path):
    table = make_rows().select(["a", "rooms", "colour", "price"])
    for number in range(3):
        csv.write_csv(table.slice(1_000 * number, 1_000), tmp_path / f"{number}.csv")
    csv.write_csv(table, tmp_path / "whole.csv")
    common = ["--target", "price", *FAST, "--categorical", "rooms"]
    parts = [tmp_path / f"{number}.csv" for number in range(3)]
    one, other = results(train, [tmp_path / "whole.csv", *common], [*parts, *common])
    assert one["categories"] == {"rooms": 8, "colour": 3}
    assert [one[name] for name in SAME] == [other[name] for name in SAME]


def test_early_stopping_on_validation_files(train):
    common = ["--target", "price", "--set", "n_estimators=300", "--set", "learning_rate=0.5"]
    common += ["--valid", "valid.parquet", "--early-stopping", *others("price")]
    one, other = results(
        train, ["whole.parquet", *common], ["parts", "--memory-limit", "1GB", *common]
    )
    assert one["rounds"] < 300
    for name in ("validation_loss", "validation", "validation_rows_scored", *SAME):
        assert one[name] == other[name]


def test_a_pattern_of_validation_files_opens_the_rows_as_a_dataset(train):
    common = ["whole.parquet", "--target", "flag", *FAST, *others("flag")]
    one, other = results(
        train, [*common, "--valid", "valid.parquet"], [*common, "--valid", "vali*.parquet"]
    )
    assert one["validation"] == other["validation"]
    assert one["fingerprint"] == other["fingerprint"]


def test_scores_of_many_validation_rows_are_those_of_a_sample(run, tmp_path, monkeypatch):
    monkeypatch.setattr(dataset_rows, "MOST_SCORED", 250)
    code, out, _ = run(
        *("train", "parts", "--target", "price", *FAST, *others("price")),
        *("--valid", "valid.parquet", "--model", tmp_path / "m.stgw"),
    )
    assert code == 0
    line = next(line for line in out.splitlines() if "RMSE" in line)
    assert "Scores of 225 of the 900 rows of valid.parquet" in out
    rows = make_rows(1, 900).take(list(range(0, 900, 4)))
    error = stagewise.load(tmp_path / "m.stgw").predict(rows) - rows["price"].to_numpy()
    assert float(line.split()[1]) == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-5)


def test_the_model_of_several_files_has_a_name_of_its_own(run, files):
    for data, name in ((["parts/*.parquet"], "model"), (["parts"], "parts")):
        code, _, _ = run("train", *data, "--target", "price", *FAST, *others("price"), "--quiet")
        assert code == 0
        (files / f"{name}.stgw").unlink()


def test_training_does_not_hold_the_rows_in_memory(train, monkeypatch):
    def refuse(self, **_):
        raise AssertionError("all rows were read into memory")

    monkeypatch.setattr(stagewise.datasets.Dataset, "to_table", refuse)
    results(
        train, ["parts", "--target", "stars", *FAST, *others("stars"), "--valid", "valid.parquet"]
    )


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["parts", "--target", "prize"], ["--target", "did you mean 'price'?"]),
        (["parts", "--target", "price", "--weight", "wait"], ["--weight", "'weight'"]),
        (["parts", "--target", "price", "--ignore", "colr"], ["--ignore", "'colour'"]),
        (["part/*.parquet", "--target", "price"], ["No file matches 'part/*.parquet'"]),
        (["none", "parts", "--target", "price"], ["There is no file 'none'"]),
        (
            ["whole.parquet", "--target", "price", "--memory-limit", "4XB"],
            ["--memory-limit", "4XB"],
        ),
        (["parts", "--target", "price", "--memory-limit", "1MB"], ["--memory-limit", "128MiB"]),
        (["parts", "--target", "price", "--cache", "none"], ["--cache", "create it"]),
        (["parts", "--target", "price", "--drop-unlabelled"], ["--drop-unlabelled", "write files"]),
        (
            ["parts", "--target", "price", "--method", "tree", "--checkpoint", "c"],
            ["--method tree", "--method boosting"],
        ),
        (["parts", "--target", "price", "--tls-key", "k"], ["--tls-key", "tls://"]),
        (
            ["parts", "--target", "price", "--cluster", "tcp://a:1", "--cache", "c"],
            ["--cache cannot be combined with --cluster"],
        ),
        (
            ["parts", "--target", "price", "--checkpoint", "c", "--set", "random_state=none"],
            ["--checkpoint", "--seed"],
        ),
    ],
)
def test_a_wrong_option_is_one_clear_error(run, argv, words):
    fails(run("train", *argv), *words)


def test_a_column_whose_type_differs_can_be_ignored(train, tmp_path):
    table = make_rows().select(["a", "rooms", "price"])
    parquet.write_table(table.slice(0, 1_000), tmp_path / "0.parquet")
    text = table.slice(1_000).set_column(1, "rooms", table["rooms"].slice(1_000).cast(pa.string()))
    parquet.write_table(text, tmp_path / "1.parquet")
    parquet.write_table(table, tmp_path / "whole.parquet")
    command = [tmp_path / "[01].parquet", "--target", "price", *FAST]
    code, out, err = train(*command)
    assert (code, out) == (1, "")
    assert "Column 'rooms' is string in" in err
    assert "--ignore rooms" in err
    one, other = results(
        train,
        [*command, "--ignore", "rooms"],
        [tmp_path / "whole.parquet", *command[1:], "--ignore", "rooms"],
    )
    assert one["fingerprint"] == other["fingerprint"]


def test_files_of_two_formats_are_an_error(run, tmp_path):
    csv.write_csv(make_rows(0, 20).drop_columns(["nothing"]), tmp_path / "a.csv")
    parquet.write_table(make_rows(0, 20), tmp_path / "b.parquet")
    fails(run("train", tmp_path, "--target", "price"), "is a Parquet file", "is a CSV file")


def test_every_method_is_trained_from_files_that_fit_into_memory(train, folder):
    one, other = results(
        train,
        ["parts", "--target", "price", "--method", "forest", "--set", "n_estimators=3"],
        ["whole.parquet", "--target", "price", "--method", "forest", "--set", "n_estimators=3"],
    )
    assert one["fingerprint"] == other["fingerprint"]


def test_a_checkpoint_of_rows_in_memory_is_not_used(train, folder):
    code, result, _ = train("parts", "--target", "price", "--checkpoint", "c")
    assert code == 0
    assert result["checkpoint"] == "not used: the rows were fitted in memory"


@pytest.mark.parametrize("method", ["linear", "tree"])
def test_methods_without_validation_rows_ignore_them(train, folder, method):
    left_out = [*others("price"), "day", "nothing", "b", "colour"]
    command = ["parts", "--target", "price", "--method", method, "--valid", "parts", *left_out]
    code, result, err = train(*command)
    assert code == 0, err
    assert result["method"] == method
