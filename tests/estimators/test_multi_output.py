"""Several targets, and vector leaves."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import stagewise
from estimators.tables import make_table, quick
from stagewise import (
    Dart,
    FeatureSampling,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    SplitSearch,
    StagewiseRegressor,
)
from stagewise.errors import InvalidParameterError
from stagewise.losses import Tweedie

Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier
ROWS = 600
LOSSES = {
    "squared_error": {},
    "absolute_error": {},
    "huber": {"quantile": 0.8},
    "quantile": {"quantile": 0.3},
    "poisson": {},
    "gamma": {},
    "tweedie": {"loss": Tweedie(power=1.3)},
}
KINDS = ["constant", "vector"]


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS)


def power_of_two_spread(y):
    """Scale to a standard deviation of 1, so that one fit and several agree."""
    return (y - y.mean()) / y.std()


# ---- several targets, one tree for each --------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_one_tree_per_target_equals_separate_fits(table, loss):
    params = {"loss": loss, **LOSSES[loss], "max_features": 1.0}  # each tree draws its own features
    together = quick(Regressor, **params).fit(table.X, table.numbers)
    predicted = together.predict(table.X)
    assert predicted.shape == table.numbers.shape
    for k in range(3):
        alone = quick(Regressor, **params).fit(table.X, table.numbers[:, k])
        np.testing.assert_allclose(predicted[:, k], alone.predict(table.X), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_decreases(table, loss, kind):
    model = quick(Regressor, **{"loss": loss, **LOSSES[loss]}, leaves=kind, n_estimators=30)
    model.fit(table.X, table.numbers)
    assert model.train_loss_[-1] < model.train_loss_[0]
    score = model.score(table.X, table.numbers)
    assert score > (0.3 if loss != "quantile" else -0.5)


def test_the_reported_loss_is_the_mean_in_units_of_each_target(table):
    model = quick(Regressor).fit(table.X, table.numbers)
    off = (model.predict(table.X) - table.numbers) / table.numbers.std(axis=0)
    assert model.train_loss_[-1] == pytest.approx(np.mean(off**2) / 2)
    counts = quick(Regressor, loss="poisson").fit(table.X, table.numbers)
    score = np.log(counts.predict(table.X))
    assert counts.train_loss_[-1] == pytest.approx(np.mean(np.exp(score) - table.numbers * score))


def test_the_score_is_the_mean_of_r2(table):
    model = quick(Regressor).fit(table.X, table.numbers)
    off = ((model.predict(table.X) - table.numbers) ** 2).mean(axis=0)
    assert model.score(table.X, table.numbers) == pytest.approx(
        np.mean(1 - off / table.numbers.var(axis=0))
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_of_a_target_does_not_change_the_others(table, kind):
    y = table.numbers
    expected = quick(Regressor, leaves=kind).fit(table.X, y).predict(table.X)
    scale, shift = np.array([3.7, 1e-9, 1e6]), np.array([5.0, 0.0, -1e7])
    scaled = quick(Regressor, leaves=kind).fit(table.X, y * scale + shift)
    np.testing.assert_allclose(
        (scaled.predict(table.X) - shift) / scale, expected, rtol=1e-5, atol=1e-5
    )


def test_names_of_targets_are_saved(table, tmp_path):
    y = pd.DataFrame(table.numbers, columns=["a", "b", "größe"])
    model = quick(Regressor).fit(table.X, y)
    assert model.target_names_.tolist() == ["a", "b", "größe"]
    model.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    assert loaded.target_names_.tolist() == ["a", "b", "größe"]
    np.testing.assert_array_equal(loaded.predict(table.X), model.predict(table.X))
    array = model.fit(table.X, table.numbers)
    assert not hasattr(array, "target_names_")
    assert array.fingerprint() == loaded.fingerprint()


@pytest.mark.parametrize("kind", ["pandas", "polars", "list"])
def test_targets_may_have_any_container(table, kind):
    y = table.numbers
    forms = {"pandas": pd.DataFrame, "list": lambda y: y.tolist()}
    if kind == "polars":
        forms["polars"] = pytest.importorskip("polars").DataFrame
    model = quick(Regressor).fit(table.X, forms[kind](y))
    assert model.fingerprint() == quick(Regressor).fit(table.X, y).fingerprint()


def test_validation_targets_are_matched_by_name(table):
    y = pd.DataFrame(table.numbers, columns=["a", "b", "c"])
    fits = [
        quick(Regressor, n_estimators=20).fit(table.X, y, X_val=table.X, y_val=y_val)
        for y_val in (y, y[["c", "a", "b"]], table.numbers)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].validation_loss_, other.validation_loss_)
    with pytest.raises(ValueError, match="'c' is in one of them only"):
        quick(Regressor).fit(table.X, y, X_val=table.X, y_val=y.rename(columns={"c": "d"}))
    with pytest.raises(ValueError, match=r"In y_val: .*as many targets as in y, 3; got 2"):
        quick(Regressor).fit(table.X, y, X_val=table.X, y_val=table.numbers[:, :2])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.nan, r"In target 1 of y: Input y contains NaN.*the first at row 7"),
        (np.inf, r"In target 1 of y: .*infinity.*at row 7"),
        ("high", r"In target 1 of y: .*'high' at row 7"),
    ],
)
def test_error_names_an_invalid_target(table, bad, words):
    y = table.numbers.astype(object)
    y[7, 1] = bad
    with pytest.raises((ValueError, TypeError), match=words):
        quick(Regressor).fit(table.X, y)
    frame = pd.DataFrame(y, columns=["a", "b", "c"])
    with pytest.raises((ValueError, TypeError), match="In target 'b' of y"):
        quick(Regressor).fit(table.X, frame)


def test_error_names_a_target_outside_the_domain(table):
    y = table.numbers.copy()
    y[3, 2] = -1.0
    with pytest.raises(ValueError, match=r"In target 2 of y: The gamma loss needs"):
        quick(Regressor, loss="gamma").fit(table.X, y)


def test_a_constant_target_is_predicted_exactly(table):
    y = table.numbers.copy()
    y[:, 1] = 7.25
    for kind in KINDS:
        model = quick(Regressor, leaves=kind).fit(table.X, y)
        np.testing.assert_array_equal(model.predict(table.X)[:, 1], 7.25)


def test_other_estimators_refuse_several_targets(table):
    with pytest.raises(ValueError, match="1d array"):
        StagewiseRegressor(n_estimators=2).fit(table.X, table.numbers)


# ---- vector leaves -----------------------------------------------------------------------------

SYMMETRIC = {"grow_policy": "symmetric", "max_depth": 4}
FITS = {
    "targets": (Regressor, "numbers", {}),
    "medians": (Regressor, "numbers", {"loss": "absolute_error"}),
    "widths": (Regressor, "numbers", {"loss": "huber"}),
    "counts": (Regressor, "numbers", {"loss": "tweedie"}),
    "gradients": (Regressor, "numbers", {"response": "gradient"}),
    "classes": (Classifier, "many", {}),
    "exponential": (Classifier, "many", {"loss": "exponential"}),
    "gradients of classes": (Classifier, "many", {"response": "gradient"}),
    "drawn rows": (Classifier, "many", {"subsample": 0.5, "max_features": 0.6}),
    "bootstrap": (Regressor, "numbers", {"sampling": "bootstrap", "loss": "quantile"}),
    "largest gradients": (Classifier, "many", {"sampling": "goss"}),
    "minimal variance": (Regressor, "numbers", {"sampling": "mvs", "subsample": 0.4}),
    "dropout": (Regressor, "numbers", {"dropout": Dart(rate=0.4, skip=0.1)}),
    "categories": (Classifier, "many", {"categorical_features": [1]}),
    "depth-wise": (Regressor, "numbers", {"grow_policy": "depth_wise", "max_depth": 3}),
    "groups": (Regressor, "numbers", {"interaction_cst": "pairwise"}),
    "symmetric": (Regressor, "numbers", SYMMETRIC),
    "symmetric classes": (Classifier, "many", SYMMETRIC),
    "symmetric, categories": (Classifier, "many", {**SYMMETRIC, "categorical_features": [1]}),
    "symmetric, quantiles": (Regressor, "numbers", {**SYMMETRIC, "loss": "quantile"}),
    "symmetric, drawn rows and features": (
        Classifier,
        "many",
        {
            **SYMMETRIC,
            "sampling": "mvs",
            "subsample": 0.5,
            "max_features": FeatureSampling(per_tree=0.8, per_level=0.6),
        },
    ),
    "symmetric, dropout and penalties": (
        Classifier,
        "many",
        {**SYMMETRIC, "dropout": Dart(rate=0.4), "l1_regularization": 0.5, "max_step": 0.4},
    ),
    "symmetric, groups": (Regressor, "numbers", {**SYMMETRIC, "interaction_cst": "pairwise"}),
    "symmetric, many bins": (Regressor, "numbers", {**SYMMETRIC, "max_bins": 400}),
    "penalties": (Classifier, "many", {"l1_regularization": 0.5, "max_step": 0.4}),
    "many bins": (Regressor, "numbers", {"max_bins": 400}),
}


def fit(name, table, **more):
    kind, target, params = FITS[name]
    model = quick(kind, **{"leaves": "vector", **params, **more})
    return model.fit(table.X, getattr(table, target))


@pytest.mark.parametrize("name", FITS)
def test_a_round_is_one_tree_with_a_value_for_each_output(table, name):
    model = fit(name, table)
    ensemble = model.model_.ensemble
    assert len(ensemble.trees) == ensemble.n_rounds == model.n_iter_ == 8
    assert model.apply(table.X[:5]).size == 5 * 8
    assert model.train_loss_[-1] < model.train_loss_[0]
    assert model.feature_importances_.sum() == pytest.approx(1)
    # The training scores, the predictions of many rows and of few rows are the same.
    many, few = (model._score(table.X), [model._score(row[np.newaxis]) for row in table.X[:40]])
    np.testing.assert_array_equal(many[:40], np.concatenate(few))
    *_, last = model._staged_score(table.X)
    np.testing.assert_array_equal(last, many)


@pytest.mark.parametrize("name", FITS)
def test_threads_do_not_matter(name):
    table = make_table(3000)
    prints = {fit(name, table, n_jobs=n, max_leaf_nodes=20).fingerprint() for n in (1, 2, 3)}
    assert len(prints) == 1


@pytest.mark.parametrize("name", FITS)
def test_a_continued_fit_equals_the_uninterrupted_one(table, name, tmp_path):
    kind, target, params = FITS[name]
    y = getattr(table, target)
    model = quick(kind, **params, leaves="vector", warm_start=True, n_estimators=3)
    model.fit(table.X, y).save(tmp_path / "model.stgw")
    for way in (
        stagewise.load(tmp_path / "model.stgw"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert way.fingerprint() == model.fingerprint()
        way.set_params(n_estimators=8).fit(table.X, y)
        assert way.fingerprint() == fit(name, table).fingerprint()


@pytest.mark.parametrize(
    "name",
    [
        "targets",
        "medians",
        "classes",
        "categories",
        "many bins",
        "symmetric",
        "symmetric classes",
        "symmetric, categories",
        "symmetric, many bins",
    ],
)
def test_weights_equal_repeated_rows(table, name):
    kind, target, params = FITS[name]
    weight = np.arange(ROWS) % 3
    twice = np.repeat(np.arange(ROWS), weight)
    y = getattr(table, target)
    weighted = quick(kind, **params, leaves="vector").fit(table.X, y, weight)
    copied = quick(kind, **params, leaves="vector").fit(table.X[twice], y[twice])
    np.testing.assert_allclose(
        weighted._score(table.X), copied._score(table.X), rtol=1e-6, atol=1e-7
    )
    absent = quick(kind, **params, leaves="vector").fit(table.X[weight > 0], y[weight > 0])
    ones = quick(kind, **params, leaves="vector").fit(table.X, y, (weight > 0) * 1.0)
    assert absent.fingerprint() == ones.fingerprint()


@pytest.mark.parametrize("growth", [{}, SYMMETRIC], ids=["best-first", "symmetric"])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_identical_targets_give_the_model_of_one(table, loss, growth):
    y = power_of_two_spread(table.number)
    one = quick(Regressor, loss=loss, **growth).fit(table.X, y)
    same = quick(Regressor, loss=loss, **growth, leaves="vector").fit(table.X, np.c_[y, y, y])
    for k in range(3):
        np.testing.assert_allclose(same.predict(table.X)[:, k], one.predict(table.X), rtol=1e-9)


def test_permuting_targets_permutes_predictions(table):
    order = [2, 0, 1]
    first = fit("targets", table).predict(table.X)
    second = quick(Regressor, leaves="vector").fit(table.X, table.numbers[:, order])
    np.testing.assert_array_equal(second.predict(table.X), first[:, order])


@pytest.mark.parametrize("name", ["targets", "classes"])
def test_early_stopping_cross_validation_and_out_of_bag_rows(table, name):
    kind, target, _ = FITS[name]
    y = getattr(table, target)
    for params in ({"early_stopping": True}, {"early_stopping": 3}):
        model = quick(kind, leaves="vector", n_estimators=40, learning_rate=0.7, **params)
        model.set_params(n_iter_no_change=2).fit(table.X, y)
        assert model.n_iter_ < 40
        assert len(model.model_.ensemble.trees) == model.n_iter_
    assert model.oof_prediction_.shape[0] == ROWS
    out = quick(kind, leaves="vector", subsample=0.5, oob_score=True).fit(table.X, y)
    assert len(out.oob_improvement_) == 8
    assert out.oob_improvement_[0] > 0


NOT_WITH_VECTORS = {
    "split": {"split": "exact"},
    "forced_splits": {"split": SplitSearch(forced_splits={"feature": 0, "threshold": 1.0})},
    "path_smoothing": {"path_smoothing": 1.0},
    "monotonic_cst": {"monotonic_cst": np.array([1, 0, 0, 0, 0])},
    "feature_penalty": {"feature_penalty": {0: 1.0}},
}


@pytest.mark.parametrize("name", NOT_WITH_VECTORS)
def test_options_that_vector_leaves_do_not_support_are_refused(table, name):
    with pytest.raises(InvalidParameterError, match=rf"leaves='vector'.*{name} must be"):
        fit("targets", table, **NOT_WITH_VECTORS[name])
    with pytest.raises(InvalidParameterError, match=rf"(symmetric|vector)'.*{name} must be"):
        fit("symmetric", table, **NOT_WITH_VECTORS[name])


@pytest.mark.parametrize(("kind", "target"), [(Regressor, "number"), (Classifier, "two")])
def test_a_vector_of_one_score_is_refused(table, kind, target):
    with pytest.raises(InvalidParameterError, match=r"leaves='vector'.*set leaves='constant'"):
        quick(kind, leaves="vector").fit(table.X, getattr(table, target))


def test_changes_that_a_continued_fit_refuses(table):
    model = quick(Regressor, warm_start=True).fit(table.X, table.numbers)
    model.set_params(n_estimators=9)
    with pytest.raises(ValueError, match=r"a model of 3 targets, but y has 2 targets"):
        model.fit(table.X, table.numbers[:, :2])
    with pytest.raises(ValueError, match=r"3 targets, but y has 3 targets \('a', 'b', 'c'\)"):
        model.fit(table.X, pd.DataFrame(table.numbers, columns=["a", "b", "c"]))
    with pytest.raises(InvalidParameterError, match="set leaves='constant'"):
        model.set_params(leaves="vector").fit(table.X, table.numbers)


def test_the_recipe_states_vector_leaves():
    assert "vector leaves" in Regressor(leaves="vector").recipe()
    assert "vector" not in Regressor().recipe()


def test_scikit_learns_multi_output_checks_pass():
    checks = [
        (model, check)
        for model, check in estimator_checks_generator(Regressor())
        if "multioutput" in str(check) or "y_2d" in str(check)
    ]
    assert checks
    for model, check in checks:
        check(model)
