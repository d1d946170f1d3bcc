"""Linear leaves equal those of LightGBM where both define the result.

That is without penalties, which LightGBM has in units of the features, and without missing values,
for which it uses other constants. Its first tree has constant leaves.
"""

from __future__ import annotations

import lightgbm
import numpy as np

from stagewise import (
    GradientBoostingRegressor,
    LinearLeaves,
)


def test_linear_leaves_of_three_trees_equal_lightgbms():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, size=(4000, 3)) / 8.0
    y = np.sin(X[:, 0]) * 3 + X[:, 1] * (X[:, 2] > 2) + rng.normal(size=4000) / 10
    params = {
        "objective": "regression",
        "linear_tree": True,
        "linear_lambda": 0.0,
        "lambda_l2": 0.0,
        "learning_rate": 0.5,
        "num_leaves": 6,
        "min_data_in_leaf": 100,
        "min_sum_hessian_in_leaf": 0.0,
        "min_data_in_bin": 1,
        "verbosity": -1,
    }
    theirs = lightgbm.train(params, lightgbm.Dataset(X, y, params=params), 3).predict(X)
    ours = GradientBoostingRegressor(
        n_estimators=1,
        learning_rate=0.5,
        max_features=1.0,
        max_leaf_nodes=6,
        min_samples_leaf=100,
        min_hessian=0.0,
        l2_regularization=0.0,
        warm_start=True,
    ).fit(X, y)
    ours.set_params(n_estimators=3, leaves=LinearLeaves(l2=0.0)).fit(X, y)
    # LightGBM's targets are float32.
    np.testing.assert_allclose(ours.predict(X), theirs, atol=2e-6)
