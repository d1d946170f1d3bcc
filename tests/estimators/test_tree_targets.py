"""Several targets of forests and single trees: shapes, agreement with scikit-learn, laws, files."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import ensemble, tree
from sklearn.metrics import r2_score

import stagewise
from stagewise import (
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    InvalidParameterError,
    RandomForestRegressor,
    export_text,
)
from stagewise.inspection import importance, partial_dependence, shap_values, show_split

FORESTS = pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5))
    y = np.c_[X[:, 0] + X[:, 1] ** 2, 1000 + 3 * X[:, 2], np.exp(X[:, 0]) / 50]
    return X, y + rng.normal(size=y.shape) * [0.3, 0.3, 0.01]


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_depth", [1, 3, 6])
def test_a_tree_of_several_targets_is_that_of_scikit_learn(table, max_depth, weighted, criterion):
    X, y = table
    y = np.abs(y)
    weight = np.random.default_rng(2).integers(1, 4, len(X)) * 1.0 if weighted else None
    rules = {"max_depth": max_depth, "criterion": criterion, "min_samples_leaf": 8}
    if weighted:  # scikit-learn counts rows, not weights
        rules |= {"min_samples_leaf": 1, "min_weight_fraction_leaf": 0.03}
    own = DecisionTreeRegressor(**rules).fit(X, y, weight)
    other = tree.DecisionTreeRegressor(random_state=0, **rules).fit(X, y, weight)
    np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-9)
    assert own.n_outputs_ == other.n_outputs_ == 3
    assert own.get_depth() == other.get_depth()
    assert own.get_n_leaves() == other.get_n_leaves()
    np.testing.assert_allclose(
        own.feature_importances_, other.feature_importances_, rtol=1e-6, atol=1e-9
    )


@FORESTS
def test_shapes_are_those_of_scikit_learn(kind, table):
    X, y = table
    own = kind(n_estimators=40, bootstrap=True, oob_score=True).fit(X, y)
    other = getattr(ensemble, kind.__name__)(40, bootstrap=True, oob_score=True).fit(X, y)
    for name in ("n_outputs_", "n_features_in_"):
        assert getattr(own, name) == getattr(other, name)
    for name in ("oob_prediction_", "feature_importances_"):
        assert getattr(own, name).shape == getattr(other, name).shape
    for method in ("predict", "apply"):
        assert getattr(own, method)(X).shape == getattr(other, method)(X).shape
    assert own.decision_path(X)[0].shape[0] == len(X)
    assert abs(own.oob_score_ - other.oob_score_) < 0.1
    known = ~np.isnan(own.oob_prediction_[:, 0])
    assert own.oob_score_ == pytest.approx(r2_score(y[known], own.oob_prediction_[known]))
    each = np.mean([one.predict(X) for one in own.estimators_], axis=0)
    np.testing.assert_allclose(each, own.predict(X), rtol=1e-9, atol=1e-9)


def test_a_target_beside_constants_is_predicted_as_alone(table):
    X, y = table
    beside = np.c_[np.full(len(X), 3.0), y[:, 0], np.zeros(len(X))]
    several = DecisionTreeRegressor(min_samples_leaf=5).fit(X, beside).predict(X)
    alone = DecisionTreeRegressor(min_samples_leaf=5).fit(X, y[:, 0]).predict(X)
    np.testing.assert_allclose(several[:, 1], alone, rtol=1e-9)
    np.testing.assert_array_equal(several[:, [0, 2]], beside[:, [0, 2]])


@FORESTS
@pytest.mark.parametrize("split", ["histogram", "exact"])
def test_threads_and_monotone_transforms_change_nothing(kind, table, split):
    X, y = table
    params = {"n_estimators": 6, "split": split, "random_state": 5, "bootstrap": False}
    one = kind(n_jobs=1, **params).fit(X, y)
    assert one.fingerprint() == kind(n_jobs=4, **params).fit(X, y).fingerprint()
    moved = kind(**params).fit(np.exp(X), y)
    np.testing.assert_allclose(moved.predict(np.exp(X)), one.predict(X), rtol=1e-9)


@FORESTS
def test_weight_two_is_the_row_twice_and_weight_zero_its_absence(kind, table):
    X, y = table
    weight = np.random.default_rng(3).integers(0, 3, len(X))
    params = {"n_estimators": 3, "bootstrap": False, "min_samples_split": 9, "split": "exact"}
    own = kind(**params).fit(X, y, weight)
    twice = kind(**params).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    np.testing.assert_allclose(own.predict(X), twice.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [RandomForestRegressor, DecisionTreeRegressor])
def test_names_files_and_pickles(kind, table, tmp_path):
    X, y = table
    names = ["a", "b", "c"]
    fitted = kind(max_depth=4).fit(pd.DataFrame(X), pd.DataFrame(y, columns=names))
    fitted.save(tmp_path / "model.stgw")
    for other in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
        assert other.fingerprint() == fitted.fingerprint()
        assert other.n_outputs_ == 3
        assert other.target_names_.tolist() == names


def test_out_of_bag_rows_stop_a_forest_of_several_targets(table):
    X, y = table
    forest = RandomForestRegressor(n_estimators=200, early_stopping=True, n_iter_no_change=5)
    assert forest.fit(X, y).n_iter_ < 200
    assert len(forest.oob_loss_) < 200


def test_the_folds_of_several_targets_choose_alpha(table):
    X, y = table
    pruned = DecisionTreeRegressor(pruning="cost_complexity").fit(X, y)
    assert pruned.get_n_leaves() < DecisionTreeRegressor().fit(X, y).get_n_leaves()
    assert pruned.oof_prediction_.shape == y.shape
    assert r2_score(y, pruned.oof_prediction_) > 0.5
    for kind in ("reduced_error", "early_stopping"):
        assert DecisionTreeRegressor(pruning=kind).fit(X, y).predict(X).shape == y.shape


def test_explanations_have_a_column_for_each_target(table):
    X, y = table
    forest = RandomForestRegressor(n_estimators=10, max_depth=4).fit(X, y)
    values = shap_values(forest, X[:20])
    total = values.values.sum(axis=1) + values.base_values
    np.testing.assert_allclose(total, forest.predict(X[:20]), rtol=1e-8)
    assert "y2" in str(export_text(forest, tree=0))
    assert partial_dependence(forest, X, 0).mean.shape[-1] == 3
    assert len(importance(forest).value) == 5
    with pytest.raises(InvalidParameterError, match="with several targets a split is not"):
        show_split(forest, X, y, tree=0)
    with pytest.raises(InvalidParameterError, match="is of one target, but the forest has several"):
        forest.oob_importances(X, y)


def test_targets_of_any_magnitude(table):
    X, y = table
    own = RandomForestRegressor(n_estimators=5).fit(X, y)
    scaled = RandomForestRegressor(n_estimators=5).fit(X, y * 2.0**600)
    np.testing.assert_array_equal(scaled.predict(X), own.predict(X) * 2.0**600)


def test_what_is_for_one_target_is_refused(table):
    X, y = table
    for kind in (RandomForestRegressor, DecisionTreeRegressor):
        with pytest.raises(InvalidParameterError, match="sorts the values of one target"):
            kind(criterion="absolute_error").fit(X, y)
        with pytest.raises(InvalidParameterError, match="bounds the values of one target"):
            kind(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y)
    with pytest.raises(InvalidParameterError, match="Trees with y with several targets"):
        RandomForestRegressor().fit(csr_array(X), y)
    with pytest.raises(ValueError, match="In target 1 of y"):
        RandomForestRegressor().fit(X, np.where(np.arange(3) == 1, np.nan, y))
    with pytest.raises(ValueError, match="as many targets as in y"):
        RandomForestRegressor(early_stopping=True).fit(X, y, X_val=X, y_val=y[:, :2])


def test_vector_leaves_of_boosting_are_not_changed(table):
    X, y = table
    model = GradientBoostingRegressor(n_estimators=3, leaves="vector").fit(X, y)
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("exponent", [-1000, -410, 410, 900, 1010])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor])
def test_poisson_trees_of_targets_of_any_magnitude_are_the_same(kind, targets, exponent):
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(150, 3))
    y = rng.poisson(np.where(X[:, :targets] > 0.5, 10.0, 2.0)).astype(float)
    y = y[:, 0] if targets == 1 else y
    one, other = (
        kind(criterion="poisson", min_impurity_decrease=0.01 * unit, random_state=0)
        for unit in (1.0, 2.0**exponent)
    )
    expected = one.fit(X, y).predict(X)
    found = np.ldexp(other.fit(X, np.ldexp(y, exponent)).predict(X), -exponent)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(np.unique(expected)) > 4
