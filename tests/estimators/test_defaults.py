"""The values of "auto": a fit with "auto" equals the fit with these numbers, and reports them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import stagewise
from estimators.tables import make_table
from stagewise import (
    AdaBoostClassifier,
    FeatureSampling,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LogitBoostClassifier,
    ModelFormatError,
    StagewiseClassifier,
    StagewiseRegressor,
)
from stagewise.model.file.format import read_model, write_model

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
OTHERS = (
    AdaBoostClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    StagewiseClassifier,
    StagewiseRegressor,
)
RATES = {1: 0.1, 50: 0.1, 100: 0.1, 101: 0.09975, 200: 0.08409, 1000: 0.05623, 2000: 0.04729}
SMALL = {"max_leaf_nodes": 3, "min_samples_leaf": 5}


def fitted(kind, **params):
    table = make_table(200)
    y = table.number if issubclass(kind, GradientBoostingRegressor) else table.many
    return kind(**{**SMALL, **params}).fit(table.X, y)


@BOTH
def test_auto_is_the_default(kind):
    params = kind().get_params()
    assert params["learning_rate"] == params["max_features"] == "auto"
    assert clone(kind()).get_params() == params


@BOTH
@pytest.mark.parametrize("rounds", RATES)
def test_more_rounds_have_a_smaller_learning_rate(kind, rounds):
    recipe = kind(n_estimators=rounds).recipe()
    assert float(recipe.partition("ν=")[2]) == pytest.approx(RATES[rounds], abs=5e-6)


@BOTH
def test_the_learning_rate_falls_with_the_fourth_root_of_the_rounds(kind):
    rates = [fitted(kind, n_estimators=n).learning_rate_ for n in (100, 200, 400)]
    np.testing.assert_allclose(np.divide(rates[1:], rates[:-1]), 0.5**0.25, rtol=1e-15)


@BOTH
@pytest.mark.parametrize("rounds", [8, 300])
def test_an_automatic_fit_equals_the_fit_with_these_numbers(kind, rounds):
    auto = fitted(kind, n_estimators=rounds)
    numbers = {name: auto.fit_report_[name] for name in ("learning_rate", "max_features")}
    assert numbers["max_features"] == 4  # 0.7 of five
    assert numbers["learning_rate"] == auto.learning_rate_
    assert fitted(kind, n_estimators=rounds, **numbers).fingerprint() == auto.fingerprint()
    assert fitted(kind, n_estimators=rounds, max_features=1.0).fingerprint() != (auto.fingerprint())


@BOTH
@pytest.mark.parametrize("stopping", [True, "cv"])
def test_early_stopping_does_not_change_the_learning_rate(kind, stopping):
    model = fitted(kind, n_estimators=150, early_stopping=stopping, n_iter_no_change=2)
    assert model.n_iter_ < 150
    assert model.learning_rate_ == pytest.approx(0.1 * 1.5**-0.25, rel=1e-15)


@BOTH
def test_a_given_number_is_used(kind):
    report = fitted(kind, n_estimators=300, learning_rate=0.3, max_features=0.4).fit_report_
    assert (report["learning_rate"], report["max_features"]) == (0.3, 2)


@BOTH
def test_symmetric_trees_use_all_features(kind):
    model = fitted(kind, grow_policy="symmetric", n_estimators=5)
    assert model.fit_report_["max_features"] == 5
    assert "features per node" not in model.recipe()
    with pytest.raises(InvalidParameterError, match=r"max_features must be None or 1\.0; got 0\.7"):
        fitted(kind, grow_policy="symmetric", max_features=0.7)


@BOTH
def test_the_recipe_states_max_features(kind):
    assert "0.7 of the features per node" in kind().recipe()
    assert "0.25 of the features per node" in kind(max_features=0.25).recipe()
    assert "features per node" not in kind(max_features=1.0).recipe()


@BOTH
def test_feature_weights_work_with_the_default(kind):
    never = {"max_features": FeatureSampling(per_node=0.7, weights=[1, 1, 1, 1, 0])}
    assert fitted(kind, n_estimators=5, **never).feature_importances_[4] == 0
    none = {"max_features": FeatureSampling(weights=[1, 1, 1, 1, 0])}
    with pytest.raises(InvalidParameterError, match="none are drawn"):
        fitted(kind, grow_policy="symmetric", **none)


@BOTH
@pytest.mark.parametrize("name", ["learning_rate", "max_features"])
@pytest.mark.parametrize("bad", ["AUTO", "automatic", "", 0, ["auto"], np.array(["auto"])])
def test_other_values_are_refused(kind, name, bad):
    with pytest.raises(InvalidParameterError, match=rf"'{name}' of {kind.__name__} must be 'auto'"):
        fitted(kind, **{name: bad})


@pytest.mark.parametrize("kind", OTHERS)
def test_other_estimators_have_other_defaults(kind):
    rate = kind().learning_rate
    assert isinstance(rate, float)
    with pytest.raises(InvalidParameterError, match=r"'learning_rate' of .* must be a number"):
        kind(learning_rate="auto").recipe()
    table = make_table(100)
    y = table.number if kind is StagewiseRegressor else table.two
    assert kind(n_estimators=2).fit(table.X, y).fit_report_["learning_rate"] == rate


# ---- continued fits --------------------------------------------------------------------------


def by_file(model, folder):
    model.save(folder / "model.stgw")
    return stagewise.load(folder / "model.stgw")


def in_memory(model, folder):
    return model


def by_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


WAYS = pytest.mark.parametrize("way", [in_memory, by_file, by_pickle])


@WAYS
def test_a_first_warm_start_fit_has_the_rate_of_few_rounds(way, tmp_path):
    table = make_table(200)
    model = fitted(GradientBoostingRegressor, n_estimators=40, warm_start=True)
    model = way(model, tmp_path).set_params(n_estimators=250).fit(table.X, table.number)
    assert model.learning_rate_ == 0.1
    whole = fitted(GradientBoostingRegressor, n_estimators=250, learning_rate=0.1)
    assert model.fingerprint() == whole.fingerprint()
    whole = fitted(GradientBoostingRegressor, n_estimators=250, warm_start=True)
    assert model.fingerprint() == whole.fingerprint()


@WAYS
def test_a_continued_fit_keeps_the_rate_of_its_model(way, tmp_path):
    table = make_table(200)
    model = fitted(GradientBoostingRegressor, n_estimators=200)
    rate = model.learning_rate_
    for rounds in (210, 400):
        model = way(model, tmp_path).set_params(n_estimators=rounds, warm_start=True)
        assert f"ν={rate:g}" in model.recipe()
        model.fit(table.X, table.number)
        assert model.learning_rate_ == model.fit_report_["learning_rate"] == rate
    whole = fitted(GradientBoostingRegressor, n_estimators=400, learning_rate=rate)
    assert model.fingerprint() == whole.fingerprint()


def test_a_new_fit_has_its_own_rate():
    table = make_table(200)
    model = fitted(GradientBoostingRegressor, n_estimators=400)
    model.set_params(n_estimators=10).fit(table.X, table.number)
    assert model.learning_rate_ == 0.1


# ---- files -----------------------------------------------------------------------------------


def test_a_file_keeps_auto_and_the_rate(tmp_path):
    path = tmp_path / "model.stgw"
    model = fitted(GradientBoostingClassifier, n_estimators=200)
    again = by_file(model, tmp_path)
    assert again.get_params()["learning_rate"] == again.get_params()["max_features"] == "auto"
    assert again.learning_rate_ == model.learning_rate_ == read_model(path)[1]["learning_rate"]


def test_a_file_without_a_rate_has_that_of_its_parameter(tmp_path):
    path = tmp_path / "model.stgw"
    model = fitted(GradientBoostingRegressor, n_estimators=3, learning_rate=0.25)
    model.save(path)
    learned, notes = read_model(path)
    del notes["learning_rate"]
    write_model(path, learned, notes)
    assert stagewise.load(path).learning_rate_ == 0.25


@pytest.mark.parametrize("bad", [0, -0.1, "auto", None, True, [0.1]])
def test_a_file_with_an_invalid_rate_is_refused(bad, tmp_path):
    path = tmp_path / "model.stgw"
    fitted(GradientBoostingRegressor, n_estimators=3).save(path)
    learned, notes = read_model(path)
    write_model(path, learned, {**notes, "learning_rate": bad})
    with pytest.raises(ModelFormatError, match="learning rate in the file must be a number above"):
        stagewise.load(path)
