"""missing_values: the model equals the one fitted to NaN in their place."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import stagewise
from estimators.tables import make_table, quick
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.model.file.format import encode

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])


@pytest.fixture(scope="module")
def table():
    return make_table(400)


@pytest.fixture(scope="module")
def held():
    return make_table(100, seed=9)


def target(kind, table):
    return table.number if kind is GradientBoostingRegressor else table.many


def marked(X, value, dtype=np.float64):
    """Return the same table with a value in place of NaN."""
    return np.where(np.isnan(X), value, X).astype(dtype)


# Container, and its missing value. Values are multiples of 1/4096 from 0 to 4096.
FORMS = {
    "float64": (lambda X: marked(X, -999), -999),
    "float64, no float32": (lambda X: marked(X, -999.9), -999.9),
    "float32, rounded": (lambda X: marked(X, -999.9, np.float32), -999.9),
    "float32, large": (lambda X: marked(X, 1e20, np.float32), 1e20),
    "one of several": (lambda X: marked(X, 1e20), [-999, 1e20]),
    "several": (lambda X: np.where(np.arange(5) % 2, marked(X, -1), marked(X, 1e20)), (-1, 1e20)),
    "Fortran order": (lambda X: np.asfortranarray(marked(X, -999)), np.float32(-999)),
    "objects": (lambda X: marked(X, -999).astype(object), -999),
    "lists": (lambda X: marked(X, 1e20).tolist(), np.float64(1e20)),
    "pandas": (lambda X: pd.DataFrame(marked(X, -999)), [-999]),
    "pandas, two types": (
        lambda X: pd.DataFrame(marked(X, -999.9)).astype({0: np.float32, 3: np.float32}),
        -999.9,
    ),
    "beside NaN": (lambda X: np.where(np.arange(len(X))[:, None] % 2, X, marked(X, -1)), -1),
}


@pytest.mark.parametrize(("form", "value"), FORMS.values(), ids=FORMS)
def test_the_model_equals_that_of_nan(form, value, table):
    plain = quick(GradientBoostingRegressor).fit(table.X, table.number)
    X = form(table.X)
    model = quick(GradientBoostingRegressor, missing_values=value).fit(X, table.number)
    assert model.fingerprint() == plain.fingerprint()
    np.testing.assert_array_equal(model.predict(X), plain.predict(table.X))
    np.testing.assert_array_equal(model.predict(X[:3]), plain.predict(table.X[:3]))
    np.testing.assert_array_equal(model.predict(table.X), plain.predict(table.X))


WIDE = {
    "wide integers": (2**60, -1),
    "narrow integers beside the smallest": (0, -(2**63)),
    "narrow integers beside the largest": (0, 2**63 - 1),
}


@pytest.mark.parametrize(("first", "value"), WIDE.values(), ids=WIDE)
def test_integers_are_compared_as_integers(first, value, table):
    ids = np.arange(400) % 40 + first
    gone = np.arange(400) % 7 == 0
    known = pl.Series(ids.tolist()).scatter(np.flatnonzero(gone), None)
    plain = quick(GradientBoostingRegressor).fit(pl.DataFrame({"id": known}), table.number)
    X = pl.DataFrame({"id": np.where(gone, value, ids)})
    model = quick(GradientBoostingRegressor, missing_values=value).fit(X, table.number)
    assert model.fingerprint() == plain.fingerprint()
    np.testing.assert_array_equal(model.predict(X), plain.predict(pl.DataFrame({"id": known})))


@BOTH
def test_every_prediction_method_treats_them_as_missing(kind, table):
    y = target(kind, table)
    plain = quick(kind).fit(table.X, y)
    model = quick(kind, missing_values=-999).fit(marked(table.X, -999), y)
    X = marked(table.X, -999)
    np.testing.assert_array_equal(model.apply(X), plain.apply(table.X))
    for stage, other in zip(model.staged_predict(X), plain.staged_predict(table.X), strict=True):
        np.testing.assert_array_equal(stage, other)
    if kind is GradientBoostingClassifier:
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(table.X))
        np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(table.X))
    for row in range(3):
        np.testing.assert_array_equal(model.predict(X[[row]]), plain.predict(table.X[[row]]))


@BOTH
@pytest.mark.parametrize("early_stopping", [False, True])
def test_validation_rows_treat_them_as_missing(kind, early_stopping, table, held):
    y, params = target(kind, table), {"n_estimators": 30, "learning_rate": 0.7}
    given = {} if early_stopping else {"y_val": target(kind, held)}

    def fit(fill, **more):
        own = given and {**given, "X_val": fill(held.X)}
        model = quick(kind, early_stopping=early_stopping, **params, **more)
        return model.fit(fill(table.X), y, **own)

    plain, model = fit(lambda X: X), fit(lambda X: marked(X, -999), missing_values=-999)
    np.testing.assert_array_equal(model.validation_loss_, plain.validation_loss_)
    assert model.fingerprint() == plain.fingerprint()


@BOTH
@pytest.mark.parametrize("value", [-999, [-999, 1e20, 0.1, 2**64 - 1]], ids=repr)
def test_a_saved_model_keeps_its_missing_values(kind, value, table, tmp_path):
    X = marked(table.X, -999)
    model = quick(kind, missing_values=value).fit(X, target(kind, table))
    model.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    assert loaded.missing_values == value
    assert loaded.model_.features.missing_values == model.model_.features.missing_values
    for again in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert encode(again.model_) == encode(model.model_)


def test_predictions_use_the_missing_values_of_the_model_not_of_the_parameter(table):
    X = marked(table.X, -999)
    model = quick(GradientBoostingRegressor, missing_values=-999).fit(X, table.number)
    before = model.predict(X)
    np.testing.assert_array_equal(model.set_params(missing_values=None).predict(X), before)


def test_without_the_parameter_they_are_ordinary_values(table):
    X = marked(table.X, -999)
    plain = quick(GradientBoostingRegressor).fit(X, table.number)
    declared = quick(GradientBoostingRegressor, missing_values=-998).fit(X, table.number)
    assert plain.fingerprint() == declared.fingerprint()
    assert plain.predict([[-999.0] * 5]) != plain.predict([[np.nan] * 5])


def test_the_report_counts_them_by_column(table):
    X = marked(table.X, -999)
    model = quick(GradientBoostingRegressor, missing_values=-999)
    counts = np.isnan(table.X).sum(axis=0).tolist()
    taken = model.fit(X, table.number).fit_report_["missing_value_counts"]
    assert taken == {f"column {j}": n for j, n in enumerate(counts)}
    frame = pd.DataFrame({"none": table.number, "some": X[:, 0]})
    taken = model.fit(frame, table.number).fit_report_["missing_value_counts"]
    assert taken == {"some": counts[0]}


def test_a_continued_fit_has_the_same_missing_values(table):
    X = marked(table.X, -999)
    model = quick(GradientBoostingRegressor, warm_start=True, missing_values=-999)
    model.fit(X, table.number).set_params(n_estimators=15, missing_values=[-999.0])
    whole = quick(GradientBoostingRegressor, n_estimators=15).fit(table.X, table.number)
    assert model.fit(X, table.number).fingerprint() == whole.fingerprint()
    with pytest.raises(ValueError, match=r"missing_values=\[-999\], but now they are \[-99\]"):
        model.set_params(missing_values=-99).fit(X, table.number)


def test_a_clone_has_them(table):
    value = [-999, 1e20]
    copy = clone(quick(GradientBoostingRegressor, missing_values=value))
    assert copy.missing_values == value
    assert copy.missing_values is not value


def test_a_column_of_missing_values_only_is_reported(table):
    X = np.column_stack([table.X, np.full(400, -999.0)])
    model = quick(GradientBoostingRegressor, missing_values=-999).fit(X, table.number)
    assert model.fit_report_["constant_or_missing_features"] == ["column 5"]
