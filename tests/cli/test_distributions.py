"""`stagewise train --loss` and `--quantile`, and `stagewise predict --quantile`."""

from __future__ import annotations

import json

import numpy as np
import pytest

import stagewise
from cli_runs import FAST, fails


def train(run, *more: str) -> None:
    model = ["--model", "d.stgw", "--quiet", "--ignore", "flag", "kind", "weight"]
    code, _, err = run("train", "train.csv", "--target", "price", *model, *FAST, *more)
    assert code == 0, err


def predict(run, *more: str) -> dict:
    code, out, err = run("predict", "d.stgw", "test.csv", "--json", *more)
    assert code == 0, err
    return json.loads(out)


def test_quantiles_are_columns_in_order(run, folder):
    train(run, "--quantile", "0.05,0.5,0.95")
    found = predict(run)
    assert found["columns"] == ["prediction_0.05", "prediction_0.5", "prediction_0.95"]
    levels = np.column_stack([found[name] for name in found["columns"]])
    assert (np.diff(levels, axis=1) >= 0).all()
    assert stagewise.load(folder / "d.stgw").quantile == [0.05, 0.5, 0.95]


def test_several_quantiles_are_scored_on_rows_that_are_held_out_and_on_files(run):
    train(run, "--set", "loss=quantile", "--set", "quantile=[0.1,0.5,0.9]", "--hold-out", "0.2")
    code, out, err = run("evaluate", "d.stgw", "train.csv", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["scores"]["pinball"] < found["baseline"]["pinball"]
    assert "rmse" in found["scores"]  # of the middle quantile


def test_distributions_are_scored_by_their_likelihood(run):
    train(run, "--loss", "normal", "--hold-out", "0.2")
    code, out, err = run("evaluate", "d.stgw", "train.csv", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert list(found["scores"])[:3] == ["nll", "crps", "coverage_90"]
    assert found["scores"]["nll"] < found["baseline"]["nll"]


def test_one_quantile_is_a_column(run, folder):
    train(run, "--quantile", "0.9")
    assert predict(run)["columns"] == ["prediction"]
    assert stagewise.load(folder / "d.stgw").loss == "quantile"


def test_quantiles_of_distributions_are_columns(run):
    train(run, "--loss", "normal")
    found = predict(run, "--quantile", "0.1,0.9")
    assert found["columns"] == ["prediction", "quantile_0.1", "quantile_0.9"]
    low, mean, high = (np.array(found[n]) for n in ("quantile_0.1", "prediction", "quantile_0.9"))
    np.testing.assert_allclose(mean - low, high - mean)


@pytest.mark.parametrize("levels", ["0", "a", "0.9,0.1", "0.5,0.5", ""])
def test_bad_levels_are_named(run, levels):
    words = ["train", "train.csv", "--target", "price", "--quantile", levels]
    fails(run(*words), "--quantile")


def test_other_models_have_no_quantiles(run):
    train(run)
    fails(run("predict", "d.stgw", "test.csv", "--quantile", "0.9"), "--loss normal")
