"""Boosting any learner: forward stagewise additive modelling as in the notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stagewise import StagewiseClassifier, StagewiseRegressor

Vector = npt.NDArray[np.float64]

RATE, ROUNDS = 0.3, 8


def make_table(n: int = 200) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 3


def stumps() -> DecisionTreeRegressor:
    return DecisionTreeRegressor(max_depth=2, random_state=0)


SETTINGS: dict[str, Any] = {"learning_rate": RATE, "n_estimators": ROUNDS}


@pytest.mark.parametrize("learner", [stumps(), KNeighborsRegressor(9), Ridge(3.0)], ids=str)
def test_squared_error_fits_residuals(learner: Any) -> None:
    X, y = make_table()
    F = np.full(len(y), y.mean())
    for _ in range(ROUNDS):
        F += RATE * learner.fit(X, y - F).predict(X)
    model = StagewiseRegressor(learner=learner, **SETTINGS).fit(X, y)
    np.testing.assert_allclose(model.predict(X), F, atol=1e-5)


def test_half_the_residual_is_the_gradient_of_the_undivided_square() -> None:
    # ν = ½ on (f - y)²: half of its negative gradient 2 (y - f) is the residual itself.
    X, y = make_table()
    F = np.full(len(y), y.mean())
    for _ in range(ROUNDS):
        negative_gradient = 2 * (y - F)
        F += 0.5 * stumps().fit(X, negative_gradient).predict(X)
    model = StagewiseRegressor(learner=stumps(), learning_rate=1.0, n_estimators=ROUNDS)
    np.testing.assert_allclose(model.fit(X, y).predict(X), F, atol=1e-5)


def test_newton_boosting_of_a_weighted_regressor() -> None:
    X, y = make_table()
    codes = (y + np.random.default_rng(1).normal(size=len(y)) > 0.2).astype(float)
    F = np.full(len(y), np.log(codes.mean() / (1 - codes.mean())))
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-F))
        h = p * (1 - p)
        F += RATE * LinearRegression().fit(X, (codes - p) / h, sample_weight=h).predict(X)
    model = StagewiseClassifier(learner=LinearRegression(), **SETTINGS).fit(X, codes)
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-4)


def search(total: Any) -> float:
    return float(minimize_scalar(total, bracket=(0, 1), options={"xtol": 1e-10}).x)


@pytest.mark.parametrize("loss", ["absolute_error", "log_loss"])
def test_gradient_boosting_with_one_line_search_per_round(loss: str) -> None:
    """Friedman (2001), Algorithm 1."""
    X, y = make_table()
    learner = KNeighborsRegressor(15)
    if loss == "log_loss":
        y = (y > 0.2).astype(float)
        F = np.full(len(y), np.log(y.mean() / (1 - y.mean())))
        value, gradient = (
            lambda F: np.logaddexp(0, F) - y * F,
            lambda F: 1 / (1 + np.exp(-F)) - y,
        )
        kind: Any = StagewiseClassifier
    else:
        F = np.full(len(y), np.median(y))
        value, gradient = (lambda F: np.abs(y - F)), (lambda F: np.sign(F - y))
        kind = StagewiseRegressor
    for _ in range(ROUNDS):
        b = learner.fit(X, -gradient(F)).predict(X)
        F = F + RATE * search(lambda r, b=b, F=F: value(F + r * b).sum()) * b
    model = kind(loss, learner=learner, response="gradient", **SETTINGS).fit(X, y)
    ours = model.predict(X) if kind is StagewiseRegressor else model.decision_function(X)
    np.testing.assert_allclose(ours, F, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ada_boost_of_any_classifier(n_classes: int) -> None:
    """SAMME with scikit-learn's trees."""
    X, y = make_table(300)
    codes = np.argsort(np.argsort(y)) * n_classes // 300
    w, votes = np.full(300, 1 / 300), np.zeros((300, n_classes))
    for _ in range(ROUNDS):
        tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, codes, sample_weight=w)
        wrong = tree.predict(X) != codes
        err = w[wrong].sum() / w.sum()
        alpha = np.log((1 - err) / err) + np.log(n_classes - 1)
        w = w * np.exp(alpha * wrong)
        votes[np.arange(300), tree.predict(X)] += alpha
    model = StagewiseClassifier(
        "exponential",
        learner=DecisionTreeClassifier(max_depth=2, random_state=0),
        response="classes",
        learning_rate=1.0,
        n_estimators=ROUNDS,
    ).fit(X, codes)
    centred = (n_classes - 1) * (votes - votes.mean(axis=1, keepdims=True))
    expected = centred[:, 1] if n_classes == 2 else centred
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-3)
