"""The catalogue of faults for models made of other estimators: bagging, and any learner.

These estimators validate the values themselves; shapes, names, targets and weights are validated
here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import stagewise
from estimators.every import predictions
from estimators.tables import make_table
from stagewise import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
    UnknownCategoryWarning,
)

ROWS = 60
NAMES = list("abcde")
BOOSTED = {"n_estimators": 5, "min_samples_leaf": 2}
MODELS = {
    "terms of trees": StagewiseRegressor(learner=DecisionTreeRegressor(max_depth=3)),
    "linear terms": StagewiseRegressor(learner=LinearRegression()),
    "terms of classes": StagewiseClassifier(
        learner=DecisionTreeClassifier(max_depth=2), response="classes", loss="exponential"
    ),
    "terms of a logistic loss": StagewiseClassifier(learner=DecisionTreeRegressor(max_depth=2)),
    "bagged trees": BaggingRegressor(DecisionTreeRegressor()),
    "bagged linear models": BaggingRegressor(Ridge()),
    "votes": BaggingClassifier(DecisionTreeClassifier(), combine="vote"),
    "bagged boosting": BaggingClassifier(GradientBoostingClassifier(**BOOSTED)),
    "folds of boosting": BaggingRegressor(
        GradientBoostingRegressor(**BOOSTED), sampling="folds", cv=3
    ),
    "columns drawn": BaggingRegressor(max_features=0.6, oob_score=True),
    "weighted": BaggingClassifier(combine="weighted"),
}
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def new(model: Any) -> Any:
    few = {} if getattr(model, "sampling", "") == "folds" else {"n_estimators": 4}
    return clone(model).set_params(n_jobs=1, **few)


@pytest.fixture(scope="module")
def table() -> Any:
    return make_table(ROWS, missing=False)


@pytest.fixture(scope="module")
def frame(table: Any) -> pd.DataFrame:
    return pd.DataFrame(table.X, columns=NAMES)


def target(model: Any, table: Any) -> Any:
    return table.two if is_classifier(model) else table.number


SHAPES = {
    "51 no rows": (lambda X: X[:0], r"0 sample\(s\) \(shape=\(0, 5\)\)"),
    "51 no rows of a sparse matrix": (
        lambda X: scipy.sparse.csr_array(X[:0]),
        r"0 sample\(s\) \(shape=\(0, 5\)\)",
    ),
    "53 no columns": (lambda X: X[:, :0], r"0 feature\(s\) \(shape=\(60, 0\)\)"),
    "53 no columns of a frame": (lambda X: pd.DataFrame(X)[[]], r"0 feature\(s\)"),
    "19 complex numbers": (lambda X: X + 1j, "Complex data not supported"),
    "25 a name twice": (lambda X: pd.DataFrame(X, columns=list("abcda")), "duplicate column"),
    "27 mixed names": (lambda X: pd.DataFrame(X, columns=["a", 1, 2, 3, 4]), r"types int, str"),
    "one dimension": (lambda X: X[:, 0], "Expected 2D array, got 1D array"),
    "a lazy frame": (lambda X: pl.DataFrame(X).lazy(), r"collect\(\)"),
}


@EACH
@pytest.mark.parametrize(("make", "words"), SHAPES.values(), ids=SHAPES)
def test_input_that_is_no_table_is_refused(model: Any, make: Any, words: str, table: Any) -> None:
    X, y = make(table.X), target(model, table)
    with pytest.raises((TypeError, ValueError), match=words):
        new(model).fit(X, y[: X.shape[0]] if hasattr(X, "shape") and X.shape[0] == 0 else y)


@EACH
def test_54_no_rows_give_no_predictions(model: Any, table: Any) -> None:
    fitted = new(model).fit(table.X, target(model, table))
    assert fitted.predict(table.X[:0]).shape == (0,)
    if is_classifier(model):
        assert fitted.predict_proba(table.X[:0]).shape == (0, 2)
    assert next(iter(fitted.staged_predict(table.X[:0]))).shape == (0,)


@EACH
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_57_columns_of_a_frame_are_matched_by_name(model: Any, library: Any, table: Any) -> None:
    columns = {name: table.X[:, j] for j, name in enumerate(NAMES)}
    X = library(columns)
    other = library({"note": ["text"] * ROWS, **dict(reversed(columns.items()))})
    fitted = new(model).fit(X, target(model, table))
    plain = new(model).fit(table.X, target(model, table))
    np.testing.assert_allclose(predictions(fitted, X), predictions(plain, table.X), rtol=1e-12)
    np.testing.assert_allclose(predictions(fitted, other), predictions(plain, table.X), rtol=1e-12)
    with pytest.raises(ValueError, match=r"(?s)now missing:\n- d\n- e"):
        fitted.predict(library({name: columns[name] for name in "abc"}))


@EACH
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_59_names_in_fit_or_predict_only_are_warned_of_once(
    model: Any, library: Any, table: Any
) -> None:
    X = library({name: table.X[:, j] for j, name in enumerate(NAMES)})
    named = new(model).fit(X, target(model, table))
    plain = new(model).fit(table.X, target(model, table))
    with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
        predicted = predictions(named, table.X)
    assert len(caught) == 1
    np.testing.assert_allclose(predicted, predictions(named, X), rtol=1e-12)
    with pytest.warns(UserWarning, match="was fitted without feature names") as caught:
        predicted = predictions(plain, X)
    assert len(caught) == 1
    np.testing.assert_allclose(predicted, predictions(plain, table.X), rtol=1e-12)


@EACH
def test_a_failed_fit_leaves_the_model_unchanged(model: Any, table: Any, frame: Any) -> None:
    fitted = new(model).fit(table.X, target(model, table))
    before = predictions(fitted, table.X)
    with pytest.raises((TypeError, ValueError)):
        fitted.fit(frame[["a", "b"]].assign(c="text"), target(model, table))
    assert fitted.n_features_in_ == 5
    np.testing.assert_array_equal(predictions(fitted, table.X), before)


@EACH
def test_75_a_prediction_does_not_depend_on_other_rows(model: Any, table: Any) -> None:
    fitted = new(model).fit(table.X, target(model, table))
    alone = [predictions(fitted, table.X[row : row + 1]) for row in range(20)]
    np.testing.assert_allclose(np.concatenate(alone), predictions(fitted, table.X)[:20], rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e-5, 1e20, 1e39, 1e150, 1e300])
def test_31_33_y_scale_does_not_matter_to_learners(factor: float, table: Any) -> None:
    for name in ("terms of trees", "linear terms"):
        plain = new(MODELS[name]).fit(table.X, table.number).predict(table.X)
        scaled = new(MODELS[name]).fit(table.X, table.number * factor).predict(table.X)
        np.testing.assert_allclose(scaled / factor, plain, rtol=1e-6)


class Predicts(RegressorMixin, BaseEstimator):
    """A regressor that predicts one number for every row."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Predicts:
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_error_names_an_estimator_that_predicts_no_number(value: float, table: Any) -> None:
    words = rf"Predicts predicts {value} for row 0, and .* for \d+ of \d+ rows.* another estimator"
    model = BaggingRegressor(Predicts(value), n_estimators=3).fit(table.X, table.number)
    with pytest.raises(ValueError, match=words):
        model.predict(table.X)
    for model in (
        BaggingRegressor(Predicts(value), n_estimators=3, oob_score=True),
        StagewiseRegressor(learner=Predicts(value), n_estimators=2),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(table.X, table.number)


def test_the_mean_of_the_largest_doubles_is_finite(table: Any) -> None:
    y = np.where(table.two == 1, 8e307, -8e307)
    for value in (1.7e308, -1.7e308):
        model = BaggingRegressor(Predicts(value), n_estimators=30, oob_score=True)
        fitted = model.fit(table.X, y * 1e-3)
        np.testing.assert_allclose(fitted.predict(table.X), value, rtol=1e-15)
        assert np.isfinite(fitted.oob_score_)


@pytest.mark.parametrize("rule", ["missing", "error", "prior"])
def test_61_a_category_missing_from_some_bags_is_known(rule: str, table: Any) -> None:
    city = np.array(["rom"] * ROWS, dtype=object)
    city[:3] = ["oslo", "wien", "bern"]
    X = pd.DataFrame({"x": table.X[:, 0], "city": pd.Categorical(city)})
    base = GradientBoostingRegressor(**BOOSTED, handle_unknown=rule)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BaggingRegressor(base, n_estimators=12, oob_score=True).fit(X, table.number)
        assert np.isfinite(model.predict(X)).all()
    strange = X.assign(city="atlantis")
    if rule == "missing":
        with pytest.warns(
            UnknownCategoryWarning, match=r"'city' has unknown categories in .*: 'atlantis'"
        ) as caught:
            model.predict(strange)
        assert len(caught) == 1
    elif rule == "error":
        with pytest.raises(ValueError, match=r"'city' has unknown categories in .*: 'atlantis'"):
            model.predict(strange)
    else:
        assert np.isfinite(model.predict(strange)).all()


def test_linear_base_estimators_refuse_categories_without_a_coefficient(table: Any) -> None:
    X = pd.DataFrame({"x": table.X[:, 0], "city": pd.Categorical(["rom", "wien"] * (ROWS // 2))})
    model = BaggingRegressor(stagewise.LinearRegression(), n_estimators=3).fit(X, table.number)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match=r"'city' has unknown categories in .*: 'atlantis'"):
        model.predict(X.assign(city="atlantis"))


@EACH
def test_36_37_a_constant_target_is_warned_of_once(model: Any, table: Any) -> None:
    words = "y has only one class" if is_classifier(model) else "y has only one value"
    with pytest.warns(UserWarning, match=words) as caught:
        fitted = new(model).fit(table.X, np.full(ROWS, 3))
    assert len(caught) == 1
    np.testing.assert_allclose(fitted.predict(table.X), 3.0)
