"""Prediction: columns by name and position, any memory layout, any number of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stagewise
from estimators.tables import make_table, quick
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor

ROWS = 300


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS, missing=False)


@pytest.fixture(scope="module")
def model(table):
    return fitted(table.X, table)


def fitted(X, table):
    """Fit X, which has the values of the table in another form."""
    return quick(GradientBoostingRegressor).fit(X, table.number)


# ---- columns, by name and position --------------------------------------------------------------


def test_column_names_may_be_invalid_unicode(tmp_path, table):
    # Invalid bytes in a file's header become lone surrogates. pandas keeps them as objects only.
    names = ["\ud800", "a", "b \udcff", "c", "d"]
    frame, mixed = (
        pd.DataFrame(table.X[:, order], columns=pd.Index([names[j] for j in order], dtype=object))
        for order in ([0, 1, 2, 3, 4], [2, 4, 0, 3, 1])
    )
    model = fitted(frame, table)
    model.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    assert loaded.feature_names_in_.tolist() == names
    for X in (frame, mixed, pd.concat([mixed] * 50)):
        np.testing.assert_array_equal(loaded.predict(X)[:ROWS], model.predict(frame))


# ---- memory -------------------------------------------------------------------------------------


def packed_field(X):
    """Return a column after one byte of padding: not aligned, stride no multiple of the size."""
    records = np.zeros(len(X), dtype=[("pad", "u1"), ("x", "f8")])
    records["x"] = X[:, 0]
    return records["x"][:, np.newaxis]


def test_a_broadcast_row_is_read(table, model):
    X = np.broadcast_to(table.X[3], (ROWS, 5))
    assert X.strides[0] == 0
    np.testing.assert_array_equal(model.predict(X), np.repeat(model.predict(table.X[3:4]), ROWS))
    with pytest.warns(UserWarning, match="Every feature is constant"):
        fitted(X, table)


def test_a_broadcast_column_is_read(table):
    X = np.broadcast_to(table.X[:, :1], (ROWS, 4))
    assert X.strides[1] == 0
    copied = fitted(np.ascontiguousarray(X), table)
    assert fitted(X, table).fingerprint() == copied.fingerprint()


def test_a_field_of_packed_records_is_read(table):
    X = packed_field(table.X)
    assert not X.flags.aligned
    plain = fitted(table.X[:, :1], table)
    assert fitted(X, table).fingerprint() == plain.fingerprint()
    np.testing.assert_array_equal(plain.predict(X[:3]), plain.predict(table.X[:3, :1]))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_arguments_are_not_modified(early_stopping, table):
    given = {
        "X": table.X.copy(),
        "y": table.many.copy(),
        "sample_weight": 1.0 + table.two,
        "X_val": table.X[:50].copy(),
        "y_val": table.many[:50].copy(),
        "sample_weight_val": np.full(50, 2.0),
    }
    before = {name: array.copy() for name, array in given.items()}
    model = quick(GradientBoostingClassifier, early_stopping=early_stopping).fit(**given)
    model.predict_proba(given["X"])
    for name, array in given.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_modifying_a_prediction_does_not_change_the_model(model, table):
    for X in (table.X, table.X[:3]):
        first = model.predict(X)
        kept = first.copy()
        first[:] = 0
        np.testing.assert_array_equal(model.predict(X), kept)


# ---- number of rows -----------------------------------------------------------------------------


def test_no_rows_give_no_predictions(table):
    regressor = fitted(table.X, table)
    assert regressor.predict(table.X[:0]).shape == (0,)
    assert regressor.apply(table.X[:0]).shape == (0, 8)
    assert [p.shape for p in regressor.staged_predict(table.X[:0])] == [(0,)] * 8
    classifier = quick(GradientBoostingClassifier).fit(table.X, table.many)
    assert classifier.predict(table.X[:0]).shape == (0,)
    assert classifier.predict(table.X[:0]).dtype == table.many.dtype
    assert classifier.predict_proba(table.X[:0]).shape == (0, 5)
    assert classifier.decision_function(table.X[:0]).shape == (0, 5)


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 64, 299])
@pytest.mark.parametrize("target", ["number", "two", "many"])
def test_a_prediction_does_not_depend_on_other_rows(size, target, table):
    # Up to 32 rows are predicted one by one, more in blocks.
    kind = GradientBoostingRegressor if target == "number" else GradientBoostingClassifier
    X = make_table(ROWS, seed=4).X
    model = quick(kind, n_estimators=20).fit(table.X, getattr(table, target))
    for method in ("predict",) if target == "number" else ("predict_proba", "decision_function"):
        predict = getattr(model, method)
        whole = predict(X)
        parts = [predict(X[start : start + size]) for start in range(0, ROWS, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
        parts = [
            predict(np.asfortranarray(X[start : start + size], dtype=np.float32))
            for start in range(0, ROWS, size)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_probabilities_of_many_classes_do_not_depend_on_other_rows():
    table = make_table(ROWS)
    y = np.arange(ROWS) % 33
    model = quick(GradientBoostingClassifier, n_estimators=3, min_samples_leaf=2).fit(table.X, y)
    whole = model.predict_proba(table.X)
    one_by_one = np.vstack([model.predict_proba(table.X[i : i + 1]) for i in range(ROWS)])
    np.testing.assert_array_equal(one_by_one, whole)
