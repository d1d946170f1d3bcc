"""Methods and attributes that scikit-learn's estimators have."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import stagewise
from stagewise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFIERS = (
    GradientBoostingClassifier(n_estimators=5),
    DecisionTreeClassifier(),
    RandomForestClassifier(n_estimators=5),
    ExtraTreesClassifier(n_estimators=5),
    BaggingClassifier(n_estimators=3),
    stagewise.AdaBoostClassifier(n_estimators=5),
    stagewise.LogitBoostClassifier(n_estimators=5),
    stagewise.GentleBoostClassifier(n_estimators=5),
    stagewise.StagewiseClassifier(n_estimators=5),
)


def name(estimator) -> str:
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_classifier_has_log_probabilities_and_a_number_of_classes(estimator, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = clone(estimator).fit(X, y)
    assert model.n_classes_ == n_classes
    found = model.predict_log_proba(X)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(found, np.log(model.predict_proba(X)))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
def test_an_estimator_that_is_not_fitted_has_no_number_of_classes(estimator):
    assert not hasattr(clone(estimator), "n_classes_")


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
def test_adaboost_is_a_sequence_of_estimators(kind):
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = kind(n_estimators=5)
    assert model
    with pytest.raises(NotFittedError):
        len(model)
    model.fit(X, X[:, 0] > 0)
    assert len(model) == len([*model]) == len(model.estimators_) == model.n_iter_
    np.testing.assert_array_equal(model[-1].predict(X), model.estimators_[-1].predict(X))
    assert len(model[1:]) == len(model) - 1


def test_a_forest_is_a_sequence_of_trees():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestRegressor(n_estimators=4, random_state=1).fit(X, y)
    assert len(forest) == 4
    trees = list(forest)
    mean = np.mean([tree.predict(X) for tree in trees], axis=0)
    np.testing.assert_allclose(mean, forest.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(forest[-1].predict(X), trees[3].predict(X))
    assert [tree.fingerprint() for tree in forest[1:3]] == [
        tree.fingerprint() for tree in trees[1:3]
    ]
    assert len(forest.estimators_) == 4
    with pytest.raises(IndexError):
        forest[4]


def test_a_forest_that_is_not_fitted_is_true_and_has_no_length():
    forest = RandomForestRegressor()
    assert forest
    with pytest.raises(NotFittedError):
        len(forest)


def test_out_of_bag_probabilities_have_the_name_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(n_estimators=30, oob_score=True).fit(X, y)
    assert forest.oob_decision_function_.shape == (150, 3)
    np.testing.assert_array_equal(forest.oob_decision_function_, forest.oob_prediction_)
    without = RandomForestClassifier(n_estimators=2, bootstrap=False).fit(X, y)
    with pytest.raises(AttributeError, match="no out-of-bag predictions: fit it with oob_score"):
        without.oob_decision_function_  # noqa: B018
