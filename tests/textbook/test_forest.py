"""Random forests as in Breiman (2001), with a brute-force tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reference import sampling, tree
from stagewise import RandomForestClassifier, RandomForestRegressor

Vector = npt.NDArray[np.float64]


def make_table(seed: int, n: int = 120) -> tuple[Vector, Vector]:
    """Return few distinct values, so that each has its own bin; some are missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 3)) / 4
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 1) + rng.normal(size=n) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def cuts_of(X: Vector) -> list[Vector]:
    values = [np.unique(x[~np.isnan(x)]) for x in X.T]
    return [(v[1:] + v[:-1]) / 2 for v in values]


def forest(X: Vector, y: Vector, trees: int, seed: int) -> tuple[Vector, Vector]:
    """Average trees of bootstrap samples; return predictions of all rows, and of out-of-bag rows.

    For m = 1, …, M: draw a sample; fit a tree b_m to it; f = (1/M) Σ b_m.
    """
    total, out_of_bag, speakers = (np.zeros(len(y)) for _ in range(3))
    for m in range(trees):
        w = sampling.bootstrap(len(y), 1.0, seed, m)
        bag = np.flatnonzero(w).astype(np.uint32)
        grown = tree.grow(X, -y, np.ones(len(y)), w, cuts_of(X), tree.Rules(), bag)
        leaf = np.array([tree.leaf_of(grown, row) for row in X])
        for j in np.unique(leaf):
            inside = (leaf == j) & (w > 0)
            predicted = np.average(y[inside], weights=w[inside])
            total[leaf == j] += predicted
            out_of_bag[(leaf == j) & (w == 0)] += predicted
        speakers += w == 0
    with np.errstate(invalid="ignore"):
        return total / trees, out_of_bag / speakers


@pytest.mark.parametrize("seed", range(3))
def test_a_regression_forest_equals_the_textbooks(seed: int) -> None:
    X, y = make_table(seed)
    model = RandomForestRegressor(n_estimators=5, max_features=None, random_state=seed).fit(X, y)
    predicted, out_of_bag = forest(X, y, 5, seed)
    np.testing.assert_allclose(model.predict(X), predicted, atol=1e-9)
    np.testing.assert_allclose(model.oob_prediction_, out_of_bag, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_by_gini_equal_a_regression_of_minus_one_and_one(seed: int) -> None:
    X, y = make_table(seed)
    labels = np.where(y > np.median(y), "up", "down")
    model = RandomForestClassifier(n_estimators=5, max_features=None, random_state=seed)
    predicted, out_of_bag = forest(X, np.where(labels == "up", 1.0, -1.0), 5, seed)
    proba: Any = model.fit(X, labels).predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], (1 + predicted) / 2, atol=1e-12)
    np.testing.assert_allclose(model.oob_prediction_[:, 1], (1 + out_of_bag) / 2, atol=1e-12)
