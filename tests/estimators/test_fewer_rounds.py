"""Predictions of the first rounds: `n_rounds` of predict, predict_proba and the others."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import Ridge

import stagewise
from stagewise import (
    AdaBoostClassifier,
    Dart,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestRegressor,
    StagewiseLinearRegressor,
    StagewiseRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(scale=0.2, size=300)
THREE = np.digitize(Y, [-0.5, 0.5])

MODELS: dict[str, Any] = {
    "boosting": GradientBoostingRegressor(n_estimators=12),
    "two targets": GradientBoostingRegressor(n_estimators=12),
    "vector leaves": GradientBoostingRegressor(n_estimators=12, leaves="vector"),
    "linear leaves": GradientBoostingRegressor(n_estimators=12, leaves="linear"),
    "dropout": GradientBoostingRegressor(n_estimators=12, dropout=Dart(rate=0.3)),
    "log link": GradientBoostingRegressor(n_estimators=12, loss="poisson"),
    "an estimator as init": GradientBoostingRegressor(n_estimators=12, init=Ridge()),
    "classes": GradientBoostingClassifier(n_estimators=12),
    "AdaBoost": AdaBoostClassifier(n_estimators=12),
    "LogitBoost": LogitBoostClassifier(n_estimators=12),
    "forest": RandomForestRegressor(n_estimators=12),
    "extra trees": ExtraTreesClassifier(n_estimators=12),
    "linear": StagewiseLinearRegressor(n_estimators=12),
    "other learners": StagewiseRegressor(learner=Ridge(), n_estimators=12, learning_rate=0.5),
}


def target_of(name: str) -> Any:
    if name in ("two targets", "vector leaves"):
        return np.stack([Y, Y**2], axis=1)
    if name == "log link":
        return np.abs(Y)
    return THREE if is_classifier(MODELS[name]) else Y


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_rows", [1, 300])
def test_the_first_rounds_predict_as_the_stages_do(name: str, n_rows: int) -> None:
    model = clone(MODELS[name]).fit(X, target_of(name))
    rows = X[:n_rows]
    methods = ["predict"]
    if is_classifier(model):
        methods += ["predict_proba", "decision_function"]
    for method in methods:
        stages = list(getattr(model, f"staged_{method}")(rows))
        for n in (1, 5, model.n_iter_):
            found = getattr(model, method)(rows, n_rounds=n)
            np.testing.assert_array_equal(found, stages[n - 1])
        np.testing.assert_array_equal(
            getattr(model, method)(rows), getattr(model, method)(rows, n_rounds=None)
        )


def test_the_first_rounds_are_the_model_of_fewer_rounds() -> None:
    short = GradientBoostingRegressor(n_estimators=5, learning_rate=0.1).fit(X, Y)
    long = GradientBoostingRegressor(n_estimators=20, learning_rate=0.1).fit(X, Y)
    np.testing.assert_array_equal(long.predict(X, n_rounds=5), short.predict(X))
    np.testing.assert_array_equal(long.apply(X, n_rounds=5), short.apply(X))


def test_the_first_trees_of_a_forest_are_averaged() -> None:
    forest = RandomForestRegressor(n_estimators=10).fit(X, Y)
    mean = np.mean([tree.predict(X) for tree in islice(forest, 4)], axis=0)
    np.testing.assert_allclose(forest.predict(X, n_rounds=4), mean, rtol=1e-12)
    assert forest.apply(X, n_rounds=4).shape == (300, 4)


def test_logarithms_costs_and_leaves_use_the_first_rounds() -> None:
    model = GradientBoostingClassifier(n_estimators=9).fit(X, THREE)
    proba = model.predict_proba(X, n_rounds=2)
    np.testing.assert_array_equal(model.predict_log_proba(X, n_rounds=2), np.log(proba))
    cost = [[0, 1, 5], [2, 0, 1], [3, 1, 0]]
    np.testing.assert_array_equal(
        model.predict(X, cost, n_rounds=2), (proba @ np.array(cost)).argmin(axis=1)
    )
    np.testing.assert_array_equal(model.apply(X, n_rounds=2), model.apply(X)[:, :2])


@pytest.mark.parametrize("value", [0, -1, 13, 2.5, True, "all", (0, 5)])
def test_a_wrong_number_of_rounds_is_refused(value: Any) -> None:
    model = GradientBoostingRegressor(n_estimators=12).fit(X, Y)
    with pytest.raises(
        stagewise.InvalidParameterError,
        match=r"n_rounds must be a whole number at least 1 and at most 12, or None; got",
    ):
        model.predict(X, n_rounds=value)
    with pytest.raises(stagewise.InvalidParameterError, match=r"n_rounds must be"):
        model.apply(X, n_rounds=value)


def test_a_tree_has_one_round_and_an_automatic_model_none() -> None:
    tree = DecisionTreeRegressor().fit(X, Y)
    np.testing.assert_array_equal(tree.predict(X, n_rounds=1), tree.predict(X))
    auto = stagewise.AutoRegressor(quality=1).fit(X, Y)
    with pytest.raises(stagewise.InvalidParameterError, match="is a sum of several"):
        auto.predict(X, n_rounds=1)


def test_a_model_of_one_class_has_no_rounds_but_predicts() -> None:
    with pytest.warns(UserWarning, match="one class"):
        model = GradientBoostingClassifier(n_estimators=5).fit(X, np.zeros(300))
    assert set(model.predict(X, n_rounds=1)) == {0.0}


def test_one_row_with_fewer_rounds_is_read_by_the_fast_path(monkeypatch: Any) -> None:
    model = GradientBoostingRegressor(n_estimators=12).fit(X, Y)
    monkeypatch.setattr(
        "stagewise.estimators.bases.predictions.scores.core_columns",
        lambda _: pytest.fail("the slow path"),
    )
    assert model.predict(X[:1], n_rounds=3).shape == (1,)
