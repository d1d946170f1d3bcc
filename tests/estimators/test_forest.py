"""Forests: invariants, out-of-bag estimates and errors."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import ensemble, tree
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import stagewise
from estimators.every import predictions
from estimators.tables import make_table
from stagewise import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    InvalidParameterError,
    RandomForestClassifier,
    RandomForestRegressor,
)

KINDS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
ALL = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def table():
    return make_table(600)


def target(kind, table, many=True):
    if "Regressor" in kind.__name__:
        return table.number
    return table.many if many else table.two


def same(a, b):
    return a.fingerprint() == b.fingerprint()


CRITERIA = [
    *((kind, c) for kind in KINDS[::2] for c in ("gini", "entropy", "misclassification")),
    *((kind, c) for kind in KINDS[1::2] for c in ("squared_error", "absolute_error")),
]


@pytest.mark.parametrize("split", ["histogram", "exact"])
@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_every_criterion_learns_with_every_split(kind, criterion, split, table):
    params = {"n_estimators": 15, "criterion": criterion, "split": split, "max_features": None}
    y = target(kind, table)
    ours = kind(**params).fit(table.X[:400], y[:400])
    assert ours.score(table.X[400:], y[400:]) > (0.6 if y is table.number else 0.4)
    again = kind(**params, n_jobs=1).fit(table.X[:400], y[:400])
    assert same(ours, again)


@ALL
@pytest.mark.parametrize("many", [False, True])
def test_threads_change_no_bit(kind, table, many):
    y = target(kind, table, many)
    models = [kind(n_estimators=11, n_jobs=n).fit(table.X, y) for n in (1, 2, 3)]
    assert same(models[0], models[1])
    assert same(models[0], models[2])
    if kind in (RandomForestClassifier, RandomForestRegressor):
        np.testing.assert_array_equal(models[0].oob_prediction_, models[2].oob_prediction_)


@ALL
def test_the_first_trees_do_not_depend_on_those_after_them(kind, table):
    y = target(kind, table)
    few, many = (kind(n_estimators=n).fit(table.X, y) for n in (3, 9))
    for a, b in zip(few.model_.ensemble.trees, many.model_.ensemble.trees, strict=False):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_allclose(a.value * 3, b.value * 9, rtol=1e-13)


@ALL
def test_staged_predictions_are_averages_of_the_first_trees(kind, table):
    y = target(kind, table)
    model = kind(n_estimators=7).fit(table.X, y)
    small = kind(n_estimators=4).fit(table.X, y)
    method = "predict_proba" if hasattr(model, "classes_") else "predict"
    stages = list(getattr(model, f"staged_{method}")(table.X))
    np.testing.assert_allclose(stages[3], getattr(small, method)(table.X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(stages[-1], getattr(model, method)(table.X), rtol=1e-12)


@ALL
@pytest.mark.parametrize("many", [False, True])
def test_a_file_and_a_pickle_restore_it(kind, table, many, tmp_path):
    model = kind(n_estimators=5).fit(table.X, target(kind, table, many))
    model.save(tmp_path / "forest.stgw")
    for again in (stagewise.load(tmp_path / "forest.stgw"), pickle.loads(pickle.dumps(model))):
        assert type(again) is kind
        assert same(again, model)
        np.testing.assert_array_equal(again.predict(table.X), model.predict(table.X))


@pytest.mark.parametrize("kind", KINDS[2:])
def test_without_bootstrap_integer_weights_equal_repeated_rows(kind, table):
    y = target(kind, table)
    weight = np.arange(len(y)) % 3
    twice = np.repeat(np.arange(len(y)), weight)
    a = kind(n_estimators=5).fit(table.X, y, sample_weight=weight)
    b = kind(n_estimators=5).fit(table.X[twice], y[twice])
    np.testing.assert_allclose(a.predict(table.X) == b.predict(table.X), True)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_weight_zero_equals_absence(kind, table):
    y = target(kind, table)
    weight = np.ones(len(y))
    weight[::5] = 0
    a = kind(n_estimators=5).fit(table.X, y, sample_weight=weight)
    b = kind(n_estimators=5).fit(table.X[weight > 0], y[weight > 0])
    assert same(a, b)
    assert np.isnan(a.oob_prediction_[::5]).all()


def test_the_out_of_bag_score_is_the_accuracy_of_out_of_bag_predictions(table):
    y = table.two
    model = RandomForestClassifier(n_estimators=40).fit(table.X, y)
    known = ~np.isnan(model.oob_prediction_).any(axis=1)
    predicted = model.classes_[model.oob_prediction_[known].argmax(axis=1)]
    assert model.oob_score_ == pytest.approx(accuracy_score(y[known], predicted))
    assert len(model.oob_loss_) == 40
    p = model.oob_prediction_[known]
    brier = ((p[:, 1] - (y[known] == model.classes_[1])) ** 2).mean()
    assert model.oob_loss_[-1] == pytest.approx(2 * brier)  # ½ (s - F)², s = ±1
    number = RandomForestRegressor(n_estimators=40).fit(table.X, table.number)
    known = ~np.isnan(number.oob_prediction_)
    expected = r2_score(table.number[known], number.oob_prediction_[known])
    assert number.oob_score_ == pytest.approx(expected)
    errors = (number.oob_prediction_[known] - table.number[known]) ** 2
    assert number.oob_loss_[-1] == pytest.approx(errors.mean() / 2)


def test_early_stopping_ends_when_the_out_of_bag_loss_stops_improving(table):
    params = {"n_estimators": 400, "early_stopping": True, "n_iter_no_change": 15}
    model = RandomForestRegressor(**params).fit(table.X, table.number)
    path = model.oob_loss_
    assert model.n_iter_ == path.argmin() + 1 == len(path) - 15 < 385
    assert model.fit_report_["stop_reason"] == "no better out-of-bag loss for 15 rounds"
    assert model.fit_report_["rounds_run"] == len(path)
    same_size = RandomForestRegressor(n_estimators=model.n_iter_).fit(table.X, table.number)
    assert same(model, same_size)
    np.testing.assert_array_equal(model.oob_prediction_, same_size.oob_prediction_)


def test_early_stopping_uses_a_validation_set_if_given(table):
    X, y = table.X, table.many
    params = {"n_estimators": 300, "n_iter_no_change": 10}
    model = RandomForestClassifier(**params).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert model.n_iter_ < 300
    assert model.fit_report_["stop_reason"] == "no better validation loss for 10 rounds"
    assert not hasattr(model, "oob_loss_")
    p = model.predict_proba(X[400:])
    shares = y[400:, np.newaxis] == model.classes_
    assert model.validation_loss_.min() == pytest.approx(((p - shares) ** 2).sum(axis=1).mean() / 2)


def test_the_progress_names_the_rows_that_it_measures(table, capsys):
    RandomForestRegressor(n_estimators=3, early_stopping=True, verbose=2).fit(table.X, table.number)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all("  oob " in line and "valid" not in line for line in lines)


@pytest.mark.parametrize("split", ["histogram", "exact"])
def test_one_tree_on_all_rows_equals_scikit_learns(split):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] * X[:, 1] + rng.normal(size=200)
    one = {"n_estimators": 1, "bootstrap": False, "max_features": None, "oob_score": False}
    ours = RandomForestRegressor(**one, split=split).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), DecisionTreeRegressor().fit(X, y).predict(X))
    labels = (y > 0).astype(int)
    size = {"max_depth": 3, "min_samples_leaf": 10}  # so that no two splits have the same gain
    two = RandomForestClassifier(**one, split=split, **size).fit(X, labels)
    theirs = DecisionTreeClassifier(**size, random_state=0).fit(X, labels)
    np.testing.assert_allclose(two.predict_proba(X), theirs.predict_proba(X))


@ALL
def test_accuracy_equals_scikit_learns(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 10))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3]
    y = f + rng.normal(size=3000) / 2
    if hasattr(kind, "predict_proba"):
        y = np.digitize(y, [-1, 0, 1])
    theirs = getattr(ensemble, kind.__name__)(n_estimators=100, random_state=0, max_features=3)
    ours = kind(n_estimators=100, max_features=3)
    a, b = (m.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) for m in (ours, theirs))
    assert a > b - 0.015


def test_features_are_drawn_until_one_splits_the_node():
    X = np.zeros((64, 40))
    X[:, 7] = np.arange(64)  # nearly every sample of six columns is constant
    model = RandomForestRegressor(n_estimators=3, max_features="sqrt", bootstrap=False,
                                  oob_score=False).fit(X, np.arange(64.0))  # fmt: skip
    assert model.score(X, np.arange(64.0)) == 1.0


@pytest.mark.parametrize("split", ["histogram", "exact"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_xor_is_learned_though_its_first_split_gains_nothing(criterion, split):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=float)
    y = X[:, 0] != X[:, 1]
    one = {"n_estimators": 1, "bootstrap": False, "oob_score": False, "max_features": None}
    model = RandomForestClassifier(**one, criterion=criterion, split=split).fit(X, y)
    assert model.score(X, y) == 1.0
    assert len(model.model_.ensemble.trees[0].feature) == 7
    for loss in ("squared_error", "absolute_error"):
        number = RandomForestRegressor(**one, criterion=loss, split=split).fit(X, y.astype(float))
        assert number.score(X, y) == 1.0


def test_categories_and_missing_values_work():
    rng = np.random.default_rng(2)
    n = 1500
    shop = rng.integers(0, 30, n)
    size = np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))
    shops = pd.Categorical.from_codes(shop, [f"s{i}" for i in range(30)])
    frame = pd.DataFrame({"shop": shops, "size": size})
    y = np.sin(shop) + np.nan_to_num(frame["size"], nan=2.0) + rng.normal(size=n) / 10
    for kind in (RandomForestRegressor, ExtraTreesRegressor):
        model = kind(n_estimators=30, max_features=None).fit(frame[:1000], y[:1000])
        assert model.score(frame[1000:], y[1000:]) > 0.9


@ALL
def test_a_sparse_matrix_gives_the_same_forest(kind, table):
    X = np.where(np.abs(np.nan_to_num(table.X)) > 0.5, np.nan_to_num(table.X), 0.0)
    y = target(kind, table, many=False)
    a, b = (kind(n_estimators=5).fit(Z, y) for Z in (X, csr_array(X)))
    assert same(a, b)


def test_select_from_model_accepts_it(table):
    forest = RandomForestClassifier(n_estimators=20).fit(table.X, table.many)
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    kept = SelectFromModel(forest, prefit=True).transform(table.X)
    assert 0 < kept.shape[1] < table.X.shape[1]


@pytest.mark.parametrize(
    ("kind", "params", "words"),
    [
        (RandomForestClassifier, {"max_features": "half"}, "'sqrt', 'log2', 'third'"),
        (RandomForestClassifier, {"max_features": 1.5}, "a fraction above 0.0"),
        (RandomForestClassifier, {"criterion": "squared_error"}, "'gini', 'entropy'"),
        (RandomForestRegressor, {"criterion": "gini"}, "'squared_error', 'absolute_error'"),
        (RandomForestRegressor, {"bootstrap": False, "oob_score": True}, "bootstrap=True"),
        (RandomForestRegressor, {"oob_score": "yes"}, "'auto', True or False"),
        (RandomForestRegressor, {"early_stopping": "cv"}, "True or False"),
        (ExtraTreesRegressor, {"early_stopping": True}, "oob_score=True"),
        (ExtraTreesClassifier, {"split": "approx"}, "'histogram', 'exact'"),
    ],
)
def test_invalid_parameters_are_refused(kind, params, words, table):
    with pytest.raises(InvalidParameterError, match=words):
        kind(**params).fit(table.X, target(kind, table))


FORESTS = [
    (RandomForestRegressor, "number"),
    (ExtraTreesRegressor, "number"),
    (RandomForestClassifier, "two"),
    (ExtraTreesClassifier, "many"),
]


@pytest.mark.parametrize(("kind", "target"), FORESTS)
def test_the_trees_of_a_forest_are_decision_trees(kind, target):
    table = make_table(300)
    X, y = table.X, getattr(table, target)
    forest = kind(n_estimators=5, split="exact").fit(X, y)
    trees = forest.estimators_
    mean = np.mean([predictions(t, X) for t in trees], axis=0)
    np.testing.assert_allclose(predictions(forest, X), mean, atol=1e-12)
    np.testing.assert_array_equal(forest.apply(X), np.column_stack([t.apply(X) for t in trees]))
    paths, first = forest.decision_path(X)
    assert paths.shape == (300, first[-1])
    for one, begin, end in zip(trees, first[:-1], first[1:], strict=True):
        assert (paths[:, begin:end] != one.decision_path(X)).nnz == 0
        assert clone(one).fit(X, y).get_depth() > 0
    assert not hasattr(kind(), "estimators_")


def test_leaves_have_the_shapes_of_scikit_learn():
    table = make_table(200, missing=False)
    X = table.X
    for target in ("number", "two", "many"):
        y, task = getattr(table, target), "Regressor" if target == "number" else "Classifier"
        for name in ("DecisionTree", "RandomForest", "ExtraTrees", "GradientBoosting"):
            ours, theirs = (
                getattr(library, f"{name}{task}")()
                for library in (stagewise, tree if name == "DecisionTree" else ensemble)
            )
            if name != "DecisionTree":
                ours, theirs = (m.set_params(n_estimators=3) for m in (ours, theirs))
            expected = theirs.fit(X, y).apply(X).shape
            assert ours.fit(X, y).apply(X).shape == expected, (name, target)
    several = stagewise.GradientBoostingRegressor(n_estimators=3).fit(X, np.column_stack([y, y]))
    assert several.apply(X).shape == (200, 3, 2)
    with pytest.warns(UserWarning, match="only one class"):
        one = stagewise.DecisionTreeClassifier().fit(X, np.zeros(200))
    assert not one.apply(X).any()
    assert one.apply(X).shape == (200,)
