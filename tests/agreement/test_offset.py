"""Offsets agree with LightGBM's init_score, XGBoost's base_margin and weighted scikit-learn models.

Features have few values, so that all libraries have the same bins; penalties are 0 or the same. The
tolerance is that of float32 gradients (LightGBM, XGBoost and the core) after a few trees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, PoissonRegressor

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor, StagewiseRegressor

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

N = 600
RNG = np.random.default_rng(0)
X = RNG.integers(0, 12, (N, 3)).astype(float)
EXPOSURE = RNG.uniform(0.1, 2.0, N)
RATE = 0.4
COUNTS = RNG.poisson(EXPOSURE * np.exp(0.1 * X[:, 0] - 1)).astype(float)
OFFSET = RNG.normal(size=N)
LABELS = (OFFSET + 0.3 * X[:, 0] - 2 + RNG.logistic(size=N) > 0).astype(int)
TREES, LEAVES, HESSIAN = 5, 6, 3.0
OURS: dict[str, Any] = {
    "init": "zero",
    "n_estimators": TREES,
    "learning_rate": 0.3,
    "max_leaf_nodes": LEAVES,
    "min_samples_leaf": 1,
    "min_hessian": HESSIAN,
    "l2_regularization": 0.0,
    "max_features": None,
}
NO_DELTA = 1e-9
"""LightGBM multiplies the Poisson hessian by e^0.7 unless this is small."""


def light(objective: str, y: Any, offset: Any) -> Any:
    params = {
        "objective": objective,
        "learning_rate": 0.3,
        "num_leaves": LEAVES,
        "min_data_in_leaf": 1,  # LightGBM estimates the number of rows from hessians
        "min_sum_hessian_in_leaf": HESSIAN,
        "poisson_max_delta_step": NO_DELTA,
        "boost_from_average": False,
        "min_data_in_bin": 1,
        "verbose": -1,
    }
    model = lightgbm.train(params, lightgbm.Dataset(X, y, init_score=offset), TREES)
    return model.predict(X, raw_score=True) + offset


def extreme(objective: str, y: Any, offset: Any) -> Any:
    own = {
        "objective": objective,
        "learning_rate": 0.3,
        "max_depth": 3,
        "min_child_weight": 1.0,
        "reg_lambda": 2.0,
        "tree_method": "exact",
    }
    data = xgboost.DMatrix(X, y, base_margin=offset)
    model = xgboost.train(own, data, TREES)
    return model.predict(data, output_margin=True)


def test_counts_with_an_exposure_agree_with_lightgbm() -> None:
    offset = np.log(RATE)
    model = GradientBoostingRegressor(loss="poisson", **OURS)
    model.fit(X, COUNTS, offset=offset, exposure=EXPOSURE)
    found = np.log(model.predict(X, offset=offset, exposure=EXPOSURE))
    expected = light("poisson", COUNTS, np.log(RATE * EXPOSURE))
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_an_offset_of_log_odds_agrees_with_lightgbm() -> None:
    model = GradientBoostingClassifier(**OURS).fit(X, LABELS, offset=OFFSET)
    found = model.decision_function(X, offset=OFFSET)
    np.testing.assert_allclose(found, light("binary", LABELS, OFFSET), atol=2e-5)


def test_offsets_agree_with_xgboost() -> None:
    ours = OURS | {"max_leaf_nodes": None, "max_depth": 3, "grow_policy": "depth_wise"}
    ours |= {"min_hessian": 1.0, "l2_regularization": 2.0}
    model = GradientBoostingClassifier(**ours).fit(X, LABELS, offset=OFFSET)
    found = model.decision_function(X, offset=OFFSET)
    np.testing.assert_allclose(found, extreme("binary:logistic", LABELS, OFFSET), atol=2e-5)
    amounts = GradientBoostingRegressor(loss="gamma", **ours)
    amounts.fit(X, COUNTS + 1, exposure=EXPOSURE)
    score = np.log(amounts.predict(X, exposure=EXPOSURE))
    expected = extreme("reg:gamma", COUNTS + 1, np.log(EXPOSURE))
    np.testing.assert_allclose(score, expected, atol=2e-5)


def test_an_exposure_is_the_weight_of_a_frequency_in_scikit_learn() -> None:
    expected = PoissonRegressor(alpha=0, tol=1e-10, max_iter=5000)
    expected.fit(X, COUNTS / EXPOSURE, sample_weight=EXPOSURE)
    line = LinearRegression()
    model = StagewiseRegressor(loss="poisson", learner=line, n_estimators=30, learning_rate=1.0)
    model.fit(X, COUNTS, exposure=EXPOSURE)
    np.testing.assert_allclose(model.predict(X, exposure=1), expected.predict(X), rtol=1e-3)
