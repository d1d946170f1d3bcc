"""Tables for single trees."""

from __future__ import annotations

import numpy as np

from stagewise import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["CRITERIA", "KINDS", "WAYS", "of", "same", "wave"]

KINDS = (DecisionTreeClassifier, DecisionTreeRegressor)
CRITERIA = [
    *((DecisionTreeClassifier, c) for c in ("gini", "entropy", "misclassification")),
    *((DecisionTreeRegressor, c) for c in ("squared_error", "absolute_error")),
]
WAYS = (None, "cost_complexity", "reduced_error", "early_stopping")


def same(a, b):
    return a.fingerprint() == b.fingerprint()


def wave(n, seed=0):
    """Return rows without ties, a noisy number, and a noisy class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 2
    return X, y, np.digitize(y, [-0.7, 0.7])


def of(kind, n, seed=0):
    X, number, classes = wave(n, seed)
    return X, number if kind is DecisionTreeRegressor else classes
