"""DART is Rashmi & Gilad-Bachrach's Algorithm 1, with the normalisations that XGBoost documents.

The model is a list of trees with one weight each; every score is summed again. Which rounds are
dropped comes from the slow draws of `reference.sampling`; tolerance as in
test_gradient_boosting.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reference import sampling as draws
from reference.tree import Rules, grow, predict
from stagewise import (
    Dart,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

Vector = npt.NDArray[np.float64]

ROUNDS, LEAVES, LEAST, SEED = 14, 4, 5, 3
TREE = Rules(max_leaves=LEAVES, min_samples_leaf=LEAST, l2=0.5)
SHARED: dict[str, Any] = {
    "max_features": 1.0,
    "n_estimators": ROUNDS,
    "max_leaf_nodes": LEAVES,
    "min_samples_leaf": LEAST,
    "min_hessian": 0.0,
    "l2_regularization": 0.5,
    "random_state": SEED,
}


def make_table(n: int = 200) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(8)
    X = rng.integers(0, 10, (n, 3)) / 4
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 1) + rng.normal(size=n) / 3
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


X, NUMBER = make_table()
CODES = np.digitize(NUMBER, np.quantile(NUMBER, [0.3, 0.7]))


def dart(start: Vector, derivatives: Any, rate: float, drop: Dart) -> Vector:
    """Return the scores, shape (outputs, rows); a round is one tree for each output."""
    values = [np.unique(x[~np.isnan(x)]) for x in X.T]
    cuts = [(v[1:] + v[:-1]) / 2 for v in values]
    fits: list[Vector] = []
    weight: list[float] = []
    for m in range(ROUNDS):
        drawn = drop.rate, drop.max_drop or 0, drop.skip
        dropped = draws.rounds(m, *drawn, SEED, m)
        kept = [
            w * b for i, (w, b) in enumerate(zip(weight, fits, strict=True)) if i not in dropped
        ]
        g, h = derivatives(start + sum(kept))
        fitted = [predict(grow(X, *gh, None, cuts, TREE), X) for gh in zip(g, h, strict=True)]
        k = len(dropped)
        if k == 0:
            new, old = rate, 1.0
        elif drop.normalization == "tree":
            new, old = rate / (k + rate), k / (k + rate)
        else:
            new, old = rate / (1 + rate), 1 / (1 + rate)
        for i in dropped:
            weight[i] *= old
        fits.append(np.array(fitted))
        weight.append(new)
    return start + sum(w * b for w, b in zip(weight, fits, strict=True))


DROPS = {
    "as the paper, always some": Dart(rate=0.4, skip=0.0),
    "all of them": Dart(rate=1.0, skip=0.0, max_drop=None),
    "the defaults": Dart(rate=0.3),
    "two at most": Dart(rate=0.6, skip=0.2, max_drop=2),
    "as a forest": Dart(rate=0.5, skip=0.0, normalization="forest"),
}
every_drop = pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)


@every_drop
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_dart_of_squared_error_equals_the_paper(drop, rate):
    model = GradientBoostingRegressor(learning_rate=rate, **SHARED, dropout=drop).fit(X, NUMBER)
    start = np.full((1, len(NUMBER)), NUMBER.mean())
    residuals = lambda F: (F - NUMBER, np.ones_like(F))  # noqa: E731
    expected = dart(start, residuals, rate, drop)[0]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)


@every_drop
def test_dart_of_two_classes_equals_the_paper(drop):
    y = CODES == 2
    model = GradientBoostingClassifier(learning_rate=0.3, **SHARED, dropout=drop).fit(X, y)

    def logistic(F: Vector) -> tuple[Vector, Vector]:
        p = 1 / (1 + np.exp(-F))
        return p - y, p * (1 - p)

    start = np.full((1, len(y)), np.log(y.mean() / (1 - y.mean())))
    expected = dart(start, logistic, 0.3, drop)[0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)


@every_drop
def test_all_trees_of_a_round_of_three_classes_are_dropped_together(drop):
    model = GradientBoostingClassifier(learning_rate=0.3, **SHARED, dropout=drop).fit(X, CODES)

    def softmax(F: Vector) -> tuple[Vector, Vector]:
        p = np.exp(F) / np.exp(F).sum(axis=0)
        return p - (np.arange(3)[:, np.newaxis] == CODES), p * (1 - p)

    logs = np.log(np.bincount(CODES) / len(CODES))
    start = np.tile((logs - logs.mean())[:, np.newaxis], len(CODES))
    expected = dart(start, softmax, 0.3, drop)
    np.testing.assert_allclose(model.decision_function(X).T, expected, atol=1e-5)
