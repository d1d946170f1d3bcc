"""`stagewise train --conformal`, `--calibration` and `stagewise predict --interval`."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

import stagewise
from cli_runs import FAST, fails


def train(run, target: str, *more: str) -> None:
    others = sorted({"price", "kind", "flag", "weight"} - {target})
    model = ["--model", f"{target}_c.stgw", "--quiet", "--ignore", *others]
    code, _, err = run("train", "train.csv", "--target", target, *model, *FAST, *more)
    assert code == 0, err


def test_intervals_of_a_regression_are_columns(run, folder):
    train(run, "price", "--conformal", "cv")
    code, out, _ = run("predict", "price_c.stgw", "test.csv", "--interval", "0.8", "--json")
    assert code == 0
    result = json.loads(out)
    assert result["columns"] == ["prediction", "lower", "upper"]
    lower, prediction, upper = (np.array(result[n]) for n in ("lower", "prediction", "upper"))
    assert (lower < prediction).all()
    np.testing.assert_allclose(prediction - lower, upper - prediction)
    assert stagewise.load(folder / "price_c.stgw").conformal == "cv"


def test_the_next_command_predicts_intervals(run):
    ignored = ["--ignore", "kind", "flag", "weight", "--model", "next.stgw"]
    code, _, err = run(
        "train", "train.csv", "--target", "price", "--conformal", "cv", *ignored, *FAST
    )
    assert code == 0, err
    words = shlex.split(err.splitlines()[-1].removeprefix("Next: stagewise "))
    assert words[0] == "predict"
    code, out, err = run(*words)
    assert code == 0, err
    assert '"lower","upper"' in out.splitlines()[0]


def test_sets_of_classes_are_columns(run):
    train(run, "kind", "--conformal", "split", "--calibration", "temperature")
    words = ["--interval", "0.8", "--proba", "--json"]
    code, out, _ = run("predict", "kind_c.stgw", "test.csv", *words)
    assert code == 0
    result = json.loads(out)
    assert result["columns"][-3:] == ["in_set_0", "in_set_1", "in_set_2"]
    assert set(result["in_set_0"]) <= {True, False}


@pytest.mark.parametrize(
    ("model", "coverage", "words"),
    [
        ("price.stgw", "0.9", "conformity scores"),
        ("price_c.stgw", "1.5", "--interval must be a number above 0"),
        ("price_c.stgw", "0.9999", "at most"),
    ],
)
def test_impossible_intervals_are_refused(run, model, coverage, words):
    train(run, "price", "--conformal", "cv")
    fails(run("predict", model, "test.csv", "--interval", coverage), words)


def test_a_method_without_the_option_is_refused(run):
    words = ["train", "train.csv", "--target", "flag", "--model", "a.stgw", "--method", "adaboost"]
    fails(run(*words, "--conformal", "cv"), "--conformal is not available")
