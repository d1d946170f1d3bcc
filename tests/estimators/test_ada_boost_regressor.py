"""AdaBoost.R2: ends of a fit, files, refusals, weights, the median."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor as ScikitTree

import stagewise
from estimators.tables import make_table
from stagewise import AdaBoostRegressor, InvalidParameterError, ModelFormatError
from stagewise.inspection import permutation_importance, shap_values
from stagewise.losses.logarithm import portable_exp
from stagewise.model.weighted_median import weighted_median


@pytest.fixture(scope="module")
def table():
    return make_table(300)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-9, 9), st.integers(0, 5)).map(lambda t: (float(t[0]), float(t[1]))),
        min_size=1,
        max_size=8,
    )
)
def test_the_median_has_half_of_the_weight_on_each_side(pairs):
    values, weights = np.array(pairs).T
    (median,) = weighted_median(values[np.newaxis], weights)
    assert median in values
    assert weights[values <= median].sum() >= weights.sum() / 2
    assert weights[values < median].sum() <= weights.sum() / 2


def test_the_exponential_function_is_exact_to_the_last_digits():
    x = np.linspace(-80.0, 80.0, 20_001)
    np.testing.assert_allclose(portable_exp(x), np.exp(x), rtol=4e-16)
    assert portable_exp(np.zeros(1))[0] == 1.0


def test_staged_predictions_and_first_rounds(table):
    model = AdaBoostRegressor(n_estimators=8).fit(table.X, table.number)
    stages = list(model.staged_predict(table.X))
    assert len(stages) == model.n_iter_ == len(model.estimators_) == 8
    np.testing.assert_array_equal(stages[-1], model.predict(table.X))
    np.testing.assert_array_equal(stages[2], model.predict(table.X, n_rounds=3))
    np.testing.assert_allclose(stages[0], model.estimators_[0].predict(table.X), rtol=1e-12)
    every = np.array([tree.predict(table.X) for tree in model.estimators_]).T
    median = weighted_median(every, model.estimator_weights_)
    np.testing.assert_allclose(model.predict(table.X), median, rtol=1e-12)
    scores = list(model.staged_score(table.X, table.number))
    assert scores[-1] == pytest.approx(model.score(table.X, table.number))
    assert model.apply(table.X).shape == (300, 8)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(InvalidParameterError, match="n_rounds must be"):
        model.predict(table.X, n_rounds=9)


def test_weight_two_is_the_row_twice_and_weight_zero_its_absence(table):
    weight = np.arange(300) % 3
    rows = np.repeat(np.arange(300), weight)
    a = AdaBoostRegressor(n_estimators=5).fit(table.X, table.number, weight)
    b = AdaBoostRegressor(n_estimators=5).fit(table.X[rows], table.number[rows])
    np.testing.assert_allclose(a.estimator_weights_, b.estimator_weights_, rtol=1e-5)
    np.testing.assert_allclose(a.predict(table.X), b.predict(table.X), rtol=1e-4)


def test_units_of_the_target_do_not_matter(table):
    a = AdaBoostRegressor(n_estimators=5).fit(table.X, table.number)
    b = AdaBoostRegressor(n_estimators=5).fit(table.X, 1024.0 * table.number)
    np.testing.assert_allclose(b.predict(table.X), 1024.0 * a.predict(table.X), rtol=1e-9)


def test_a_perfect_estimator_ends_the_fit():
    X = np.arange(40.0).reshape(-1, 1)
    y = np.where(X[:, 0] > 12, 3.0, 1.0)
    model = AdaBoostRegressor().fit(X, y)
    assert model.n_iter_ == 1
    assert "without errors" in model.fit_report_["stop_reason"]
    assert model.estimator_errors_[0] == 0.0
    assert model.estimator_weights_[0] == pytest.approx(np.log(79))
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6)


def test_an_estimator_with_a_mean_loss_of_one_half_ends_the_fit():
    X = np.zeros((9, 1))
    y = np.array([0.0] * 5 + [10.0] * 4)
    with pytest.warns(UserWarning, match="constant"):
        model = AdaBoostRegressor(loss="linear").fit(X, y)
    assert model.n_iter_ >= 1
    assert "not below one half" in model.fit_report_["stop_reason"]
    assert np.isfinite(model.predict(X)).all()


def test_files_keep_the_weights(table, tmp_path):
    frame = pd.DataFrame(table.X, columns=list("abcde")).assign(
        town=pd.Categorical(np.where(table.two > 0, "north", "port"))
    )
    model = AdaBoostRegressor(n_estimators=6, loss="square").fit(frame, table.number)
    model.save(tmp_path / "m.stgw", notes={"target": "price"})
    loaded = stagewise.load(tmp_path / "m.stgw")
    assert loaded.fingerprint() == model.fingerprint()
    assert loaded.loss == "square"
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(loaded.estimator_weights_, model.estimator_weights_)
    np.testing.assert_array_equal(loaded.estimator_errors_, model.estimator_errors_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    other = AdaBoostRegressor(n_estimators=6, loss="square").fit(frame, table.number)
    other.estimator_weights_ = other.estimator_weights_ * 2.0
    assert other.fingerprint() != model.fingerprint()
    other.estimator_weights_ = other.estimator_weights_[1:]
    other.save(tmp_path / "m.stgw")
    with pytest.raises(ModelFormatError, match="weights of the estimators are missing"):
        stagewise.load(tmp_path / "m.stgw")


def test_a_single_round_is_saved(table, tmp_path):
    model = AdaBoostRegressor(n_estimators=1).fit(table.X, table.number)
    model.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    np.testing.assert_array_equal(loaded.predict(table.X), model.predict(table.X))


def test_models_of_other_estimators_are_pickled(tmp_path):
    table = make_table(100, missing=False)
    model = AdaBoostRegressor(LinearRegression(), n_estimators=3).fit(table.X, table.number)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table.X), model.predict(table.X))
    with pytest.raises(ValueError, match="LinearRegression terms cannot be saved"):
        model.save(tmp_path / "m.stgw")
    assert not hasattr(model, "feature_importances_")
    trees = AdaBoostRegressor(ScikitTree(max_depth=2), n_estimators=3).fit(table.X, table.number)
    assert trees.feature_importances_.sum() == pytest.approx(1.0)


def test_explanations_of_sums_are_refused(table):
    model = AdaBoostRegressor(n_estimators=3).fit(table.X, table.number)
    for explain in (
        lambda: shap_values(model, table.X),
        lambda: permutation_importance(model, table.X, table.number),
        lambda: model.report(table.X, table.number, "report.html"),
    ):
        with pytest.raises(TypeError, match="AdaBoostRegressor are weighted medians"):
            explain()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"loss": "huber"}, "'loss' of AdaBoostRegressor must be one of 'linear'"),
        ({"estimator": LogisticRegression()}, "'estimator'.*must be a regressor"),
        ({"estimator": LinearRegression(), "max_depth": 2}, "'max_depth'.*no effect"),
        ({"resample": True}, "'resample'.*no effect"),
    ],
)
def test_invalid_parameters_are_refused(params, words, table):
    with pytest.raises(InvalidParameterError, match=words):
        AdaBoostRegressor(**params).fit(table.X, table.number)


def test_an_estimator_without_weights_is_refused_by_name():
    table = make_table(100, missing=False)
    with pytest.raises(ValueError, match="KNeighborsRegressor has no argument sample_weight"):
        AdaBoostRegressor(KNeighborsRegressor()).fit(table.X, table.number)


def test_validation_rows_are_refused(table):
    with pytest.raises(TypeError, match="no arguments 'X_val'"):
        AdaBoostRegressor().fit(table.X, table.number, X_val=table.X, y_val=table.number)
