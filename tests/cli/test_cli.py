"""Predict, evaluate, show, and the program itself: exit codes, pipes, interruptions."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from pyarrow import csv, parquet
from sklearn import metrics

import stagewise
from cli_runs import ROWS, fails, make_table

# --- predict ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_in_a_file_are_those_of_the_estimator(run, folder, tmp_path, ending):
    out = tmp_path / f"p.{ending}"
    code, _, _ = run("predict", "price.stgw", "test.csv", "--out", out)
    read = csv.read_csv if ending == "csv" else parquet.read_table
    estimator = stagewise.load(folder / "price.stgw")
    expected = estimator.predict(csv.read_csv(folder / "test.csv"))
    assert code == 0
    assert read(out)["prediction"].to_pylist() == expected.tolist()


def test_predictions_go_to_standard_output_as_csv(run):
    code, out, _ = run("predict", "flag.stgw", "test.csv", "--proba", "--keep", "rooms")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == '"rooms","prediction","proba_no","proba_yes"'
    assert len(lines) == ROWS + 1


def test_several_targets_are_predicted_by_name_and_not_evaluated(run, folder, tmp_path):
    table = csv.read_csv(folder / "train.csv").to_pandas()
    model = stagewise.GradientBoostingRegressor(n_estimators=3, leaves="vector")
    model.fit(table[["rooms"]], table[["price", "weight"]])
    model.save(tmp_path / "both.stgw")
    code, out, _ = run("predict", tmp_path / "both.stgw", "test.csv")
    assert code == 0
    assert out.splitlines()[0] == '"prediction_price","prediction_weight"'
    assert "price, weight" in run("show", tmp_path / "both.stgw")[1]
    code, _, err = run("evaluate", tmp_path / "both.stgw", "test.csv", "--target", "price")
    assert code != 0
    assert "several targets" in err


def test_the_prediction_is_the_most_probable_class(run):
    code, out, _ = run("predict", "kind.stgw", "test.csv", "--proba", "--json")
    result = json.loads(out)
    proba = np.column_stack([result[f"proba_{k}"] for k in range(3)])
    assert code == 0
    assert result["prediction"] == proba.argmax(axis=1).tolist()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)


def test_columns_are_matched_by_name_in_any_order(run, folder, tmp_path):
    table = csv.read_csv(folder / "test.csv")
    csv.write_csv(table.select(["rooms", "flag", "age", "area"]), tmp_path / "mixed.csv")
    _, straight, _ = run("predict", "price.stgw", "test.csv")
    code, mixed, _ = run("predict", "price.stgw", tmp_path / "mixed.csv")
    assert code == 0
    assert mixed == straight


def test_error_for_a_missing_column_suggests_the_nearest_name(run, folder, tmp_path):
    table = csv.read_csv(folder / "test.csv").rename_columns({"rooms": "room"})
    csv.write_csv(table, tmp_path / "less.csv")
    fails(run("predict", "price.stgw", tmp_path / "less.csv"), "'rooms'", "did you mean 'room'")


def test_text_in_a_numeric_column_is_refused(run, tmp_path):
    (tmp_path / "t.csv").write_text("area,age,rooms\n1,2,three\n")
    fails(run("predict", "price.stgw", tmp_path / "t.csv"), "'rooms'", "text")


def test_probabilities_of_a_regression_are_refused(run):
    fails(run("predict", "price.stgw", "test.csv", "--proba"), "--proba", "numbers")


def test_a_kept_column_may_not_have_the_name_of_a_prediction(run, tmp_path):
    (tmp_path / "t.csv").write_text("area,age,rooms,prediction\n1,2,3,4\n")
    fails(run("predict", "price.stgw", tmp_path / "t.csv", "--keep", "prediction"), "'prediction'")


def test_a_model_without_feature_names_reads_columns_by_position(run, tmp_path):
    table = make_table(0)
    X = np.column_stack([table["area"].to_numpy(), table["age"].to_numpy()])
    estimator = stagewise.GradientBoostingRegressor(n_estimators=5)
    estimator.fit(X, table["price"].to_numpy())
    estimator.save(tmp_path / "m.stgw")
    csv.write_csv(table.select(["area", "age", "price"]), tmp_path / "t.csv")
    code, out, _ = run(
        *("predict", tmp_path / "m.stgw", tmp_path / "t.csv", "--ignore", "price", "--json")
    )
    assert code == 0
    assert json.loads(out)["prediction"] == estimator.predict(X).tolist()
    fails(run("predict", tmp_path / "m.stgw", tmp_path / "t.csv"), "2 columns", "--ignore")
    fails(run("evaluate", tmp_path / "m.stgw", tmp_path / "t.csv"), "--target")


# --- evaluate ---------------------------------------------------------------------------------


def test_regression_metrics_equal_scikit_learns(run, folder):
    code, out, _ = run("evaluate", "price.stgw", "test.csv", "--weight", "weight", "--json")
    table = csv.read_csv(folder / "test.csv")
    y, weight = table["price"].to_numpy(), table["weight"].to_numpy()
    mean = stagewise.load(folder / "price.stgw").predict(table)
    result = json.loads(out)
    assert code == 0
    assert result["target"] == "price"
    assert result["scores"] == {
        "rmse": metrics.root_mean_squared_error(y, mean, sample_weight=weight),
        "mae": metrics.mean_absolute_error(y, mean, sample_weight=weight),
        "r2": metrics.r2_score(y, mean, sample_weight=weight),
    }


def test_classification_metrics_equal_scikit_learns(run, folder):
    code, out, _ = run("evaluate", "kind.stgw", "test.csv", "--json")
    table = csv.read_csv(folder / "test.csv")
    y = table["kind"].to_numpy()
    proba = stagewise.load(folder / "kind.stgw").predict_proba(table)
    result = json.loads(out)
    assert code == 0
    assert result["scores"]["accuracy"] == np.mean(proba.argmax(axis=1) == y)
    assert result["scores"]["log_loss"] == pytest.approx(metrics.log_loss(y, proba), rel=1e-12)
    assert result["scores"]["auc"] == pytest.approx(
        metrics.roc_auc_score(y, proba, multi_class="ovr"), rel=1e-12
    )
    assert [row["rows"] for row in result["classes"]] == np.bincount(y).tolist()


def test_evaluate_prints_a_table_of_classes(run):
    code, out, _ = run("evaluate", "flag.stgw", "test.csv")
    assert code == 0
    assert "accuracy" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["class", "rows", "precision", "recall", "f1"] in rows
    assert {"yes", "no"} <= {row[0] for row in rows if row}


def test_error_names_labels_that_the_model_does_not_have(run, tmp_path):
    (tmp_path / "t.csv").write_text("area,age,rooms,flag\n1,2,3,maybe\n1,2,3,yes\n")
    fails(run("evaluate", "flag.stgw", tmp_path / "t.csv"), "'maybe'", "1 row", "'no', 'yes'")


def test_one_row_can_be_evaluated(run, tmp_path):
    (tmp_path / "t.csv").write_text("area,age,rooms,price,flag\n1,2,3,4,yes\n")
    for model, gap in (("price", "r2"), ("flag", "auc")):
        code, out, _ = run("evaluate", f"{model}.stgw", tmp_path / "t.csv", "--json")
        assert code == 0
        assert json.loads(out)["scores"][gap] is None


# --- show -------------------------------------------------------------------------------------


def test_show_prints_the_contents_of_a_model(run, folder):
    code, out, _ = run("show", "kind.stgw")
    assert code == 0
    for word in ["classification", "log_loss", "0, 1, 2", "learning_rate", "area", "fingerprint"]:
        assert word in out
    assert stagewise.load(folder / "kind.stgw").fingerprint() in out
    assert f"{(folder / 'kind.stgw').stat().st_size:,} bytes" in out


def test_show_json_agrees_with_the_estimator(run, folder):
    code, out, _ = run("show", "price.stgw", "--json")
    facts = json.loads(out)
    estimator = stagewise.load(folder / "price.stgw")
    importance = dict(
        zip(["area", "age", "rooms"], estimator.feature_importances_.tolist(), strict=True)
    )
    assert code == 0
    assert facts["importance"] == importance
    assert list(facts["importance"].values()) == sorted(importance.values(), reverse=True)
    assert facts["rounds"] == facts["trees"] == 15
    assert facts["target"] == "price"
    assert facts["parameters"]["min_samples_leaf"] == 5
    assert facts["train_loss"] == estimator.train_loss_.tolist()


def test_the_longest_bar_belongs_to_the_most_important_feature(run):
    _, out, _ = run("show", "price.stgw", "--top", "2")
    bars = [line.count("█") for line in out.splitlines() if "%" in line]
    assert len(bars) == 2
    assert bars[0] > bars[1]


@pytest.mark.parametrize("command", ["show", "predict", "evaluate"])
def test_a_file_that_is_no_model_is_refused(run, command):
    more = [] if command == "show" else ["test.csv"]
    fails(run(command, "train.csv", *more), "not a Stagewise model")
    fails(run(command, "none.stgw", *more), "no model 'none.stgw'")


# --- the program itself -----------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--output", "p.csv"], ["--output=p.csv"]])
def test_an_unknown_option_suggests_the_nearest_one(run, words):
    code, _, err = run("predict", "m.stgw", "t.csv", *words)
    assert code == 2
    assert f"unrecognized arguments: {' '.join(words)} (did you mean '--out'?)" in err


@pytest.mark.parametrize("argv", [[], ["train"], ["dance"], ["train", "t.csv", "--target"]])
def test_a_mistyped_command_has_exit_code_2(run, argv):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert "usage: stagewise" in err


@pytest.mark.parametrize("argv", [["--help"], ["train", "--help"], ["--version"]])
def test_help_and_version_have_exit_code_0(run, argv):
    code, out, _ = run(*argv)
    assert code == 0
    assert "stagewise" in out


def test_debug_shows_the_traceback(run):
    code, _, err = run("show", "none.stgw", "--debug")
    assert code == 1
    assert "Traceback" in err


def test_an_interruption_has_exit_code_130_and_leaves_the_old_model(run, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    model = tmp_path / "m.stgw"
    model.write_bytes(b"old")
    monkeypatch.setattr(stagewise.GradientBoostingRegressor, "fit", interrupt)
    code, out, err = run("train", "train.csv", "--target", "price", "--drop-text", "--model", model)
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert model.read_bytes() == b"old"


def test_a_bug_is_reported_without_a_traceback(run, monkeypatch):
    def fail(*_):
        raise RuntimeError("left is right")

    monkeypatch.setattr(stagewise, "load", fail)
    fails(run("show", "price.stgw"), "RuntimeError: left is right", "bug")


def test_the_installed_command_works_as_a_program(folder):
    command = [sys.executable, "-m", "stagewise.cli", "show", "price.stgw", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["task"] == "regression"
    assert done.stderr == ""


def test_a_closed_output_pipe_is_no_error(folder):
    command = f"{sys.executable} -m stagewise.cli predict price.stgw test.csv | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == '"prediction"\n'
    assert "Traceback" not in done.stderr


def test_a_terminal_without_unicode_gets_an_ascii_chart(folder):
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-m", "stagewise.cli", "show", "price.stgw"],
        cwd=folder,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert b"####" in done.stdout
