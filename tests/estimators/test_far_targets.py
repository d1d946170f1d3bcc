"""Targets beside which all others are one number."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from stagewise import GradientBoostingRegressor

FAST = {"n_estimators": 3, "min_samples_leaf": 2, "early_stopping": False}


@pytest.mark.parametrize("loss", ["quantile", "absolute_error", "squared_error", "normal"])
def test_a_few_far_targets_are_a_warning(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] + rng.normal(size=500)
    for far, warned in ((1e300, True), (1e12, False)):
        y[:3] = far
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            GradientBoostingRegressor(loss=loss, **FAST).fit(X, y)
        assert any("y has the value 1e+300, while half" in str(w.message) for w in found) == warned


def test_small_targets_and_many_zeros_are_no_warning():
    X = np.arange(200.0).reshape(-1, 1)
    GradientBoostingRegressor(loss="gamma", **FAST).fit(X, 1e-30 * (1.0 + X[:, 0]))
    y = np.where(X[:, 0] > 160, 1e200, 0.0)
    GradientBoostingRegressor(**FAST).fit(X, y)
