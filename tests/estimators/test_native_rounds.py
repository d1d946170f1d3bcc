"""Rounds in one native call have the bytes of the loop in Python."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import stagewise
from stagewise import (
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    Mvs,
)
from stagewise.boosting import loop
from stagewise.boosting.native_rounds import NativeRounds

rng = np.random.default_rng(0)
N = 300
X = pd.DataFrame(rng.normal(size=(N, 4)), columns=list("abcd"))
X.loc[::7, "b"] = np.nan
X["town"] = pd.Categorical(rng.choice(list("pqrst"), N))
Y = X["a"].to_numpy() + (X["town"] == "p").to_numpy() + rng.normal(size=N)
QUERY = np.arange(N) // 10
WEIGHT = rng.integers(0, 4, N).astype(float)

CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "squared": (GradientBoostingRegressor(n_estimators=70), {}),
    "log": (GradientBoostingClassifier(n_estimators=70), {}),
    "poisson": (GradientBoostingRegressor(n_estimators=9, loss="poisson"), {}),
    "tweedie": (GradientBoostingRegressor(n_estimators=9, loss="tweedie"), {}),
    "shares": (GradientBoostingRegressor(n_estimators=9, loss="cross_entropy"), {}),
    "logarithms": (GradientBoostingRegressor(n_estimators=9, loss="squared_log_error"), {}),
    "weights": (GradientBoostingRegressor(n_estimators=9), {"sample_weight": WEIGHT}),
    "symmetric": (GradientBoostingRegressor(n_estimators=9, grow_policy="symmetric"), {}),
    "fraction": (GradientBoostingRegressor(n_estimators=9, subsample=0.5), {}),
    "goss": (GradientBoostingRegressor(n_estimators=9, sampling=Goss(top=0.2, other=0.2)), {}),
    "mvs": (GradientBoostingRegressor(n_estimators=9, subsample=0.5, sampling=Mvs()), {}),
    "bootstrap": (
        GradientBoostingRegressor(n_estimators=9, subsample=0.5, sampling="bootstrap"),
        {},
    ),
    "folds": (GradientBoostingRegressor(n_estimators=90, early_stopping=3), {}),
    "held out": (GradientBoostingRegressor(n_estimators=90, early_stopping=True), {}),
    "sets": (
        GradientBoostingRegressor(n_estimators=90, n_iter_no_change=5),
        {"eval_set": [(X[:99], Y[:99]), (X[99:], Y[99:])]},
    ),
    "metrics": (
        GradientBoostingRegressor(n_estimators=9, eval_metric=["mae", "r2"]),
        {"eval_set": [(X[:99], Y[:99]), (X, Y)]},
    ),
    "encoded": (GradientBoostingRegressor(n_estimators=9, category_encoding="target"), {}),
    "cox": (GradientBoostingSurvival(n_estimators=9), {"sample_weight": WEIGHT}),
    "ranking": (GradientBoostingRanker(n_estimators=9), {"qid": QUERY}),
    "ranking in folds": (
        GradientBoostingRanker(n_estimators=20, early_stopping=3),
        {"qid": QUERY, "sample_weight": 1.0 + QUERY % 2},
    ),
    "aft": (GradientBoostingSurvival(n_estimators=9, loss="aft"), {"sample_weight": WEIGHT}),
    "cox in folds": (GradientBoostingSurvival(n_estimators=20, early_stopping=3), {}),
    "classes": (GradientBoostingClassifier(n_estimators=9), {"sample_weight": WEIGHT}),
    "classes by mvs": (
        GradientBoostingClassifier(n_estimators=9, subsample=0.5, sampling=Mvs()),
        {"X_val": X, "y_val": np.digitize(Y, [-1, 1])},
    ),
    "vector leaves": (
        GradientBoostingClassifier(n_estimators=9, leaves="vector", subsample=0.5, sampling=Mvs()),
        {"sample_weight": WEIGHT, "eval_set": [(X[:99], np.digitize(Y, [-1, 1])[:99])]},
    ),
    "normal": (GradientBoostingRegressor(n_estimators=9, loss="normal"), {"sample_weight": WEIGHT}),
    "student t, monotone": (
        GradientBoostingRegressor(
            n_estimators=9, loss="student_t", monotonic_cst={"a": 1}, early_stopping=3
        ),
        {},
    ),
    "default": (GradientBoostingClassifier(n_estimators="auto", early_stopping=3), {}),
}


TARGETS = {
    "ranking": rng.integers(0, 4, N),
    "ranking in folds": rng.integers(0, 4, N),
    "log": Y > 0,
    "default": Y > 0,
    "poisson": np.abs(Y),
    "tweedie": np.abs(Y),
    "shares": np.clip(Y / 4 + 0.5, 0.0, 1.0),
    "logarithms": np.abs(Y),
    "classes": np.digitize(Y, [-1, 1]),
    "vector leaves": np.digitize(Y, [-1, 1]),
    "classes by mvs": np.digitize(Y, [-1, 1]),
    "aft": (np.round(np.exp(Y), 1) + 0.1, rng.random(N) < 0.7),
    "cox": (np.round(np.exp(Y), 1) + 0.1, rng.random(N) < 0.7),
    "cox in folds": (np.round(np.exp(Y), 1) + 0.1, rng.random(N) < 0.7),
}
"""The targets; of other cases Y."""


def fit(case: str) -> Any:
    model, given = CASES[case]
    y = TARGETS.get(case, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y, **given)


@pytest.mark.parametrize("case", CASES)
def test_native_rounds_have_the_bytes_of_python(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    run = NativeRounds.run

    def counted(self: NativeRounds, first: int, count: int) -> Any:
        calls.append(count)
        return run(self, first, count)

    monkeypatch.setattr(NativeRounds, "run", counted)
    native = fit(case)
    assert calls
    monkeypatch.setattr(loop.NativeRounds, "of", lambda *args: None)
    calls.clear()
    python = fit(case)
    assert not calls
    assert native.fingerprint() == python.fingerprint()
    assert np.array_equal(native.predict(X), python.predict(X))
    assert native.evals_result_ == python.evals_result_
    assert native.n_iter_ == python.n_iter_


def test_a_round_needs_python_for_callbacks_and_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    run = NativeRounds.run

    def counted(self: NativeRounds, first: int, count: int) -> Any:
        counts.append(count)
        return run(self, first, count)

    monkeypatch.setattr(NativeRounds, "run", counted)
    seen: list[int] = []
    GradientBoostingRegressor(n_estimators=5, callbacks=[lambda p: seen.append(p.round)]).fit(X, Y)
    assert seen == [1, 2, 3, 4, 5]
    assert counts == [1] * 5
    counts.clear()
    model = GradientBoostingRegressor(n_estimators=5, eval_metric="mae", early_stopping=False)
    model.fit(X, Y, eval_set=[(X[:99], Y[:99]), (X, Y)])
    assert counts == [1] * 5
    counts.clear()
    GradientBoostingRegressor(n_estimators=130).fit(X, Y)
    assert counts == [64, 64, 2]


def test_no_call_has_rounds_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    run = NativeRounds.run

    def counted(self: NativeRounds, first: int, count: int) -> Any:
        counts.append(count)
        return run(self, first, count)

    monkeypatch.setattr(NativeRounds, "run", counted)
    model = GradientBoostingRegressor(n_estimators=60, n_iter_no_change=7)
    model.fit(X[:150], Y[:150], X_val=X[150:], y_val=Y[150:])
    assert counts[0] == 7
    assert sum(counts) == len(model.validation_loss_) < 60


def test_rounds_end_with_a_loss_that_is_not_finite() -> None:
    y = np.abs(Y) + 0.1
    model = GradientBoostingRegressor(n_estimators=300, learning_rate=1.0, loss="poisson")
    with pytest.raises(
        ValueError, match=r"validation loss became nan in round \d+: the fit diverged"
    ):
        model.fit(X, y, X_val=X.assign(a=-X["a"]), y_val=y * 1e306)


def test_a_warm_start_goes_on_from_native_rounds() -> None:
    model = GradientBoostingRegressor(n_estimators=30, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=70).fit(X, Y)
    whole = GradientBoostingRegressor(n_estimators=70).fit(X, Y)
    assert model.fingerprint() == whole.fingerprint()


def test_a_loaded_model_is_the_same(tmp_path: Any) -> None:
    model = GradientBoostingRegressor(n_estimators=70, leaves="linear").fit(X, Y)
    model.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    assert np.array_equal(loaded.predict(X, n_rounds=3), model.predict(X, n_rounds=3))
    assert loaded.fingerprint() == model.fingerprint()
