"""warm_start of forests: further trees of an earlier fit, with the same bytes as one fit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import ensemble

import stagewise
from stagewise import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    InvalidParameterError,
    RandomForestClassifier,
    RandomForestRegressor,
)

EVERY = pytest.mark.parametrize(
    "kind",
    [RandomForestRegressor, RandomForestClassifier, ExtraTreesRegressor, ExtraTreesClassifier],
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, 100 + X[:, 0] + rng.normal(size=300) / 3


def target(kind, y):
    return np.digitize(y, [99.5, 100.5]) if "Classifier" in kind.__name__ else y


def grown_in(steps, kind, X, y, **params):
    forest = kind(warm_start=True, bootstrap=True, random_state=4, **params)
    for n_estimators in steps:
        forest.set_params(n_estimators=n_estimators).fit(X, y)
    return forest


@EVERY
@pytest.mark.parametrize("steps", [(10, 25), (1, 2, 25), (24, 25)])
def test_a_continued_forest_is_one_fit(kind, rows, steps):
    X, y = rows[0], target(kind, rows[1])
    warm = grown_in(steps, kind, X, y)
    one = kind(n_estimators=25, bootstrap=True, random_state=4).fit(X, y)
    assert warm.fingerprint() == one.fingerprint()
    np.testing.assert_array_equal(warm.oob_prediction_, one.oob_prediction_)
    np.testing.assert_array_equal(warm.oob_loss_, one.oob_loss_)
    assert warm.oob_score_ == one.oob_score_
    assert len(warm) == warm.n_iter_ == 25


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_other_criteria_are_continued(rows, criterion):
    X, y = rows
    warm = grown_in((5, 12), RandomForestRegressor, X, y, criterion=criterion)
    one = RandomForestRegressor(n_estimators=12, random_state=4, criterion=criterion).fit(X, y)
    assert warm.fingerprint() == one.fingerprint()


def test_several_targets_are_continued(rows):
    X, y = rows[0], np.c_[rows[1], rows[0][:, 1]]
    warm = grown_in((5, 12), RandomForestRegressor, X, y)
    one = RandomForestRegressor(n_estimators=12, random_state=4).fit(X, y)
    assert warm.fingerprint() == one.fingerprint()


@EVERY
def test_a_pickle_is_continued_exactly_and_a_file_up_to_rounding(kind, rows, tmp_path):
    X, y = rows[0], target(kind, rows[1])
    first = grown_in((7,), kind, X, y)
    one = kind(n_estimators=16, bootstrap=True, random_state=4).fit(X, y)
    first.save(tmp_path / "model.stgw")
    copy = pickle.loads(pickle.dumps(first)).set_params(n_estimators=16).fit(X, y)
    assert copy.fingerprint() == one.fingerprint()
    loaded = stagewise.load(tmp_path / "model.stgw").set_params(n_estimators=16).fit(X, y)
    predict = "predict_proba" if hasattr(one, "predict_proba") else "predict"
    np.testing.assert_allclose(
        getattr(loaded, predict)(X), getattr(one, predict)(X), rtol=1e-9, atol=1e-12
    )


def test_further_trees_may_see_other_rows_and_other_parameters(rows):
    X, y = rows
    forest = RandomForestRegressor(n_estimators=10, warm_start=True).fit(X[:150], y[:150])
    before = [one.predict(X) for one in forest.estimators_]
    forest.set_params(n_estimators=20, max_depth=2).fit(X[150:], y[150:] * 3)
    after = [one.predict(X) for one in forest.estimators_]
    np.testing.assert_allclose(after[:10], before, rtol=1e-9)
    assert max(one.get_depth() for one in forest.estimators_[10:]) == 2
    np.testing.assert_allclose(np.mean(after, axis=0), forest.predict(X), rtol=1e-9)
    assert np.isnan(forest.oob_prediction_).any()  # of the ten new trees only
    assert len(forest.oob_loss_) == 10


@pytest.mark.parametrize("name", ["X_val", "eval_metric", "early_stopping=True"])
def test_a_continued_forest_does_not_stop_early(rows, name):
    X, y = rows
    params = {"eval_metric": "mae"} if name == "eval_metric" else {}
    params |= {"early_stopping": True} if name == "early_stopping=True" else {}
    arguments = {"X_val": X, "y_val": y} if name == "X_val" else {}
    with pytest.raises(InvalidParameterError, match=f"{name} cannot be combined with warm_start"):
        RandomForestRegressor(warm_start=True, **params).fit(X, y, **arguments)


@EVERY
def test_what_cannot_be_continued_is_refused(kind, rows):
    X, y = rows[0], target(kind, rows[1])
    forest = grown_in((5,), kind, X, y)
    with pytest.raises(ValueError, match="must be larger or equal"):
        forest.set_params(n_estimators=4).fit(X, y)
    with pytest.warns(UserWarning, match="so warm_start adds none"):
        forest.set_params(n_estimators=5).fit(X, y)
    assert len(forest) == 5
    forest.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="features"):
        forest.fit(X[:, :2], y)
    if "Classifier" in kind.__name__:
        with pytest.raises(ValueError, match="continues a model of the classes"):
            forest.fit(X, y + 1)
    else:
        with pytest.raises(ValueError, match="continues a model of 1 target"):
            forest.fit(X, np.c_[y, y])
        with pytest.raises(ValueError, match="continues a model of the loss"):
            forest.set_params(criterion="absolute_error").fit(X, y)
        forest.set_params(criterion="squared_error", monotonic_cst=[1, 0, 0, 0])
        with pytest.raises(ValueError, match="would not hold for its"):
            forest.fit(X, y)


def test_a_fit_without_warm_start_is_a_new_forest(rows):
    X, y = rows
    forest = grown_in((5,), RandomForestRegressor, X, y).set_params(warm_start=False)
    forest.set_params(n_estimators=3).fit(X, y)
    assert len(forest) == 3
    assert "_grown" not in vars(forest)


def test_the_values_are_near_those_of_scikit_learn(rows):
    X, y = rows
    own = grown_in((20, 80), RandomForestRegressor, X, y, max_features=1.0)
    other = ensemble.RandomForestRegressor(80, oob_score=True, random_state=0).fit(X, y)
    assert abs(own.oob_score_ - other.oob_score_) < 0.05
