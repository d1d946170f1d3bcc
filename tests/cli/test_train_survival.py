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
