"""Invalid input of bagging estimators, and the error messages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from estimators.tables import make_table
from stagewise import BaggingClassifier, BaggingRegressor, InvalidParameterError
from stagewise.bagging import bag_samples

BOTH = pytest.mark.parametrize("kind", [BaggingRegressor, BaggingClassifier])
NO_NUMBER = (None, "1", [1], math.nan, math.inf, True)
BAD = {
    "n_estimators": (0, -1, 1.5, *NO_NUMBER),
    "combine": ("mean", None, 1, ["average"]),
    "sampling": ("goss", "mvs", "cv", None, True),
    "max_samples": (0, -0.1, 1.5, *NO_NUMBER),
    "max_features": (0, -0.1, 1.5, *NO_NUMBER),
    "bootstrap_features": (1, None, "yes"),
    "warm_start": (1, None, "yes"),
    "cv": (1, 2.5, None, "five", [], [1, 2]),
    "oob_score": (1, None, "yes"),
    "early_stopping": (1, None, "cv"),
    "n_iter_no_change": (0, 1.5, *NO_NUMBER),
    "tol": (-0.1, *NO_NUMBER),
    "random_state": (-1, 1.5, "0", True, 2**64),
    "n_jobs": (0, 1.5, True, "all"),
    "estimator": (3, "tree", DecisionTreeRegressor, object()),
}
CASES = [(name, value) for name, values in BAD.items() for value in values]


@pytest.fixture(scope="module")
def table():
    return make_table(60, missing=False)


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{n}={v!r:.18}" for n, v in CASES])
@BOTH
def test_an_invalid_value_is_refused_by_name(kind, name, value, table):
    with pytest.raises(InvalidParameterError) as caught:
        kind(**{name: value}).fit(table.X, table.two)
    message = str(caught.value)
    assert name in message
    assert "must be" in message
    assert "got" in message


def test_the_table_of_invalid_values_has_every_parameter():
    for kind in (BaggingRegressor, BaggingClassifier):
        assert set(kind().get_params(deep=False)) == set(BAD)


TOGETHER = {
    "oob_score without out-of-bag rows": (
        {"sampling": "uniform", "oob_score": True},
        "oob_score=True needs out-of-bag rows: set max_samples below 1",
    ),
    "early stopping without out-of-bag rows": (
        {"sampling": "uniform", "early_stopping": True},
        "early_stopping=True of .* needs out-of-bag rows.* Set max_samples below 1",
    ),
    "weights without out-of-bag rows": (
        {"sampling": "uniform", "combine": "weighted"},
        "combine='weighted' of .* needs out-of-bag rows.* Set max_samples below 1",
    ),
    "all groups": (
        {"sampling": "group"},
        "'max_samples' of .* must be below 1 with sampling='group'",
    ),
    "n_estimators and folds": (
        {"sampling": "folds", "n_estimators": 7},
        "'n_estimators' of .* has no effect with sampling='folds'; set the number of .* with cv",
    ),
    "a share and folds": (
        {"sampling": "folds", "max_samples": 0.5},
        "'max_samples' of .* has no effect with sampling='folds'",
    ),
    "out of bag and folds": (
        {"sampling": "folds", "oob_score": True},
        "'oob_score' of .* has no effect",
    ),
    "early stopping and folds": (
        {"sampling": "folds", "early_stopping": True},
        "'early_stopping' of .* has no effect",
    ),
    "n_iter_no_change without early stopping": (
        {"n_iter_no_change": 3},
        "'n_iter_no_change' of .* has no effect with early_stopping=False",
    ),
    "tol without early stopping": ({"tol": 0.1}, "'tol' of .* has no effect"),
}


@pytest.mark.parametrize(("params", "words"), TOGETHER.values(), ids=TOGETHER)
@BOTH
def test_incompatible_parameters_are_refused(kind, params, words, table):
    with pytest.raises(InvalidParameterError, match=words):
        kind(**params).fit(table.X, table.two)


def test_a_regressor_does_not_vote(table):
    with pytest.raises(
        InvalidParameterError, match=r"'combine' of BaggingRegressor must be one of"
    ):
        BaggingRegressor(combine="vote").fit(table.X, table.number)


def test_the_base_estimator_must_be_of_the_same_kind(table):
    with pytest.raises(InvalidParameterError, match=r"must be a regressor; got LogisticRegression"):
        BaggingRegressor(LogisticRegression()).fit(table.X, table.number)
    with pytest.raises(InvalidParameterError, match=r"must be a classifier; got Ridge"):
        BaggingClassifier(Ridge()).fit(table.X, table.two)


def test_misspelt_names_suggest_the_nearest():
    with pytest.raises(TypeError, match=r"'n_estimator'.*'n_estimators'"):
        BaggingRegressor(n_estimator=3)
    with pytest.raises(ValueError, match=r"'combin' for estimator .*'combine'"):
        BaggingRegressor().set_params(combin="vote")


def test_fractional_weights_that_a_base_estimator_cannot_take_are_refused(table):
    weight = np.linspace(0.5, 1.5, 60)
    with pytest.raises(
        ValueError, match=r"KNeighborsRegressor has no argument sample_weight.*whole"
    ):
        BaggingRegressor(KNeighborsRegressor()).fit(table.X, table.number, weight)


def test_too_many_copies_of_rows_are_refused(table, monkeypatch):
    monkeypatch.setattr(bag_samples, "MAX_COPIES", 100)
    model = BaggingRegressor(Ridge(), n_estimators=2)
    with pytest.raises(
        ValueError, match=r"counts of 120 rows.*at most 100 are.*Divide the weights"
    ):
        model.fit(table.X, table.number, np.full(60, 2.0) + (np.arange(60) < 0))
    model.fit(table.X, table.number, (1.0 + np.arange(60) % 2) / 1.5)


def test_folds_without_their_sampling(table):
    with pytest.warns(UserWarning, match=r"'cv' .* no effect .*set sampling='folds'"):
        BaggingRegressor(cv=3).fit(table.X, table.number)
    with pytest.raises(InvalidParameterError, match=r"'early_stopping' .* must be True or False"):
        BaggingRegressor(early_stopping="cv").fit(table.X, table.number)


@pytest.mark.parametrize("sampling", ["bootstrap", "uniform"])
def test_groups_are_refused_if_the_sampling_ignores_them(sampling, table):
    with pytest.raises(ValueError, match=r"groups was passed, but only .*'folds'"):
        BaggingRegressor(sampling=sampling).fit(table.X, table.number, groups=np.arange(60))


def test_missing_groups_are_refused(table):
    model = BaggingRegressor(sampling="group", max_samples=0.5)
    with pytest.raises(ValueError, match="needs groups"):
        model.fit(table.X, table.number)
    with pytest.raises(ValueError, match=r"groups has shape \(3,\)"):
        model.fit(table.X, table.number, groups=[1, 2, 3])


def test_more_folds_than_rows_are_refused(table):
    model = BaggingRegressor(sampling="folds", cv=10)
    with pytest.raises(ValueError, match="cv=10 folds need at least 10 rows; there are 4"):
        model.fit(table.X[:4], table.number[:4])


def test_more_folds_than_rows_of_any_class_are_refused(table):
    words = r"cv=4 folds are stratified by class, and the largest class has only 2 rows. Use fewer"
    with pytest.raises(ValueError, match=words):
        BaggingClassifier(sampling="folds", cv=4).fit(table.X[:6], [0, 0, 1, 1, 2, 2])


def test_a_fold_without_training_rows_of_a_class_is_refused(table):
    y = np.zeros(60, dtype=int)
    y[0] = 1
    with pytest.raises(ValueError, match=r"a class has no training row.*fewer folds"):
        BaggingClassifier(sampling="folds", cv=3).fit(table.X, y)


def test_a_base_estimator_with_several_outputs_is_refused(table):
    class Several(LinearRegression):
        def predict(self, X):
            return np.stack([super().predict(X)] * 2, axis=1)

    with pytest.raises(ValueError, match="Several predicts 2 numbers for each row"):
        BaggingRegressor(Several(), n_estimators=2, oob_score=True).fit(table.X, table.number)


def test_bagging_cannot_be_saved_to_a_model_file(table, tmp_path):
    model = BaggingRegressor(n_estimators=2)
    with pytest.raises(NotFittedError):
        model.save(tmp_path / "model.stgw")
    model.fit(table.X, table.number)
    with pytest.raises(ValueError, match=r"cannot be saved to a model file.*Pickle it instead"):
        model.save(tmp_path / "model.stgw")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("use", ["predict", "predict_proba", "staged_predict", "fingerprint"])
def test_use_before_fit_is_an_error(use, table):
    model = BaggingClassifier()
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call 'fit'"):
        list(getattr(model, use)(*([] if use == "fingerprint" else [table.X])))


def test_arguments_are_not_modified(table):
    base = DecisionTreeRegressor()
    X, y, w = table.X.copy(), table.number.copy(), np.arange(60) % 3 + 0.5
    model = BaggingRegressor(base, n_estimators=3, n_jobs=2).fit(X, y, w)
    np.testing.assert_array_equal(X, table.X)
    np.testing.assert_array_equal(y, table.number)
    assert base.random_state is None
    assert not hasattr(base, "tree_")
    assert model.estimator is base


def test_columns_are_a_fraction_or_a_number(table):
    def drawn(max_features):
        model = BaggingRegressor(Ridge(), n_estimators=2, max_features=max_features)
        return [len(c) for c in model.fit(*data).estimators_features_]

    data = np.nan_to_num(table.X), table.number
    n = table.X.shape[1]
    assert drawn(1.0) == [n, n]
    assert drawn(1) == [1, 1]
    assert drawn(np.int64(3)) == drawn(3 / n) == [3, 3]
    assert drawn(n) == [n, n]
    with pytest.raises(InvalidParameterError, match=f"'max_features' .* but X has {n} columns"):
        drawn(n + 1)
