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


@pytest.fixture
def visits(tmp_path):
    """Write rows whose events are between two visits; return the file and the table."""
    X, time, event = proportional(300)
    rows = pd.DataFrame(X, columns=list("abcd"))
    last = np.floor(4.0 * time) / 4.0
    rows = rows.assign(seen=np.where(event, last, time), found=np.where(event, last + 0.25, np.inf))
    path = tmp_path / "visits.csv"
    rows.to_csv(path, index=False)
    return path, pd.read_csv(path)


INTERVALS = ("--lower", "seen", "--upper", "found")
AFT = ("--loss", "aft", *FEW)


def test_intervals_are_trained_evaluated_predicted_and_reported(run, visits, tmp_path):
    path, rows = visits
    model, out = tmp_path / "m.stgw", tmp_path / "p.csv"
    code, _, err = run("train", path, *INTERVALS, *AFT, "--model", model)
    assert code == 0, err
    y = survival_target(lower=rows.pop("seen"), upper=rows.pop("found"))
    own = GradientBoostingSurvival(loss="aft", n_estimators=15).fit(rows, y)
    loaded = stagewise.load(model)
    assert loaded.fingerprint() == own.fingerprint()
    code, text, err = run("evaluate", model, path, "--json")
    assert code == 0, err
    assert json.loads(text)["scores"]["c_index"] == pytest.approx(own.score(rows, y))
    code, _, err = run("predict", model, path, "--times", "0.5,1", "--out", out)
    assert code == 0, err
    found = pd.read_csv(out)
    assert list(found) == ["prediction", "survival_0.5", "survival_1"]
    np.testing.assert_allclose(found["prediction"], own.predict(rows))
    code, _, err = run("report", model, path)
    assert code == 0, err
    assert "integrated Brier score" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_held_out_intervals_have_the_share_of_events(run, visits, tmp_path):
    path, rows = visits
    given = "train", path, *INTERVALS, *AFT, "--hold-out", "0.2", "--model", tmp_path / "m.stgw"
    code, text, err = run(*given, "--json")
    assert code == 0, err
    result = json.loads(text)
    events = int(np.isfinite(rows["found"]).sum())
    held = int(0.2 * events) + int(0.2 * (300 - events))
    assert result["rows"] == 300 - held
    assert result["validation"]["c_index"] > 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--lower", "seen"), "needs --upper COLUMN"),
        ((*INTERVALS, "--time", "seen"), "--time cannot be combined with --lower"),
        ((*INTERVALS, "--event", "a"), "--event cannot be combined with --lower"),
        (("--lower", "seen", "--upper", "seen"), "--upper, --entry and --stratum must be diff"),
        (("--lower", "found", "--upper", "seen"), "With --lower found, --upper seen"),
        (("--lower", "nothing", "--upper", "found"), "--lower"),
        ((*INTERVALS, "--set", "loss=cox"), "Add --loss aft"),
    ],
)
def test_wrong_intervals(run, visits, tmp_path, options, message):
    path, _ = visits
    own = FEW if "loss=cox" in options else AFT
    code, _, err = run("train", path, *options, *own, "--model", tmp_path / "m.stgw")
    assert code != 0
    assert message in err
