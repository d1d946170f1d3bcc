"""What the teaching examples and pages state is true of the programs that they show."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from stagewise import GradientBoostingClassifier, StagewiseClassifier

TEXTBOOK = {"min_samples_leaf": 1, "l2_regularization": 0, "max_features": None}


def spheres(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n, 10))
    return X, (X**2).sum(axis=1) > 9.34


def test_larger_trees_add_variance_on_nested_spheres() -> None:
    """docs/methods/tree_size.md, examples/tree_size.py: 6.0, 7.5, 8.2 and 10.4 %."""
    (X, y), (X_test, y_test) = spheres(2_000, 0), spheres(10_000, 1)
    errors = [
        1 - model.fit(X, y).score(X_test, y_test)
        for leaves in (2, 6, 20, 100)
        for model in [
            GradientBoostingClassifier(
                max_leaf_nodes=leaves, n_estimators=600, learning_rate=0.5, **TEXTBOOK
            )
        ]
    ]
    assert errors == pytest.approx([0.060, 0.075, 0.082, 0.104], abs=0.0006)


def test_discrete_boosting_of_any_classifier_is_ada_boost_with_full_steps() -> None:
    """docs/methods/any_learner.md: Algorithm 10.1 with naive Bayes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] ** 2 + X[:, 1] > 0.5 + 0.3 * rng.normal(size=300), 1, -1)
    w, total = np.full(300, 1 / 300), np.zeros(300)
    for _ in range(8):
        G = GaussianNB().fit(X, y, sample_weight=w).predict(X)
        err = w[y != G].sum() / w.sum()
        alpha = np.log((1 - err) / err)
        w = w * np.exp(alpha * (y != G))
        total += alpha * G
    model = StagewiseClassifier(
        "exponential",
        learner=GaussianNB(),
        response="classes",
        learning_rate=1,
        n_estimators=8,
    ).fit(X, y)
    np.testing.assert_allclose(2 * model.decision_function(X), total, rtol=1e-6)
    slow = StagewiseClassifier(
        "exponential", learner=GaussianNB(), response="classes", n_estimators=8
    ).fit(X, y)
    assert np.abs(2 * slow.decision_function(X) - total).max() > 0.1  # ν = 0.1 is not AdaBoost
