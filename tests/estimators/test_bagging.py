"""Bagging of any base estimators: invariants, and out-of-bag measures."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, RepeatedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from estimators.bagging_cases import ALL_WAYS, BOTH, SMALL_TREES, WAYS, boosted, target
from estimators.every import predictions
from estimators.tables import make_table
from stagewise import (
    AutoRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
)
from stagewise.averaging import ambiguity


@pytest.fixture(scope="module")
def table():
    return make_table(240, missing=False)


# ---- invariants ----------------------------------------------------------------------------------


@ALL_WAYS
@BOTH
@pytest.mark.parametrize("estimator", ["boosted", "tree", "neighbours"])
def test_n_jobs_does_not_change_predictions(kind, way, estimator, table):
    candidates = {
        "boosted": boosted(kind),
        "tree": None,
        "neighbours": make_pipeline(
            StandardScaler(),
            KNeighborsRegressor() if kind is BaggingRegressor else KNeighborsClassifier(),
        ),
    }
    y = target(kind, table)
    found = [kind(candidates[estimator], **way, n_jobs=n).fit(table.X, y) for n in (1, 3)]
    alone, model = found
    assert len(model.estimators_) == len(alone.estimators_)
    np.testing.assert_array_equal(predictions(model, table.X), predictions(alone, table.X))
    np.testing.assert_array_equal(model.estimator_weights_, alone.estimator_weights_)
    if estimator == "boosted":
        assert model.fingerprint() == alone.fingerprint()
    for name in ("oob_prediction_", "oob_loss_", "oof_prediction_", "estimator_errors_"):
        assert hasattr(model, name) == hasattr(alone, name)
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(alone, name))


def test_many_rows_are_predicted_in_parallel(table):
    X = np.tile(table.X, (20, 1))
    found = [
        BaggingRegressor(n_estimators=5, n_jobs=n).fit(table.X, table.number).predict(X)
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0][:240], found[0][240:480])


def test_processes_and_threads_give_the_same_predictions(table):
    model = BaggingRegressor(boosted(BaggingRegressor), n_estimators=4, n_jobs=2)
    threads = model.fit(table.X, table.number).fingerprint()
    with joblib.parallel_config(backend="loky"):
        assert model.fit(table.X, table.number).fingerprint() == threads


def test_estimators_fitted_in_parallel_use_one_thread_each(table):
    estimator = GradientBoostingRegressor(**SMALL_TREES, n_jobs=2)
    many = BaggingRegressor(estimator, n_estimators=3, n_jobs=2).fit(table.X, table.number)
    assert {h.n_jobs for h in many.estimators_} == {1}
    one = BaggingRegressor(estimator, n_estimators=3, n_jobs=1).fit(table.X, table.number)
    assert {h.n_jobs for h in one.estimators_} == {2}
    assert one.fingerprint() == many.fingerprint()


@ALL_WAYS
@BOTH
def test_weight_zero_equals_absence(kind, way, table):
    y, present = target(kind, table), np.arange(240) % 5 > 0
    whole = kind(boosted(kind), **way).fit(table.X, y, sample_weight=present.astype(float))
    part = kind(boosted(kind), **way).fit(table.X[present], y[present])
    assert whole.fingerprint() == part.fingerprint()
    for name in ("oob_prediction_", "oof_prediction_"):
        if hasattr(part, name):
            assert np.isnan(getattr(whole, name)[~present]).all()
            np.testing.assert_array_equal(getattr(whole, name)[present], getattr(part, name))


COPIED = {
    "bootstrap": {},
    "a share": {"sampling": "uniform", "max_samples": 0.6, "max_features": 0.6},
    "half a bootstrap": {"max_samples": 0.5},
}


@pytest.mark.parametrize("way", COPIED.values(), ids=COPIED)
@pytest.mark.parametrize("estimator", [DecisionTreeRegressor(), KNeighborsRegressor(3)], ids=str)
def test_weight_two_equals_the_row_twice(way, estimator, table):
    # Exactly with these ways to draw, because the copies of a row are drawn one by one.
    weight = np.arange(240) % 4
    rows = np.repeat(np.arange(240), weight)
    weighted = BaggingRegressor(estimator, n_estimators=4, **way)
    weighted.fit(table.X, table.number, sample_weight=weight)
    repeated = BaggingRegressor(estimator, n_estimators=4, **way)
    repeated.fit(table.X[rows], table.number[rows])
    np.testing.assert_allclose(weighted.predict(table.X), repeated.predict(table.X), rtol=1e-12)


def test_only_ratios_of_fractional_weights_matter(table):
    weight = 0.5 + np.arange(240) % 3
    found = [
        BaggingRegressor(Ridge(), n_estimators=4).fit(table.X, table.number, w).predict(table.X)
        for w in (weight, 7.3 * weight)
    ]
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_groups_are_drawn_as_a_whole(table):
    groups, weight = np.arange(240) // 8, np.ones(240)
    model = BaggingRegressor(
        Recorder(), n_estimators=5, sampling="group", max_samples=0.5, oob_score=True
    )
    numbers = np.arange(240.0)[:, np.newaxis]
    model.fit(numbers, table.number, groups=groups)
    for h in model.estimators_:
        seen = np.unique(h.seen_)
        assert 0 < len(seen) < 240
        assert np.isin(np.arange(240), seen).reshape(-1, 8).std(axis=1).max() == 0.0
    weight[::3] = 2.0
    twice = clone(model).fit(numbers, table.number, sample_weight=weight, groups=groups)
    for h, g in zip(model.estimators_, twice.estimators_, strict=True):
        np.testing.assert_array_equal(np.repeat(h.seen_, weight[h.seen_].astype(int)), g.seen_)


class Recorder(RegressorMixin, BaseEstimator):
    """Stores the first column that it was fitted to."""

    def fit(self, X, y):
        self.seen_ = np.asarray(X)[:, 0].astype(int)
        self.n_columns_ = X.shape[1]
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(float)


def test_folds_respect_groups_and_cover_every_row(table):
    groups = np.arange(240) // 6
    model = BaggingRegressor(Recorder(), sampling="folds", cv=5)
    numbers = np.arange(240.0)[:, np.newaxis]
    model.fit(numbers, table.number, groups=groups)
    assert len(model.estimators_) == 5
    for h in model.estimators_:
        left = np.setdiff1d(np.arange(240), h.seen_)
        assert not set(groups[left]) & set(groups[h.seen_])
    np.testing.assert_array_equal(model.oof_prediction_, numbers[:, 0])
    by_splitter = clone(model).set_params(cv=GroupKFold(4))
    assert len(by_splitter.fit(numbers, table.number, groups=groups).estimators_) == 4


def test_folds_may_overlap(table):
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = BaggingRegressor(Ridge(), sampling="folds", cv=cv).fit(table.X, table.number)
    expected = np.zeros(240)
    for h, (_, left) in zip(model.estimators_, cv.split(table.X), strict=True):
        expected[left] += h.predict(table.X[left]) / 2
    np.testing.assert_allclose(model.oof_prediction_, expected)


def test_an_estimator_does_not_depend_on_n_estimators(table):
    few, many = (BaggingRegressor(n_estimators=m).fit(table.X, table.number) for m in (3, 9))
    stages = list(many.staged_predict(table.X))
    assert len(stages) == 9
    np.testing.assert_array_equal(stages[2], few.predict(table.X))
    np.testing.assert_array_equal(stages[-1], many.predict(table.X))


def test_staged_probabilities_of_a_classifier(table):
    model = BaggingClassifier(n_estimators=4).fit(table.X, table.many)
    np.testing.assert_array_equal(list(model.staged_predict(table.X))[-1], model.predict(table.X))
    assert len(list(model.staged_predict_proba(table.X))) == 4


def test_random_state_determines_the_ensemble(table):
    def fit(seed):
        return BaggingRegressor(n_estimators=3, random_state=seed).fit(table.X, table.number)

    assert fit(0).fingerprint() == fit(0).fingerprint() != fit(1).fingerprint()
    drawn = fit(np.random.RandomState(5))
    assert fit(drawn.seed_).fingerprint() == drawn.fingerprint()
    assert fit(None).seed_ != fit(None).seed_


def test_base_estimators_get_different_seeds(table):
    estimator = GradientBoostingRegressor(**SMALL_TREES, subsample=0.5, random_state=4)
    model = BaggingRegressor(estimator, n_estimators=3, sampling="uniform").fit(
        table.X, table.number
    )
    assert len({h.seed_ for h in model.estimators_}) == 3
    assert len({h.fingerprint() for h in model.estimators_}) == 3


def test_scaling_y_scales_predictions(table):
    for way in WAYS.values():
        plain, scaled = (
            BaggingRegressor(DecisionTreeRegressor(max_depth=3), **way).fit(table.X, y)
            for y in (table.number, 4.0 * table.number)
        )
        np.testing.assert_allclose(scaled.predict(table.X), 4.0 * plain.predict(table.X))


def test_a_monotone_transform_of_a_feature_changes_no_prediction(table):
    X = np.floor(table.X / 8)
    for way in WAYS.values():
        plain, cubed = (
            BaggingRegressor(boosted(BaggingRegressor), **way).fit(Z, table.number).predict(Z)
            for Z in (X, X**3)
        )
        np.testing.assert_array_equal(plain, cubed)


def test_the_ensemble_error_is_at_most_the_mean_error_of_its_estimators(table):
    other = make_table(500, seed=5, missing=False)
    model = BaggingRegressor(n_estimators=12).fit(table.X, table.number)
    found = ambiguity([h.predict(other.X) for h in model.estimators_], other.number)
    error = np.mean((model.predict(other.X) - other.number) ** 2)
    assert found.ensemble == pytest.approx(error)
    assert error < found.average


# ---- out-of-bag measures -------------------------------------------------------------------------


@BOTH
def test_the_out_of_bag_score_is_close_to_the_test_score(kind):
    train, test = make_table(1500, missing=False), make_table(1500, seed=9, missing=False)
    y, y_test = target(kind, train), target(kind, test)
    model = kind(n_estimators=40, oob_score=True).fit(train.X, y)
    assert model.oob_score_ == pytest.approx(model.score(test.X, y_test), abs=0.05)
    assert model.oob_loss_.shape == (40,)
    assert model.oob_loss_[-1] < model.oob_loss_[0]
    assert model.estimator_errors_.shape == (40,)


def test_early_stopping_ends_when_the_out_of_bag_error_stops_improving(table):
    params = {"n_iter_no_change": 5, "tol": 0.01}
    model = BaggingRegressor(n_estimators=200, early_stopping=True, **params)
    model.fit(table.X, table.number)
    m = len(model.estimators_)
    assert 5 < m < 200
    path = model.oob_loss_ / np.var(table.number)
    best = path[0]
    since = 0
    for value in path[1:]:
        best, since = (value, 0) if value < best - 0.01 else (best, since + 1)
    assert since == 5
    whole = BaggingRegressor(n_estimators=m).fit(table.X, table.number)
    assert whole.fingerprint() == model.fingerprint()
    assert model.fit_report_["estimators_fitted"] == m


def test_better_estimators_have_larger_weights(table):
    model = BaggingRegressor(n_estimators=20, combine="weighted", max_features=0.4)
    model.fit(table.X, table.number)
    order = np.argsort(model.estimator_errors_)
    assert (np.diff(model.estimator_weights_[order]) <= 0).all()
    assert model.estimator_weights_.sum() == pytest.approx(1.0)
    other = make_table(1000, seed=4, missing=False)
    equal = clone(model).set_params(combine="average").fit(table.X, table.number)
    assert model.score(other.X, other.number) > equal.score(other.X, other.number)


def test_estimators_no_better_than_chance_have_positive_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = BaggingClassifier(n_estimators=5, combine="weighted").fit(X, y)
    assert np.isfinite(model.estimator_weights_).all()
    assert model.estimator_weights_.min() > 0.0


@pytest.mark.filterwarnings("ignore:No estimator left")
def test_predictions_are_finite_without_out_of_bag_rows():
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    model = BaggingRegressor(Ridge(), n_estimators=3, combine="weighted").fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_estimators_without_error_have_equal_weights():
    X = np.arange(40.0)[:, np.newaxis]
    model = BaggingRegressor(Recorder(), n_estimators=4, combine="weighted").fit(X, X[:, 0])
    np.testing.assert_allclose(model.estimator_weights_, 0.25)
    np.testing.assert_array_equal(model.predict(X), X[:, 0])


def test_a_second_fit_resets_the_measures(table):
    model = BaggingRegressor(n_estimators=3, oob_score=True).fit(table.X, table.number)
    model.set_params(oob_score=False).fit(table.X, table.number)
    assert not any(hasattr(model, f"oob_{name}_") for name in ("score", "path", "prediction"))
    model.set_params(n_estimators=100, sampling="folds").fit(table.X, table.number)
    assert model.oof_prediction_.shape == (240,)
    assert not hasattr(model, "oob_loss_")


class SpyOfGroups(GradientBoostingRegressor):
    """Keeps the groups that `fit` got."""

    def fit(self, X, y, sample_weight=None, *, groups=None, X_val=None, y_val=None):
        self.groups_ = groups
        return super().fit(X, y, sample_weight, groups=groups, X_val=X_val, y_val=y_val)


class SpyOfAuto(AutoRegressor):
    """Keeps the groups that `fit` got."""

    def fit(self, X, y, sample_weight=None, *, groups=None):
        self.groups_ = groups
        return super().fit(X, y, sample_weight, groups=groups)


@pytest.mark.parametrize(
    ("base", "passed"),
    [
        (SpyOfGroups(learning_rate=0.5, max_leaf_nodes=4), True),
        (SpyOfGroups(early_stopping="cv", n_estimators=5), True),
        (SpyOfGroups(n_estimators=5), False),
        (SpyOfAuto(quality=2), True),
        (SpyOfAuto(quality=1), False),
    ],
    ids=["auto rounds", "folds", "rounds", "quality 2", "quality 1"],
)
def test_base_estimators_that_divide_their_rows_get_the_groups_of_the_bag(table, base, passed):
    groups = np.arange(240) // 8
    model = BaggingRegressor(base, n_estimators=2, sampling="group", max_samples=0.5)
    numbers = np.arange(240.0)[:, np.newaxis]
    model.fit(numbers, table.number, groups=groups)
    for h in model.estimators_:
        assert (h.groups_ is not None) == passed
        if passed:
            assert set(np.bincount(h.groups_)) <= {0, 8}
