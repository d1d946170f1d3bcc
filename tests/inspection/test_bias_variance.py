"""Bias and variance: cases with known parts, identities, and what boosting and bagging change."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression

from stagewise import (
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    InvalidParameterError,
)
from stagewise.datasets import make_sine
from stagewise.inspection import bias_variance

mpl.use("Agg")


class ShrunkenMean(RegressorMixin, BaseEstimator):
    """Predicts a factor times the mean of y."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y):
        self.mean_ = self.factor * np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Majority(ClassifierMixin, BaseEstimator):
    """Predicts the most frequent class."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.class_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.class_)


def constant(seed, n=10):
    """Return y ~ N(3, 2²), whatever X is."""
    return np.zeros((n, 1)), np.random.default_rng(seed).normal(3, 2, n)


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_bias_and_variance_of_a_shrunken_mean_are_known(factor):
    found = bias_variance(
        ShrunkenMean(factor), constant, truth=lambda X: np.full(len(X), 3.0), n_repeats=4000
    )
    assert found.bias[0] == pytest.approx((factor * 3 - 3) ** 2, abs=0.05)
    assert found.variance[0] == pytest.approx(factor**2 * 4 / 10, rel=0.06)
    y = constant(0)[1]
    assert found.noise[0] == pytest.approx(np.mean((y - 3) ** 2))


def test_the_variance_of_a_line_is_sigma_squared_times_p_over_n():
    x = np.linspace(0, 1, 20)[:, np.newaxis]

    def line(seed):
        return x, 1 + 2 * x[:, 0] + np.random.default_rng(seed).normal(0, 1, 20)

    found = bias_variance(LinearRegression(), line, truth=lambda X: 1 + 2 * X[:, 0], n_repeats=1500)
    assert found.variance[0] == pytest.approx(2 / 20, rel=0.1)
    assert found.bias[0] == pytest.approx(0, abs=0.002)


def test_the_parts_sum_to_the_error_of_each_model():
    def wave(seed):
        return make_sine(60, seed=seed)

    def truth(X):
        return np.sin(X[:, 0]) + 0.15 * X[:, 0]

    tree = DecisionTreeRegressor(max_depth=3)
    found = bias_variance(tree, wave, truth=truth, n_repeats=7, random_state=5)
    X, y = wave(5)
    noise = np.mean((y - truth(X)) ** 2)
    wrong = [np.mean((tree.fit(*wave(5 + r)).predict(X) - truth(X)) ** 2) for r in range(1, 8)]
    assert found.error[0] == pytest.approx(np.mean(wrong) + noise)


@pytest.mark.parametrize("best", [0, 1])  # 1 is a wrong truth, which has the bias 1
def test_bias_and_variance_of_a_majority_are_those_of_the_binomial_distribution(best):
    n = 11

    def coins(seed):
        return np.zeros((n, 1)), (np.random.default_rng(seed).random(n) < 0.3).astype(int)

    found = bias_variance(Majority(), coins, truth=lambda X: np.full(len(X), best), n_repeats=4000)
    wrong = binom.sf(n // 2, n, 0.3)  # more than half are 1: the majority differs from 0
    assert found.bias[0] == best
    assert found.variance[0] == pytest.approx(-wrong if best else wrong, abs=0.015)
    y = coins(0)[1]
    expected = np.mean(y == 1) * (1 - wrong) + np.mean(y == 0) * wrong
    assert found.error[0] == pytest.approx(expected, abs=0.02)


def test_boosting_lowers_the_bias_and_raises_the_variance():
    def wave(seed):
        return make_sine(100, noise=0.5, seed=seed)

    boosting = GradientBoostingRegressor(
        n_estimators=100, max_depth=1, l2_regularization=0.0, max_features=None, min_samples_leaf=1
    )
    found = bias_variance(
        boosting,
        wave,
        truth=lambda X: np.sin(X[:, 0]) + 0.15 * X[:, 0],
        rounds=[1, 10, 100],
        n_repeats=15,
    )
    assert found.rounds == (1, 10, 100)
    assert (np.diff(found.bias) < 0).all()
    assert (np.diff(found.variance) > 0).all()
    assert [row["rounds"] for row in found.table()] == [1, 10, 100]


def test_bagging_lowers_the_variance_of_large_trees_and_keeps_their_bias():
    def wave(seed):
        return make_sine(100, noise=0.5, seed=seed)

    def truth(X):
        return np.sin(X[:, 0]) + 0.15 * X[:, 0]

    tree = DecisionTreeRegressor()
    one = bias_variance(tree, wave, truth=truth, n_repeats=12)
    bag = bias_variance(BaggingRegressor(tree, n_estimators=10), wave, truth=truth, n_repeats=12)
    assert bag.variance[0] < 0.7 * one.variance[0]
    assert abs(bag.bias[0] - one.bias[0]) < 0.2 * one.variance[0]


def test_rows_of_a_table_are_predicted_by_models_of_other_rows():
    X, y = make_sine(80, seed=1)
    X = pd.DataFrame(X, columns=["x"])
    found = bias_variance(DecisionTreeRegressor(), (X, y), n_repeats=12)
    assert found.noise[0] == 0  # the truth is unknown
    assert found.variance[0] > 0
    # A tree that has stored the training rows would have no error on them.
    assert found.error[0] > 0.09


def test_the_plot_has_curves_by_rounds_and_bars_without():
    model = GradientBoostingRegressor(n_estimators=4)
    found = bias_variance(model, make_sine(60), rounds=[1, 4], n_repeats=6)
    ax = found.plot()
    np.testing.assert_array_equal(ax.lines[3].get_ydata(), found.error)
    assert len(bias_variance(model, make_sine(60), n_repeats=6).plot().patches) == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_repeats": 1}, "n_repeats must be a whole number at least 2"),
        ({"rounds": [3]}, "rounds needs an estimator with staged_predict"),
        ({"truth": lambda X: X}, "truth must return one value for each of the 10 test rows"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(InvalidParameterError, match=message):
        bias_variance(LinearRegression(), constant, **wrong)


def test_rounds_beyond_the_end_of_a_fit_are_refused():
    table = make_sine(50)
    with pytest.raises(InvalidParameterError, match="rounds has 9, and a fit ended earlier"):
        bias_variance(GradientBoostingRegressor(n_estimators=5), table, rounds=[1, 9])
    with pytest.raises(InvalidParameterError, match="rounds must be whole numbers from 1"):
        bias_variance(GradientBoostingRegressor(n_estimators=5), table, rounds=[0])
    with pytest.raises(TypeError, match=r"a function of a seed that returns \(X, y\)"):
        bias_variance(LinearRegression(), [1, 2])
    with pytest.raises(TypeError, match="an estimator with fit and predict"):
        bias_variance(LinearRegression, constant)
