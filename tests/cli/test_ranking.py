"""--qid of `stagewise train`, and the commands that read a ranker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stagewise
from stagewise.cli.main import main

QUERIES = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("queries")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10 * QUERIES, 3))
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["search"] = [f"q{k}" for k in np.repeat(np.arange(QUERIES), 10)]
    table["grade"] = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=len(X)) + 1), 0, 3)
    train = table["search"].isin([f"q{k}" for k in range(40)])
    table[train].to_csv(path / "train.csv", index=False)
    table[~train].to_csv(path / "test.csv", index=False)
    return path


def command(folder: Path, *options: str) -> list[str]:
    fixed = ["--target", "grade", "--model", str(folder / "m.stgw"), "--set", "n_estimators=20"]
    return ["train", str(folder / "train.csv"), *fixed, "--quiet", *options]


def run(arguments: list[str], capsys: Any) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_ranker_is_trained_and_evaluated(folder: Path, capsys: Any) -> None:
    valid = str(folder / "test.csv")
    result = run(command(folder, "--qid", "search", "--valid", valid), capsys)
    assert (result["task"], result["features"]) == ("ranking", 3)
    assert result["validation"]["ndcg@10"] > result["validation_baseline"]["ndcg@10"] + 0.1
    model = stagewise.load(folder / "m.stgw")
    table = pd.read_csv(valid)
    X, y, qid = table[["a", "b", "c"]], table["grade"], table["search"]
    score = model.score(X, y, qid=qid, k=10)
    found = run(["evaluate", str(folder / "m.stgw"), valid], capsys)
    assert found["scores"]["ndcg@10"] == pytest.approx(score)
    out = folder / "p.csv"
    assert main(["predict", str(folder / "m.stgw"), valid, "--out", str(out), "--quiet"]) == 0
    np.testing.assert_allclose(pd.read_csv(out).iloc[:, -1], model.predict(X), atol=1e-9)


def test_whole_queries_are_held_out(folder: Path, capsys: Any) -> None:
    result = run(command(folder, "--qid", "search", "--hold-out", "0.25"), capsys)
    assert result["validation_rows"] == 100
    stops = ["--early-stopping", "--eval-metric", "ndcg@5"]
    stopped = run(command(folder, "--task", "ranking", "--qid", "search", *stops), capsys)
    assert stopped["validation_rows"] == 40
    assert "ndcg@5" in stopped["best_score"]["valid"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "ranking"], "name its column with --qid"),
        (["--qid", "grade"], "'grade' has another role"),
        (["--qid", "sarch"], "search"),
        (["--qid", "search", "--task", "regression"], "--qid is for --task ranking"),
        (["--qid", "search", "--method", "forest"], "does not rank; use --method boosting"),
        (["--qid", "search", "--memory-limit", "1GB"], "a query may not be divided"),
        (["--qid", "search", "--exposure", "a"], "--exposure is for losses with a log link"),
        (["--qid", "search", "--conformal", "cv"], "method boosting (GradientBoostingRanker)"),
        (["--qid", "search", "--hold-out", "0.01"], "40 queries is no query"),
    ],
)
def test_options_that_cannot_be_combined_are_errors(
    folder: Path, capsys: Any, options: list[str], message: str
) -> None:
    assert main(command(folder, *options)) == 1
    assert message in capsys.readouterr().err


def test_the_query_of_a_model_is_needed(folder: Path, capsys: Any) -> None:
    table = pd.read_csv(folder / "train.csv")
    X, y = table[["a", "b", "c"]], table["grade"]
    model = stagewise.GradientBoostingRanker(n_estimators=2).fit(X, y, qid=table["search"])
    model.save(folder / "plain.stgw")
    given = ["evaluate", str(folder / "plain.stgw"), str(folder / "test.csv"), "--target", "grade"]
    assert main(given) == 1
    assert "name the column with --qid" in capsys.readouterr().err
    assert main([*given, "--qid", "search"]) == 0
