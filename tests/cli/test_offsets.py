"""--exposure and --offset of `stagewise train`, and the commands that read the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stagewise
from stagewise.cli.main import main

N = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policies")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 80, N), "years": rng.uniform(0.1, 2.0, N)})
    table["town"] = rng.choice(["north", "port"], N)
    table["n"] = rng.poisson(table["years"] * np.where(table["age"] < 40, 1.5, 0.5))
    table.to_csv(path / "policies.csv", index=False)
    table.drop(columns="years").to_csv(path / "without.csv", index=False)
    return path


def train(folder: Path, *options: str, name: str = "m.stgw") -> list[str]:
    data, model = str(folder / "policies.csv"), str(folder / name)
    fixed = ["--target", "n", "--model", model, "--set", "n_estimators=10", "--quiet"]
    return ["train", data, *fixed, *options]


def run(arguments: list[str], capsys: Any) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_column_is_the_exposure_of_every_command(folder: Path, capsys: Any) -> None:
    found = run(train(folder, "--exposure", "years", "--set", "loss=poisson"), capsys)
    assert (found["task"], found["features"], found["exposure"]) == ("regression", 2, "years")
    model = stagewise.load(folder / "m.stgw")
    table = pd.read_csv(folder / "policies.csv")
    assert model.feature_names_in_.tolist() == ["age", "town"]
    m, data = str(folder / "m.stgw"), str(folder / "policies.csv")
    scored = run(["evaluate", m, data], capsys)
    expected = np.sqrt(np.mean((table["n"] - model.predict(table)) ** 2))
    assert scored["scores"]["rmse"] == pytest.approx(expected)
    assert run(["show", m], capsys)["exposure"] == "years"
    out = folder / "predicted.csv"
    assert main(["predict", m, data, "--out", str(out), "--quiet"]) == 0
    np.testing.assert_allclose(pd.read_csv(out).iloc[:, -1], model.predict(table))


def test_validation_rows_and_batches_have_the_exposure(folder: Path, capsys: Any) -> None:
    own = ["--exposure", "years", "--set", "loss=poisson"]
    run(train(folder, *own, "--valid", str(folder / "policies.csv"), name="a.stgw"), capsys)
    run(train(folder, *own, "--memory-limit", "1GB", name="b.stgw"), capsys)
    run(train(folder, *own, name="c.stgw"), capsys)
    prints = [stagewise.load(folder / f"{name}.stgw").fingerprint() for name in "bc"]
    assert prints[0] == prints[1]


def test_an_offset_is_a_column(folder: Path, capsys: Any) -> None:
    found = run(train(folder, "--offset", "years", "--task", "regression"), capsys)
    assert found["offset"] == "years"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--exposure", "years", "--task", "regression"], "add --set loss=poisson"),
        (["--exposure", "year", "--set", "loss=poisson"], "--exposure"),
        (["--exposure", "town", "--set", "loss=poisson"], "'town' has text"),
        (["--exposure", "n", "--set", "loss=poisson"], "another role"),
        (["--offset", "years", "--ignore", "years"], "another role"),
        (["--offset", "years", "--exposure", "years", "--set", "loss=poisson"], "both offset and"),
        (["--offset", "years", "--method", "forest"], "--offset is for --method boosting"),
        (["--offset", "years", "--task", "classification"], "'years' is one column, and the model"),
        (["--offset", "years", "--cluster", "tcp://x:1"], "cannot be combined with --cluster"),
    ],
)
def test_faults_are_named(folder: Path, options: list[str], message: str, capsys: Any) -> None:
    fixed = train(folder, *options)
    if "--method" in options:
        place = fixed.index("--set")
        del fixed[place : place + 2]
    assert main(fixed) != 0
    assert message in capsys.readouterr().err


def test_a_table_without_the_exposure_is_refused(folder: Path, capsys: Any) -> None:
    run(train(folder, "--exposure", "years", "--set", "loss=poisson", name="d.stgw"), capsys)
    assert main(["evaluate", str(folder / "d.stgw"), str(folder / "without.csv")]) != 0
    assert "'years'" in capsys.readouterr().err
