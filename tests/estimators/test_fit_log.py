"""The logger "stagewise" gets a line when a fit ends."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

from estimators.every import EVERY, classifies, small
from stagewise import BaggingRegressor, GradientBoostingRegressor, LinearRegression

X = np.random.default_rng(0).normal(size=(80, 3))
Y = X[:, 0]


@pytest.fixture
def lines(caplog):
    """Return a function that fits an estimator and returns the lines of the log."""

    def fit(estimator, y=Y):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="stagewise"):
            estimator.fit(X, y)
        assert {(line.name, line.levelname) for line in caplog.records} == {("stagewise", "INFO")}
        return [line.getMessage() for line in caplog.records]

    return fit


@EVERY
def test_the_last_line_of_every_fit_has_the_estimator_and_the_seconds(lines, kind):
    estimator = small(kind)
    last = lines(estimator, Y > 0 if classifies(kind) else Y)[-1]
    assert last.startswith(f"{kind.__name__}: ")
    assert f"{estimator.fit_report_['seconds']:.3g} s" in last


def test_a_line_has_the_rounds_and_the_stop_reason(lines):
    model = GradientBoostingRegressor(
        n_estimators=400, early_stopping=True, n_iter_no_change=3, random_state=0
    )
    (line,) = lines(model)
    seconds = model.fit_report_["seconds"]
    assert line == (
        f"GradientBoostingRegressor: {model.n_iter_} rounds, {seconds:.3g} s, "
        "stop reason: no better validation loss for 3 rounds"
    )


def test_a_fit_that_runs_all_rounds_names_them(lines):
    model = GradientBoostingRegressor(n_estimators=3, early_stopping=False)
    (line,) = lines(model)
    assert line.endswith(f"{model.fit_report_['seconds']:.3g} s, stop reason: all 3 rounds")


def test_bagging_logs_its_base_estimators(lines):
    found = lines(BaggingRegressor(LinearRegression(), n_estimators=2, n_jobs=1))
    names = [line.partition(":")[0] for line in found]
    assert names == ["LinearRegression", "LinearRegression", "BaggingRegressor"]
    assert found[-1].startswith("BaggingRegressor: 2 base estimators, ")


def test_without_a_handler_nothing_is_printed():
    script = """
import numpy as np, logging
from stagewise import GradientBoostingRegressor
GradientBoostingRegressor(n_estimators=2).fit(np.arange(30)[:, np.newaxis], np.arange(30))
assert [type(h) for h in logging.getLogger("stagewise").handlers] == [logging.NullHandler]
assert logging.getLogger("stagewise").level == logging.NOTSET and not logging.root.handlers
"""
    process = [sys.executable, "-c", script]
    done = subprocess.run(process, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
