"""``make demo``."""

import shlex
import shutil
import subprocess
import sys

import pytest
from pyarrow import csv
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_score
from threadpoolctl import threadpool_limits

import stagewise
from stagewise.cli import demo
from stagewise.cli.main import main


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The demo's folder and its output."""
    folder = tmp_path_factory.mktemp("the demo")
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


def test_the_demo_compares_libraries_on_the_same_folds(seen):
    _, out = seen
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=0)
    model = HistGradientBoostingRegressor()
    with threadpool_limits(1):
        losses = -cross_val_score(
            model, X, y, cv=folds, scoring="neg_root_mean_squared_error", error_score="raise"
        )
    part = out[out.index("Diabetes, 442 rows") :]
    lines = {line[:18].strip(): line[18:].split() for line in part.splitlines()[1:8]}
    assert float(lines["scikit-learn HGB"][0]) == pytest.approx(losses.mean(), rel=1e-3)
    error = losses.std(ddof=1) / 5**0.5
    assert float(lines["scikit-learn HGB"][1]) == pytest.approx(error, rel=0.06)
    assert float(lines["Stagewise"][0]) < y.std()
    assert "smaller is better" in part


def test_the_demo_ends_with_a_picture_if_there_is_a_browser(seen):
    folder, out = seen
    assert (folder / "report.html").exists()
    found = any(shutil.which(name) for name in demo.BROWSERS)
    assert (f"A picture of its beginning: {folder}/report.png" in out) == found
    if found:
        assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")


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
    monkeypatch.setattr(demo, "_compare", lambda screen: None)
    monkeypatch.setattr(demo, "BROWSERS", ())
    assert demo.main(["--out", str(tmp_path)]) == 1


def test_the_next_steps_of_the_demo_work(seen, capsys, monkeypatch, tmp_path):
    _, out = seen
    monkeypatch.chdir(tmp_path)
    lines = out.split("Next steps:")[1].strip().splitlines()
    assert len(lines) == 3
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out
