"""Vector trees equal XGBoost's where both define the result: few values, no random sampling."""

from __future__ import annotations

import numpy as np
import pytest

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor

xgboost = pytest.importorskip("xgboost")

ROUNDS, RATE = 5, 0.3


def train(X, y, depth, **params):
    """Return XGBoost's model of a few rounds, with one tree for all outputs."""
    data = xgboost.DMatrix(X, label=y)
    common = {
        "tree_method": "hist",
        "multi_strategy": "multi_output_tree",
        "max_depth": depth,
        "eta": RATE,
        "lambda": 2.0,
        "min_child_weight": 0.0,
        "base_score": 0.0,
        "nthread": 1,
    }
    return xgboost.train({**common, **params}, data, ROUNDS), data


def ours(kind, depth, **params):
    return kind(
        leaves="vector",
        grow_policy="depth_wise",
        max_depth=depth,
        max_leaf_nodes=None,
        n_estimators=ROUNDS,
        learning_rate=RATE,
        max_features=1.0,
        l2_regularization=2.0,
        min_samples_leaf=1,
        min_hessian=0.0,
        **params,
    )


def table(seed: int):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 30, (800, 4)).astype(float)
    y = np.stack([np.sin(X[:, k] / 3) + X[:, (k + 1) % 4] / 20 for k in range(3)], axis=1)
    y += 0.2 * rng.normal(size=y.shape)
    return X, (y - y.mean(axis=0)) / y.std(axis=0)


@pytest.mark.parametrize("depth", [1, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_squared_error_of_three_targets_equals_xgboost(depth: int, seed: int) -> None:
    X, y = table(seed)
    theirs, data = train(X, y, depth, objective="reg:squarederror")
    model = ours(GradientBoostingRegressor, depth).fit(X, y)
    # XGBoost sums in float32: leaves agree to about six digits.
    np.testing.assert_allclose(model.predict(X), theirs.predict(data), atol=2e-5)


def test_one_tree_per_target_differs_from_vector_leaves() -> None:
    X, y = table(0)
    one = ours(GradientBoostingRegressor, 3).fit(X, y).predict(X)
    three = ours(GradientBoostingRegressor, 3).set_params(leaves="constant").fit(X, y)
    assert np.abs(one - three.predict(X)).max() > 0.1
    classes = ours(GradientBoostingClassifier, 3).fit(X, y.argmax(axis=1))
    assert classes.score(X, y.argmax(axis=1)) > 0.6
