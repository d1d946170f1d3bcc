"""At equal settings scikit-learn's HistGradientBoosting gives the same model or the same quality.

The tables of the first tests have few distinct values, so that both libraries put each in its own
bin, and no two splits tie. The remaining difference is arithmetic: scikit-learn keeps gradients in
float32 and sums in float64, the core sums 31-bit integers; both are accurate to about 1e-7 a round.
A single different split would change some predictions by 1e-2 of the target's spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor

Vector = npt.NDArray[np.float64]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Use one OpenMP thread, because other tests may be using the cores."""
    with threadpool_limits(1):
        yield


def make_table(seed: int, n: int = 600, *, missing: bool = True) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 25, (n, 5)) / 5
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 2) / 3 + rng.normal(size=n) / 4
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def both(seed: int, **changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the same settings in both libraries' parameter names."""
    shared: dict[str, Any] = {
        "learning_rate": 0.1,
        "max_leaf_nodes": 12,
        "max_depth": None,
        "min_samples_leaf": 15,
        "l2_regularization": 0.5,
        **changes,
    }
    ours = {**shared, "max_features": 1.0, "n_estimators": 25, "random_state": seed}
    theirs = {**shared, "max_iter": 25, "early_stopping": False, "random_state": seed}
    return ours, theirs


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no penalty": {"l2_regularization": 0.0},
    "a large penalty": {"l2_regularization": 20.0},
    "shallow": {"max_depth": 3},
    "stumps": {"max_leaf_nodes": 2},
    "heavy leaves": {"min_samples_leaf": 60},
    "fast": {"learning_rate": 0.5},
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_squared_error_predictions_are_equal(name: str, missing: bool) -> None:
    X, y = make_table(0, missing=missing)
    ours, theirs = both(0, **SETTINGS[name])
    mine = GradientBoostingRegressor(**ours).fit(X, y)
    other = HistGradientBoostingRegressor(**theirs).fit(X, y)
    np.testing.assert_allclose(mine.predict(X), other.predict(X), atol=1e-5 * y.std())
    # In a gap between a node's values theirs cuts at an end, ours in the middle: the same split of
    # the training rows, but not of all new ones.
    new = make_table(1, missing=missing)[0]
    same = np.isclose(mine.predict(new), other.predict(new), rtol=0.0, atol=1e-5 * y.std())
    assert same.mean() > 0.95


def test_weighted_predictions_are_equal() -> None:
    # min_samples_leaf counts rows there and weights here, so it is set to have no effect.
    X, y = make_table(2)
    weight = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    ours, theirs = both(0, min_samples_leaf=1, max_leaf_nodes=8)
    mine = GradientBoostingRegressor(**ours).fit(X, y, weight).predict(X)
    other = HistGradientBoostingRegressor(**theirs).fit(X, y, weight).predict(X)
    np.testing.assert_allclose(mine, other, atol=1e-5 * y.std())


@pytest.mark.parametrize("name", SETTINGS)
def test_probabilities_of_two_classes_are_equal(name: str) -> None:
    X, y = make_table(3)
    labels = (y > np.quantile(y, 0.6)).astype(int)
    ours, theirs = both(0, **SETTINGS[name])
    mine = GradientBoostingClassifier(**ours).fit(X, labels).predict_proba(X)
    other = HistGradientBoostingClassifier(**theirs).fit(X, labels).predict_proba(X)
    np.testing.assert_allclose(mine, other, atol=1e-5)


@pytest.mark.parametrize("name", ["plain", "shallow", "a large penalty"])
def test_probabilities_of_many_classes_are_equal(name: str) -> None:
    X, y = make_table(4)
    labels = np.digitize(y, np.quantile(y, [0.2, 0.5]))
    ours, theirs = both(0, **SETTINGS[name])
    mine = GradientBoostingClassifier(**ours).fit(X, labels).predict_proba(X)
    other = HistGradientBoostingClassifier(**theirs).fit(X, labels).predict_proba(X)
    np.testing.assert_allclose(mine, other, atol=1e-5)


def test_absolute_error_is_as_small_as_scikit_learns() -> None:
    # Gradients of ±1 tie often, and ties are resolved differently; the quality is the same.
    X, y = make_table(5, 3_000)
    ours, theirs = both(0)
    mine = GradientBoostingRegressor(loss="absolute_error", **ours).fit(X, y).predict(X)
    other = HistGradientBoostingRegressor("absolute_error", **theirs).fit(X, y).predict(X)
    assert np.abs(mine - y).mean() < 1.01 * np.abs(other - y).mean()


# ---- real tables: bins, ties and defaults differ, quality must not ------------------------------


def test_diabetes_error_is_as_small_as_scikit_learns() -> None:
    # 442 rows: folds differ by 5 % from shuffle to shuffle, the two libraries by under 2 %.
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = both(0, learning_rate=0.05)
    mine, other = [], []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        for model, errors in (
            (GradientBoostingRegressor(**{**ours, "n_estimators": 60}), mine),
            (HistGradientBoostingRegressor(**{**theirs, "max_iter": 60}), other),
        ):
            predicted = model.fit(X[train], y[train]).predict(X[test])
            errors.append(root_mean_squared_error(y[test], predicted))
    assert np.mean(mine) < 1.03 * np.mean(other)
    assert np.mean(mine) < 60  # the mean alone: 77


def test_breast_cancer_log_loss_is_as_small_as_scikit_learns() -> None:
    # 569 rows, few of them wrong: the log loss changes by 10 % with three rows.
    X, y = load_breast_cancer(return_X_y=True)
    ours, theirs = both(0)
    mine, other = [], []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
        for model, errors in (
            (GradientBoostingClassifier(**{**ours, "n_estimators": 50}), mine),
            (HistGradientBoostingClassifier(**{**theirs, "max_iter": 50}), other),
        ):
            predicted = model.fit(X[train], y[train]).predict_proba(X[test])
            errors.append(log_loss(y[test], predicted))
    assert np.mean(mine) < 1.1 * np.mean(other)
    assert np.mean(mine) < 0.15  # constant class probabilities: 0.66


def test_digits_accuracy_is_as_high_as_scikit_learns() -> None:
    # 600 test digits: two more or less wrong are chance.
    X, y = load_digits(return_X_y=True)
    ours, theirs = both(0)
    train, test = slice(0, 1_197), slice(1_197, None)
    mine = GradientBoostingClassifier(**ours).fit(X[train], y[train]).predict(X[test])
    other = HistGradientBoostingClassifier(**theirs).fit(X[train], y[train]).predict(X[test])
    assert accuracy_score(y[test], mine) > accuracy_score(y[test], other) - 0.01
    assert accuracy_score(y[test], mine) > 0.88
