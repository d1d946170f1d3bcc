"""Misclassification costs, time limits and recipes."""

from __future__ import annotations

import time

import numpy as np
import pytest

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.losses import Quantile


@pytest.fixture(scope="module")
def flowers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.array(["rose", "tulip", "lily"])[np.argmax(X[:, :3] + rng.normal(size=(600, 3)), axis=1)]
    return X, y, GradientBoostingClassifier(n_estimators=15).fit(X, y)


# ---- costs --------------------------------------------------------------------------------------


def test_equal_costs_change_nothing(flowers):
    X, _, model = flowers
    np.testing.assert_array_equal(model.predict(X, cost=1 - np.eye(3)), model.predict(X))


def test_the_prediction_has_the_least_expected_cost(flowers):
    X, _, model = flowers
    cost = np.array([[0.0, 1.0, 9.0], [2.0, 0.0, 3.0], [30.0, 1.0, -1.0]])
    predicted, proba = model.predict(X, cost=cost), model.predict_proba(X)
    for row in range(0, 600, 7):
        expected = [sum(cost[true, k] * proba[row, true] for true in range(3)) for k in range(3)]
        assert predicted[row] == model.classes_[int(np.argmin(expected))]


def test_an_expensive_error_is_made_less_often():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] + rng.normal(size=2000) > 1
    model = GradientBoostingClassifier(n_estimators=20).fit(X, y)
    missed = [np.sum(y & ~model.predict(X, cost=[[0, 1], [price, 0]])) for price in (1, 5, 50)]
    assert missed[0] > missed[1] > missed[2]


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (
            np.ones((2, 2)),
            r"each of the 3 classes \['lily', 'rose', 'tulip'\]; its shape is \(2, 2",
        ),
        ([1, 2, 3], r"its shape is \(3,\)"),
        ("dear", "must be a matrix of numbers; got 'dear'"),
        (
            [[0, 1, 1], [1, 0, np.nan], [1, 1, 0]],
            r"cost\[1, 2\], of predicting .*tulip.* for .*rose.*is nan",
        ),
    ],
)
def test_invalid_costs_are_refused(flowers, cost, message):
    X, _, model = flowers
    with pytest.raises(ValueError, match=message):
        model.predict(X, cost=cost)


# ---- time ---------------------------------------------------------------------------------------


def test_a_fit_ends_within_its_time_limit():
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    model = GradientBoostingRegressor(n_estimators=1_000_000, time_limit=0.7)
    begin = time.perf_counter()
    model.fit(X, X[:, 0] * X[:, 1])
    assert time.perf_counter() - begin < 3.0  # a round takes milliseconds; the machine may be busy
    assert model.n_iter_ > 1
    assert model.fit_report_["stop_reason"] == "time_limit of 0.7 s"
    same = GradientBoostingRegressor(
        n_estimators=model.n_iter_, learning_rate=model.learning_rate_
    ).fit(X, X[:, 0] * X[:, 1])
    assert same.fingerprint() == model.fingerprint()


def test_at_least_one_round_is_run():
    X = np.arange(100.0).reshape(-1, 1)
    model = GradientBoostingRegressor(n_estimators=100, time_limit=1e-9).fit(X, X[:, 0])
    assert model.n_iter_ == 1


def test_a_large_time_limit_changes_nothing():
    X = np.arange(100.0).reshape(-1, 1)
    plain, limited = (
        GradientBoostingRegressor(n_estimators=5, time_limit=limit).fit(X, X[:, 0])
        for limit in (None, 1e6)
    )
    assert plain.fingerprint() == limited.fingerprint()
    assert limited.fit_report_["stop_reason"] == "all 5 rounds"


# ---- recipe -------------------------------------------------------------------------------------


def test_a_recipe_states_the_algorithm():
    assert GradientBoostingRegressor(n_estimators=100).recipe() == (
        "squared_error x Newton steps x trees (best-first, 0.7 of the features per node, at most "
        "31 leaves, λ=1) x all rows x 100 rounds, ν=0.1"
    )
    other = GradientBoostingRegressor(
        n_estimators=100,
        loss=Quantile(0.9),
        max_depth=3,
        max_leaf_nodes=None,
        grow_policy="depth_wise",
        l2_regularization=0,
        min_gain=0.5,
        max_features=1.0,
        subsample=0.5,
        early_stopping=True,
    )
    assert other.recipe() == (
        "Quantile(quantile=0.9) x each leaf's own optimum x trees (depth-wise, depth at most 3, "
        "γ=0.5) x 0.5 of the rows per round, but 0.1 held out x 100 rounds at most, early "
        "stopping, ν=0.1"
    )
    assert "absolute_error x each leaf's own optimum" in (
        GradientBoostingRegressor(n_estimators=100, loss="absolute_error").recipe()
    )


def test_a_recipe_checks_the_parameters():
    with pytest.raises(ValueError, match="'learning_rate'"):
        GradientBoostingRegressor(n_estimators=100, learning_rate=-1).recipe()
