"""A fit that is interrupted and continued equals the uninterrupted fit, to the bit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import stagewise
from estimators.tables import make_table, quick
from stagewise import (
    AdaBoostClassifier,
    FeatureSampling,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    OrderedTargetEncoding,
    SplitSearch,
    StagewiseLinearRegressor,
)
from stagewise.losses import Huber, Tweedie

Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier

FITS = {
    "squared error": (Regressor, "number", {}),
    "absolute error": (Regressor, "number", {"loss": "absolute_error"}),
    "drawn rows and columns": (
        Regressor,
        "number",
        {"subsample": 0.5, "max_features": FeatureSampling(per_tree=0.6, per_level=0.8)},
    ),
    "absolute error, drawn rows": (
        Regressor,
        "number",
        {"loss": "absolute_error", "subsample": 0.5},
    ),
    "two classes": (Classifier, "two", {}),
    "five classes, drawn rows": (Classifier, "many", {"subsample": 0.5}),
    "balanced classes": (Classifier, "many", {"class_weight": "balanced"}),
    "many bins": (Regressor, "number", {"max_bins": 400}),
    "early stopping": (
        Classifier,
        "many",
        {"early_stopping": True, "n_iter_no_change": 3, "learning_rate": 0.7},
    ),
    "every value": (Classifier, "two", {"split": "exact"}),
    "every value of drawn rows": (Regressor, "number", {"split": "exact", "subsample": 0.5}),
    "proposed values": (
        Regressor,
        "number",
        {"split": SplitSearch(method="approx", sketch_eps=0.2)},
    ),
    "values proposed anew": (
        Classifier,
        "many",
        {"split": SplitSearch(method="approx", proposal="local", sketch_eps=0.3), "subsample": 0.6},
    ),
    "a random seed": (Regressor, "number", {"subsample": 0.5, "random_state": None}),
}


def in_memory(model, folder):
    return model


def by_file(model, folder):
    model.save(folder / "model.stgw")
    return stagewise.load(folder / "model.stgw")


def by_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def in_parts(kind, params, parts, way, folder, *data, **fit):
    model = quick(kind, **params, warm_start=True)
    for rounds in parts:
        model = way(model, folder) if hasattr(model, "model_") else model
        model.set_params(n_estimators=rounds).fit(*data, **fit)
    return model


@pytest.mark.parametrize("way", [in_memory, by_file, by_pickle])
@pytest.mark.parametrize(("kind", "target", "params"), FITS.values(), ids=FITS)
def test_a_continued_fit_equals_the_uninterrupted_one(kind, target, params, way, tmp_path):
    table = make_table(400)
    y = getattr(table, target)
    continued = in_parts(kind, params, (1, 4, 5, 15), way, tmp_path, table.X, y)
    seeded = {**params, "random_state": continued.seed_, "n_estimators": 15}
    whole = quick(kind, **seeded).fit(table.X, y)
    assert continued.fingerprint() == whole.fingerprint()
    np.testing.assert_array_equal(continued.train_loss_, whole.train_loss_)
    np.testing.assert_array_equal(continued.validation_loss_, whole.validation_loss_)
    assert continued.n_iter_ == whole.n_iter_


@pytest.mark.parametrize("rows", [40_000, 120_000])
def test_a_continued_fit_with_many_rows(rows, tmp_path):
    table = make_table(rows, 3)
    continued = in_parts(
        Regressor, {"subsample": 0.3}, (2, 4), by_file, tmp_path, table.X, table.number
    )
    whole = quick(Regressor, subsample=0.3, n_estimators=4).fit(table.X, table.number)
    assert continued.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("weight", ["counts", "fractions", "zeros"])
def test_a_continued_fit_with_weights_and_a_validation_set(weight, tmp_path):
    table, held = make_table(400), make_table(100, seed=3)
    weights = {
        "counts": 1 + np.arange(400) % 3,
        "fractions": (1 + np.arange(400) % 7) / 3,
        "zeros": (np.arange(400) % 4 > 0).astype(float),
    }[weight]
    fit = {"sample_weight": weights, "X_val": held.X, "y_val": held.number}
    params = {"learning_rate": 0.6, "n_iter_no_change": 3}
    data = (table.X, table.number)
    continued = in_parts(Regressor, params, (2, 6, 40), in_memory, tmp_path, *data, **fit)
    whole = quick(Regressor, **params, n_estimators=40).fit(*data, **fit)
    assert continued.fingerprint() == whole.fingerprint()
    assert continued.n_iter_ < 40


def test_the_same_number_of_rounds_changes_nothing():
    table = make_table(200)
    model = quick(Regressor, warm_start=True).fit(table.X, table.number)
    before = model.fingerprint()
    assert model.fit(table.X, table.number).fingerprint() == before


def test_fewer_rounds_than_before_are_an_error():
    table = make_table(200)
    model = quick(Regressor, warm_start=True).fit(table.X, table.number)
    with pytest.raises(ValueError, match=r"n_estimators=3 must be larger or equal to n_iter_=8"):
        model.set_params(n_estimators=3).fit(table.X, table.number)
    assert model.n_iter_ == 8


def test_other_classes_are_an_error():
    table = make_table(200)
    model = quick(Classifier, warm_start=True).fit(table.X, table.many)
    with pytest.raises(ValueError, match=r"continues a model of the classes \[0, 1, 2, 3, 4\]"):
        model.set_params(n_estimators=9).fit(table.X, table.two)


def test_another_number_of_features_is_an_error():
    table = make_table(200)
    model = quick(Regressor, warm_start=True).fit(table.X, table.number)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.set_params(n_estimators=9).fit(table.X[:, :3], table.number)


def test_continuing_a_copy_does_not_change_the_original():
    table = make_table(200)
    model = quick(Regressor, warm_start=True).fit(table.X, table.number)
    before = model.fingerprint()
    copied = pickle.loads(pickle.dumps(model)).set_params(n_estimators=20)
    kept = model.model_
    copied.fit(table.X, table.number)
    model.set_params(n_estimators=20).fit(table.X, table.number)
    assert kept.fingerprint() == before, "a model is a value: going on makes a new one"
    assert copied.fingerprint() == model.fingerprint() != before


def test_a_fit_can_be_continued_on_other_rows():
    table, more = make_table(300), make_table(300, seed=8)
    model = quick(Regressor, warm_start=True).fit(table.X, table.number)
    first = model.model_.ensemble.trees[:8]
    model.set_params(n_estimators=30).fit(more.X, more.number)
    for old, kept in zip(first, model.model_.ensemble.trees, strict=False):
        np.testing.assert_array_equal(old.value, kept.value)
    assert model.score(more.X, more.number) > 0.8


@pytest.mark.parametrize("kind", [Regressor, StagewiseLinearRegressor])
def test_a_constant_target_is_warned_of_only_in_a_new_fit(kind):
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = kind(n_estimators=3, warm_start=True).fit(X, X[:, 0]).set_params(n_estimators=5)
    model.fit(X, np.ones(300))  # warnings are errors
    assert len(np.unique(model.predict(X))) > 1
    with pytest.warns(UserWarning, match="y has only one value"):
        clone(model).fit(X, np.ones(300))


Target = OrderedTargetEncoding
CHANGES = {
    "quantile": (
        {"loss": "quantile"},
        {"quantile": 0.9},
        r"quantile=0\.5, but now it is 0\.9",
    ),
    "power": (
        {"loss": Tweedie(power=1.2)},
        {"loss": Tweedie(power=1.8)},
        r"power=1\.2, but now it is 1\.8",
    ),
    "target to sets": (
        {"category_encoding": "target"},
        {"category_encoding": "sets"},
        "category_encoding='target', but now it is 'sets'",
    ),
    "sets to target": (
        {"category_encoding": "sets"},
        {"category_encoding": "target"},
        "category_encoding='sets', but now it is 'target'",
    ),
    "n_orderings": (
        {"category_encoding": Target(n_orderings=2)},
        {"category_encoding__n_orderings": 3},
        "n_orderings=2, but now it is 3",
    ),
    "random_state": ({}, {"random_state": 7}, "random_state=0, but now it is 7"),
}


@pytest.mark.parametrize("way", [in_memory, by_file, by_pickle])
@pytest.mark.parametrize(("before", "now", "words"), CHANGES.values(), ids=CHANGES)
def test_a_change_that_cannot_continue_the_model_is_an_error(before, now, words, way, tmp_path):
    table = make_table(300)
    X, y = np.abs(table.X), np.abs(table.number)
    X[:, 0] = np.arange(300) % 60
    model = clone(quick(Regressor, categorical_features=[0], n_estimators=2, **before)).fit(X, y)
    model = way(model, tmp_path).set_params(warm_start=True, n_estimators=3)
    assert model.fit(X, y).n_iter_ == 3
    model.set_params(n_estimators=4, **now)
    with pytest.raises(ValueError, match=f"continues a model with {words}.*warm_start=False"):
        model.fit(X, y)


def test_listed_columns_and_those_of_a_category_type_continue_a_model():
    table = make_table(200)
    X = pd.DataFrame(table.X[:, :2], columns=["a", "b"])
    X["n"], X["c"] = np.arange(200) % 5, pd.Categorical(np.arange(200) % 3)
    model = quick(Regressor, categorical_features=["n"], warm_start=True, n_estimators=2)
    model.fit(X, table.number).set_params(n_estimators=4)
    assert model.fit(X, table.number).n_iter_ == 4
    for listed in (["n", "a"], None):
        model.set_params(n_estimators=6, categorical_features=listed)
        with pytest.raises(ValueError, match=r"categorical columns are \['n', 'c'\], but cat"):
            model.fit(X, table.number)


def test_another_custom_loss_is_an_error():
    class OneLoss(Huber):
        name = "custom"

    class OtherLoss(OneLoss):
        pass

    table = make_table(200)
    model = quick(Regressor, loss=OneLoss(), warm_start=True, n_estimators=2)
    model.fit(table.X, table.number).set_params(loss=OtherLoss(), n_estimators=3)
    with pytest.raises(ValueError, match="loss='OneLoss', but now it is 'OtherLoss'"):
        model.fit(table.X, table.number)


@pytest.mark.parametrize(
    "constraint",
    [{"monotonic_cst": [1, 0]}, {"interaction_cst": [[0], [1]]}],
    ids=lambda c: next(iter(c)),
)
def test_constraints_that_earlier_trees_do_not_have_are_refused(constraint):
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = GradientBoostingRegressor(n_estimators=2, warm_start=True).fit(X, X[:, 0])
    model.set_params(n_estimators=4, **constraint)
    with pytest.raises(ValueError, match="would not hold for its earlier trees"):
        model.fit(X, X[:, 0])
    model.set_params(warm_start=False).fit(X, X[:, 0])
    assert model.set_params(warm_start=True, n_estimators=6).fit(X, X[:, 0]).n_iter_ == 6


@pytest.mark.parametrize("loaded", [False, True], ids=["fitted", "loaded"])
def test_a_method_that_has_ended_gets_no_further_round(loaded, tmp_path):
    X = np.arange(40.0)[:, np.newaxis]
    y = (X[:, 0] > 17).astype(int)
    model = AdaBoostClassifier(n_estimators=3, warm_start=True).fit(X, y)
    assert model.n_iter_ == 1
    if loaded:
        model.save(tmp_path / "m.stgw")
        model = stagewise.load(tmp_path / "m.stgw")
    assert model.set_params(n_estimators=6).fit(X, y).n_iter_ == 1
