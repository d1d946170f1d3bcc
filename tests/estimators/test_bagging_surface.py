"""Bagging by scikit-learn's habits: votes, decision functions, warm start, samples, metadata."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import BaggingClassifier as ScikitBagging
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeRegressor

from estimators.bagging_cases import BOTH, target
from estimators.tables import make_table
from stagewise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    InvalidParameterError,
)


@pytest.fixture(scope="module")
def table():
    return make_table(200, missing=False)


# ---- votes and decision functions ----------------------------------------------------------------


@pytest.mark.parametrize("base", [SVC(), LinearSVC(random_state=0)], ids=str)
def test_estimators_without_probabilities_vote(base, table):
    scaled = make_pipeline(StandardScaler(), base)
    alone = BaggingClassifier(scaled, n_estimators=5).fit(table.X, table.many)
    voting = BaggingClassifier(scaled, n_estimators=5, combine="vote").fit(table.X, table.many)
    np.testing.assert_array_equal(alone.predict_proba(table.X), voting.predict_proba(table.X))
    votes = np.mean([h.predict(table.X)[:, None] == alone.classes_ for h in alone], axis=0)
    np.testing.assert_allclose(alone.predict_proba(table.X), votes)


@pytest.mark.parametrize("name", ["two", "many"])
def test_the_decision_function_is_the_average(name, table):
    y = getattr(table, name)
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    model = BaggingClassifier(scaled, n_estimators=4).fit(table.X, y)
    mean = np.mean([h.decision_function(table.X) for h in model.estimators_], axis=0)
    np.testing.assert_allclose(model.decision_function(table.X), mean, rtol=1e-12)
    theirs = ScikitBagging(scaled, n_estimators=4).fit(table.X, y)
    assert model.decision_function(table.X).shape == theirs.decision_function(table.X).shape


def test_the_decision_function_is_absent_without_one(table):
    model = BaggingClassifier(KNeighborsClassifier(), n_estimators=2).fit(table.X, table.two)
    assert not hasattr(model, "decision_function")


def test_the_decision_function_averages_the_bags_with_the_class(table):
    rare = np.where(np.arange(200) < 3, 7, table.two)
    base = make_pipeline(StandardScaler(), LogisticRegression())
    model = BaggingClassifier(base, n_estimators=9, max_samples=60).fit(table.X, rare)
    known = [h for h in model if 7 in h.classes_]
    assert 0 < len(known) < 9
    mean = np.mean([h.decision_function(table.X)[:, -1] for h in known], axis=0)
    np.testing.assert_allclose(model.decision_function(table.X)[:, -1], mean, rtol=1e-12)
    one = BaggingClassifier(base, n_estimators=2, max_samples=1, random_state=1)
    assert np.isnan(one.fit(table.X, table.two).decision_function(table.X)).all()


# ---- samples and columns ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [{}, {"max_samples": 0.5}, {"sampling": "uniform", "max_samples": 70}, {"sampling": "folds"}],
    ids=str,
)
def test_an_estimator_fitted_to_its_samples_is_the_member(params, table):
    base = KNeighborsRegressor(3)  # takes no weights, so that rows are repeated
    params = params if "sampling" in params else {**params, "n_estimators": 4}
    params = {"n_estimators": 4, **params} if params.get("sampling") != "folds" else params
    model = BaggingRegressor(base, max_features=0.6, **params).fit(table.X, table.number)
    assert len(model.estimators_samples_) == len(model) == len(model.estimators_)
    for h, rows, columns in zip(
        model, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        again = clone(base).fit(table.X[rows][:, columns], table.number[rows])
        np.testing.assert_array_equal(
            again.predict(table.X[:, columns]), h.predict(table.X[:, columns])
        )
    copy = pickle.loads(pickle.dumps(model))
    for a, b in zip(copy.estimators_samples_, model.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)


def test_samples_are_positions_in_x_whatever_the_weights(table):
    weight = np.arange(200) % 3
    for w in (weight, weight / 3.0):
        model = BaggingRegressor(Ridge(), n_estimators=3).fit(table.X, table.number, w)
        for rows in model.estimators_samples_:
            assert (weight[rows] > 0).all()
            assert 40 < len(rows) < 400


def test_max_samples_may_be_a_number_of_rows(table):
    for sampling in ("bootstrap", "uniform"):
        model = BaggingRegressor(Ridge(), n_estimators=60, sampling=sampling, max_samples=50)
        sizes = [len(rows) for rows in model.fit(table.X, table.number).estimators_samples_]
        assert np.mean(sizes) == pytest.approx(50, abs=3)
        part = BaggingRegressor(Ridge(), n_estimators=60, sampling=sampling, max_samples=0.25)
        assert part.fit(table.X, table.number).fingerprint() == model.fingerprint()
    assert "bootstrap of 50 rows per estimator" in BaggingRegressor(max_samples=50).recipe()
    with pytest.raises(InvalidParameterError, match=r"'max_samples'.*201, but there are 200 rows"):
        BaggingRegressor(max_samples=201).fit(table.X, table.number)


def test_columns_may_be_drawn_with_replacement(table):
    model = BaggingRegressor(Ridge(), n_estimators=20, bootstrap_features=True)
    columns = model.fit(table.X, table.number).estimators_features_
    n = table.X.shape[1]
    assert {len(c) for c in columns} == {n}
    assert 1 <= min(len(np.unique(c)) for c in columns) < n
    assert "with replacement" in model.recipe()
    mean = np.mean([h.predict(table.X[:, c]) for h, c in zip(model, columns, strict=True)], axis=0)
    np.testing.assert_allclose(model.predict(table.X), mean, rtol=1e-12)


def test_the_ensemble_is_a_sequence(table):
    model = BaggingRegressor(Ridge(), n_estimators=4)
    assert model  # not fitted, without a length
    model.fit(table.X, table.number)
    assert len(model) == 4
    assert model[1] is model.estimators_[1]
    assert model[1:3] == model.estimators_[1:3]
    assert list(model) == model.estimators_
    assert isinstance(model.estimator_, Ridge)


def test_out_of_bag_decisions_have_scikit_learns_name(table):
    model = BaggingClassifier(n_estimators=30, oob_score=True).fit(table.X, table.two)
    np.testing.assert_array_equal(model.oob_decision_function_, model.oob_prediction_)
    without = BaggingClassifier(n_estimators=3).fit(table.X, table.two)
    assert not hasattr(without, "oob_decision_function_")


# ---- warm start ----------------------------------------------------------------------------------

CONTINUED = {
    "plain": {},
    "out of bag": {"oob_score": True},
    "weighted": {"combine": "weighted"},
    "columns": {"max_features": 0.6, "max_samples": 0.7},
}


@pytest.mark.parametrize("params", CONTINUED.values(), ids=CONTINUED)
@BOTH
def test_a_continued_ensemble_is_that_of_one_fit(kind, params, table):
    y = target(kind, table)
    once = kind(n_estimators=7, **params).fit(table.X, y)
    twice = kind(n_estimators=3, warm_start=True, **params).fit(table.X, y)
    first = twice.estimators_[0]
    twice.set_params(n_estimators=7).fit(table.X, y)
    assert twice.estimators_[0] is first
    assert twice.fingerprint() == once.fingerprint()
    for name in ("oob_prediction_", "oob_loss_", "estimator_errors_", "oob_score_"):
        assert hasattr(twice, name) == hasattr(once, name)
        if hasattr(once, name):
            np.testing.assert_array_equal(getattr(twice, name), getattr(once, name))


def test_faults_of_a_warm_start(table):
    model = BaggingClassifier(n_estimators=5, warm_start=True, oob_score=True)
    model.fit(table.X, table.two)
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        model.fit(table.X, table.two)
    with pytest.raises(ValueError, match=r"n_estimators=4 must be larger or equal to len\(estim"):
        model.set_params(n_estimators=4).fit(table.X, table.two)
    model.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="the number of columns was 5, but now it is 4"):
        model.fit(table.X[:, :4], table.two)
    with pytest.raises(ValueError, match=r"the classes was \[0, 1\], but now"):
        model.fit(table.X, table.many)
    with pytest.raises(ValueError, match=r"other rows now\. Pass the same rows"):
        model.fit(table.X[1:], table.two[1:])
    with pytest.raises(ValueError, match="random_state was 0, but now it is 3"):
        model.set_params(random_state=3).fit(table.X, table.two)
    with pytest.raises(InvalidParameterError, match=r"'warm_start' of .* no effect with sampling"):
        BaggingClassifier(sampling="folds", warm_start=True).fit(table.X, table.two)


# ---- metadata ------------------------------------------------------------------------------------


class Recording(ClassifierMixin, BaseEstimator):
    """Records the arguments of `fit`."""

    def fit(self, X, y, sample_weight=None, *, colour=None, mode="plain"):
        self.classes_, self.rows_, self.colour_, self.mode_ = np.unique(y), X[:, 0], colour, mode
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


def test_metadata_is_routed_to_the_members():
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40) % 2
    with sklearn.config_context(enable_metadata_routing=True):
        base = Recording().set_fit_request(colour=True, mode=True)
        model = BaggingClassifier(base, n_estimators=3, sampling="uniform", max_samples=0.5)
        weight = np.where(np.arange(40) < 10, 0.0, 1.0)
        model.fit(X, y, sample_weight=weight, colour=np.arange(40) + 100, mode="other")
        for h in model.estimators_:
            assert h.mode_ == "other"
            assert h.rows_.min() >= 10
            np.testing.assert_array_equal(h.colour_, h.rows_ + 100)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="colour"):
            BaggingClassifier(Recording(), n_estimators=2).fit(X, y, colour=y)
        with pytest.raises(TypeError, match="shade"):
            model.fit(X, y, shade=y)
        found = cross_validate(model, X, y, cv=2, params={"colour": np.arange(40) + 100})
        assert len(found["test_score"]) == 2


def test_metadata_is_an_error_without_routing():
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40) % 2
    with pytest.raises(TypeError, match=r"fit\(\) has no argument 'colour'"):
        BaggingClassifier(Recording(), n_estimators=2).fit(X, y, colour=y)


def test_estimators_without_a_kind_are_accepted(table):
    class Plain(BaseEstimator):
        def fit(self, X, y):
            self.mean_ = np.mean(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    model = BaggingRegressor(Plain(), n_estimators=3).fit(table.X, table.number)
    assert np.ptp(model.predict(table.X)) == 0.0
    assert BaggingRegressor(DecisionTreeRegressor(), n_estimators=2).fit(table.X, table.number)


class ReturnsNothing(BaseEstimator):
    """An estimator without a type whose `fit` returns nothing."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.value_ = np.unique(y), np.average(y, weights=sample_weight)

    def predict(self, X):
        return np.full(len(X), self.value_ > 0.5).astype(int)


def test_fit_of_an_estimator_may_return_nothing(table):
    for model in (
        BaggingRegressor(ReturnsNothing(), n_estimators=2),
        BaggingClassifier(ReturnsNothing(), n_estimators=2),
        AdaBoostClassifier(ReturnsNothing(), n_estimators=2),
        AdaBoostRegressor(ReturnsNothing(), n_estimators=2),
    ):
        predicted = model.fit(table.X, (table.two > 0).astype(int)).predict(table.X)
        assert set(predicted.astype(int)) <= {0, 1}
