"""Fully corrective boosting: α_1, α_2, … are learned jointly."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, OrthogonalMatchingPursuit, Ridge
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from stagewise import StagewiseClassifier, StagewiseRegressor
from stagewise.boosting.correction import fit_coefficients
from stagewise.datasets import make_friedman1, make_xor
from stagewise.inspection import show_split
from stagewise.learners import HistogramTree
from stagewise.losses import CLASSIFICATION_LOSSES, Loss, Poisson, SquaredError

TREE = HistogramTree(max_leaf_nodes=3, min_samples_leaf=1, min_hessian=0.0, l2=0.0)


@pytest.fixture(scope="module")
def table():
    return make_friedman1(300, seed=2)


def term_values(model, X):
    """Return what each round adds to F, shape (n_rows, n_rounds)."""
    stages = np.array(list(model.staged_predict(X)))
    return np.diff(stages, axis=0, prepend=np.zeros((1, len(X)))).T


# ---- the textbook -------------------------------------------------------------------------------


def corrective_boosting(X, y, rounds, at_end=False):
    """Fit trees to residuals; after each round solve min_c ‖y - Σ c_m b_m‖² for all c."""
    terms, f = [], np.zeros(len(y))
    for m in range(rounds):
        tree = DecisionTreeRegressor(max_leaf_nodes=3).fit(X, y - f)
        terms.append(tree.predict(X))
        B = np.column_stack(terms)
        if not at_end or m == rounds - 1:
            c = np.linalg.lstsq(B, y, rcond=None)[0]
            terms = list((B * c).T)
        f = np.sum(terms, axis=0)
    return f


@pytest.mark.parametrize("when", ["each_round", "end"])
def test_least_squares_boosting_with_correction_is_the_textbook(when, table):
    X, y = table
    model = StagewiseRegressor(
        learner=TREE, init="zero", learning_rate=1, n_estimators=8, max_bins=1000, corrective=when
    ).fit(X, y)
    expected = corrective_boosting(X, y, 8, at_end=when == "end")
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-4)
    np.testing.assert_allclose(model.train_loss_[-1], 0.5 * np.mean((y - expected) ** 2), rtol=1e-4)


@pytest.mark.parametrize("when", ["each_round", "end"])
def test_no_other_coefficients_have_a_smaller_loss(when, table):
    X, y = table
    model = StagewiseRegressor(
        learner=TREE, init="zero", n_estimators=10, learning_rate=0.5, corrective=when
    ).fit(X, y)
    B = term_values(model, X)
    best = np.linalg.lstsq(B, y, rcond=None)[0]
    np.testing.assert_allclose(best, 1.0, atol=1e-6)


def test_each_round_is_at_least_as_good_as_none(table):
    X, y = table
    given = {"learner": TREE, "n_estimators": 30, "learning_rate": 0.3}
    losses = {
        when: StagewiseRegressor(corrective=when, **given).fit(X, y).train_loss_
        for when in (None, "end", "each_round")
    }
    assert losses["end"][-1] < losses[None][-1]
    np.testing.assert_array_equal(losses["end"][:-1], losses[None][:-1])
    assert losses["each_round"][-1] < losses[None][-1]
    assert (np.diff(losses["each_round"]) <= 0).all()


def test_one_feature_at_a_time_is_orthogonal_matching_pursuit():
    """The terms are single features; after each round all coefficients are least squares."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 8))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X @ np.array([3.0, -2.0, 1.0, 0, 0, 0.5, 0, 0]) + 0.1 * rng.normal(size=200)
    y -= y.mean()
    model = StagewiseRegressor(
        learner=_OneFeature(), init="zero", learning_rate=1, n_estimators=4, corrective="each_round"
    ).fit(X, y)
    theirs = OrthogonalMatchingPursuit(n_nonzero_coefs=4, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-6)


class _OneFeature(Ridge):
    """Least squares on the feature that is most correlated with the target."""

    def fit(self, X, y, sample_weight=None):
        self.place_ = int(np.argmax(np.abs(X.T @ y)))
        x = X[:, self.place_]
        self.slope_ = float(x @ y / (x @ x))
        return self

    def predict(self, X):
        return self.slope_ * X[:, self.place_]


def test_log_loss_is_logistic_regression_on_the_terms():
    X, y = make_xor(400, noise=0.15, seed=4)
    model = StagewiseClassifier(
        learner=TREE, init="zero", n_estimators=5, learning_rate=0.5, corrective="end"
    ).fit(X, y)
    stages = np.array(list(model.staged_decision_function(X)))
    B = np.diff(stages, axis=0, prepend=np.zeros((1, len(X)))).T
    best = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(B, y)
    np.testing.assert_allclose(best.coef_[0], 1.0, atol=1e-3)


@pytest.mark.parametrize("name", list(CLASSIFICATION_LOSSES))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gradient_of_the_coefficients_is_zero(name, n_classes):
    rng = np.random.default_rng(0)
    loss = CLASSIFICATION_LOSSES[name](n_classes)
    y = rng.integers(0, n_classes, 300).astype(np.int32)
    outputs = [m % loss.n_outputs for m in range(2 * loss.n_outputs)]
    amounts = [rng.normal(size=300) for _ in outputs]
    weight, start = rng.uniform(0.5, 2.0, 300), np.zeros((300, loss.n_outputs))
    c = fit_coefficients(loss, y, weight, start, outputs, amounts)
    score = start.copy()
    for k, amount, own in zip(outputs, amounts, c, strict=True):
        score[:, k] += own * amount
    g, _ = loss.derivatives(y, score[:, 0] if loss.n_outputs == 1 else score)
    g = g.reshape(300, -1)
    slopes = [np.sum(weight * g[:, k] * b) for k, b in zip(outputs, amounts, strict=True)]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-4)


def test_weights_are_frequencies(table):
    _, y = table
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 3, len(y))
    amounts = [rng.normal(size=len(y)) for _ in range(4)]
    start = np.zeros((len(y), 1))
    by_weight = fit_coefficients(SquaredError(), y, counts * 1.0, start, [0] * 4, amounts)
    rows = np.repeat(np.arange(len(y)), counts)
    repeated = [a[rows] for a in amounts]
    copied = fit_coefficients(SquaredError(), y[rows], None, start[rows], [0] * 4, repeated)
    np.testing.assert_allclose(by_weight, copied, rtol=1e-9)


def test_dependent_terms_share_a_coefficient():
    y = np.arange(10.0)
    b = np.ones(10)
    c = fit_coefficients(SquaredError(), y, None, np.zeros((10, 1)), [0, 0], [b, b])
    np.testing.assert_allclose(c.sum(), y.mean())


def test_separated_classes_do_not_diverge():
    X = np.linspace(-1, 1, 100)[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    model = StagewiseClassifier(learner=TREE, n_estimators=5, corrective="each_round").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == y).all()


def test_counts_are_corrected_on_the_log_scale():
    rng = np.random.default_rng(5)
    b = rng.normal(size=500)
    y = rng.poisson(np.exp(0.3 + 0.7 * b)).astype(float)
    start = np.zeros((500, 1))
    c = fit_coefficients(Poisson(), y, None, start, [0, 0], [b, np.ones(500)])
    np.testing.assert_allclose(c, [0.7, 0.3], atol=0.1)


# ---- the fit ------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["each_round", "end"])
def test_early_stopping_keeps_the_corrected_model_of_the_best_round(when, table):
    X, y = table
    given = {"learner": TREE, "corrective": when, "learning_rate": 1.0}
    model = StagewiseRegressor(n_estimators=60, n_iter_no_change=5, **given)
    model.fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    assert model.n_iter_ < 60
    short = StagewiseRegressor(n_estimators=model.n_iter_, **given).fit(X[:150], y[:150])
    np.testing.assert_allclose(model.predict(X), short.predict(X), rtol=1e-9)
    held = 0.5 * np.mean((y[150:] - model.predict(X[150:])) ** 2)
    np.testing.assert_allclose(model.validation_loss_[model.n_iter_ - 1], held)


@pytest.mark.parametrize("learner", [TREE, Ridge()], ids=["trees", "estimators"])
def test_predictions_are_the_scores_of_the_fit(learner, table):
    X, y = table
    model = StagewiseRegressor(learner=learner, n_estimators=5, corrective="each_round").fit(X, y)
    np.testing.assert_allclose(model.train_loss_[-1], 0.5 * np.mean((y - model.predict(X)) ** 2))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert "corrective='each_round'" in model.recipe()


def test_the_losses_of_folds_are_those_of_the_corrected_models(table):
    X, y = table
    model = StagewiseRegressor(
        learner=TREE, n_estimators=10, corrective="end", early_stopping=KFold(3)
    ).fit(X, y)
    best = model.fit_report_["round_choice"]["best_round"]
    found = 0.5 * np.mean((y - model.oof_prediction_) ** 2)
    np.testing.assert_allclose(model.validation_loss_[best - 1], found)


def test_gradients_of_a_round_are_unknown_after_a_correction(table):
    X, y = table
    model = StagewiseRegressor(learner=TREE, n_estimators=3, corrective="each_round").fit(X, y)
    with pytest.raises(ValueError, match="show_split: with corrective='each_round'"):
        show_split(model, X, y, 1, 0)


def test_losses_without_curvature_are_refused(table):
    with pytest.raises(ValueError, match=r"corrective='end' .* loss='absolute_error' has none"):
        StagewiseRegressor("absolute_error", corrective="end").fit(*table)


def test_a_loss_of_ones_own_is_corrected(table):
    class Cosh(Loss):
        def loss(self, y, score):
            return np.cosh((y - score) / 10) * 100

    X, y = table
    given = {"learner": TREE, "n_estimators": 5, "learning_rate": 0.3}
    plain = StagewiseRegressor(Cosh(), **given).fit(X, y)
    corrected = StagewiseRegressor(Cosh(), corrective="each_round", **given).fit(X, y)
    assert corrected.train_loss_[-1] < plain.train_loss_[-1]
