"""Custom losses: fits with them, and errors for invalid ones."""

from __future__ import annotations

import numpy as np
import pytest

import stagewise
from estimators.tables import make_table, quick
from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
)
from stagewise.losses import (
    AbsoluteError,
    Cox,
    LambdaNdcg,
    Logistic,
    Loss,
    Multinomial,
    Poisson,
    SquaredError,
)


@pytest.fixture(scope="module")
def table():
    return make_table(500)


def without_kernel(loss):
    """Return the same loss without its native kernel."""
    return type(loss.__name__, (loss,), {"bind": Loss.bind})


@pytest.mark.parametrize(
    "params", [{}, {"subsample": 0.6, "early_stopping": True}], ids=["all rows", "drawn rows"]
)
@pytest.mark.parametrize("loss", [SquaredError, AbsoluteError])
def test_a_python_loss_equals_its_native_kernel(loss, params, table):
    weight = 1 + np.arange(500) % 3
    own, native = (
        quick(GradientBoostingRegressor, loss=choice, **params).fit(
            table.X, table.number, sample_weight=weight
        )
        for choice in (without_kernel(loss)(), loss.name)
    )
    assert own.fingerprint() == native.fingerprint()
    np.testing.assert_allclose(own.train_loss_, native.train_loss_, rtol=1e-6)


@pytest.mark.parametrize(
    ("loss", "classes"),
    [(without_kernel(Logistic)(), "two"), (without_kernel(Multinomial)(5), "many")],
)
def test_a_python_class_loss_equals_its_native_kernel(loss, classes, table, monkeypatch):
    y = getattr(table, classes)
    native = quick(GradientBoostingClassifier).fit(table.X, y)
    monkeypatch.setattr(GradientBoostingClassifier, "_make_loss", lambda self, classes: loss)
    own = quick(GradientBoostingClassifier).fit(table.X, y)
    # The kernels work in float32; see the docstrings.
    np.testing.assert_allclose(own.predict_proba(table.X), native.predict_proba(table.X), atol=1e-5)


class Asymmetric(Loss):
    """Underestimation costs three times as much as overestimation; as a user would write it."""

    def loss(self, y, score):
        apart = y - score
        return np.where(apart > 0, 3.0, 1.0) * apart**2

    def derivatives(self, y, score):
        apart = y - score
        factor = np.where(apart > 0, 3.0, 1.0)
        return -2 * factor * apart, 2 * factor


def test_custom_loss_is_minimised(table):
    y = table.number / 1000
    own = quick(GradientBoostingRegressor, loss=Asymmetric(), n_estimators=40).fit(table.X, y)
    plain = quick(GradientBoostingRegressor, n_estimators=40).fit(table.X, y)
    loss = Asymmetric()
    assert loss.loss(y, own.predict(table.X)).mean() < loss.loss(y, plain.predict(table.X)).mean()
    assert own.model_.loss == "custom"


@pytest.mark.parametrize("factor", [1e-20, 1e-15, 1e15, 1e30])
def test_a_custom_loss_starts_from_its_best_constant_at_any_scale(factor, table):
    y = table.number / 1000
    plain, scaled = (Asymmetric().best_constant(y * unit, None)[0] for unit in (1.0, factor))
    assert scaled / factor == pytest.approx(plain, rel=1e-6)
    assert plain > y.mean(), "too little costs more"


def test_a_custom_loss_cannot_be_saved_to_a_file(table, tmp_path):
    model = quick(GradientBoostingRegressor, loss=Asymmetric()).fit(table.X, table.number)
    with pytest.raises(ValueError, match="holds no code"):
        model.save(tmp_path / "m.stgw")
    assert not list(tmp_path.iterdir())


def broken(**parts):
    return type("Broken", (Asymmetric,), {name: staticmethod(f) for name, f in parts.items()})()


def derivatives(y, score):
    return score - y, np.ones_like(score)


BROKEN = {
    "a loss that is not a number": (
        broken(loss=lambda y, s: y * np.nan, derivatives=derivatives),
        "the training loss became nan in round 1",
    ),
    "an infinite loss": (
        broken(loss=lambda y, s: y * np.inf, derivatives=derivatives),
        "the training loss became (inf|nan) in round 1",
    ),
    "gradients that are not numbers": (
        broken(derivatives=lambda y, s: (s * np.nan, s * 0)),
        "gradients that are not finite",
    ),
    "gradients beyond float32": (
        broken(derivatives=lambda y, s: (s + 1e39, s * 0 + 1)),
        "too large for a float32",
    ),
    "gradients too large to add": (
        broken(derivatives=lambda y, s: (s + 1e38, s * 0 + 1)),
        r"gradients whose absolute values sum to 5e\+40, too large .*degree",
    ),
    "hessians too large to add": (
        broken(derivatives=lambda y, s: (s - y, s * 0 + 1e38)),
        r"hessians whose absolute values sum to 5e\+40, too large",
    ),
    "gradients too small to be distinguished": (
        broken(derivatives=lambda y, s: (1e-30 * (s - y), s * 0 + 1)),
        r"gradients whose absolute values sum to [0-9.]+e-27, too small .*degree",
    ),
    "infinite hessians": (
        broken(derivatives=lambda y, s: (s, s * np.inf)),
        "hessians that are not finite",
    ),
    "a matrix of losses": (
        broken(loss=lambda y, s: (y[:, np.newaxis] - s) ** 2),
        r"loss returned the shape \(500, 500\); expected \(500,\)",
    ),
    "one array of derivatives": (
        broken(derivatives=lambda y, s: s - y),
        "derivatives returned ndarray; expected two arrays",
    ),
    "scores that are changed": (
        broken(derivatives=lambda y, s: (np.subtract(s, y, out=s), s * 0 + 1)),
        "read-only",
    ),
    "negative hessians": (
        broken(derivatives=lambda y, s: (s - y, s * 0 - 1)),
        r"negative hessian \(-1\)",
    ),
    "too few gradients": (
        broken(derivatives=lambda y, s: (s[:5], s * 0)),
        r"returned gradients of shape \(5,\); expected \(500,\)",
    ),
}


@pytest.mark.parametrize(("loss", "words"), BROKEN.values(), ids=BROKEN)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_invalid_loss_is_an_error(loss, words, table):
    monkey = quick(GradientBoostingRegressor, loss=loss)
    monkey.loss.best_constant = lambda y, weight: np.zeros(1)
    with pytest.raises(ValueError, match=words):
        monkey.fit(table.X, table.number / 1000)


def test_gradients_may_be_zero_after_convergence():
    X = np.arange(50.0)[:, np.newaxis]
    model = quick(GradientBoostingRegressor, loss=Asymmetric(), min_samples_leaf=1)
    model.set_params(learning_rate=1.0, l2_regularization=0.0, n_estimators=200, max_leaf_nodes=50)
    y = np.arange(50) * 1e-20
    np.testing.assert_allclose(model.fit(X, y).predict(X), y, rtol=1e-9, atol=1e-30)
    assert model.train_loss_[-1] < 1e-55, "gradients of 1e-28 were no error in the last rounds"


@pytest.mark.parametrize("value", [0.0, 1e-40, 1e-30, 3.0])
def test_a_constant_target_with_a_custom_loss(value):
    model = quick(GradientBoostingRegressor, loss=Asymmetric())
    with pytest.warns(UserWarning, match="y has only one value"):
        model.fit(np.arange(50.0)[:, np.newaxis], np.full(50, value))
    np.testing.assert_allclose(model.predict([[1.0]]), value, rtol=1e-6, atol=1e-12)


def test_y_scale_does_not_change_predictions_with_degree(table):
    loss = type("Scaled", (Asymmetric,), {"degree": 2})()
    plain, tiny = (
        quick(GradientBoostingRegressor, loss=loss).fit(table.X, table.number * unit)
        for unit in (1.0, 2.0**-100)
    )
    np.testing.assert_allclose(tiny.predict(table.X) * 2.0**100, plain.predict(table.X), rtol=1e-9)


def test_a_diverging_fit_is_an_error(table):
    model = GradientBoostingRegressor(learning_rate=3.0, n_estimators=3000, l2_regularization=0)
    with pytest.raises(ValueError, match=r"loss became (inf|nan) in round \d+.*learning_rate"):
        model.fit(table.X, table.number)


class Gaussian(Loss):
    """The negative log-likelihood of a normal distribution; scores are mean and log deviation."""

    n_outputs = 2

    def loss(self, y, score):
        mean, log_deviation = score.T
        return log_deviation + 0.5 * (y - mean) ** 2 * np.exp(-2 * log_deviation)

    def derivatives(self, y, score):
        residual, precision = y - score[:, 0], np.exp(-2 * score[:, 1])
        squares = residual**2 * precision
        gradient = np.column_stack([-residual * precision, 1 - squares])
        return gradient, np.column_stack([precision, 2 * squares + 1e-3])

    def best_constant(self, y, weight):
        return np.array([y.mean(), np.log(y.std())])


@pytest.mark.parametrize(
    "params", [{}, {"leaves": "vector"}, {"early_stopping": 3}], ids=["trees", "vector", "folds"]
)
def test_a_custom_loss_may_have_several_outputs(params, table):
    y = table.number / 1000
    model = quick(GradientBoostingRegressor, loss=Gaussian(), n_estimators=30, **params)
    predicted = model.fit(table.X, y).predict(table.X)
    assert predicted.shape == (len(y), 2)
    assert Gaussian().loss(y, predicted).mean() == pytest.approx(model.train_loss_[-1])
    assert np.corrcoef(predicted[:, 0], y)[0, 1] > 0.8
    *_, last = model.staged_predict(table.X)
    np.testing.assert_array_equal(last, predicted)
    with pytest.raises(ValueError, match="2 numbers per row, but y has one"):
        model.score(table.X, y)


def test_a_continued_fit_of_several_outputs_equals_one_fit(table):
    y = table.number / 1000
    whole = quick(GradientBoostingRegressor, loss=Gaussian(), n_estimators=8).fit(table.X, y)
    part = quick(GradientBoostingRegressor, loss=Gaussian(), n_estimators=3, warm_start=True)
    part.fit(table.X, y).set_params(n_estimators=8).fit(table.X, y)
    assert part.fingerprint() == whole.fingerprint()


class OwnSquaredError(SquaredError):
    """A loss of numbers."""


@pytest.mark.parametrize(
    ("loss", "classes", "words"),
    [
        (Logistic(), "many", "y has 5 classes, but the loss Logistic has 1 score per row"),
        (Multinomial(3), "many", "has 3 scores per row; expected 5"),
        (OwnSquaredError(), "two", r"mean returned the shape \(2,\) .*probabilities"),
    ],
)
def test_the_loss_of_a_classifier_must_fit_the_classes(loss, classes, words, table):
    with pytest.raises(ValueError, match=words):
        quick(GradientBoostingClassifier, loss=loss).fit(table.X, getattr(table, classes))


def test_a_class_loss_of_a_regressor_is_an_error(table):
    words = "must be a loss of numbers; Logistic is a loss of GradientBoostingClassifier"
    with pytest.raises(InvalidParameterError, match=words):
        quick(GradientBoostingRegressor, loss=Logistic()).fit(table.X, table.number)


def test_objects_of_losses_of_other_estimators_are_named(table):
    owners = {
        Cox(): "GradientBoostingSurvival",
        LambdaNdcg(): "GradientBoostingRanker",
        SquaredError(): "GradientBoostingRegressor",
    }
    for loss, owner in owners.items():
        words = f"{type(loss).__name__} is a loss of {owner}"
        with pytest.raises(InvalidParameterError, match=words):
            quick(GradientBoostingClassifier, loss=loss).fit(table.X, table.two)
        if owner != "GradientBoostingRegressor":
            with pytest.raises(InvalidParameterError, match=words):
                quick(GradientBoostingRegressor, loss=loss).fit(table.X, table.number)


def test_a_best_constant_must_have_one_number_per_output(table):
    loss = type("Own", (Asymmetric,), {"best_constant": lambda self, y, weight: np.zeros(2)})()
    with pytest.raises(ValueError, match=r"best_constant returned \[0.0, 0.0\]; expected"):
        quick(GradientBoostingRegressor, loss=loss).fit(table.X, table.number)


def test_predictions_do_not_depend_on_parameters_set_after_the_fit(table):
    model = quick(GradientBoostingRegressor).fit(table.X, table.number)
    before = model.predict(table.X)
    np.testing.assert_array_equal(model.set_params(loss=Poisson()).predict(table.X), before)


class Weighted(Loss):
    """Squared error times a factor, which is not in `parameter_names`."""

    def __init__(self, factor):
        self.factor = factor

    def loss(self, y, score):
        return self.factor * (y - score) ** 2


def test_a_continued_fit_refuses_other_parameters_of_a_custom_loss(table):
    assert repr(Weighted(3.0)) == "Weighted(factor=3.0)"
    model = quick(GradientBoostingRegressor, loss=Weighted(1.0), n_estimators=2, warm_start=True)
    model.fit(table.X, table.number).set_params(loss=Weighted(7.0), n_estimators=3)
    with pytest.raises(ValueError, match=r"factor=1\.0, but now it is 7\.0"):
        model.fit(table.X, table.number)


def test_a_class_loss_of_this_library_can_be_saved(table, tmp_path):
    model = quick(GradientBoostingClassifier, loss=Multinomial(5)).fit(table.X, table.many)
    model.save(tmp_path / "m.stgw")
    assert stagewise.load(tmp_path / "m.stgw").loss == "log_loss"
