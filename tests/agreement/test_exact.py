"""Exact greedy trees equal those of XGBoost and of scikit-learn, at equal settings.

Every feature has as many values as there are rows, so only exact splits can agree. The remaining
difference is rounding: XGBoost's gradients and values are float32. Its γ is left at 0, because it
grows trees without it and prunes them from the leaves afterwards: a split that gains less than γ
stays if one below it gains more, and ours stops there.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor

xgboost = pytest.importorskip("xgboost")

ROUNDS, DEPTH, RATE = 20, 4, 0.3
OURS = {
    "max_features": 1.0,
    "split": "exact",
    "n_estimators": ROUNDS,
    "max_depth": DEPTH,
    "max_leaf_nodes": None,
    "grow_policy": "depth_wise",
    "learning_rate": RATE,
    "min_samples_leaf": 1,
}


def make_table(n: int = 1500, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def xgb(X: np.ndarray, y: np.ndarray, objective: str, base: float, **params: float) -> np.ndarray:
    data = xgboost.DMatrix(X, label=y)
    settings = {
        "objective": objective,
        "tree_method": "exact",
        "max_depth": DEPTH,
        "eta": RATE,
        "base_score": base,
        "nthread": 1,
        **params,
    }
    return np.asarray(xgboost.train(settings, data, ROUNDS).predict(data))


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(("l2", "least"), [(1.0, 1.0), (5.0, 12.0)])
def test_squared_error_equals_xgboost(l2: float, least: float, missing: float) -> None:
    X, y = make_table(missing=missing)
    model = GradientBoostingRegressor(l2_regularization=l2, min_hessian=least, **OURS).fit(X, y)
    theirs = xgb(X, y, "reg:squarederror", y.mean(), reg_lambda=l2, min_child_weight=least)
    np.testing.assert_allclose(model.predict(X), theirs, atol=1e-5 * np.abs(y).max())


def test_two_classes_equal_xgboost() -> None:
    X, y = make_table()
    labels = (y > 0.3).astype(int)
    model = GradientBoostingClassifier(l2_regularization=1.0, min_hessian=1.0, **OURS)
    ours = model.fit(X, labels).predict_proba(X)[:, 1]
    theirs = xgb(X, labels, "binary:logistic", labels.mean(), reg_lambda=1.0, min_child_weight=1.0)
    # Where two splits are equal in float32 the libraries may choose different ones.
    assert np.mean(np.abs(ours - theirs) < 1e-5) > 0.99
    assert np.abs(ours - theirs).mean() < 1e-4


def test_squared_error_equals_scikit_learn() -> None:
    X, y = make_table()
    model = GradientBoostingRegressor(
        l2_regularization=0.0, min_hessian=0.0, **{**OURS, "min_samples_leaf": 5}
    ).fit(X, y)
    theirs = ensemble.GradientBoostingRegressor(
        n_estimators=ROUNDS, max_depth=DEPTH, learning_rate=RATE, min_samples_leaf=5, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=1e-4)
