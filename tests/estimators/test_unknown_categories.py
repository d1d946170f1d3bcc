"""Unknown categories at predict, in validation rows and in held-out rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from estimators.cities import ROWS, cities, fitted, frame, unknown
from estimators.tables import make_table, quick
from stagewise import GradientBoostingRegressor, InvalidParameterError, UnknownCategoryWarning


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS)


def test_unknown_categories_are_missing_with_a_warning(table):  # fault 61
    model = fitted(frame(table), table)
    with pytest.warns(
        UnknownCategoryWarning, match=r"'city' has .* in \d+ of 300 rows: 'atlantis'"
    ) as caught:
        predicted = model.predict(unknown(table))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    gone = frame(table, [None if city == "rom" else city for city in cities(table)])
    np.testing.assert_array_equal(predicted, model.predict(gone))


def test_handle_unknown_error_and_prior(table):  # fault 61
    model = fitted(frame(table), table, handle_unknown="error")
    with pytest.raises(ValueError, match=r"'city' has unknown categories .*'atlantis'"):
        model.predict(unknown(table))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predicted = model.set_params(handle_unknown="prior").predict(unknown(table))
    assert np.isfinite(predicted).all()
    with pytest.raises(InvalidParameterError, match=r"'handle_unknown' .* must be one of"):
        model.set_params(handle_unknown="ignore").predict(unknown(table))


@pytest.mark.parametrize("rule", ["missing", "prior"])
def test_unknown_categories_of_validation_rows_are_counted_without_a_warning(rule, table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = quick(GradientBoostingRegressor, handle_unknown=rule).fit(
            frame(table), table.number, X_val=unknown(table), y_val=table.number
        )
    assert model.fit_report_["unknown_category_counts"] == {"city": cities(table).count("rom")}


@pytest.mark.parametrize("given", ["X_val", "eval_set"])
def test_many_unknown_categories_of_evaluation_rows_cause_a_warning(given, table):
    X = frame(table)
    other = X.assign(city=[str(city).upper() for city in X["city"]])
    rows = (other, table.number[::-1])
    held = {"X_val": rows[0], "y_val": rows[1]} if given == "X_val" else {"eval_set": [rows]}
    with pytest.warns(UnknownCategoryWarning, match=r"In evaluation rows, X column 'city' has unk"):
        quick(GradientBoostingRegressor).fit(X, table.number, **held)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(GradientBoostingRegressor, handle_unknown="prior").fit(X, table.number, **held)


def test_unknown_categories_of_validation_rows_are_refused_with_error(table):
    model = quick(GradientBoostingRegressor, handle_unknown="error")
    held = {"X_val": unknown(table), "y_val": table.number}
    with pytest.raises(
        ValueError, match=r"In X_val: X column 'city' has unknown categories .*'atlantis'"
    ):
        model.fit(frame(table), table.number, **held)
    absent = np.array([city != "rom" for city in cities(table)], dtype=float)
    model.fit(frame(table), table.number, **held, sample_weight_val=absent)
    assert model.fit_report_["unknown_category_counts"] == {}


@pytest.mark.parametrize("rule", ["missing", "error", "prior"])
def test_held_out_rows_add_no_category(rule, table):
    X = pd.DataFrame({"x": table.X[:, 0], "id": pd.Categorical(range(ROWS))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(X, table, early_stopping=True, validation_fraction=0.2, handle_unknown=rule)
    assert model.fit_report_["unknown_category_counts"] == {"id": ROWS // 5}
    assert model.model_.features.n_categories_per_feature() == [0, ROWS - ROWS // 5]


def test_rows_of_weight_zero_are_not_counted_as_unknown(table):
    X, weight = unknown(table), np.array([float(city != "rom") for city in cities(table)])
    model = quick(GradientBoostingRegressor).fit(X, table.number, weight)
    assert model.fit_report_["unknown_category_counts"] == {}
