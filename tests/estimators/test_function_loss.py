"""Functions as losses: (y, score) -> (gradient, hessian)."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone

from estimators.tables import make_table, quick
from stagewise import (
    AutoRegressor,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StagewiseRegressor,
)
from stagewise.errors import InvalidParameterError
from stagewise.losses import FunctionLoss, Loss, Poisson

Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier


@pytest.fixture(scope="module")
def table():
    return make_table(500)


def squared(y, score):
    return score - y, np.ones_like(score)


def logistic(y, score):
    p = expit(score)
    return p - y, p * (1 - p)


def multinomial(y, score):
    p = softmax(score, axis=1)
    return p - (y[:, np.newaxis] == np.arange(score.shape[1])), p * (1 - p)


def counts(y, score):
    return np.exp(score) - y, np.exp(score)


class Squared(Loss):
    """The same with a value."""

    def loss(self, y, score):
        return 0.5 * (y - score) ** 2

    def derivatives(self, y, score):
        return squared(y, score)


@pytest.mark.parametrize(
    "params",
    [{}, {"subsample": 0.6, "early_stopping": True}, {"early_stopping": 3}, {"leaves": "linear"}],
    ids=["all rows", "held-out rows", "folds", "linear leaves"],
)
def test_a_function_gives_the_model_of_its_loss(params, table):
    y, weight = table.number / 1000, 1.0 + np.arange(500) % 3
    own, known = (
        quick(Regressor, loss=loss, n_estimators=20, **params).fit(table.X, y, weight)
        for loss in (squared, Squared())
    )
    np.testing.assert_allclose(own.predict(table.X), known.predict(table.X), rtol=1e-7)
    assert own.n_iter_ == known.n_iter_
    assert own.model_.loss == "custom"


def test_the_loss_of_a_function_is_the_integral_of_its_gradient(table):
    y, weight = table.number / 1000, 1.0 + np.arange(500) % 3
    held = make_table(200, seed=3)
    own, known = (
        quick(Regressor, loss=loss, n_estimators=20, early_stopping=True).fit(
            table.X, y, weight, X_val=held.X, y_val=held.number / 1000
        )
        for loss in (squared, Squared())
    )
    start = own.model_.ensemble.base
    for history, rows, w in (
        ("train_loss_", y, weight),
        ("validation_loss_", held.number / 1000, np.ones(200)),
    ):
        first = np.average(0.5 * (rows - start) ** 2, weights=w)  # trapezoids of lines are exact
        expected = getattr(known, history) - first
        np.testing.assert_allclose(getattr(own, history), expected, rtol=1e-6)


def test_trapezoids_are_close_to_a_curved_loss(table):
    y = np.round(table.number / 500)
    own = quick(Regressor, loss=counts, n_estimators=30, learning_rate=0.2, init=1.0)
    own.fit(table.X, y)
    scores = own.predict(table.X)  # the link of a function is the identity
    expected = (Poisson().loss(y, scores) - Poisson().loss(y, np.ones(500))).mean()
    assert own.train_loss_[-1] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("function", "target"), [(logistic, "two"), (multinomial, "many")])
def test_a_function_of_class_codes_has_the_link_of_log_loss(function, target, table):
    y = getattr(table, target)
    own, known = (
        quick(Classifier, loss=loss, n_estimators=10).fit(table.X, y)
        for loss in (function, "log_loss")
    )
    np.testing.assert_allclose(own.predict_proba(table.X), known.predict_proba(table.X), atol=2e-5)
    np.testing.assert_array_equal(own.classes_, known.classes_)


def test_a_function_of_several_targets(table):
    own, known = (
        quick(Regressor, loss=loss, n_estimators=10).fit(table.X, table.numbers / 1000)
        for loss in (squared, Squared())
    )
    np.testing.assert_allclose(own.predict(table.X), known.predict(table.X), rtol=1e-7)
    differences = np.diff(own.train_loss_) - np.diff(known.train_loss_)
    np.testing.assert_allclose(differences, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("function", "y", "best"),
    [
        (squared, np.array([1e6, 2e6, 6e6]), 3e6),
        (squared, np.zeros(3), 0.0),
        (counts, np.array([1e5, 3e5]), np.log(2e5)),
        (counts, np.array([1e-5, 3e-5]), np.log(2e-5)),
        (logistic, np.array([0, 1, 1, 1]), np.log(3)),
        (lambda y, s: (np.sign(s - y), np.ones_like(s)), np.array([1.0, 2.0, 40.0]), 2.0),
        (lambda y, s: (s - y, np.zeros_like(s)), np.array([1.0, 2.0, 40.0]), 43 / 3),
    ],
    ids=["large", "zero", "overflow", "small", "odds", "median", "no hessian"],
)
def test_the_best_constant_is_the_zero_of_the_gradients(function, y, best):
    found = FunctionLoss(function).best_constant(y, None)
    np.testing.assert_allclose(found, [best], rtol=1e-9, atol=1e-12)
    weight = np.arange(1.0, len(y) + 1)
    weighted = FunctionLoss(function).best_constant(y, weight)
    repeated = FunctionLoss(function).best_constant(np.repeat(y, weight.astype(int)), None)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-12)


def test_the_best_constants_of_classes_are_log_probabilities(table):
    own = quick(Classifier, loss=multinomial, n_estimators=1).fit(table.X, table.many)
    base = own.model_.ensemble.base
    np.testing.assert_allclose(softmax(base), np.bincount(table.many) / 500, rtol=1e-9)


def test_early_stopping_by_a_metric(table):
    y = table.number / 1000
    own, known = (
        quick(Regressor, loss=loss, n_estimators=60, early_stopping=True, eval_metric="mae")
        for loss in (squared, Squared())
    )
    own.fit(table.X, y)
    known.fit(table.X, y)
    assert own.n_iter_ == known.n_iter_
    found, expected = (model.evals_result_["valid"]["mae"] for model in (own, known))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_the_default_number_of_rounds_is_chosen_for_a_function(table):
    model = Regressor(loss=squared, random_state=0).fit(table.X, table.number / 1000)
    assert 10 < model.n_iter_ < 3000


def test_clones_and_pickles_keep_the_function(table):
    model = quick(Regressor, loss=squared).fit(table.X, table.number / 1000)
    assert clone(model).get_params()["loss"] is squared
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table.X), model.predict(table.X))
    assert again.fingerprint() == model.fingerprint()
    assert model.recipe().startswith("squared x Newton steps")


def test_other_estimators_take_functions(table):
    y = table.number / 1000
    StagewiseRegressor(loss=squared, n_estimators=5).fit(table.X, y)
    BaggingRegressor(quick(Regressor, loss=squared), n_estimators=2).fit(table.X, y)
    partial = functools.partial(lambda k, y, s: (k * (s - y), k * np.ones_like(s)), 2.0)
    quick(Regressor, loss=partial).fit(table.X, y)


REFUSED = {
    "weights": (lambda y_true, y_pred, weight: None, r"multiplies .* by the weights"),
    "the order of Booster": (lambda preds, train_data: None, r"in this order; .*Exchange"),
    "one argument": (lambda y: None, r"arguments \(y, score\); <lambda> has \(y\)"),
    "a class": (Squared, r"is a class; pass an object of it: loss=Squared\(\)"),
}


@pytest.mark.parametrize(("loss", "words"), REFUSED.values(), ids=REFUSED)
def test_another_signature_is_an_error_with_the_remedy(loss, words, table):
    with pytest.raises(InvalidParameterError, match=words):
        quick(Regressor, loss=loss).fit(table.X, table.number)


def test_an_optional_weight_is_left_out(table):
    def optional(y, score, weight=None):
        assert weight is None
        return squared(y, score)

    quick(Regressor, loss=optional).fit(table.X, table.number / 1000, np.ones(500))


def test_invalid_derivatives_name_the_function(table):
    def broken(y, score):
        return score[:3], score

    with pytest.raises(ValueError, match=r"the loss broken returned gradients of shape \(3,\)"):
        quick(Regressor, loss=broken, init="zero").fit(table.X, table.number / 1000)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: quick(Regressor, loss=squared, subsample=0.5, oob_score=True).fit(X, y),
        lambda X, y: AutoRegressor(loss=squared, quality=1).fit(X, y),
        lambda X, y: (
            quick(Regressor, loss=squared, n_estimators=3, warm_start=True)
            .fit(X, y)
            .set_params(n_estimators=4)
            .fit(X, y)
        ),
    ],
    ids=["out-of-bag", "auto", "warm start"],
)
def test_what_needs_the_value_of_the_loss_is_an_error(fit, table):
    with pytest.raises(ValueError, match=r"needs the loss of every row.*stagewise\.Loss"):
        fit(table.X, table.number / 1000)
