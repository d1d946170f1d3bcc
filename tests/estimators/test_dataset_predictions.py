"""Predictions of datasets are those of the table in memory, to the bit."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.base import is_classifier

import stagewise
from estimators.every import EVERY, classifies, small
from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
    RandomForestClassifier,
    UnknownCategoryWarning,
    read_batches,
    read_parquet,
)
from stagewise.inspection import shap_values

ROWS = 120


def mixed_table(seed=0, n_rows=ROWS):
    """Return columns of many types, with missing values."""
    rng = np.random.default_rng(seed)
    hole = rng.random((12, n_rows)) < 0.1
    day = dt.date(2024, 1, 1)
    city = rng.choice(["Bern", "Rome", "Oslo", "Paris"], size=n_rows).tolist()
    number, whole = rng.normal(size=n_rows), rng.integers(-5, 99, size=n_rows)
    return pa.table(
        {
            "float32": pa.array(number.astype(np.float32), mask=hole[0]),
            "float64": pa.array(number**3, mask=hole[1]),
            "int8": pa.array(whole.astype(np.int8)),
            "int64": pa.array(whole, mask=hole[2]),
            "id": pa.array(2**60 + rng.integers(0, 2**20, size=n_rows), mask=hole[3]),
            "flag": pa.array(number > 0, mask=hole[4]),
            "text": pa.array(city, mask=hole[5]),
            "category": pa.array(city[::-1], mask=hole[6]).dictionary_encode(),
            "date": pa.array([day + dt.timedelta(int(k)) for k in whole], mask=hole[7]),
            "time": pa.array(whole * 10**9, pa.timestamp("us", "UTC"), mask=hole[8]),
            "duration": pa.array(whole * 60, pa.duration("s")),
            "decimal": pa.array(whole).cast(pa.decimal128(24, 2)),
        }
    )


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A folder of mixed tables, and the whole table."""
    folder = tmp_path_factory.mktemp("mixed")
    for seed in range(2):
        table = mixed_table(seed)
        parquet.write_table(table, folder / f"{seed}.parquet", row_group_size=50)
    return folder, read_parquet(folder).to_table()


@pytest.fixture
def batch_rows(request, monkeypatch):
    """Set the number of rows of a batch."""
    set_batch_rows(monkeypatch, request.param)


def set_batch_rows(monkeypatch, n_rows):
    monkeypatch.setitem(stagewise.Dataset.batches.__kwdefaults__, "batch_rows", n_rows)


SIZES = pytest.mark.parametrize("batch_rows", [3, 32, 10**6], indirect=True)


def target(table):
    x = np.nan_to_num(table["float64"].to_numpy())
    return np.where(x + (table["int8"].to_numpy() > 40) > 0.2, "high", "low")


@SIZES
@pytest.mark.usefixtures("batch_rows")
def test_columns_of_all_types_are_predicted_as_in_memory(mixed):
    folder, table = mixed
    model = GradientBoostingClassifier(n_estimators=10, categorical_features="text")
    model.fit(table, target(table))
    dataset = read_parquet(folder)
    for method in ("predict", "predict_proba", "decision_function", "apply"):
        predict = getattr(model, method)
        found, expected = predict(dataset), predict(table)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()


@EVERY
def test_every_estimator_predicts_datasets(kind, tmp_path, monkeypatch):
    set_batch_rows(monkeypatch, 23)
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=200) for name in "abcd"})
    y = table["a"].to_numpy() + table["b"].to_numpy() ** 2
    model = small(kind).fit(table, y > 1 if classifies(kind) else y)
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=70)
    dataset = read_parquet(tmp_path)
    methods = ["predict", "predict_proba", "decision_function"] if is_classifier(model) else []
    for method in methods or ["predict"]:
        if hasattr(model, method):
            found, expected = getattr(model, method)(dataset), getattr(model, method)(table)
            assert found.tobytes() == expected.tobytes()


def test_streams_of_unknown_length_are_predicted(mixed, monkeypatch):
    set_batch_rows(monkeypatch, 23)
    _, table = mixed
    names = ["float32", "int64"]
    y = table["int8"].to_numpy().astype(float)
    model = GradientBoostingRegressor(n_estimators=5).fit(table.select(names), y)
    dataset = read_batches(lambda: iter(table.to_batches(max_chunksize=100)))
    assert model.predict(dataset).tobytes() == model.predict(table).tobytes()


def test_a_model_without_names_reads_the_features_in_their_order(tmp_path):
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0])
    table = pa.table({"y": X[:, 0], "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        found = model.predict(read_parquet(tmp_path, target="y"))
    assert found.tobytes() == model.predict(X).tobytes()


def test_options_of_a_method_are_passed_on(mixed):
    folder, table = mixed
    names = ["float32", "int8"]
    y = np.where(table["int8"].to_numpy() > 40, 1, 0)
    model = RandomForestClassifier(n_estimators=5).fit(table.select(names), y)
    cost = [[0, 1], [20, 0]]
    assert (model.predict(read_parquet(folder), cost=cost) == model.predict(table, cost)).all()


def test_intervals_of_a_linear_model_are_those_of_the_table(mixed):
    folder, table = mixed
    model = LinearRegression().fit(table.select(["int8"]), np.arange(table.num_rows) % 7.0)
    found = model.predict_interval(read_parquet(folder), confidence_level=0.5)
    assert np.array_equal(found, model.predict_interval(table, confidence_level=0.5))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "b", "a"], pa.large_string()),
        pa.chunked_array([["a", None], ["b", "a"]]),
        pa.array(["a", None, "b", "a"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays([0, None, 2, 1], ["a", "a", "b"]),
        pa.DictionaryArray.from_arrays([0, 3, 2, 1], ["a", "a", "b", None]),
        pa.chunked_array([["a", None], []], pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=["large", "chunks", "dictionary", "repeated value", "null value", "empty chunk"],
)
def test_texts_of_arrow_are_the_categories_of_a_list(column):
    table = pa.table({"c": ["a", "b"] * 20})
    model = GradientBoostingRegressor(
        n_estimators=3, min_samples_leaf=1, categorical_features=["c"]
    ).fit(table, np.arange(40.0) % 2)
    expected = model.predict(pd.DataFrame({"c": column.to_pylist()}, dtype=object))
    assert model.predict(pa.table({"c": column})).tolist() == expected.tolist()
    assert model.predict(pa.table({"c": column.slice(0, 0)})).shape == (0,)


# --- faults -----------------------------------------------------------------------------------


def fitted(**columns):
    table = pa.table(columns)
    y = np.arange(table.num_rows, dtype=float)
    return GradientBoostingRegressor(n_estimators=3, min_samples_leaf=1).fit(table, y)


def test_a_missing_column_is_the_error_of_a_table():
    model = fitted(a=[1.0, 2.0, 3.0], b=[1.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="yet now missing:\n- b"):
        model.predict(read_batches(pa.table({"a": [1.0], "c": [2.0]})))


def test_an_error_in_a_batch_has_its_file_and_row_group(tmp_path):
    model = fitted(a=[1.0, 2.0, 3.0])
    table = pa.table({"a": ["x", "y"]})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=1)
    with pytest.raises(ValueError, match=r"text 'x' at row 0.*t.parquet', row group 0"):
        model.predict(read_parquet(tmp_path))


def test_unknown_categories_are_one_warning_for_all_batches(monkeypatch):
    set_batch_rows(monkeypatch, 2)
    table = pa.table({"c": ["a", "b"] * 20})
    model = GradientBoostingRegressor(
        n_estimators=3, min_samples_leaf=1, categorical_features=["c"]
    ).fit(table, np.arange(40.0))
    new = read_batches(pa.table({"c": ["a", "z", "b", "y", "x", "x"]}))
    with pytest.warns(UnknownCategoryWarning, match=r"'z'.*2 more batches") as caught:
        model.predict(new)
    assert len(caught) == 1


def test_an_estimator_that_is_not_fitted_is_an_error():
    dataset = read_batches(pa.table({"a": [1.0]}))
    with pytest.raises(ValueError, match="not fitted yet"):
        GradientBoostingRegressor().predict(dataset)


@pytest.mark.parametrize(
    "use",
    [
        lambda model, dataset: list(model.staged_predict(dataset)),
        shap_values,
    ],
)
def test_other_functions_refuse_datasets_with_the_remedy(use):
    model = fitted(a=[1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r" a Dataset.*dataset.to_table\(\)"):
        use(model, read_batches(pa.table({"a": [1.0]})))
