"""Partitions of arrays and data frames: the bytes of the fit in memory, without copies of rows."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from dask.sizeof import sizeof
from sklearn.base import clone

from cluster.rank_fits import assert_same_model, regressor
from cluster.thread_exchange import run_ranks
from stagewise import RandomForestRegressor
from stagewise.dask.forest_fit import ForestFit
from stagewise.dask.partition_fit import PartitionFit, Roles
from stagewise.dask.partition_table import make_table
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
    "long doubles": with_nan(numbers(np.longdouble)),
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


def no_categories(n: int) -> pd.Categorical:
    """Return missing values whose categories have no type."""
    return pd.Categorical(np.full(n, None, dtype=object))


def from_rows(X: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(np.ascontiguousarray(X.to_numpy()), columns=X.columns)


FRAMES: dict[str, pd.DataFrame] = {
    "columns of all types": mixed(),
    "float32 in C order": from_rows(mixed()[["a", "b", "c"]]),
    "numbers as names": pd.DataFrame(numbers(np.float64), columns=[3, 1, 0, 2, 4]),
    "no numbers": mixed()[["city", "nullable", "day"]],
    "sparse columns": mixed()[["a", "b"]].assign(c=pd.arrays.SparseArray(numbers(float)[:, 0])),
    "long doubles": mixed()[["a"]].assign(b=numbers(np.longdouble)[:, 0]),
    "categories that are all missing": mixed()[["a"]].assign(b=no_categories(N)),
    "names of methods": mixed()[["a", "b"]].rename(columns={"a": "to_arrow", "b": "column_names"}),
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


def test_arrow_tables_and_other_orders_of_columns_have_the_bytes_of_the_fit_in_memory() -> None:
    X = mixed()[["a", "city", "many", "flag"]]
    y = np.nan_to_num(X["a"].to_numpy()) + np.arange(N) % 7
    model = regressor(category_encoding="sets")
    local = clone(model).fit(X, y)
    arrow = pa.Table.from_pandas(X[2_000:3_000], preserve_index=False)
    other = X[3_000:][["flag", "city", "a", "many"]]
    for found in fit(model, [X[:2_000], arrow, other], y):
        assert_same_model(found, local)
        assert found.feature_names_in_.tolist() == list(X.columns)


@pytest.mark.parametrize("dtype", [">f8", ">i4", np.longdouble])
def test_targets_and_weights_of_every_type(dtype: Any) -> None:
    X = numbers(np.float64)
    y, weight = X[:, 0].astype(dtype), (np.arange(N) % 3).astype(dtype)
    table = make_table(X, ["y", "weight"], [y, weight], 0, has_names=False)
    training = PartitionFit(regressor(), ROLES[False], None, 1)
    (found,) = run_ranks(1, lambda exchange: training(exchange, Shard([table], [0], 1)))
    assert_same_model(found, regressor().fit(X, y, weight))


@pytest.mark.parametrize("first", [True, False])
def test_categories_without_values_agree_with_those_of_other_partitions(first: bool) -> None:
    X = mixed()[["a", "city"]]
    y = np.nan_to_num(X["a"].to_numpy()) + np.arange(N) % 7
    parts = [X[:1_500], X[1_500:]]
    parts[1 - first] = parts[1 - first].assign(city=no_categories(len(parts[1 - first])))
    values = [part["city"].astype(object) for part in parts]
    whole = X.assign(city=pd.Categorical(np.concatenate(values)))
    model = regressor(category_encoding="sets")
    for found in fit(model, parts, y):
        assert_same_model(found, clone(model).fit(whole, y))


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_rows_in_one_place_may_have_a_categorical_column_without_values() -> None:
    X = mixed(500)[["a"]].assign(b=no_categories(500))
    y = np.arange(500.0)
    model = regressor(n_estimators="auto")
    for found in fit(model, [X[:300], X[300:]], y):
        assert found.fingerprint() == clone(model).fit(X, y).fingerprint()


def column_of_periods() -> pd.Series[Any]:
    days = pd.Series(numbers(np.int64)[:, 0].astype("M8[D]").astype("M8[ns]"))
    return days.dt.to_period("M")


def frame_with(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": numbers(float)[:, 0], "b": values})


def named(*names: Any) -> pd.DataFrame:
    return pd.DataFrame(numbers(np.float64, columns=len(names)), columns=list(names))


REFUSED_IN_MEMORY: dict[str, Any] = {
    "equal names": named("a", "a"),
    "an integer and its text as names": named("a", 1, "1"),
    "a float and text as names": named("a", 1.5),
    "no name and text as names": named("a", None),
    "complex numbers": numbers(np.complex128),
    "a column of complex numbers": frame_with(numbers(np.complex128)[:, 0]),
    "periods": frame_with(column_of_periods()),
    "categories that are periods": frame_with(column_of_periods().astype("category")),
}


@pytest.mark.parametrize("name", REFUSED_IN_MEMORY)
def test_what_a_fit_in_memory_refuses_is_refused_with_the_same_message(name: str) -> None:
    X, y = REFUSED_IN_MEMORY[name], np.arange(N, dtype=float)
    with pytest.raises((TypeError, ValueError)) as local:
        regressor().fit(X, y)
    with pytest.raises(local.type, match=r"\(In partition 0\.\)$") as found:
        fit(regressor(), [X], y)
    assert str(found.value).startswith(str(local.value))


def test_categories_of_several_types_are_refused_with_the_remedy() -> None:
    X = frame_with(pd.Categorical([1, "p"] * (N // 2)))
    message = r"X column 'b' has categories of several types.*rename_categories\(str\)"
    with pytest.raises(ValueError, match=message):
        fit(regressor(), [X], np.arange(N, dtype=float))


def test_a_column_that_differs_between_partitions_is_named_with_both_partitions() -> None:
    X, y = mixed()[["a", "flag"]], np.arange(N, dtype=float)
    wide = X.assign(a=np.arange(N) + 2**60)
    for other, message in (
        (X[["a"]], "Partition 1 has no column 'flag', which partition 0 has. Add"),
        (X.assign(b=1), "Partition 0 has no column 'b', which partition 1 has. Add"),
        (X.astype({"flag": int}), "'flag' is int64 in partition 1, but bool in partition 0. Conve"),
        (wide, "'a' is int64 in partition 1, which cannot be converted to .* Convert the column"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(regressor(), [X[:2_000], other[2_000:]], y)


def test_a_name_of_targets_that_is_a_column_is_refused() -> None:
    y = np.ones(N)
    for X, name in ((named("a", "y"), "y"), (numbers(np.float64), "x0")):
        with pytest.raises(ValueError, match=f"X has a column '{name}'.* rename the column"):
            make_table(X, [name], [y], 0, has_names=isinstance(X, pd.DataFrame))


def test_parts_without_two_dimensions_or_features_are_refused() -> None:
    X, y = numbers(np.float64), np.ones(N)
    for part, message in (
        (X[:, 0], "Expected 2D array, got 1D array instead"),
        (X[:, :, None], "Expected 2D array, got 3D array instead"),
        (X[:, :0], "X has no features"),
        (scipy.sparse.csr_matrix(X), "csr_matrix; parts must be arrays of NumPy"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"{message}.*In partition 4"):
            make_table(part, ["y"], [y], 4, has_names=False)
    with pytest.raises(ValueError, match=r"y should be a 1d array, got an array of shape \(\d+, 2"):
        make_table(X, ["y"], [X[:, :2]], 4, has_names=False)


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
