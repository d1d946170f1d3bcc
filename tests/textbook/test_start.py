"""F before the first round: the algorithms of the notes start at 0, or from another model."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor as SklearnBoosting
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
)
from stagewise.datasets import make_friedman1, make_xor
from stagewise.export import export_text
from stagewise.inspection import decision_path, shap_values
from stagewise.learners import HistogramTree
from stagewise.losses import CLASSIFICATION_LOSSES, POINT_LOSSES, Loss

TEXTBOOK = {
    "n_estimators": 12,
    "learning_rate": 0.3,
    "max_leaf_nodes": None,
    "max_depth": 2,
    "min_samples_leaf": 1,
    "l2_regularization": 0.0,
    "max_features": None,
    "split": "exact",
}


@pytest.fixture(scope="module")
def table():
    return make_friedman1(300, seed=3)


def sklearn_tree():
    return DecisionTreeRegressor(max_depth=2)


# ---- the notes' algorithms, literally -----------------------------------------------------------


def gradient_boosting(X, y, derivative, rounds, v):
    """f_0 ← 0; r ← -dL/df; b_m ← argmin Σ (b - r)²; f_m ← f_(m-1) + v b_m."""
    f, stages = np.zeros(len(y)), []
    for _ in range(rounds):
        r = -derivative(f, y)
        f = f + v * sklearn_tree().fit(X, r).predict(X)
        stages.append(f)
    return np.array(stages)


def newton_boosting(X, y, derivative, curvature, rounds, v):
    """f_0 ← 0; r ← -g/h; b_m ← argmin Σ h (b - r)²; f_m ← f_(m-1) + v b_m."""
    f, stages = np.zeros(len(y)), []
    for _ in range(rounds):
        g, h = derivative(f, y), curvature(f, y)
        f = f + v * sklearn_tree().fit(X, -g / h, sample_weight=h).predict(X)
        stages.append(f)
    return np.array(stages)


def test_gradient_boosting_of_the_notes_starts_at_zero(table):
    X, y = table
    expected = gradient_boosting(X, y, lambda f, y: f - y, 12, 0.3)
    model = GradientBoostingRegressor(init="zero", response="gradient", **TEXTBOOK).fit(X, y)
    np.testing.assert_allclose(list(model.staged_predict(X)), expected, rtol=1e-5)


def test_newton_boosting_of_the_notes_starts_at_zero():
    X, y = make_xor(300, noise=0.1, seed=1)
    s = 2 * y - 1
    expected = newton_boosting(
        X,
        s,
        lambda f, s: -s / (1 + np.exp(f * s)),
        lambda f, s: 1 / (2 + np.exp(f * s) + np.exp(-f * s)),
        12,
        0.3,
    )
    model = GradientBoostingClassifier(init="zero", min_hessian=0.0, **TEXTBOOK).fit(X, y)
    np.testing.assert_allclose(list(model.staged_decision_function(X)), expected, rtol=1e-4)


def test_a_fit_that_is_added_as_it_is_takes_a_fixed_step():
    """Gradient boosting of the notes for classes: no optimum of regions, no line search."""
    X, y = make_xor(300, noise=0.1, seed=2)
    s = 2 * y - 1
    expected = gradient_boosting(X, s, lambda f, s: -s / (1 + np.exp(f * s)), 10, 1.0)
    tree = HistogramTree(
        max_leaf_nodes=None, max_depth=2, min_samples_leaf=1, min_hessian=0.0, l2=0.0
    )
    model = StagewiseClassifier(
        learner=tree,
        response="gradient",
        step="newton",
        init="zero",
        learning_rate=1.0,
        n_estimators=10,
        max_bins=1000,
    ).fit(X, y)
    np.testing.assert_allclose(list(model.staged_decision_function(X)), expected, rtol=1e-5)


def test_half_a_step_of_the_full_squared_error_is_forward_stagewise(table):
    """The remark of the notes: v = ½ and L = (f - y)² add the fit to the residuals."""
    X, y = table
    half = gradient_boosting(X, y, lambda f, y: 2 * (f - y), 5, 0.5)
    settings = TEXTBOOK | {"n_estimators": 5, "learning_rate": 1.0}
    model = GradientBoostingRegressor(init="zero", **settings).fit(X, y)
    np.testing.assert_allclose(list(model.staged_predict(X)), half, rtol=1e-5)


# ---- constants ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "poisson"])
@pytest.mark.parametrize("init", ["zero", 2.5])
def test_the_first_score_is_the_start(loss, init, table):
    X, y = table[0], np.round(np.abs(table[1]))
    model = GradientBoostingRegressor(loss=loss, init=init, n_estimators=1).fit(X, y)
    start = 0.0 if init == "zero" else init
    link = np.exp if loss == "poisson" else float
    offset, base = model.model_.offset, model.model_.ensemble.base[0]
    assert link(offset + model.model_.scale * base) == link(start)
    by_round = np.array(list(model.staged_predict(X)))
    assert not np.allclose(by_round[0], link(start))


def test_the_start_of_every_class_is_a_number_of_its_own():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = GradientBoostingClassifier(init=[1.0, 2.0, 3.0], n_estimators=2).fit(X, y)
    assert model.model_.ensemble.base.tolist() == [1.0, 2.0, 3.0]
    one = GradientBoostingClassifier(init=2.0, n_estimators=2).fit(X, y)
    assert one.model_.ensemble.base.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="'init' has 2 numbers, but the model has 3 scores"):
        GradientBoostingClassifier(init=[1.0, 2.0], n_estimators=2).fit(X, y)


def test_several_targets_start_at_numbers_of_their_own(table):
    X, y = table
    Y = np.column_stack([y, 100 * y])
    model = GradientBoostingRegressor(init=[1.0, 2.0], n_estimators=1).fit(X, Y)
    assert model.model_.offset.tolist() == [1.0, 2.0]
    assert model.model_.ensemble.base.tolist() == [0.0, 0.0]


def test_folds_start_where_the_model_starts(table):
    X, y = table
    given = {"n_estimators": 40, "early_stopping": KFold(3), "max_leaf_nodes": 4}
    models = [GradientBoostingRegressor(init=i, **given).fit(X, y + 50) for i in ("zero", "mean")]
    assert models[0].validation_loss_[0] > 10 * models[1].validation_loss_[0]


@pytest.mark.parametrize(
    "init", ["median", np.nan, None, True, [[1.0]], [], GradientBoostingRegressor]
)
def test_a_start_that_is_no_number_is_refused(init, table):
    message = "'init' of GradientBoostingRegressor must be 'mean', 'zero', a number"
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(init=init).fit(*table)


def test_a_continued_fit_keeps_its_start(table):
    X, y = table
    model = GradientBoostingRegressor(init="zero", n_estimators=3, warm_start=True).fit(X, y)
    whole = GradientBoostingRegressor(init="zero", n_estimators=6, learning_rate=0.1).fit(X, y)
    assert model.set_params(n_estimators=6).fit(X, y).fingerprint() == whole.fingerprint()
    with pytest.raises(ValueError, match="warm_start continues a model with init='zero'"):
        model.set_params(n_estimators=9, init="mean").fit(X, y)


# ---- estimators ---------------------------------------------------------------------------------


def test_the_first_scores_are_the_predictions_of_an_estimator(table):
    """Boosting from an estimator is boosting of its residuals, for squared error."""
    X, y = table
    start = LinearRegression().fit(X, y).predict(X)
    settings = TEXTBOOK | {"n_estimators": 5}
    model = GradientBoostingRegressor(init=LinearRegression(), **settings).fit(X, y)
    of_residuals = GradientBoostingRegressor(init="zero", **settings).fit(X, y - start)
    np.testing.assert_allclose(model.predict(X), start + of_residuals.predict(X), rtol=1e-6)
    np.testing.assert_allclose(model.init_.predict(X), start)


def test_scikit_learn_starts_at_the_same_scores(table):
    X, y = table
    theirs = SklearnBoosting(init=LinearRegression(), n_estimators=5, max_depth=2).fit(X, y)
    settings = TEXTBOOK | {"n_estimators": 5, "learning_rate": 0.1}
    ours = GradientBoostingRegressor(init=LinearRegression(), **settings).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_start_at_the_probabilities_of_a_classifier(loss, n_classes):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = np.array(["c", "a", "b"])[np.digitize(X[:, 0] + X[:, 1], [0.0, 1.0][: n_classes - 1])]
    tiny = {"n_estimators": 1, "learning_rate": 1e-12}
    model = GradientBoostingClassifier(loss=loss, init=LogisticRegression(C=0.1), **tiny).fit(X, y)
    expected = LogisticRegression(C=0.1).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-6)


def test_log_links_start_at_the_logarithm_of_predictions(table):
    X, y = table[0], np.round(np.abs(table[1]))
    tiny = {"n_estimators": 1, "learning_rate": 1e-12, "loss": "poisson"}
    model = GradientBoostingRegressor(init=PoissonRegressor(), **tiny).fit(X, y)
    np.testing.assert_allclose(model.predict(X), PoissonRegressor().fit(X, y).predict(X), rtol=1e-6)
    with pytest.raises(ValueError, match=r"'init', LinearRegression, predicts .* no finite score"):
        GradientBoostingRegressor(init=LinearRegression(), **tiny).fit(
            X, np.where(X[:, 0] > 0.9, 50.0, 0.0)
        )


def test_folds_fit_the_estimator_to_their_own_rows(table):
    X, y = table
    folds = KFold(3)
    model = GradientBoostingRegressor(
        init=LinearRegression(), n_estimators=1, learning_rate=1e-12, early_stopping=folds
    ).fit(X, y)
    expected = cross_val_predict(LinearRegression(), X, y, cv=folds)
    np.testing.assert_allclose(model.oof_prediction_, expected, rtol=1e-6)


def test_validation_rows_start_at_the_predictions_of_the_estimator(table):
    X, y = table
    model = GradientBoostingRegressor(init=LinearRegression(), n_estimators=5, learning_rate=1e-12)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    start = LinearRegression().fit(X[:200], y[:200]).predict(X[200:])
    np.testing.assert_allclose(model.validation_loss_[0], 0.5 * np.mean((y[200:] - start) ** 2))


@pytest.mark.parametrize("learner", [None, LinearRegression()], ids=["trees", "estimators"])
def test_any_learner_starts_from_an_estimator(learner, table):
    X, y = table
    tiny = {"n_estimators": 2, "learning_rate": 1e-12}
    model = StagewiseRegressor(learner=learner, init=sklearn_tree(), **tiny).fit(X, y)
    np.testing.assert_allclose(model.predict(X), sklearn_tree().fit(X, y).predict(X), rtol=1e-6)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


def test_pickles_keep_the_estimator_and_files_refuse_it(table, tmp_path):
    X, y = table
    model = GradientBoostingRegressor(init=LinearRegression(), n_estimators=3).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.fingerprint() == model.fingerprint()
    other = GradientBoostingRegressor(init="zero", n_estimators=3).fit(X, y)
    assert other.fingerprint() != model.fingerprint()
    with pytest.raises(ValueError, match=r"starts from an estimator \(LinearRegression\)"):
        model.save(tmp_path / "model.stgw")
    with pytest.raises(ValueError, match="shap_values explains the scores of trees"):
        shap_values(model, X)
    assert clone(model).init.get_params() == LinearRegression().get_params()


def test_a_continued_fit_keeps_its_estimator(table):
    X, y = table
    given = {"init": LinearRegression(), "learning_rate": 0.1}
    model = GradientBoostingRegressor(n_estimators=3, warm_start=True, **given).fit(X, y)
    whole = GradientBoostingRegressor(n_estimators=6, **given).fit(X, y)
    model.set_params(n_estimators=6).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_weights_reach_the_estimator(table):
    X, y = table
    weight = np.where(X[:, 0] > 0.5, 3.0, 0.0)
    model = GradientBoostingRegressor(init=LinearRegression(), n_estimators=3).fit(X, y, weight)
    expected = LinearRegression().fit(X, y, weight)
    np.testing.assert_allclose(model.init_.coef_, expected.coef_)


def test_a_classifier_without_probabilities_is_refused():
    X, y = make_xor(60)
    with pytest.raises(ValueError, match="'init' must have predict_proba"):
        StagewiseClassifier(init=LinearRegression()).fit(X, y)


@pytest.mark.parametrize("stopping", [True, 3])
@pytest.mark.parametrize("kind", ["coo", "csc", "pandas", "polars", "pyarrow", "batch"])
def test_rows_of_any_table_reach_the_estimator(kind, stopping, table):
    X, y = table
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    made = {
        "coo": lambda: scipy.sparse.coo_matrix(X),
        "csc": lambda: scipy.sparse.csc_array(X),
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "pyarrow": lambda: pa.table(frame),
        "batch": lambda: pa.RecordBatch.from_pandas(frame),
    }[kind]()
    given = {"init": LinearRegression(), "n_estimators": 3, "early_stopping": stopping}
    model = GradientBoostingRegressor(**given).fit(made, y)
    expected = GradientBoostingRegressor(**given).fit(X, y)
    near = 1e-5 if kind in ("coo", "csc") else 1e-9  # scikit-learn iterates on sparse rows
    np.testing.assert_allclose(model.predict(made), expected.predict(X), rtol=near)


def test_columns_reach_the_estimator_in_the_order_of_the_fit(table):
    X, y = table
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    model = GradientBoostingRegressor(init=LinearRegression(), n_estimators=3)
    turned = frame[frame.columns[::-1]]
    model.fit(frame, y, X_val=turned, y_val=y)
    np.testing.assert_array_equal(model.predict(turned), model.predict(frame))
    assert model.predict(frame[:0]).shape == (0,)
    rows = turned[:3].to_dict("records")
    # The sums of scikit-learn depend on the layout of its input, in the last digit.
    np.testing.assert_allclose(model.predict(rows), model.predict(frame[:3]), rtol=1e-12)
    np.testing.assert_allclose(model.predict(rows[0]), model.predict(frame[:1]), rtol=1e-12)
    with pytest.raises(TypeError, match=r"that GradientBoostingRegressor fits reads X itself"):
        model.fit(frame.to_dict("records"), y)


def test_one_class_needs_no_start():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(UserWarning, match="one class"):
        model = GradientBoostingClassifier(init=LogisticRegression()).fit(X, np.ones(20))
    assert (model.predict(X) == 1).all()


def test_weights_need_an_estimator_that_has_them(table):
    X, y = table
    weight = np.linspace(1, 2, len(y))
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    model = GradientBoostingRegressor(init=pipeline, n_estimators=2).fit(X, y, weight)
    expected = LinearRegression().fit(X, y, weight).predict(X)
    np.testing.assert_allclose(model.init_.predict(X), expected)
    with pytest.raises(ValueError, match="'init', KNeighborsRegressor, has no argument sample_we"):
        GradientBoostingRegressor(init=KNeighborsRegressor(), n_estimators=2).fit(X, y, weight)


def test_predictions_of_another_shape_are_an_error(table):
    class Wide(LinearRegression):
        def predict(self, X):
            return np.zeros((len(X), 2))

    with pytest.raises(ValueError, match=r"'init', Wide, predicts an array of shape \(300, 2\)"):
        GradientBoostingRegressor(init=Wide(), n_estimators=2).fit(*table)


def test_explanations_of_paths_refuse_an_estimator_and_exports_show_the_trees(table):
    X, y = table
    model = GradientBoostingRegressor(init=LinearRegression(), n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="decision_path explains the scores of trees"):
        decision_path(model, X[:1])
    assert "gain" in export_text(model, show_gain=True)


@pytest.mark.parametrize("loss", [*POINT_LOSSES, *CLASSIFICATION_LOSSES])
def test_the_link_is_the_inverse_of_the_mean(loss):
    for made in (
        [POINT_LOSSES[loss]()]
        if loss in POINT_LOSSES
        else [CLASSIFICATION_LOSSES[loss](k) for k in (2, 3)]
    ):
        score = np.random.default_rng(0).normal(size=(20, made.n_outputs))
        score -= score.mean(axis=1, keepdims=True) if made.n_outputs > 1 else 0.0
        score = score[:, 0] if made.n_outputs == 1 else score
        if loss in ("hinge", "one_vs_rest"):  # probabilities are clipped, or divided by their sum
            p = made.mean(score)
            np.testing.assert_allclose(made.mean(made.link(p)), p, atol=1e-12)
        else:
            np.testing.assert_allclose(made.link(made.mean(score)), score, atol=1e-12)


def test_a_loss_with_a_mean_needs_a_link(table):
    class Doubled(Loss):
        def loss(self, y, score):
            return (y - 2 * score) ** 2

        def mean(self, score):
            return 2 * score

    model = GradientBoostingRegressor(loss=Doubled(), init=LinearRegression(), n_estimators=2)
    with pytest.raises(NotImplementedError, match=r"Doubled defines `mean`.*Define `link`"):
        model.fit(*table)
