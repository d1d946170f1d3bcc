"""Bagging with all kinds of tables, labels, base estimators and scikit-learn tools."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from estimators.bagging_cases import ALL_WAYS, BOTH, boosted, target
from estimators.every import predictions
from estimators.tables import make_table
from stagewise import (
    BaggingClassifier,
    BaggingRegressor,
)


@pytest.fixture(scope="module")
def table():
    return make_table(240, missing=False)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_base_estimators_get_frames(frame, table):
    names = list("abcde")
    X = frame({name: table.X[:, j] for j, name in enumerate(names)})
    model = BaggingRegressor(boosted(BaggingRegressor), n_estimators=4, max_features=0.6)
    model.fit(X, table.number)
    for h, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        assert h.feature_names_in_.tolist() == [names[j] for j in columns]
        assert len(columns) == 3
    plain = clone(model).fit(table.X, table.number)
    np.testing.assert_array_equal(model.predict(X), plain.predict(table.X))
    np.testing.assert_array_equal(model.predict(X[names[::-1]]), plain.predict(table.X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[names[:4]])


def test_categories_reach_the_base_estimators(table):
    X = pd.DataFrame({"a": table.X[:, 0], "b": pd.Categorical(table.X[:, 1].astype(int))})
    model = BaggingClassifier(boosted(BaggingClassifier), n_estimators=3).fit(X, table.two)
    assert model.score(X, table.two) > 0.6


@ALL_WAYS
def test_sparse_matrices_reach_the_base_estimators(way, table):
    X = scipy.sparse.csc_array(np.where(table.X > 2000, table.X, 0.0))
    sparse = BaggingRegressor(boosted(BaggingRegressor), **way).fit(X, table.number)
    dense = BaggingRegressor(boosted(BaggingRegressor), **way).fit(X.toarray(), table.number)
    assert sparse.fingerprint() == dense.fingerprint()
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(X.toarray()))


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "c"], [True, False], [5, -3, 2**40], np.array(["x", "y"], dtype=object)],
    ids=str,
)
@pytest.mark.parametrize("combine", ["average", "vote", "weighted"])
def test_labels_keep_their_values(labels, combine, table):
    labels = np.asarray(labels)
    y = labels[table.many % len(labels)]
    model = BaggingClassifier(n_estimators=5, combine=combine).fit(table.X, y)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.predict(table.X).dtype == labels.dtype
    assert model.score(table.X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(table.X).sum(axis=1), 1.0)


def test_a_class_missing_from_a_bag_has_probability_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.array(["rare"] + ["common"] * 15 + ["usual"] * 14)
    model = BaggingClassifier(GaussianNB(var_smoothing=0.1), n_estimators=8).fit(X, y)
    known = [len(h.classes_) for h in model.estimators_]
    assert min(known) == 2
    assert max(known) == 3
    lacking = model.estimators_[int(np.argmin(known))]
    assert model.predict_proba(X)[0, 1] <= np.mean(np.array(known) == 3)
    assert "rare" not in lacking.classes_


def test_an_estimator_of_a_one_class_bag_predicts_that_class():
    X, y = np.arange(6.0)[:, np.newaxis], np.array([0, 0, 0, 0, 0, 1])
    model = BaggingClassifier(LogisticRegression(), n_estimators=30, oob_score=True).fit(X, y)
    assert 0 < model.fit_report_["estimators_with_one_class"] < 30
    assert model.predict_proba(X).shape == (6, 2)


def test_a_single_class_is_a_warning(table):
    with pytest.warns(UserWarning, match="y has only one class, 3"):
        model = BaggingClassifier(LogisticRegression(), n_estimators=3).fit(
            table.X, np.full(240, 3)
        )
    assert model.predict(table.X[:2]).tolist() == [3, 3]


def test_base_estimators_with_their_own_threads(table):
    base = HistGradientBoostingRegressor(max_iter=5)
    found = [
        BaggingRegressor(base, n_estimators=3, n_jobs=n).fit(table.X, table.number) for n in (1, 2)
    ]
    np.testing.assert_array_equal(found[0].predict(table.X), found[1].predict(table.X))


def test_votes_need_no_probabilities(table):
    model = BaggingClassifier(SVC(), n_estimators=4, combine="vote").fit(table.X, table.two)
    assert set(np.unique(model.predict_proba(table.X))) <= {0, 0.25, 0.5, 0.75, 1}


@ALL_WAYS
@BOTH
def test_a_pickled_ensemble_is_the_same(kind, way, table):
    y = target(kind, table)
    model = kind(boosted(kind), **way).fit(table.X, y)
    copied = pickle.loads(pickle.dumps(model))
    assert copied.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(predictions(copied, table.X), predictions(model, table.X))
    assert copied.fit(table.X, y).fingerprint() == model.fingerprint()


def test_scikit_learn_tools_accept_it(table):
    model = BaggingRegressor(boosted(BaggingRegressor), n_estimators=3)
    assert cross_val_score(model, table.X, table.number, cv=3).min() > 0.3
    model.set_params(estimator__max_leaf_nodes=2)
    assert model.estimator.max_leaf_nodes == 2
    nested = BaggingRegressor(model, n_estimators=2, n_jobs=2).fit(table.X, table.number)
    assert len(nested.estimators_[0].estimators_) == 3


def test_the_recipe_states_the_parameters():
    recipe = BaggingClassifier(DecisionTreeClassifier(), max_features=0.5).recipe()
    assert "bootstrap" in recipe
    assert "0.5 of the columns x DecisionTreeClassifier x 100 estimators x average" in recipe
    assert "folds" in BaggingRegressor(sampling="folds").recipe()
