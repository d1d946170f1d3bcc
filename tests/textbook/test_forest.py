"""Random forests as Breiman (2001) has them, over a brute-force tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reference import sampling, tree
from stagewise import RandomForestClassifier, RandomForestRegressor

Vector = npt.NDArray[np.float64]


def make_table(seed: int, n: int = 120) -> tuple[Vector, Vector]:
    """Few distinct values, so that each has its own bin; some are missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 3)) / 4
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 1) + rng.normal(size=n) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def cuts_of(X: Vector) -> list[Vector]:
    values = [np.unique(x[~np.isnan(x)]) for x in X.T]
    return [(v[1:] + v[:-1]) / 2 for v in values]


def forest(X: Vector, y: Vector, trees: int, seed: int) -> tuple[Vector, Vector]:
    """Average trees of bootstrap samples; return that of all rows, and of rows not drawn.

    For m = 1, …, M: draw a sample; fit a tree b_m to it; f = (1/M) Σ b_m.
    """
    total, unseen, speakers = (np.zeros(len(y)) for _ in range(3))
    for m in range(trees):
        w = sampling.bootstrap(len(y), 1.0, seed, m)
        bag = np.flatnonzero(w).astype(np.uint32)
        grown = tree.grow(X, -y, np.ones(len(y)), w, cuts_of(X), tree.Rules(), bag)
        leaf = np.array([tree.leaf_of(grown, row) for row in X])
        for j in np.unique(leaf):
            inside = (leaf == j) & (w > 0)
            said = np.average(y[inside], weights=w[inside])
            total[leaf == j] += said
            unseen[(leaf == j) & (w == 0)] += said
        speakers += w == 0
    with np.errstate(invalid="ignore"):
        return total / trees, unseen / speakers


@pytest.mark.parametrize("seed", range(3))
def test_a_forest_of_numbers_is_the_textbooks(seed: int) -> None:
    X, y = make_table(seed)
    model = RandomForestRegressor(n_estimators=5, max_features=None, random_state=seed).fit(X, y)
    said, unseen = forest(X, y, 5, seed)
    np.testing.assert_allclose(model.predict(X), said, atol=1e-9)
    np.testing.assert_allclose(model.oob_prediction_, unseen, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_by_gini_are_the_numbers_minus_one_and_one(seed: int) -> None:
    X, y = make_table(seed)
    labels = np.where(y > np.median(y), "up", "down")
    model = RandomForestClassifier(n_estimators=5, max_features=None, random_state=seed)
    said, unseen = forest(X, np.where(labels == "up", 1.0, -1.0), 5, seed)
    proba: Any = model.fit(X, labels).predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], (1 + said) / 2, atol=1e-12)
    np.testing.assert_allclose(model.oob_prediction_[:, 1], (1 + unseen) / 2, atol=1e-12)
