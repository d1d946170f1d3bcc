"""Shapley values of collections are those of the rows in memory; no cluster is needed."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from cluster.rank_fits import class_target, classifier, frame, number_target, regressor
from stagewise import dask as cluster
from stagewise import inspection

N = 700


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return frame(N)


@pytest.fixture(autouse=True)
def _threads() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_of_frames_are_those_of_the_rows_in_memory(
    table: pd.DataFrame, n_classes: int
) -> None:
    model = classifier(n_estimators=3).fit(table, class_target(table, n_classes))
    expected = inspection.shap_values(model, table)
    rows = dd.from_pandas(table, npartitions=3)
    found = cluster.shap_values(model, rows)
    assert isinstance(found.values, da.Array)
    assert np.isnan(found.values.shape[0])
    assert found.values.shape[1:] == expected.values.shape[1:]
    assert found.values.dtype == found.values._meta.dtype == np.float64
    assert found.values._meta.ndim == expected.values.ndim
    assert found.base_values.tobytes() == expected.base_values.tobytes()
    assert found.feature_names == expected.feature_names
    assert found.output_names == expected.output_names
    assert found.values.compute().tobytes() == expected.values.tobytes()
    computed = found.compute()
    assert isinstance(computed, inspection.ShapValues)
    pd.testing.assert_frame_equal(computed.data, table)


def test_chunks_of_arrays_are_known(table: pd.DataFrame) -> None:
    matrix = table[["a", "b", "c", "d"]].to_numpy()
    model = regressor().fit(matrix, number_target(table))
    rows = da.from_array(matrix, chunks=(300, 3))
    found = cluster.shap_values(model, rows)
    assert found.values.chunks == ((300, 300, 100), (4,))
    assert np.array_equal(found.values.compute(), inspection.shap_values(model, matrix).values)


def test_interactions_background_and_delayed_parts(table: pd.DataFrame) -> None:
    model = regressor().fit(table, number_target(table))
    parts = [dask.delayed(table.iloc[:100]), dask.delayed(table.iloc[100:])]
    options: dict[str, Any] = {
        "kind": "interventional",
        "background": table.iloc[:20],
        "interactions": True,
    }
    found = cluster.shap_values(model, parts, **options)
    expected = inspection.shap_values(model, table, **options)
    assert found.values.chunks[1:] == ((5,), (5,))
    assert found.base_values == expected.base_values
    assert np.array_equal(found.compute().values, expected.values)


def test_empty_partitions_have_no_values(table: pd.DataFrame) -> None:
    model = classifier(n_estimators=3).fit(table, class_target(table, 3))
    rows = dd.from_pandas(table, npartitions=2)
    found = cluster.shap_values(model, rows[rows["a"] > 100])
    assert found.values.compute().shape == (0, 5, 3)


def test_arguments_are_checked_before_any_work(table: pd.DataFrame) -> None:
    model = regressor().fit(table, number_target(table))
    rows = dd.from_pandas(table, npartitions=2)
    with pytest.raises(TypeError, match=r"stagewise\.inspection\.shap_values explains tables"):
        cluster.shap_values(model, table)
    with pytest.raises(ValueError, match="needs background rows"):
        cluster.shap_values(model, rows, kind="interventional")
