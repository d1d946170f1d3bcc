"""Unusual values in features are used exactly; invalid ones are errors that name the column.

Each table of cases is a specification: the input and the expected result.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from estimators.tables import make_table, quick
from stagewise import GradientBoostingRegressor

ROWS = 300


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS, missing=False)


@pytest.fixture(scope="module")
def model(table):
    return fitted(table.X, table)


def fitted(X, table, **params):
    """Fit X, which has the values of the table in another form."""
    return quick(GradientBoostingRegressor, **params).fit(X, table.number)


def sharp(**params):
    """Return a regressor that can separate any two values."""
    return GradientBoostingRegressor(
        **{"n_estimators": 40, "learning_rate": 0.5, "min_samples_leaf": 1, **params}
    )


# ---- unusual but valid values -------------------------------------------------------------------


def test_many_consecutive_wide_integers_are_separated():
    ids = np.arange(2**53 - 6, 2**53 + 7)
    X = np.repeat(ids, 10)[:, np.newaxis]
    model = sharp().fit(X, X[:, 0] % 2)
    np.testing.assert_allclose(model.predict(ids[:, np.newaxis]), ids % 2, atol=1e-3)


def test_wide_integers_are_the_same_in_every_frame():
    ids = [None if i % 7 == 0 else 2**60 + i for i in range(200)]
    y = np.arange(200) % 5
    frames = [
        pd.DataFrame({"id": pd.array(ids, dtype="Int64")}),
        pl.DataFrame({"id": ids}, schema={"id": pl.Int64}),
        pl.DataFrame({"id": ids}, schema={"id": pl.UInt64}),
        pd.DataFrame({"id": np.array(ids, dtype=object)}),
    ]
    models = [sharp().fit(frame, y) for frame in frames]
    for one, frame in zip(models, frames, strict=True):
        np.testing.assert_array_equal(one.predict(frames[0]), models[0].predict(frame))


def test_missing_values_go_to_the_child_with_the_larger_gain():
    X = np.array([0.0, 1.0, np.nan] * 60)[:, np.newaxis]
    for values in ([0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 5.0]):
        model = sharp().fit(X, np.array(values * 60))
        np.testing.assert_allclose(model.predict(X[:3]), values, atol=1e-3)


def test_a_missing_value_not_in_training_follows_the_heavier_child(table):
    model = quick(GradientBoostingRegressor, n_estimators=1).fit(table.X, table.number)
    tree = model.model_.ensemble.trees[0]
    inner = np.flatnonzero(tree.feature >= 0)
    heavier_left = tree.cover[tree.left[inner]] >= tree.cover[tree.right[inner]]
    np.testing.assert_array_equal(tree.missing_left[inner].astype(bool), heavier_left)
    reached = model.apply(np.full((1, 5), np.nan))[0, 0]
    node = 0
    while tree.feature[node] >= 0:
        node = tree.left[node] if tree.missing_left[node] else tree.right[node]
    assert reached == node


def test_a_constant_column_with_missing_values_can_be_split(table):
    X = np.where(table.number > np.median(table.number), 1.0, np.nan)[:, np.newaxis]
    assert sharp().fit(X, table.number).score(X, table.number) > 0.5


# ---- values that are not numbers ----------------------------------------------------------------


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([[1.0, 2.0]] * ROWS),
        pl.Series([[1.0, 2.0]] * ROWS, dtype=pl.Array(pl.Float64, 2)),
        pl.Series([{"a": 1.0}] * ROWS),
    ],
    ids=["lists", "arrays", "records"],
)
def test_error_names_a_column_of_nested_values(cells, table):
    with pytest.raises(TypeError, match=r"column 'c' holds .* at row 0.*a number or missing"):
        sharp().fit(pl.DataFrame({"a": table.number, "c": cells}), table.number)


WHOLE_TABLES = {
    "text": (lambda X: X.astype(str), ValueError, "text is not converted to numbers"),
    "records": (lambda X: np.zeros((ROWS, 5), dtype=[("a", float)]), TypeError, "a void"),
    "a sparse matrix of complex numbers": (
        lambda X: scipy.sparse.csr_array(np.nan_to_num(X) * 1j),
        ValueError,
        "Complex data not supported",
    ),
}


@pytest.mark.parametrize(("make", "error", "words"), WHOLE_TABLES.values(), ids=WHOLE_TABLES)
def test_input_that_is_no_table_of_numbers_is_refused(make, error, words, table, model):
    with pytest.raises(error, match=words):
        sharp().fit(make(table.X), table.number)
    with pytest.raises(error, match=words):
        model.predict(make(table.X))
