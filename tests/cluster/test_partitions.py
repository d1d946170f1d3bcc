"""Partitions of arrays and data frames: the bytes of the fit in memory, without copies of rows."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dask.sizeof import sizeof
from sklearn.base import clone

from cluster.rank_fits import assert_same_model, regressor
from cluster.thread_exchange import run_ranks
from stagewise import RandomForestRegressor
from stagewise.dask.forest_fit import ForestFit
from stagewise.dask.partition_fit import PartitionFit, Roles
from stagewise.dask.partitions import make_table
from stagewise.dask.shard import Shard

N = 4_000
ROLES = {named: Roles("y", "weight", has_names=named) for named in (False, True)}
LIMIT = 128 * 2**20


def numbers(dtype: Any, n: int = N, columns: int = 5) -> np.ndarray:
    """Return rows in C order, with values that every type holds exactly."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 2 if dtype is bool else 100, (n, columns)).astype(dtype)


def with_nan(X: np.ndarray) -> np.ndarray:
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X


def masked() -> np.ma.MaskedArray[Any, Any]:
    return np.ma.MaskedArray(numbers(np.int32), np.random.default_rng(1).random((N, 5)) < 0.1)


def fit(estimator: Any, parts: list[Any], y: np.ndarray, n_ranks: int = 2) -> list[Any]:
    """Fit to parts that the ranks have in turn; return the estimator of each rank."""
    ends = np.cumsum([len(part) for part in parts])
    named = isinstance(parts[0], pd.DataFrame)
    tables = [
        make_table(part, ["y", "weight"], [own, np.ones(len(own))], i, has_names=named)
        for i, (part, own) in enumerate(zip(parts, np.split(y, ends[:-1]), strict=True))
    ]
    kind = PartitionFit if hasattr(estimator, "learning_rate") else ForestFit

    def one(exchange: Any) -> Any:
        own = range(exchange.rank, len(tables), n_ranks)
        shard = Shard([tables[i] for i in own], own, 1, None, None, LIMIT)
        return kind(clone(estimator), ROLES[named], None, len(tables))(exchange, shard)

    return run_ranks(n_ranks, one)


ARRAYS: dict[str, np.ndarray] = {
    "float32": with_nan(numbers(np.float32)),
    "float64 in Fortran order": np.asfortranarray(with_nan(numbers(np.float64))),
    "some columns of a wider array": numbers(np.float32, columns=10)[:, ::2],
    "float16": with_nan(numbers(np.float16)),
    "the other byte order": numbers(np.float64).astype(">f8"),
    "int8": numbers(np.int8),
    "wide integers": numbers(np.int64) + 2**60,
    "unsigned": numbers(np.uint16),
    "booleans": numbers(bool),
    "masked": masked(),
    "objects": with_nan(numbers(np.float64)).astype(object),
    "dates": numbers(np.int64).astype("M8[ns]"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_every_type_have_the_bytes_of_the_fit_in_memory(name: str) -> None:
    X = ARRAYS[name]
    y = np.asarray(np.ma.getdata(X)[:, 0] == np.ma.getdata(X)[:, 1], float) + np.arange(N) % 7
    parts = [X[:1], X[1:1], X[1:2_100], X[2_100:]]
    for found in fit(regressor(), parts, y):
        assert_same_model(found, regressor().fit(X, y))


def test_partitions_of_different_types_have_the_common_one() -> None:
    X = numbers(np.float64)
    y = X[:, 0] * X[:, 1]
    parts = [X[:900].astype(np.int16), X[900:2_000].astype(np.float32), X[2_000:]]
    for found in fit(regressor(), parts, y):
        assert_same_model(found, regressor().fit(X, y))


def test_a_forest_of_arrays() -> None:
    X = with_nan(numbers(np.float32))
    y = np.nan_to_num(X[:, 1]) + np.arange(N) % 7
    forest = RandomForestRegressor(n_estimators=3, random_state=0)
    local = clone(forest).fit(X, y)
    for found in fit(forest, [X[:1_500], X[1_500:]], y):
        assert found.fingerprint() == local.fingerprint()


def mixed(n: int = N) -> pd.DataFrame:
    """Return columns of NumPy, of pandas and of Arrow, with missing values, in any order."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(with_nan(numbers(np.float32, n, 3)), columns=["a", "b", "c"])
    X.insert(1, "city", pd.Categorical(rng.choice(["Oslo", "Bern", None], n)))
    X["many"] = numbers(np.int64, n, 1) + 2**60
    X["nullable"] = pd.array(rng.choice([1, 2, None], n), dtype="Int64")
    X["day"] = rng.integers(0, 9, n).astype("M8[D]").astype("M8[ns]")
    X["flag"] = rng.random(n) < 0.5
    X["d"] = rng.random(n).astype(np.float16)
    return X.set_index(rng.permutation(n))


def from_rows(X: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(np.ascontiguousarray(X.to_numpy()), columns=X.columns)


FRAMES: dict[str, pd.DataFrame] = {
    "columns of all types": mixed(),
    "float32 in C order": from_rows(mixed()[["a", "b", "c"]]),
    "numbers as names": pd.DataFrame(numbers(np.float64), columns=[3, 1, 0, 2, 4]),
    "no numbers": mixed()[["city", "nullable", "day"]],
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_have_the_bytes_of_the_fit_in_memory(name: str) -> None:
    X = FRAMES[name]
    y = X.iloc[:, 0].factorize()[0] % 5 + np.arange(N) % 7.0
    parts = [X[:1], X[1:1], X[1:2_100], X[2_100:]]
    model = regressor(category_encoding="sets")
    local = clone(model).fit(X.rename(columns=str), y)
    for found in fit(model, parts, y):
        assert_same_model(found, local)


def test_names_that_are_equal_are_refused() -> None:
    X = pd.DataFrame(numbers(np.float64, columns=2), columns=["a", "a"])
    with pytest.raises(ValueError, match="Duplicate column names"):
        fit(regressor(), [X], X.index.to_numpy(float))


@pytest.mark.parametrize("kind", ["C", "F", "frame"])
def test_a_fit_copies_a_small_part_of_the_rows_at_a_time(kind: Any) -> None:
    X = np.random.default_rng(0).random((500_000, 32), np.float32)
    y, n_bytes = X[:, 0].copy(), X.nbytes
    rows = pd.DataFrame(X) if kind == "frame" else np.asarray(X, order=kind)
    parts = [rows[begin : begin + 125_000] for begin in range(0, 500_000, 125_000)]
    model = regressor(n_estimators=1)
    fit(model, [rows[:32]], y[:32], n_ranks=1)  # imports
    tracemalloc.start()
    try:
        fit(model, parts, y, n_ranks=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n_bytes / 2  # targets, weights, a sample and batches


@pytest.mark.parametrize("rows", [FRAMES["float32 in C order"], ARRAYS["float32"]])
def test_a_partition_has_no_copy_in_the_memory_of_arrow(rows: Any) -> None:
    before = pa.total_allocated_bytes()
    table = make_table(rows, [], [], 0, has_names=isinstance(rows, pd.DataFrame))
    assert pa.total_allocated_bytes() == before
    assert table.num_rows == N


def test_dask_counts_the_rows_of_a_partition() -> None:
    X = numbers(np.float32)
    for rows in (X, pd.DataFrame(X, columns=list("abcde"))):
        table = make_table(rows, [], [], 0, has_names=rows is not X)
        assert X.nbytes < sizeof(table) < 1.1 * X.nbytes
