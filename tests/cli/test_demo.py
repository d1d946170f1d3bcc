"""``make demo``."""

import subprocess
import sys

import pytest
from pyarrow import csv

import stagewise
from stagewise.cli import demo
from stagewise.cli.main import main


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The demo's folder and its output."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "stagewise.cli.demo", "--out", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return folder, done.stdout


def test_the_demo_prints_scores_and_a_chart(seen):
    _, out = seen
    for word in ["log loss", "accuracy", "AUC", "malignant", "█", "Next steps:"]:
        assert word in out


def test_the_demo_model_is_accurate(seen):
    folder, _ = seen
    table = csv.read_csv(folder / "test.csv")
    model = stagewise.load(folder / "model.stgw")
    # A model that always predicts "benign" is right on 63 % of these rows.
    assert model.score(table, table[demo.TARGET].to_pylist()) > 0.9


def test_the_demo_compares_the_loaded_model_with_the_trained_one(seen, tmp_path, monkeypatch):
    _, out = seen
    assert "all probabilities are identical" in out

    def load_another(path):
        table = csv.read_csv(tmp_path / "train.csv")
        other = stagewise.GradientBoostingClassifier(n_estimators=2)
        return other.fit(table.drop_columns([demo.TARGET]), table[demo.TARGET].to_pylist())

    monkeypatch.setattr(stagewise, "load", load_another)
    assert demo.main(["--out", str(tmp_path)]) == 1


def test_the_next_steps_of_the_demo_work(seen, capsys, monkeypatch, tmp_path):
    _, out = seen
    monkeypatch.chdir(tmp_path)
    lines = out.split("Next steps:")[1].strip().splitlines()
    assert len(lines) == 5
    for line in lines:
        assert main(line.split()[1:]) == 0
    assert capsys.readouterr().out
