"""Sparse matrices: the stored cells, and the value of the implicit cells.

A zero is a zero, stored or implicit: a sparse matrix gives the same values as its dense copy, in
time and memory proportional to the number of stored cells. Implicit cells are missing only if
`missing_values` contains 0. Index arrays are checked before scipy or the core use them. This module
must not import features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import SparseColumns
from stagewise.data.reading.column import LARGEST_EXACT, Array, as_floats, with_missing
from stagewise.data.reading.missing_values import MissingValues
from stagewise.validation.messages import short_repr

__all__ = ["SparseCells", "read_sparse_cells"]

Indices = npt.NDArray[Any]

LARGEST_INDEX = 2**32 - 2
"""The largest number of rows and of columns: indices have 32 bits."""


@dataclass(frozen=True, eq=False)
class SparseCells:
    """The stored cells of a sparse table, by rows (CSR) or by columns (CSC).

    Parameters
    ----------
    start : int64 array of shape (n_lines + 1,)
        The first cell of each row (or column), and the number of cells at the end.
    index : uint32 array of shape (n_cells,)
        The column (or row) of each cell, distinct within a row (or column).
    values : float32 or float64 array of shape (n_cells,)
        The values of the cells; NaN is missing.
    shape : tuple of int
        Number of rows and number of columns.
    by_rows : bool
        True for CSR, False for CSC.
    absent : float
        The value of implicit cells: 0, or NaN if zeros are missing.
    """

    start: npt.NDArray[np.int64]
    index: npt.NDArray[np.uint32]
    values: Array
    shape: tuple[int, int]
    by_rows: bool
    absent: float

    def columns(self) -> SparseColumns:
        """Return the table as an object of the native core."""
        return SparseColumns(
            self.start, self.index, self.values, *self.shape, self.by_rows, self.absent
        )

    def dense(self, rows: npt.NDArray[np.intp] | None = None) -> Array:
        """Return the dense matrix, shape (n_rows, n_columns), or that of `rows`, in their order."""
        row, column = self._places()
        values, n_rows = self.values, self.shape[0]
        if rows is not None:
            place = np.full(n_rows, -1, dtype=np.int64)
            place[rows] = np.arange(len(rows))
            kept = place[row] >= 0
            row, column, values, n_rows = place[row[kept]], column[kept], values[kept], len(rows)
        whole = np.full((n_rows, self.shape[1]), self.absent, dtype=values.dtype)
        whole[row, column] = values
        return whole

    def column(self, place: int) -> Array:
        """Return one dense column."""
        row, column = self._places()
        own = column == place
        whole = np.full(self.shape[0], self.absent, dtype=self.values.dtype)
        whole[row[own]] = self.values[own]
        return whole

    def _places(self) -> tuple[Indices, Indices]:
        """Return the row and the column of every stored cell."""
        lines = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return (lines, self.index) if self.by_rows else (self.index, lines)

    def counts_by_column(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return, for each column, the number of its stored cells that are chosen."""
        n_columns = self.shape[1]
        if self.by_rows:
            columns = self.index[: len(chosen)][chosen]
            return np.bincount(columns, minlength=n_columns).astype(np.int64)
        before = np.concatenate([[0], np.cumsum(chosen)])
        return np.diff(before[self.start]).astype(np.int64)


def read_sparse_cells(
    X: Any, caller: str, missing_values: MissingValues
) -> tuple[SparseCells, npt.NDArray[np.int64] | None]:
    """Read and check any matrix or array of scipy.sparse.

    Parameters
    ----------
    X : scipy.sparse matrix or array of shape (n_rows, n_features)
        CSR and CSC matrices are used without a copy if their indices are sorted and no cell is
        stored twice; otherwise, and for other formats, a copy is made.
    caller : str
        The estimator's name, for messages.
    missing_values : MissingValues
        Values that count as missing besides NaN. If 0 is one of them, implicit cells are missing.

    Returns
    -------
    Cells
        The stored cells.
    int64 array of shape (n_features,), or None
        The number of cells of each column with one of the missing values; None if there are none.

    Raises
    ------
    ValueError, TypeError
        If X does not have two dimensions, does not hold numbers, or its indices do not fit its
        shape.
    """
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D sparse array instead: X has shape {X.shape}. "
            "Reshape it to rows and columns."
        )
    _check_type(X.dtype, caller)
    _check_indices(X)
    compressed = _compressed(X)
    n_rows, n_columns = (int(n) for n in compressed.shape)
    data = compressed.data[: compressed.indptr[-1]]
    values = as_floats(data)
    if values is None:
        largest = data[np.argmax(np.abs(data.astype(np.float64)))]
        raise ValueError(
            f"X is a sparse matrix that holds {short_repr(largest)}, but integers beyond 2**53 = "
            f"{LARGEST_EXACT} are exact in dense tables only. Pass X.toarray(), or cast X to "
            "float64 if rounding is acceptable."
        )
    found = missing_values.mask_in(data)
    zeros_missing = 0 in missing_values.values
    cells = SparseCells(
        np.ascontiguousarray(compressed.indptr, dtype=np.int64),
        _unsigned(compressed.indices[: len(data)]),
        np.ascontiguousarray(values if found is None else with_missing(values, found)),
        (n_rows, n_columns),
        compressed.format == "csr",
        np.nan if zeros_missing else 0.0,
    )
    if found is None and not zeros_missing:
        return cells, None
    taken = np.zeros(n_columns, dtype=np.int64)
    if found is not None:
        taken += cells.counts_by_column(found)
    if zeros_missing:
        taken += n_rows - cells.counts_by_column(np.ones(len(data), dtype=bool))
    return cells, taken


def _check_type(dtype: np.dtype[Any], caller: str) -> None:
    if dtype.kind == "c":
        raise ValueError(
            "Complex data not supported: X is a sparse matrix of complex numbers. Pass the real "
            "and the imaginary part as columns of their own."
        )
    if dtype.kind not in "biuf":
        raise TypeError(
            f"X is a sparse matrix of dtype {dtype}, but {caller} reads sparse matrices of "
            "booleans, integers and floats. Cast it first, for instance with X.astype(float)."
        )


def _check_indices(X: Any) -> None:
    """Raise ValueError unless every index is inside the matrix, before memory is read by it."""
    n_rows, n_columns = X.shape
    if max(n_rows, n_columns) > LARGEST_INDEX:
        raise ValueError(
            f"X has shape {X.shape}; at most {LARGEST_INDEX} rows and columns are supported."
        )
    if X.format == "coo":
        for name, index, width in (("row", X.row, n_rows), ("col", X.col, n_columns)):
            _check_range(name, index, width, X)
        if not len(X.row) == len(X.col) == len(X.data):
            raise ValueError(_broken("X.row, X.col and X.data differ in length"))
    elif X.format in ("csr", "csc", "bsr"):
        lines, width = (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
        if X.format == "bsr":
            lines, width = lines // X.blocksize[0], width // X.blocksize[1]
        start = X.indptr
        if len(start) != lines + 1 or start[0] != 0 or (np.diff(start) < 0).any():
            raise ValueError(
                _broken(f"X.indptr must have {lines + 1} entries that increase from 0")
            )
        if not int(start[-1]) <= len(X.indices) == len(X.data):
            raise ValueError(
                _broken(
                    f"X.indptr ends at {int(start[-1])}, X.indices has {len(X.indices)} entries "
                    f"and X.data {len(X.data)}"
                )
            )
        _check_range("indices", X.indices, width, X)


def _check_range(name: str, index: Indices, width: int, X: Any) -> None:
    if len(index) and not 0 <= int(index.min()) <= int(index.max()) < width:
        wrong = int(index.min() if index.min() < 0 else index.max())
        raise ValueError(_broken(f"X.{name} holds {wrong}, but the shape of X is {X.shape}"))


def _broken(what: str) -> str:
    return (
        f"X is a sparse matrix with inconsistent arrays: {what}. Build it again, for instance with "
        "scipy.sparse.coo_array((data, (row, col)), shape)."
    )


def _compressed(X: Any) -> Any:
    """Return X as CSR or CSC with sorted indices and no cell twice; a copy only if needed."""
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _unsigned(index: Indices) -> npt.NDArray[np.uint32]:
    if index.dtype == np.int32:
        return np.ascontiguousarray(index).view(np.uint32)
    return np.ascontiguousarray(index, dtype=np.uint32)
