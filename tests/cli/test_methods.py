"""``--method``: every method from a table to a prediction."""

import json

import pytest

import stagewise
from cli_runs import fails
from stagewise.cli.methods import METHODS

TASKS = [
    (name, task, target)
    for name, method in METHODS.items()
    for task, target in (("regression", "price"), ("classification", "kind"))
    if getattr(method, task)
]
OTHERS = {"price", "kind", "flag", "weight"}


def train(run, path, method, target, *more):
    others = sorted(OTHERS - {target})
    return run("train", "train.csv", "--target", target, "--model", path, "--method", method,
               "--ignore", *others, *more)  # fmt: skip


@pytest.mark.parametrize(("method", "task", "target"), TASKS)
def test_every_method_can_train_predict_evaluate_and_show(run, tmp_path, method, task, target):
    path = tmp_path / "m.stgw"
    fast = ("--quality", "2") if method == "auto" else ()
    code, out, err = train(run, path, method, target, "--valid", "test.csv", "--json", *fast)
    assert code == 0, err
    result = json.loads(out)
    assert result["method"] == method
    assert result["task"] == task
    loaded = stagewise.load(path)
    assert type(loaded).__name__ == getattr(METHODS[method], task)
    assert loaded.fingerprint() == result["fingerprint"]
    scores = json.loads(run("evaluate", path, "test.csv", "--json")[1])["scores"]
    assert scores == result["validation"]
    assert scores.get("r2", scores.get("accuracy")) > 0.4
    code, out, err = run("show", path)
    assert code == 0, err
    assert ("intercept" in out) == (method in ("linear", "stepwise", "stagewise"))
    assert run("predict", path, "test.csv")[0] == 0


def test_bagging_is_a_forest_with_all_features(run, tmp_path):
    code, _, err = train(run, tmp_path / "b.stgw", "bagging", "price", "--quiet")
    assert code == 0, err
    assert stagewise.load(tmp_path / "b.stgw").max_features is None
    code, _, _ = train(run, tmp_path / "b.stgw", "bagging", "price", "--set", "max_features=1")
    assert stagewise.load(tmp_path / "b.stgw").max_features == 1


def test_unsupported_tasks_of_a_method_are_errors(run, tmp_path):
    path = tmp_path / "m.stgw"
    fails(train(run, path, "gentleboost", "price"), "supports classification only", "forest")
    fails(train(run, path, "linear", "kind"), "supports regression only", "adaboost")
    fails(train(run, path, "linear", "price", "--threads", "2"), "--threads", "leave it out")
    fails(train(run, path, "stepwise", "price", "--early-stopping"), "--early-stopping")
    fails(train(run, path, "linear", "price", "--set", "max_depth=2"), "max_depth")
    code, _, err = run("train", "train.csv", "--target", "price", "--method", "magic")
    assert code == 2
    assert "magic" in err


def test_an_automatic_model_prints_its_leaderboard(run, tmp_path):
    path = tmp_path / "auto.stgw"
    words = ("train", "train.csv", "--target", "price", "--drop-text", "--auto", "--model", path)
    code, out, err = run(*words, "--quality", "2", "--time-limit", "60")
    assert code == 0, err
    assert "Leaderboard" in out
    assert "fitted model" in out
    model = stagewise.load(path)
    assert (type(model).__name__, model.quality, model.time_limit) == ("AutoRegressor", 2, 60.0)
    code, out, _ = run(*words, "--quality", "2", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["method"] == "auto"
    assert [row["name"] for row in found["leaderboard"]] == ["fitted model", "default"]
    assert run("show", path)[0] == 0


def test_one_method_is_given(run):
    code, _, err = run("train", "train.csv", "--target", "price", "--method", "forest", "--auto")
    assert code == 2
    assert "not allowed with" in err
