"""Every estimator predicts dictionaries, named tuples and dataclass instances as data frames."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import make_dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as OtherLinearRegression

from estimators.every import EVERY, classifies, is_bagging, small
from stagewise import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StagewiseRegressor,
)

NAMES = ["size", "age", "rooms"]
METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "predict_log_proba",
    "apply",
    "predict_interval",
)


def numbers(n_rows: int = 60) -> pd.DataFrame:
    draws = np.random.default_rng(0).normal(size=(n_rows, 3)).round(3)
    return pd.DataFrame(draws, columns=NAMES)


def target(kind: type, X: pd.DataFrame) -> Any:
    side = np.asarray(X["size"] + X["age"] > 0)
    return np.where(side, "yes", "no") if classifies(kind) else side + X["age"].to_numpy()


def homes(n_rows: int = 300) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(1)
    X = numbers(n_rows).assign(
        city=pd.Categorical(rng.choice(["Rome", "Oslo", "Lima"], n_rows)),
        street=pd.Categorical(rng.choice([f"s{i}" for i in range(40)], n_rows)),
    )
    return X, np.asarray(X["size"] * X["age"] + (X["city"] == "Rome"))


def as_rows(X: pd.DataFrame) -> dict[str, Any]:
    rows = X.to_dict("records")
    named = namedtuple("named", list(X))  # type: ignore[misc]
    data = make_dataclass("data", list(X))
    return {
        "dictionaries": rows,
        "named tuples": [named(**row) for row in rows],
        "dataclass instances": [data(**row) for row in rows],
        "columns": {str(name): X[name].tolist() for name in X},
    }


@EVERY
def test_every_method_predicts_rows_with_names(kind: type) -> None:
    X = numbers()
    model = small(kind).fit(X, target(kind, X))
    if hasattr(model, "conformalize"):
        model.conformalize(X, target(kind, X))
    few = X[:5]
    for name in METHODS:
        if not hasattr(model, name):
            continue
        method, expected = getattr(model, name), np.asarray(getattr(model, name)(few))
        for rows in as_rows(few).values():
            np.testing.assert_array_equal(method(rows), expected)
        one = few.iloc[2].to_dict()
        np.testing.assert_array_equal(method(one), expected[2:3])


@EVERY
def test_a_missing_key_is_refused_by_name(kind: type) -> None:
    X = numbers()
    model = small(kind).fit(X, target(kind, X))
    with pytest.raises(ValueError, match=r"(?s)at fit time:\n- aeg\n.*missing:\n- age\n"):
        model.predict({"size": 1.0, "aeg": 2.0, "rooms": 3.0})


@EVERY
def test_a_model_without_names_refuses_a_dictionary(kind: type) -> None:
    X = numbers()
    model = small(kind).fit(X.to_numpy(), target(kind, X))
    with pytest.raises(ValueError, match="fitted without feature names"):
        model.predict({"size": 1.0, "age": 2.0, "rooms": 3.0})


@EVERY
def test_a_fit_to_dictionaries_is_the_fit_to_a_frame(kind: type) -> None:
    if is_bagging(kind):
        pytest.skip("the base estimators read X themselves; see below")
    X = numbers()
    y = target(kind, X)
    of_frame, of_rows = small(kind).fit(X, y), small(kind)
    of_rows.fit(X.to_dict("records"), y)
    assert list(of_rows.feature_names_in_) == NAMES
    np.testing.assert_array_equal(of_rows.predict(X), of_frame.predict(X))


ENCODINGS = [
    {},
    {"category_encoding": "target"},
    {"leaves": "linear"},
    {"handle_unknown": "prior"},
]


@pytest.mark.parametrize("params", ENCODINGS, ids=str)
def test_single_rows_with_categories_equal_the_rows_of_a_table(params: Any) -> None:
    X, y = homes()
    model = GradientBoostingRegressor(n_estimators=30, n_jobs=1, **params).fit(X, y)
    X.loc[3, "city"] = None
    X.loc[4, "size"] = np.nan
    whole = model.predict(X)  # more rows than are read cell by cell
    for place in range(8):
        row = X.iloc[place : place + 1]
        np.testing.assert_array_equal(model.predict(row), whole[place : place + 1])
        of_dict = model.predict(row.to_dict("records")[0])
        np.testing.assert_array_equal(of_dict, whole[place : place + 1])


def test_staged_predictions_accept_a_dictionary() -> None:
    X = numbers()
    model = GradientBoostingClassifier(n_estimators=4).fit(X, X["age"] > 0)
    last = list(model.staged_predict_proba(X.iloc[0].to_dict()))[-1]
    np.testing.assert_array_equal(last, model.predict_proba(X[:1]))


@pytest.mark.parametrize("kind", [BaggingClassifier, BaggingRegressor])
def test_bagging_is_not_fitted_to_dictionaries(kind: type) -> None:
    X = numbers()
    with pytest.raises(TypeError, match=rf"that {kind.__name__} fits reads X itself\. Pass"):
        small(kind).fit(X.to_dict("records"), target(kind, X))


def test_a_learner_of_another_library_gets_a_frame_of_the_fit() -> None:
    X, y = numbers(), np.arange(60.0)
    model = StagewiseRegressor(learner=OtherLinearRegression(), n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X.iloc[0].to_dict()), model.predict(X[:1]))
    with pytest.raises(TypeError, match=r"StagewiseRegressor fits reads X itself\. Pass a data"):
        model.fit(X.to_dict("records"), y)


def test_other_keys_are_ignored_and_a_misspelt_key_is_an_error() -> None:
    rows = [{"age": i % 70, "city": ["Rome", "Oslo"][i % 2], "size": i % 3} for i in range(100)]
    model = GradientBoostingRegressor(n_estimators=5, categorical_features=["city"])
    model.fit(rows, [row["age"] for row in rows])
    row = rows[3]
    more = {"key": object(), **row, "time": None, "Age": 70, "list": [1, 2]}
    for few, others in ((row, more), ([row] * 40, [more] * 40)):  # both paths of reading
        np.testing.assert_array_equal(model.predict(few), model.predict(others))
    for name in row:
        for wrong in (name.upper(), name + " ", name[:-1], name[1:] + name[0]):
            misspelt = {wrong if key == name else key: value for key, value in row.items()}
            with pytest.raises(ValueError, match=rf"(?s){name}.*{wrong}|{wrong}.*{name}"):
                model.predict(misspelt)


# ---- a row of a pandas frame --------------------------------------------------------------------


def test_a_row_of_a_pandas_frame_is_one_row_by_name():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=100), "b": rng.normal(size=100)})
    X["c"] = pd.Categorical(rng.choice(["u", "v"], 100))
    y = (X["a"] > 0).astype(int)
    model = GradientBoostingClassifier(n_estimators=10).fit(X, y)
    row = X.iloc[3]
    for method in ("predict", "predict_proba", "decision_function", "apply"):
        found, expected = (getattr(model, method)(rows) for rows in (row, X.iloc[[3]]))
        assert (found == expected).all()
    shuffled = row[["c", "b", "a"]]
    shuffled["other"] = 3
    assert (model.predict_proba(shuffled) == model.predict_proba(X.iloc[[3]])).all()
    numbers = GradientBoostingRegressor(n_estimators=10).fit(X[["a", "b"]], X["a"])
    assert numbers.predict(X[["a", "b"]].iloc[3]) == numbers.predict(X[["a", "b"]].iloc[[3]])
    with pytest.raises(ValueError, match=r"yet now missing:\n- a\n"):
        model.predict(row.drop("a"))
    with pytest.raises(ValueError, match="with the label 'b' twice"):
        model.predict(pd.concat([row, row[["b"]]]))


def test_a_column_of_a_pandas_frame_is_not_a_row():
    X = pd.DataFrame({"a": np.arange(50.0)})
    model = GradientBoostingRegressor(n_estimators=5).fit(X, X["a"])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.predict(X["a"])
    unnamed = GradientBoostingRegressor(n_estimators=5).fit(X.to_numpy(), X["a"])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        unnamed.predict(X.iloc[0])


def test_the_exposure_of_a_row_of_a_pandas_frame_is_read_from_it():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=100), "years": rng.integers(1, 5, 100)})
    y = rng.poisson(X["years"])
    model = GradientBoostingRegressor(n_estimators=5, loss="poisson").fit(X, y, exposure="years")
    assert model.predict(X.iloc[3]) == model.predict(X.iloc[[3]])


def test_bagging_predicts_a_row_of_a_pandas_frame():
    X = pd.DataFrame({"a": np.arange(50.0), "b": np.arange(50.0) % 7})
    model = BaggingRegressor(n_estimators=3).fit(X, X["a"])
    assert model.predict(X.iloc[3]) == model.predict(X.iloc[[3]])
