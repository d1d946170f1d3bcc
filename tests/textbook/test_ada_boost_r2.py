"""AdaBoost.R2 as in its paper, and in scikit-learn where rows are not drawn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import AdaBoostRegressor as ScikitAdaBoost
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from stagewise import AdaBoostRegressor

Vector = npt.NDArray[np.float64]
LOSSES = ("linear", "square", "exponential")


def make_table(seed: int, n: int = 150) -> tuple[Vector, Vector]:
    """Return few distinct values, so that each has its own bin."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 3)) / 4
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 1) + rng.normal(size=n) / 3


def ada_boost_r2(
    X: Vector, y: Vector, loss: str, rate: float, rounds: int, weight: Vector, fit: Any
) -> tuple[Vector, list[float], list[float]]:
    """Drucker (1997), with the weights of step 1 passed to the machine; returns the median.

    The exponent of β has the learning rate, as in scikit-learn.
    """
    w, H, alphas, means = weight / weight.sum(), [], [], []
    for _ in range(rounds):
        h = fit(X, y, w)  # step 2
        e = np.abs(h - y) / np.abs(h - y).max()  # step 4
        L = {"linear": e, "square": e**2, "exponential": 1 - np.exp(-e)}[loss]
        mean = (L * w).sum()  # step 5
        if mean >= 0.5:
            break
        beta = mean / (1 - mean)  # step 6
        w = w * beta ** (rate * (1 - L))  # step 7
        w /= w.sum()
        H.append(h)
        alphas.append(rate * np.log(1 / beta))
        means.append(mean)
    out = []
    for row in np.array(H).T:  # step 8: the least y with Σ_{h ≤ y} log 1/β ≥ ½ Σ log 1/β
        candidates = [
            v for v in row if np.sum(np.array(alphas)[row <= v]) >= 0.5 * sum(alphas) * (1 - 1e-12)
        ]
        out.append(min(candidates))
    return np.array(out), alphas, means


def fit_tree(X: Vector, y: Vector, w: Vector) -> Vector:
    return np.asarray(DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y, w).predict(X))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ours", ["estimator", "trees"])
def test_equals_the_paper(loss, rate, weighted, ours):
    X, y = make_table(3)
    weight = np.random.default_rng(1).integers(1, 4, len(y)) if weighted else np.ones(len(y))
    base = DecisionTreeRegressor(max_depth=3, random_state=0) if ours == "estimator" else None
    model = AdaBoostRegressor(base, loss=loss, learning_rate=rate, n_estimators=9)
    model.fit(X, y, sample_weight=weight if weighted else None)
    median, alphas, means = ada_boost_r2(X, y, loss, rate, 9, weight.astype(float), fit_tree)
    # Row weights of trees are float32.
    close = 1e-9 if ours == "estimator" else 1e-4
    np.testing.assert_allclose(model.estimator_weights_, alphas, rtol=close)
    np.testing.assert_allclose(model.estimator_errors_, means, rtol=close)
    np.testing.assert_allclose(model.predict(X), median, rtol=close, atol=close)


class Column(RegressorMixin, BaseEstimator):
    """Predicts a column of X, another one at every fit, whatever the rows are."""

    fits: ClassVar[int] = 0

    def fit(self, X, y, sample_weight=None):
        self.column_ = Column.fits % X.shape[1]
        Column.fits += 1
        return self

    def predict(self, X):
        return X[:, self.column_]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_equals_scikit_learn_where_rows_do_not_matter(loss, rate):
    # scikit-learn draws rows; an estimator that does not depend on them has the same weights.
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    X = y[:, np.newaxis] + rng.normal(size=(80, 7)) * np.linspace(0.2, 2.0, 7)
    weight = rng.random(80) + 0.5
    Column.fits = 0
    params = {"n_estimators": 7, "loss": loss, "learning_rate": rate}
    theirs = ScikitAdaBoost(Column(), random_state=0, **params).fit(X, y, weight)
    Column.fits = 0
    ours = AdaBoostRegressor(Column(), **params).fit(X, y, weight)
    n = len(theirs.estimators_)
    assert ours.n_iter_ == n > 3
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_[:n], rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[:n], rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for a, b in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_resampling_is_that_of_scikit_learn_on_average():
    X, y = make_table(5, 400)

    class Unweighted(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.inner_ = DecisionTreeRegressor(max_depth=3).fit(X, y)
            return self

        def predict(self, X):
            return self.inner_.predict(X)

    ours = AdaBoostRegressor(Unweighted(), resample=True, n_estimators=30).fit(X, y)
    theirs = ScikitAdaBoost(Unweighted(), n_estimators=30, random_state=0).fit(X, y)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.05)
    assert ours.estimator_errors_.mean() == pytest.approx(
        theirs.estimator_errors_[: len(theirs.estimators_)].mean(), abs=0.03
    )


def test_a_linear_model_is_boosted_as_written():
    X, y = make_table(8)

    def fit(X: Vector, y: Vector, w: Vector) -> Vector:
        return np.asarray(LinearRegression().fit(X, y, w).predict(X))

    model = AdaBoostRegressor(LinearRegression(), n_estimators=5).fit(X, y)
    median, *_ = ada_boost_r2(X, y, "linear", 1.0, 5, np.ones(len(y)), fit)
    np.testing.assert_allclose(model.predict(X), median, rtol=1e-9)
