"""The last lines of ``stagewise train``: scores of rows that were not trained on."""

import json
import shlex

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from sklearn import metrics

import stagewise
from cli_runs import FAST, ROWS, fails, make_table
from stagewise.cli.main import main

PRICE = ("train", "train.csv", "--target", "price", "--ignore", "kind", "flag", "weight")


def train(run, tmp_path, *more):
    code, out, err = run(*PRICE, "--model", tmp_path / "m.stgw", "--json", *more)
    assert code == 0, err
    return json.loads(out), stagewise.load(tmp_path / "m.stgw")


def features(folder):
    table = csv.read_csv(folder / "train.csv")
    return table.select(["area", "age", "rooms"]), table["price"].to_numpy()


def scores_of(y, predicted):
    return {
        "rmse": metrics.root_mean_squared_error(y, predicted),
        "mae": metrics.mean_absolute_error(y, predicted),
        "r2": metrics.r2_score(y, predicted),
    }


def test_folds_score_every_row_by_a_model_that_was_not_fitted_to_it(run, folder, tmp_path):
    result, _ = train(run, tmp_path)
    X, y = features(folder)
    same = stagewise.GradientBoostingRegressor().fit(X, y)
    assert result["fingerprint"] == same.fingerprint()
    assert (result["validation_kind"], result["validation_rows"]) == ("folds", ROWS)
    assert result["validation"] == pytest.approx(scores_of(y, same.oof_prediction_))
    assert result["validation"]["rmse"] > 1.2 * scores_of(y, same.predict(X))["rmse"]
    constant = scores_of(y, np.full(ROWS, y.mean()))
    constant["mae"] = np.abs(y - np.median(y)).mean()
    assert result["validation_baseline"] == pytest.approx(constant, rel=1e-3, abs=1e-12)


def test_rows_of_a_single_hold_out_are_not_those_of_folds(run, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=2400)
    csv.write_csv(pa.table({"a": a, "y": a + rng.normal(size=2400)}), tmp_path / "t.csv")
    code, out, _ = run(
        *("train", tmp_path / "t.csv", "--target", "y", "--model", tmp_path / "m.stgw"),
        *("--set", "learning_rate=0.3"),
    )
    assert code == 0
    held = "Scores of 480 training rows, held out of a first fit; they chose the number of rounds"
    assert held in out


def test_rows_that_early_stopping_held_out_are_not_trained_on(run, folder, tmp_path):
    result, model = train(run, tmp_path, "--early-stopping", "--set", "n_estimators=30")
    X, y = features(folder)
    same = stagewise.GradientBoostingRegressor(n_estimators=30, early_stopping=True).fit(X, y)
    held = same.held_out_rows_
    assert len(held) == ROWS / 10 == result["validation_rows"]
    assert result["validation_kind"] == "fraction"
    expected = scores_of(y[held], model.predict(X.take(held)))
    assert result["validation"] == pytest.approx(expected)
    # The loss that early stopping minimised is half of the mean squared error of the same rows.
    assert model.validation_loss_.min() == pytest.approx(expected["rmse"] ** 2 / 2)
    # The model is that of the other rows alone.
    others = np.setdiff1d(np.arange(ROWS), held)
    alone = stagewise.GradientBoostingRegressor(n_estimators=model.n_iter_, learning_rate=0.1)
    assert np.array_equal(alone.fit(X.take(others), y[others]).predict(X), model.predict(X))


def test_forests_are_scored_on_out_of_bag_rows(run, folder, tmp_path):
    result, _ = train(run, tmp_path, "--method", "forest")
    X, y = features(folder)
    forest = stagewise.RandomForestRegressor().fit(X, y)
    assert result["validation_kind"] == "out_of_bag"
    assert result["validation"] == pytest.approx(scores_of(y, forest.oob_prediction_))


@pytest.mark.parametrize("target", ["price", "kind"])
def test_hold_out_rows_are_a_fraction_of_each_class(run, tmp_path, target):
    others = {"price", "kind", "flag", "weight"} - {target}
    code, out, err = run(
        *("train", "train.csv", "--target", target, "--ignore", *sorted(others), *FAST),
        *("--hold-out", "0.25", "--model", tmp_path / "m.stgw", "--json"),
    )
    result = json.loads(out)
    assert code == 0, err
    assert result["validation_kind"] == "hold_out"
    assert result["rows"] + result["validation_rows"] == ROWS
    counts = np.bincount(make_table(0)["kind"].to_numpy()) if target == "kind" else [ROWS]
    assert result["validation_rows"] == sum(int(0.25 * n) for n in counts)


def test_counts_have_a_deviance(run, folder, tmp_path):
    more = ("--task", "regression", "--set", "loss=poisson", "--model", tmp_path / "m.stgw")
    code, out, err = run("train", "train.csv", "--target", "rooms", "--drop-text", *more)
    assert code == 0, err
    for word in ("Poisson deviance", "D²", "RMSE", "MAE", "R²", "best constant"):
        assert word in out
    assert out.index("Poisson deviance") < out.index("RMSE")


def test_without_held_out_rows_the_remedy_is_printed(run, tmp_path):
    code, out, _ = run(*PRICE, *FAST, "--model", tmp_path / "m.stgw")
    assert code == 0
    assert out.splitlines()[-1].startswith("No scores: no rows were held out. Name a table")
    assert "--hold-out 0.2" in out


def test_impossible_hold_outs_are_errors(run):
    fails(run(*PRICE, "--hold-out", "1.5"), "between 0 and 1", "1.5")
    fails(run(*PRICE, "--hold-out", "0.2", "--valid", "test.csv"), "leave one out")
    fails(run(*PRICE, "--hold-out", "0.2", "--memory-limit", "1GB"), "--valid")
    fails(run(*PRICE, "--hold-out", "0.001"), "is no row")


def test_the_next_command_can_be_pasted(run, tmp_path, monkeypatch, capsys):
    for name, seed in (("the rows.csv", 0), ("new 'rows'.csv", 1)):
        csv.write_csv(make_table(seed).select(["area", "age", "price"]), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--valid", "new 'rows'.csv"]):
        assert main(["train", "the rows.csv", "--target", "price", *FAST, *more]) == 0
        last = capsys.readouterr().err.splitlines()[-1]
        words = shlex.split(last.removeprefix("Next: "))
        assert words[0] == "stagewise"
        assert words[1] == ("report" if more else "show")
        assert main(words[1:]) == 0


def test_the_next_command_of_a_model_with_an_exposure_works(run, tmp_path):
    code, _, err = run(
        *("train", "train.csv", "--target", "rooms", "--task", "regression", "--drop-text", *FAST),
        *("--set", "loss=poisson", "--exposure", "weight", "--valid", "test.csv"),
        *("--model", tmp_path / "m.stgw"),
    )
    assert code == 0
    words = shlex.split(err.splitlines()[-1].removeprefix("Next: "))
    assert run(*words[1:])[0] == 0


def test_whole_numbers_without_repetition_look_like_identifiers(run, tmp_path):
    table = make_table(0).select(["area", "price"])
    table = table.append_column("row id", pa.array(range(1000, 1000 + ROWS)))
    csv.write_csv(table, tmp_path / "t.csv")
    words = ("train", tmp_path / "t.csv", "--target", "price", "--model", tmp_path / "m.stgw")
    _, _, err = run(*words, *FAST)
    assert "Warning: 'row id' has a different whole number in every row" in err
    assert "--ignore 'row id'" in err
    assert "identifiers" not in run(*words, *FAST, "--ignore", "row id")[2]
