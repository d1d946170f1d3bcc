"""Losses of numbers equal those of XGBoost and LightGBM."""

from __future__ import annotations

import numpy as np
import pytest

from stagewise import GradientBoostingRegressor
from stagewise.losses import PseudoHuber, SquaredLogError

ROUNDS = 20


def shares() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of few values, so that every value is a bin of its own, and shares."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 5)).round(1)
    p = 1 / (1 + np.exp(-X[:, 0] - X[:, 1] * X[:, 2]))
    return X, rng.binomial(5, p) / 5


def predicted(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    model = GradientBoostingRegressor(
        loss="cross_entropy",
        n_estimators=ROUNDS,
        learning_rate=0.3,
        max_leaf_nodes=8,
        min_samples_leaf=1,
        min_hessian=1.0,
        l2_regularization=1.0,
        max_features=None,
    )
    return np.asarray(model.fit(X, y).predict(X))


def test_cross_entropy_equals_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = shares()
    theirs = xgboost.XGBRegressor(
        objective="reg:logistic",
        n_estimators=ROUNDS,
        learning_rate=0.3,
        max_leaves=8,
        max_depth=0,
        grow_policy="lossguide",
        reg_lambda=1.0,
        base_score=y.mean(),
    ).fit(X, y)
    np.testing.assert_allclose(predicted(X, y), theirs.predict(X), atol=1e-5)


def test_cross_entropy_equals_lightgbm() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = shares()
    theirs = lightgbm.LGBMRegressor(
        objective="cross_entropy",
        n_estimators=ROUNDS,
        learning_rate=0.3,
        num_leaves=8,
        min_child_samples=1,
        min_child_weight=1.0,
        min_data_in_bin=1,
        reg_lambda=1.0,
        verbose=-1,
    ).fit(X, y)
    np.testing.assert_allclose(predicted(X, y), theirs.predict(X), atol=1e-5)


def test_pseudo_huber_is_the_loss_of_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = shares()
    y = 10 * y
    rows, measured = xgboost.DMatrix(X, y), {}
    model = xgboost.train(
        {"objective": "reg:pseudohubererror", "huber_slope": 2.0, "eval_metric": "mphe"},
        rows,
        ROUNDS,
        evals=[(rows, "train")],
        evals_result=measured,
        verbose_eval=False,
    )
    ours = PseudoHuber(2.0).loss(y, model.predict(rows).astype(float)).mean()
    assert ours == pytest.approx(measured["train"]["mphe"][-1], rel=1e-5)


def test_squared_log_error_is_the_loss_of_xgboost() -> None:
    # There F is the prediction itself, not log(1 + prediction).
    xgboost = pytest.importorskip("xgboost")
    X, y = shares()
    rows, measured = xgboost.DMatrix(X, y), {}
    model = xgboost.train(
        {"objective": "reg:squaredlogerror", "eval_metric": "rmsle"},
        rows,
        ROUNDS,
        evals=[(rows, "train")],
        evals_result=measured,
        verbose_eval=False,
    )
    loss = SquaredLogError()
    ours = loss.loss(y, loss.link(model.predict(rows).astype(float))).mean()
    assert np.sqrt(2 * ours) == pytest.approx(measured["train"]["rmsle"][-1], rel=1e-5)
