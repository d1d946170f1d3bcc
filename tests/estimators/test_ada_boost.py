"""The AdaBoost family: stopping, weights, probabilities, parameters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.tree import DecisionTreeClassifier

import stagewise
from estimators.tables import make_table
from stagewise import (
    AdaBoostClassifier,
    GentleBoostClassifier,
    InvalidParameterError,
    LogitBoostClassifier,
)

FAMILY = [
    AdaBoostClassifier(),
    AdaBoostClassifier(algorithm="real", criterion="gini"),
    GentleBoostClassifier(),
    LogitBoostClassifier(),
]
EACH = pytest.mark.parametrize("model", FAMILY, ids=repr)


def fitted(model, X, y, **params):
    return model.__class__(**{**model.get_params(), **params}).fit(X, y)


def test_a_perfect_tree_stops_discrete_boosting():
    X = np.arange(40.0).reshape(-1, 1)
    y = X[:, 0] > 12
    model = AdaBoostClassifier().fit(X, y)
    assert model.n_iter_ == 1
    assert "without errors" in model.fit_report_["stop_reason"]
    assert (model.predict(X) == y).all()
    # The weight of a tree that misclassifies half a row of 40.
    np.testing.assert_allclose(np.abs(model.decision_function(X)), 0.5 * np.log(79))


def test_a_perfect_tree_stops_boosting_of_many_classes():
    X = np.arange(60.0).reshape(-1, 1)
    y = np.repeat(["a", "b", "c"], 20)
    model = AdaBoostClassifier(max_depth=2).fit(X, y)
    assert model.n_iter_ == 1
    assert (model.predict(X) == y).all()


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_a_tree_no_better_than_chance_stops_boosting():
    # Each value of x has as many of each class.
    X = np.repeat([0.0, 1.0], 20).reshape(-1, 1)
    y = np.tile([0, 1], 20)
    model = AdaBoostClassifier().fit(X, y)
    assert model.n_iter_ == 0
    assert "better than chance" in model.fit_report_["stop_reason"]
    np.testing.assert_array_equal(model.predict_proba(X), np.full((40, 2), 0.5))


def test_a_stopped_fit_is_not_continued():
    X = np.arange(40.0).reshape(-1, 1)
    model = AdaBoostClassifier(warm_start=True).fit(X, X[:, 0] > 12)
    once = model.fingerprint()
    assert model.fit(X, X[:, 0] > 12).fingerprint() == once


def test_a_bag_without_errors_does_not_stop_boosting():
    table = make_table(300)
    model = AdaBoostClassifier(max_depth=None, criterion="gini", subsample=0.3, n_estimators=5)
    assert model.fit(table.X, table.two).n_iter_ == 5
    light = np.where(np.arange(300) == 7, 1000.0, 0.01)
    model.fit(table.X, table.two, sample_weight=light)
    assert np.isfinite(model.decision_function(table.X)).all()


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_classes_without_signal_are_predicted_as_the_majority_class():
    X = np.repeat([0.0, 1.0], 20).reshape(-1, 1)
    y = np.tile([0, 1, 1, 1], 10)
    model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    assert model.n_iter_ == 1  # after which both classes have the same weight
    assert (model.predict(X) == 1).all()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.75, atol=1e-6)


@EACH
def test_the_last_stage_equals_the_prediction(model):
    table = make_table(400)
    for y in (table.two, table.many):
        m = fitted(model, table.X, y, n_estimators=7)
        staged = list(m.staged_predict_proba(table.X))
        assert len(staged) == m.n_iter_ == len(m.train_loss_)
        np.testing.assert_allclose(staged[-1], m.predict_proba(table.X), rtol=1e-12)
        np.testing.assert_array_equal(list(m.staged_predict(table.X))[-1], m.predict(table.X))


@EACH
@pytest.mark.parametrize("target", ["two", "many"])
def test_save_load_and_warm_start(model, target, tmp_path):
    table = make_table(600)
    y = getattr(table, target)
    whole = fitted(model, table.X, y, n_estimators=9, max_depth=2)
    part = fitted(model, table.X, y, n_estimators=4, max_depth=2, warm_start=True)
    part.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    assert type(loaded) is type(model)
    assert loaded.fingerprint() == part.fingerprint()
    np.testing.assert_array_equal(loaded.predict_proba(table.X), part.predict_proba(table.X))
    loaded.set_params(n_estimators=9).fit(table.X, y)
    assert loaded.fingerprint() == whole.fingerprint()


@EACH
def test_weight_two_equals_the_row_twice(model):
    table = make_table(500)
    weight = np.arange(500) % 3
    for y in (table.two, table.many):
        a = fitted(model, table.X, y, n_estimators=6, max_depth=2)
        a = a.fit(table.X, y, sample_weight=weight)
        X2, y2 = np.repeat(table.X, weight, axis=0), np.repeat(y, weight)
        b = fitted(model, X2, y2, n_estimators=6, max_depth=2)
        np.testing.assert_allclose(
            a.decision_function(table.X), b.decision_function(table.X), rtol=1e-5, atol=1e-5
        )


@EACH
def test_early_stopping_keeps_the_best_round(model):
    table = make_table(800)
    m = fitted(
        model,
        table.X,
        table.two,
        n_estimators=300,
        max_depth=4,
        early_stopping=True,
        n_iter_no_change=5,
    )
    assert m.n_iter_ == np.argmin(m.validation_loss_) + 1
    assert len(m.validation_loss_) < 300


def test_probabilities_are_those_of_the_population_minimiser():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    p = 1 / (1 + np.exp(-X[:, 0] - X[:, 1]))
    y = rng.random(20_000) < p
    for model in FAMILY:
        m = fitted(model, X[:15_000], y[:15_000], n_estimators=40, learning_rate=0.5)
        proba = m.predict_proba(X[15_000:])[:, 1]
        for low in np.arange(0.1, 0.9, 0.2):
            near = (proba >= low) & (proba < low + 0.2)
            assert y[15_000:][near].mean() == pytest.approx(proba[near].mean(), abs=0.06), model


def test_the_training_error_obeys_freund_and_schapires_bound():
    # Σ [wrong] / n <= Π 2 √(err (1 - err)) <= exp(-2 Σ (½ - err)²), and the exponential loss is the
    # product.
    table = make_table(700)
    y = 2 * table.two - 1
    model = AdaBoostClassifier(n_estimators=40).fit(table.X, y)
    F = np.zeros(len(y))
    bound, edges = 1.0, 0.0
    for m, stage in enumerate(model.staged_predict_proba(table.X)):
        before, F = F, 0.5 * np.log(stage[:, 1] / stage[:, 0])
        w = np.exp(-y * before)
        err = w[np.sign(F - before) != y].sum() / w.sum()
        bound *= 2 * np.sqrt(err * (1 - err))
        edges += (0.5 - err) ** 2
        assert bound <= np.exp(-2 * edges) + 1e-12
        assert model.train_loss_[m] == pytest.approx(bound, rel=1e-4)
        assert np.mean(np.sign(F) != y) <= bound


@pytest.mark.parametrize("n_classes", [2, 3])
def test_agrees_with_scikit_learn_where_every_split_is_clear(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.integers(0, 40, (600, 4)) / 8.0
    signal = X[:, 0] + np.sin(X[:, 1]) + rng.normal(size=600) / 2
    y = np.argsort(np.argsort(signal)) * n_classes // 600
    ours = AdaBoostClassifier(n_estimators=25, criterion="gini").fit(X, y)
    theirs = ScikitAdaBoost(DecisionTreeClassifier(max_depth=1), n_estimators=25).fit(X, y)
    if n_classes == 2:
        # α is twice ours; theirs is the share of both classes, divided by Σα.
        total = theirs.estimator_weights_.sum()
        np.testing.assert_allclose(
            4 * ours.decision_function(X), theirs.decision_function(X) * total, atol=1e-3
        )
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.999


def test_parameters_are_checked():
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) % 2
    with pytest.raises(InvalidParameterError, match=r"'algorithm'.*'discrete', 'real'"):
        AdaBoostClassifier(algorithm="SAMME").fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"'criterion'.*'misclassification', 'gini'"):
        AdaBoostClassifier(criterion="purity").fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"'z_max'.*above 0"):
        LogitBoostClassifier(z_max=0).fit(X, y)
    with pytest.raises(TypeError, match=r"no parameter 'max_dept'\. Did you mean 'max_depth'"):
        GentleBoostClassifier(max_dept=3)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (AdaBoostClassifier(), "exponential x classes x votes x trees"),
        (AdaBoostClassifier(algorithm="real"), "exponential x classes x log odds of leaves"),
        (GentleBoostClassifier(), "exponential x Newton steps x trees"),
        (LogitBoostClassifier(), "log_loss x working response up to ±4 x Newton steps"),
    ],
)
def test_the_recipe_is_one_line(model, words):
    assert words in model.recipe()
    assert "\n" not in model.recipe()
