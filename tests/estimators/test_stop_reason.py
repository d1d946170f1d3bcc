"""Every fit has a reason for its end, and losses that are printed are named."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.every import EVERY
from stagewise import (
    AutoRegressor,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from stagewise.estimators.parameters import defaults

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
y = X[:, 0] + RNG.normal(size=150)


@EVERY
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_stop_reason_is_never_empty(kind: type) -> None:
    target = y > 0 if kind.__name__.endswith("Classifier") else y
    model = kind().fit(X[:60], target[:60])
    assert model.fit_report_.get("stop_reason", "none") != ""


def test_the_reason_names_what_is_complete() -> None:
    for model, reason in (
        (GradientBoostingRegressor(n_estimators=4, early_stopping=False), "all 4 rounds"),
        (RandomForestRegressor(n_estimators=3), "all 3 trees"),
        (DecisionTreeRegressor(), "the tree is complete"),
        (AutoRegressor(quality=1), "all candidates were tried"),
    ):
        assert model.fit(X, y).fit_report_["stop_reason"] == reason


@pytest.mark.parametrize("stopping", ["auto", True])
def test_a_limit_by_the_number_of_rows_is_the_reason(
    stopping: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defaults, "ROUNDS_LIMITS", (4, 4))
    model = GradientBoostingRegressor(early_stopping=stopping, random_state=0).fit(X, y)
    assert model.fit_report_["stop_reason"] == (
        "limit of 4 rounds reached, which n_estimators='auto' sets by the number of rows"
    )


def test_lines_and_boxes_name_the_loss(capsys: pytest.CaptureFixture[str]) -> None:
    GradientBoostingRegressor(n_estimators=3, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("  (loss: half the squared error)")
    assert all("loss" not in line for line in lines[1:])
    model = GradientBoostingClassifier(n_estimators=3, verbose=1).fit(X, y > 0)
    assert capsys.readouterr().err.splitlines()[0].endswith("  (loss: log loss)")
    assert "train loss (log loss)" in model._repr_html_()
