"""Friedman's gradient boosting equals scikit-learn's for every loss.

Features have few distinct values, so that each has its own bin and both libraries have the same
candidate splits; trees are limited by depth, which both reach in the same way. The remaining
differences are rounding (our gradients have 24 bits) and those that the comments name.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor

ROUNDS, DEPTH, RATE, LEAST = 30, 3, 0.2, 5
OURS = {
    "max_features": 1.0,
    "response": "gradient",
    "n_estimators": ROUNDS,
    "max_depth": DEPTH,
    "max_leaf_nodes": None,
    "learning_rate": RATE,
    "min_samples_leaf": LEAST,
    "min_hessian": 0.0,
    "l2_regularization": 0.0,
}
THEIRS = {
    "n_estimators": ROUNDS,
    "max_depth": DEPTH,
    "learning_rate": RATE,
    "min_samples_leaf": LEAST,
    "random_state": 0,
}


def make_table(n: int = 801) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, (n, 4)) / 8.0
    y = np.sin(X[:, 0]) * 2 + X[:, 1] * (X[:, 2] > 3) / 3 + rng.normal(size=n)
    return X, y


def share_close(a: np.ndarray, b: np.ndarray, within: float) -> float:
    return float(np.mean(np.abs(a - b) <= within))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_regression_losses_equal_scikit_learn(loss: str) -> None:
    X, y = make_table()
    own, theirs = {}, {}
    if loss in ("huber", "quantile"):
        own, theirs = {"quantile": 0.8}, {"alpha": 0.8}
    a = GradientBoostingRegressor(loss=loss, **OURS, **own).fit(X, y).predict(X)
    model = ensemble.GradientBoostingRegressor(loss=loss, **THEIRS, **theirs).fit(X, y)
    b = model.predict(X)
    if loss == "squared_error":
        np.testing.assert_allclose(a, b, atol=1e-4)
        return
    # A quantile of an even number of residuals lies anywhere between two of them; theirs is the
    # lower one, ours the middle. Trees that are fitted to signs then differ for some rows.
    assert np.corrcoef(a, b)[0, 1] > 0.98
    assert share_close(a, b, 0.25 * y.std()) > 0.95


def test_log_loss_of_two_classes_equals_scikit_learn() -> None:
    X, y = make_table()
    codes = (y > 1).astype(int)
    a = GradientBoostingClassifier(**OURS).fit(X, codes)
    b = ensemble.GradientBoostingClassifier(**THEIRS).fit(X, codes)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-3)


def test_log_loss_of_many_classes_equals_scikit_learn() -> None:
    # The first residuals have few values, so splits tie, and they break ties at random; weights of
    # many values leave none. A minimum number of rows in a leaf is a minimum weight for us, so none
    # is set; leaves of single rows then differ after seven rounds.
    X, y = make_table()
    codes = np.digitize(y, [0, 1.5])
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    own = {"min_samples_leaf": 1, "n_estimators": 7}
    a = GradientBoostingClassifier(**{**OURS, **own}).fit(X, codes, sample_weight=weight)
    b = ensemble.GradientBoostingClassifier(**{**THEIRS, **own})
    b.fit(X, codes, sample_weight=weight)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-6)


def test_exponential_loss_of_two_classes_equals_scikit_learn() -> None:
    # Their leaf is one Newton step, ours the exact optimum, ½ log of the odds of the weights.
    X, y = make_table()
    codes = (y > 1).astype(int)
    a = GradientBoostingClassifier(loss="exponential", **OURS).fit(X, codes)
    b = ensemble.GradientBoostingClassifier(loss="exponential", **THEIRS).fit(X, codes)
    assert np.corrcoef(a.decision_function(X), b.decision_function(X))[0, 1] > 0.97
    assert np.mean(a.predict(X) == b.predict(X)) > 0.96
    assert a.train_loss_[-1] <= np.exp(-(2 * codes - 1) * b.decision_function(X)).mean()
