"""Permutation importance of forests on out-of-bag rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reference import sampling as draws
from stagewise import (
    ExtraTreesRegressor,
    InvalidParameterError,
    RandomForestClassifier,
    RandomForestRegressor,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    f = 2 * np.nan_to_num(X[:, 3]) + np.nan_to_num(X[:, 1])
    return X, f + rng.normal(size=500) / 4


def test_permutation_importance_equals_breimans_definition(rows):
    X, y = rows
    forest = RandomForestRegressor(n_estimators=4, random_state=3).fit(X, y)
    single = list(forest.model_.ensemble.trees)
    increase = np.zeros((4, 6))
    for m in range(4):
        outside = draws.bootstrap(len(y), 1.0, 3, m) == 0
        alone = RandomForestRegressor(n_estimators=4, random_state=3).fit(X, y)
        for other, tree in enumerate(single):  # the other trees predict 0
            keep = 4.0 if other == m else 0.0
            alone.model_.ensemble.trees[other] = tree.with_values(tree.value * keep)
        alone.model_.ensemble._forest = None
        Z = X[outside]
        before = ((alone.predict(Z) - y[outside]) ** 2).mean()
        for f in set(single[m].feature) - {-1}:
            order = np.random.default_rng([3, m, int(f)]).permutation(len(Z))
            moved = Z.copy()
            moved[:, f] = moved[order, f]
            increase[m, f] = ((alone.predict(moved) - y[outside]) ** 2).mean() - before
    found = forest.oob_importances(X, y)
    np.testing.assert_allclose(found.mean, increase.mean(axis=0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.error, increase.std(axis=0, ddof=1) / 2, rtol=1e-6, atol=1e-9)
    assert found.by_class is None


def test_classes_have_their_own_importances(rows):
    X, _ = rows
    y = np.select([np.nan_to_num(X[:, 0]) > 1, np.nan_to_num(X[:, 2]) > 0], ["a", "b"], "c")
    forest = RandomForestClassifier(n_estimators=40).fit(X, y)
    found = forest.oob_importances(X, y)
    assert found.by_class is not None
    assert found.by_class.shape == (3, 6)
    assert found.by_class[0].argmax() == 0  # only column 0 separates a from the others
    assert found.by_class[1].argmax() == 2
    shares = forest.class_importances_
    assert shares.shape == (3, 6)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0].argmax() == 0
    np.testing.assert_allclose(shares.sum(axis=0), forest.feature_importances_, rtol=1e-6)


def test_rows_of_weight_zero_do_not_count(rows):
    X, y = rows
    weight = np.ones(len(y))
    weight[::4] = 0
    some = RandomForestRegressor(n_estimators=6).fit(X, y, sample_weight=weight)
    few = RandomForestRegressor(n_estimators=6).fit(X[weight > 0], y[weight > 0])
    a = some.oob_importances(X, y, weight)
    b = few.oob_importances(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(a.mean, b.mean)


def test_features_are_selected_by_name(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcdef"))
    forest = RandomForestRegressor(n_estimators=40, max_samples=0.5, bootstrap=False).fit(frame, y)
    assert forest.select_features(frame, y, errors=4) == ["d", "b"]
    chance = RandomForestRegressor(n_estimators=10).fit(X[:50], np.arange(50.0) % 2)
    assert len(chance.select_features(X[:50], np.arange(50.0) % 2, errors=1e9)) == 1


def test_invalid_requests_are_errors(rows):
    X, y = rows
    with pytest.raises(InvalidParameterError, match="bootstrap=True or max_samples below 1"):
        ExtraTreesRegressor(n_estimators=3).fit(X, y).oob_importances(X, y)
    with pytest.raises(InvalidParameterError, match="errors must be"):
        RandomForestRegressor(n_estimators=3).fit(X, y).select_features(X, y, errors="two")
