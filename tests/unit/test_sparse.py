"""Sparse matrices are read like their dense copies, and invalid indices are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from stagewise.data import MissingValues, read_table
from stagewise.data.reading.sparse import SparseCells
from stagewise.data.reading.table import Table

FORMATS: dict[str, Callable[[Any], Any]] = {
    f"{name}_{kind}": getattr(sp, f"{name}_{kind}")
    for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("matrix", "array")
}
TYPES = [np.bool_, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float32, float]


def read(X: Any, *missing: float, **more: Any) -> Table:
    return read_table(X, caller="Model", missing_values=MissingValues.of(missing), **more)


def dense(table: Table) -> npt.NDArray[Any]:
    """Return the dense values, one by one."""
    cells = table.columns
    assert isinstance(cells, SparseCells)
    out = np.full(cells.shape, cells.absent, dtype=np.float64)
    for line in range(len(cells.start) - 1):
        for k in range(cells.start[line], cells.start[line + 1]):
            place = (line, cells.index[k]) if cells.by_rows else (cells.index[k], line)
            out[place] = cells.values[k]
    return out


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", TYPES)
def test_every_format_and_type_equals_its_dense_copy(form: str, kind: type) -> None:
    X = (np.random.default_rng(1).integers(0, 4, (12, 5)) // 2).astype(kind)
    table = read(FORMATS[form](X))
    assert (table.n_rows, table.n_features, table.names) == (12, 5, None)
    np.testing.assert_array_equal(dense(table), X.astype(np.float64))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(-3, 3)), max_size=25),
    st.sampled_from(["coo", "csr", "csc"]),
    st.sampled_from([np.int32, np.int64]),
    st.sampled_from([np.int8, np.float32, np.float64, np.bool_]),
)
def test_unsorted_and_repeated_values_are_summed(
    cells: list[tuple[int, int, int]], form: str, index: type, kind: type
) -> None:
    row, col, data = (np.array(x, dtype=int) for x in zip(*cells, strict=True)) if cells else (
        np.empty(0, int), np.empty(0, int), np.empty(0, int)
    )  # fmt: skip
    X: Any = sp.coo_array((data.astype(kind), (row, col)), shape=(4, 5))
    if form != "coo":
        lines, others, n = (row, col, 4) if form == "csr" else (col, row, 5)
        order = np.argsort(lines, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=n))])
        make = sp.csr_array if form == "csr" else sp.csc_array
        arrays = data[order].astype(kind), others[order].astype(index), start.astype(index)
        X = make(arrays, shape=(4, 5))
    before = X.copy()
    table = read(X)
    np.testing.assert_array_equal(dense(table), X.toarray().astype(np.float64))
    assert X.nnz == before.nnz  # the caller's matrix is unchanged
    if form != "coo":
        np.testing.assert_array_equal(X.indices, before.indices)


def test_sorted_floats_are_not_copied() -> None:
    X = sp.random_array((20, 6), density=0.3, format="csr", rng=np.random.default_rng(0))
    cells = read(X).columns
    assert isinstance(cells, SparseCells)
    assert np.shares_memory(cells.values, X.data)
    assert np.shares_memory(cells.index, X.indices)


def test_zeros_are_zero_unless_declared_missing() -> None:
    X = sp.csr_array((np.array([0.0, 2.0, np.nan, -9.0]), ([0, 0, 1, 2], [0, 1, 1, 1])), (3, 2))
    X = sp.csr_array(X)
    nan = np.nan
    np.testing.assert_array_equal(dense(read(X)), [[0, 2], [0, nan], [0, -9]])
    assert read(X).taken_as_missing == {}
    marked = read(X, -9)
    np.testing.assert_array_equal(dense(marked), [[0, 2], [0, nan], [0, nan]])
    assert marked.taken_as_missing == {1: 1}
    zeros = read(X, 0)
    np.testing.assert_array_equal(dense(zeros), [[nan, 2], [nan, nan], [nan, -9]])
    assert zeros.taken_as_missing == {0: 3}
    for missing in ((0,), (-9,), (0, -9, 2)):
        full = read(X.toarray(), *missing)
        assert read(X, *missing).taken_as_missing == full.taken_as_missing
        assert read(sp.csc_array(X), *missing).taken_as_missing == full.taken_as_missing
        np.testing.assert_array_equal(dense(read(X, *missing)), full.columns)


def broken(form: str, **arrays: Any) -> Any:
    X = getattr(sp, f"{form}_array")(np.eye(3))
    for name, values in arrays.items():
        setattr(X, name, np.asarray(values, dtype=np.int32))
    return X


@pytest.mark.parametrize(
    "X",
    [
        broken("csr", indices=[0, 1, 3]),
        broken("csr", indices=[0, -1, 2]),
        broken("csc", indices=[0, 2**30, 2]),
        broken("csr", indices=[0, 1]),
        broken("csr", indptr=[0, 1, 2, 2**30]),
        broken("csr", indptr=[0, 2, 1, 3]),
        broken("csr", indptr=[1, 1, 2, 3]),
        broken("csr", indptr=[0, 1, 3]),
        broken("csc", indptr=[-5, 1, 2, 3]),
        broken("coo", row=[0, 1, 3]),
        broken("coo", col=[-1, 1, 2]),
        broken("bsr", indices=[7]),
    ],
)
def test_indices_outside_the_shape_are_refused(X: Any) -> None:
    with pytest.raises(ValueError, match=r"inconsistent arrays.*Build it again"):
        read(X)


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (sp.csr_array((0, 3)), ValueError, r"0 sample\(s\)"),
        (sp.csr_array((3, 0)), ValueError, r"0 feature\(s\)"),
        (sp.csr_array(np.eye(2) * 1j), ValueError, "Complex data not supported"),
        (sp.coo_array(np.arange(3.0)), ValueError, "Expected 2D array, got 1D"),
        (sp.csr_array(np.eye(2, dtype=np.int64) * (2**53 + 1)), ValueError, r"beyond 2\*\*53"),
    ],
)
def test_invalid_matrices_are_refused(X: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        read(X)


def test_objects_are_refused() -> None:
    X = sp.csr_array(np.eye(2))
    X.data = X.data.astype(object)
    with pytest.raises(TypeError, match=r"dtype object.*X.astype\(float\)"):
        read(X)


def test_no_rows_are_accepted_with_allow_empty() -> None:
    table = read(sp.csr_array((0, 3)), allow_empty=True)
    assert (table.n_rows, table.n_features) == (0, 3)


def test_frames_of_sparse_columns_stay_sparse() -> None:
    X = np.where(np.random.default_rng(3).random((9, 3)) < 0.4, 1.0, 0.0)
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_array(X), columns=list("abc"))
    table = read(frame)
    assert table.names == ["a", "b", "c"]
    np.testing.assert_array_equal(dense(table), X)
    flags = pd.get_dummies(pd.Series(list("xyzxy")), sparse=True)
    np.testing.assert_array_equal(dense(read(flags)), flags.to_numpy().astype(float))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 2.0]), "b": [1.0, 0.0]}),
        pd.DataFrame({"a": pd.arrays.SparseArray([np.nan, 2.0], fill_value=np.nan)}),
        pd.DataFrame({"a": pd.arrays.SparseArray([0, 2]), "b": pd.arrays.SparseArray([0.0, 1.0])}),
    ],
)
def test_other_frames_with_sparse_columns_are_read_column_by_column(frame: pd.DataFrame) -> None:
    table = read(frame)
    assert isinstance(table.columns, list)
    values = np.stack(table.columns, axis=1)
    np.testing.assert_array_equal(values, frame.sparse.to_dense() if len(frame.columns) == 1
                                  else frame.astype(float))  # fmt: skip
