"""``stagewise train --task survival``: times and events from columns of a file."""

import json

import numpy as np
import pandas as pd
import pytest

import stagewise
from stagewise import GradientBoostingSurvival, survival_target
from survival.samples import proportional


@pytest.fixture
def table(tmp_path):
    """Write rows with times; return the file and the table."""
    X, time, event = proportional(300)
    rows = pd.DataFrame(X, columns=list("abcd"))
    rows = rows.assign(kind=np.where(X[:, 0] > 0, "x", "y"), days=time, died=event.astype(int))
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    return path, pd.read_csv(path)


TIMES = ("--task", "survival", "--time", "days", "--event", "died")
FEW = ("--set", "n_estimators=15")


def test_train_evaluate_and_predict(run, table, tmp_path):
    path, rows = table
    model = tmp_path / "m.stgw"
    code, out, err = run("train", path, *TIMES, *FEW, "--model", model)
    assert code == 0, err
    assert "m.stgw" in out
    own = GradientBoostingSurvival(n_estimators=15, categorical_features=["kind"])
    y = survival_target(rows.pop("days"), rows.pop("died"))
    loaded = stagewise.load(model)
    assert loaded.fingerprint() == own.fit(rows, y).fingerprint()
    code, out, err = run("evaluate", model, path, "--json")
    assert code == 0, err
    assert json.loads(out)["scores"]["c_index"] == pytest.approx(loaded.score(rows, y))
    code, _, err = run("predict", model, path, "--out", tmp_path / "p.csv")
    assert code == 0, err
    assert len(pd.read_csv(tmp_path / "p.csv")) == 300


def test_held_out_rows_are_scored(run, table, tmp_path):
    path, _ = table
    given = "train", path, *TIMES, *FEW, "--hold-out", "0.3", "--model", tmp_path / "m.stgw"
    code, out, err = run(*given, "--json")
    assert code == 0, err
    assert json.loads(out)["validation"]["c_index"] > 0.6


@pytest.mark.parametrize("loss", ["cox", "discrete_time", "cause_specific"])
def test_report_and_predictions_of_every_shape(run, table, tmp_path, loss):
    path, rows = table
    model, out = tmp_path / "m.stgw", tmp_path / "p.csv"
    if loss == "cause_specific":
        rows.assign(died=rows["died"] * (1 + rows.index % 2)).to_csv(path, index=False)
    assert run("train", path, *TIMES, *FEW, "--set", f"loss={loss}", "--model", model)[0] == 0
    code, _, err = run("predict", model, path, "--out", out)
    assert code == 0, err
    columns = ["prediction_event_1", "prediction_event_2"]
    expected = columns if loss == "cause_specific" else ["prediction"]
    assert list(pd.read_csv(out)) == expected
    code, _, err = run("report", model, path)
    assert code == 0, err
    assert "integrated Brier score" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_strata(run, table, tmp_path):
    path, _ = table
    given = "train", path, *TIMES, "--stratum", "kind", *FEW, "--model", tmp_path / "m.stgw"
    assert run(*given)[0] == 0
    model = stagewise.load(tmp_path / "m.stgw")
    assert model.strata_ == ["x", "y"]
    assert "kind" not in model.feature_names_in_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--task", "survival", "--time", "days"), "needs --event"),
        (("--time", "days", "--event", "nothing"), "nothing"),
        ((*TIMES, "--target", "a"), "instead of --target"),
        (("--target", "a", "--task", "regression", "--event", "died"), "--event is for --task"),
        ((), "--target"),
        (("--time", "a", "--event", "died"), "y['time'] is negative"),
        ((*TIMES, "--method", "forest"), "does not support survival times"),
        (("--time", "days", "--event", "days"), "different columns"),
        ((*TIMES, "--memory-limit", "1GB"), "one file in memory"),
    ],
)
def test_wrong_columns(run, table, tmp_path, options, message):
    path, _ = table
    code, _, err = run("train", path, *options, *FEW, "--model", tmp_path / "m.stgw")
    assert code != 0
    assert message in err


@pytest.mark.parametrize("loss", ["cox", "aft", "discrete_time", "cause_specific", "fine_gray"])
def test_curves_are_columns_at_times(run, table, tmp_path, loss):
    path, rows = table
    model, out = tmp_path / "m.stgw", tmp_path / "p.csv"
    if loss in ("cause_specific", "fine_gray"):
        rows = rows.assign(died=rows["died"] * (1 + rows.index % 2))
        rows.to_csv(path, index=False)
    given = "train", path, *TIMES, *FEW, "--set", f"loss={loss}", "--model", model
    assert run(*given)[0] == 0
    code, _, err = run("predict", model, path, "--times", "0.5,1,2", "--out", out)
    assert code == 0, err
    found, own = pd.read_csv(out), stagewise.load(model)
    features = rows.drop(columns=["days", "died"])
    if loss in ("cause_specific", "fine_gray"):
        curves = own.predict_cumulative_incidence(features, [0.5, 1.0, 2.0])
        for k, cause in enumerate(curves.causes):
            names = [f"incidence_event_{cause}_{time}" for time in ("0.5", "1", "2")]
            np.testing.assert_allclose(found[names], curves.values[:, k])
    else:
        expected = own.predict_survival_function(features, [0.5, 1.0, 2.0]).values
        np.testing.assert_allclose(found[["survival_0.5", "survival_1", "survival_2"]], expected)


def test_times_of_curves_are_checked(run, table, tmp_path):
    path, _ = table
    model = tmp_path / "m.stgw"
    assert run("train", path, *TIMES, *FEW, "--model", model)[0] == 0
    for text, words in (("late", "numbers from 0 on"), ("2,1", "numbers that increase")):
        code, _, err = run("predict", model, path, "--times", text)
        assert code != 0
        assert words in err
    assert run("train", path, "--target", "a", *FEW, "--model", model)[0] == 0
    code, _, err = run("predict", model, path, "--times", "1")
    assert code != 0
    assert "--times needs a survival model" in err
    assert run("train", path, *TIMES, *FEW, "--stratum", "kind", "--model", model)[0] == 0
    code, _, err = run("predict", model, path, "--times", "1")
    assert code != 0
    assert "without strata" in err
