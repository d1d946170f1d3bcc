"""Reads X into a checked table, without unnecessary copies.

X becomes one 2-D float array, a list of 1-D columns, or the stored cells of a sparse matrix, and
every cell keeps its value exactly. Infinite values are allowed and NaN is a missing value, so float
arrays are not scanned unless the caller has other missing values. This module must not import
features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils import check_array

from stagewise.data.categories.categorical_features import (
    NO_CATEGORICAL_FEATURES,
    CategoricalSelector,
)
from stagewise.data.categories.factor import Factor, factorise
from stagewise.data.reading.cell import family
from stagewise.data.reading.column import (
    LARGEST_EXACT,
    Array,
    Column,
    Mask,
    as_floats,
    read_column,
    read_date_texts,
    refuse_cell,
    with_missing,
)
from stagewise.data.reading.datetimes import TemporalType
from stagewise.data.reading.frame import Frame, open_frame
from stagewise.data.reading.missing_values import ONLY_NAN, MissingValues
from stagewise.data.reading.records import Records, open_records
from stagewise.data.reading.sparse import SparseCells, read_sparse_cells
from stagewise.data.reading.text_columns import refuse_text_columns
from stagewise.validation.messages import column_label

__all__ = [
    "Table",
    "check_shape",
    "exact_array",
    "read_array",
    "read_frame",
    "read_records",
    "read_table",
]


@dataclass(frozen=True)
class Table:
    """A checked table.

    Parameters
    ----------
    columns : array of shape (n_rows, n_features), list of arrays of shape (n_rows,), or SparseCells
        The values. An array is float32 or float64 with any strides. In a list each column is
        float32 or float64, or int64 or uint64 where no float holds it exactly (a *wide* column), or
        the int32 codes of a categorical column. `SparseCells` hold floats. All of these may share
        the caller's memory and must not be changed.
    n_rows, n_features : int
        The table's shape.
    names : list of str, or None
        The columns' names, or None.
    missing : mapping of int to bool array
        The mask of missing values, for wide columns that have some. In other columns, a missing one
        is NaN.
    missing_values : MissingValues
        The values that count as missing besides NaN.
    taken_as_missing : mapping of int to int
        The number of cells with such a value, for columns that have some.
    factors : mapping of int to Factor
        The distinct values and the codes of the categorical columns.
    temporal_types : mapping of int to {"date", "duration", "time of day"}
        The types of the columns whose numbers are nanoseconds.
    """

    columns: Array | list[Array] | SparseCells
    n_rows: int
    n_features: int
    names: list[str] | None = None
    missing: Mapping[int, Mask] = field(default_factory=dict)
    missing_values: MissingValues = ONLY_NAN
    taken_as_missing: Mapping[int, int] = field(default_factory=dict)
    factors: Mapping[int, Factor] = field(default_factory=dict)
    temporal_types: Mapping[int, TemporalType] = field(default_factory=dict)

    def column(self, position: int) -> Column:
        """Return one column; raise TypeError if the table is sparse."""
        if isinstance(self.columns, list):
            its = self.missing.get(position), self.temporal_types.get(position)
            return Column(self.columns[position], *its)
        if isinstance(self.columns, SparseCells):
            raise TypeError("single columns of a sparse table cannot be read")
        return Column(self.columns[:, position], None)


@dataclass(frozen=True)
class _Grid:
    """The columns of an array, with the interface of `Frame`."""

    values: Array
    mask: Mask | None
    names: list[str] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        n_rows, n_columns = self.values.shape
        return n_rows, n_columns

    def cells(self, position: int) -> tuple[Array, Mask | None]:
        return self.values[:, position], None if self.mask is None else self.mask[:, position]

    def text_codes(self, position: int) -> tuple[list[str], Array] | None:
        return None

    def has_category_type(self, position: int) -> bool:
        return False

    def is_text(self, position: int) -> bool:
        if self.values.dtype.kind != "O":
            return self.values.dtype.kind in "UT"
        return any(family(kind) == "text" for kind in set(map(type, self.values[:, position])))

    def is_time_of_day(self, position: int) -> bool:
        return False

    def refuse_category(self, position: int, remedy: str) -> None:
        """Do nothing: an array has no category type."""


def read_table(
    X: Any,
    *,
    caller: str,
    missing_values: MissingValues = ONLY_NAN,
    categorical: CategoricalSelector = NO_CATEGORICAL_FEATURES,
    allow_empty: bool = False,
) -> Table:
    """Read and check a table of numbers and categories.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        A numpy array of booleans, integers, floats, dates, durations or numeric objects; a list
        of lists; a pandas, polars or pyarrow table, or any eager frame that narwhals supports; a
        matrix or array of scipy.sparse; a list of dictionaries, named tuples or dataclass
        instances, or a dictionary of columns (see `open_records`). NaN, None, NA, NaT and masked
        cells are missing. Dates, durations and times of day become integer nanoseconds.
    caller : str
        The estimator's name, for messages.
    missing_values : MissingValues
        Other values that count as missing.
    categorical : CategoricalSelector
        Selects the categorical columns, which may also hold text and objects of several types.
    allow_empty : bool
        Whether a table without rows is allowed.

    Returns
    -------
    Table

    Raises
    ------
    ValueError, TypeError
        If X is not a table of numbers; the message names the column, the row and the remedy.
    """
    records = open_records(X)
    if records is not None:
        return read_records(records, caller, missing_values, categorical, allow_empty=allow_empty)
    frame = open_frame(X, caller)
    if frame is not None:
        return read_frame(frame, caller, missing_values, categorical, allow_empty=allow_empty)
    return read_array(X, caller, missing_values, categorical, allow_empty=allow_empty)


def read_frame(
    frame: Frame,
    caller: str,
    missing_values: MissingValues,
    categorical: CategoricalSelector,
    *,
    allow_empty: bool = False,
) -> Table:
    """Read an opened frame; see `read_table`."""
    n_rows, n_features = frame.shape
    if n_features == 0 or (n_rows == 0 and not allow_empty):
        check_shape(np.empty((n_rows, n_features)), caller, allow_empty)
    positions = categorical.positions(frame)
    sparse = None if positions else frame.sparse_matrix()
    if sparse is not None:
        return _from_sparse_cells(
            *read_sparse_cells(sparse, caller, missing_values), frame.names, missing_values
        )
    values = None if positions else frame.matrix(of_one_type=bool(missing_values))
    table = None if values is None else _as_matrix(values, frame.names, missing_values)
    if table is not None:
        return table
    return _by_columns(frame, positions, missing_values, categorical)


def read_records(
    records: Records,
    caller: str,
    missing_values: MissingValues,
    categorical: CategoricalSelector,
    *,
    allow_empty: bool = False,
) -> Table:
    """Read opened rows with names; see `read_table`."""
    if 0 in records.shape:
        check_shape(np.empty(records.shape), caller, allow_empty)
    return _by_columns(records, categorical.positions(records), missing_values, categorical)


def read_array(
    X: Any,
    caller: str,
    missing_values: MissingValues,
    categorical: CategoricalSelector,
    *,
    allow_empty: bool = False,
) -> Table:
    """Read a sparse matrix, an array, or an object that numpy can convert; see `read_table`."""
    if scipy.sparse.issparse(X):
        return _read_sparse(X, caller, missing_values, categorical, allow_empty)
    values = exact_array(X)
    check_shape(values, caller, allow_empty)
    grid = _Grid(values, np.ma.getmaskarray(X) if np.ma.is_masked(X) else None)
    positions = categorical.positions(grid)
    reads_dates = 0 in categorical.dates
    if not positions and values.dtype.kind in "cUSTV" and values.size and not reads_dates:
        # Before a copy as objects is made.
        if categorical.learns_categories and grid.is_text(0):
            refuse_text_columns(grid, positions, uses_types=categorical.uses_types)
        remedy = categorical.remedy(None, 0)
        refuse_cell(values[0, 0], 0, column_label(None, 0), remedy)
    whole = grid.mask is None and not positions
    table = _as_matrix(values, None, missing_values) if whole else None
    return table or _by_columns(grid, positions, missing_values, categorical)


def _read_sparse(
    X: Any,
    caller: str,
    missing_values: MissingValues,
    categorical: CategoricalSelector,
    allow_empty: bool,
) -> Table:
    cells, taken = read_sparse_cells(X, caller, missing_values)
    n_rows, n_features = cells.shape
    if n_features == 0 or (n_rows == 0 and not allow_empty):
        check_shape(np.empty((n_rows, n_features)), caller, allow_empty)
    if categorical.positions(_SparseSource(cells.shape)):
        raise ValueError(
            "X is a sparse matrix, whose columns are all numeric: categorical_features must be "
            "None or 'from_dtype'. Keep the columns one-hot encoded, or pass the categories as "
            "columns of a data frame or of a dense array."
        )
    return _from_sparse_cells(cells, taken, None, missing_values)


def _from_sparse_cells(
    cells: SparseCells,
    taken: npt.NDArray[np.int64] | None,
    names: list[str] | None,
    missing_values: MissingValues,
) -> Table:
    counts = {} if taken is None else {int(j): int(taken[j]) for j in np.flatnonzero(taken)}
    return Table(cells, *cells.shape, names, {}, missing_values, counts)


@dataclass(frozen=True)
class _SparseSource:
    """The columns of a sparse matrix: numeric, without names."""

    shape: tuple[int, int]
    names: list[str] | None = None

    def has_category_type(self, position: int) -> bool:
        return False

    def is_text(self, position: int) -> bool:
        return False


def exact_array(X: Any) -> Array:
    """Return X as an array that holds every number of X exactly.

    numpy converts the cells of a list to one type: numbers next to text to text, and large integers
    next to fractions to doubles. Such lists become arrays of objects instead.
    """
    if isinstance(X, np.ndarray) or hasattr(X, "__array__"):
        return np.asarray(X)
    try:
        values = np.asarray(X)
    except ValueError:
        _refuse_ragged(X)
        raise
    rounded = values.dtype.kind == "f" and bool((np.abs(values) >= LARGEST_EXACT).any())
    if rounded or values.dtype.kind in "USc":
        return np.asarray(X, dtype=object)
    return values


def check_shape(values: Array, caller: str, allow_empty: bool) -> None:
    """Raise scikit-learn's error unless the array has two dimensions, rows and columns."""
    if values.ndim == 2 and values.shape[1] > 0 and (values.shape[0] > 0 or allow_empty):
        return
    check_array(
        values,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=0 if allow_empty else 1,
        estimator=caller,
    )


def _as_matrix(
    values: Array, names: list[str] | None, missing_values: MissingValues
) -> Table | None:
    """Return a table of one array, or None if it must be read column by column."""
    matrix = as_floats(values)
    if matrix is None:
        return None
    n_rows, n_features = values.shape
    found = missing_values.mask_in(values)
    if found is None:
        return Table(matrix, n_rows, n_features, names, {}, missing_values)
    taken = {j: n for j, n in enumerate(found.sum(axis=0).tolist()) if n}
    matrix = with_missing(matrix, found)
    return Table(matrix, n_rows, n_features, names, {}, missing_values, taken)


def _by_columns(
    source: Frame | Records | _Grid,
    positions: frozenset[int],
    missing_values: MissingValues,
    categorical: CategoricalSelector,
) -> Table:
    """Return a table that is read column by column; `positions` are categorical."""
    names, (n_rows, n_features) = source.names, source.shape
    columns: list[Array] = []
    missing: dict[int, Mask] = {}
    taken: dict[int, int] = {}
    factors: dict[int, Factor] = {}
    temporal_types: dict[int, TemporalType] = {}
    for j in range(n_features):
        label, remedy = column_label(names, j), categorical.remedy(names, j)
        if j in positions:
            coded = source.text_codes(j)
            if coded is not None:
                factor = Factor.from_codes(*coded)
            else:
                values, hidden = source.cells(j)
                factor = factorise(values, hidden, label, comparable=categorical.learns_categories)
            factors[j], taken[j] = factor.mask_values(missing_values)
            columns.append(factors[j].codes)
            continue
        reads_dates = j in categorical.dates and (source.has_category_type(j) or source.is_text(j))
        if not reads_dates:
            source.refuse_category(j, remedy)
            if categorical.learns_categories and source.is_text(j):
                refuse_text_columns(source, positions, uses_types=categorical.uses_types)
        values, hidden = source.cells(j)
        if reads_dates:
            values = read_date_texts(values, hidden, label, remedy)
        found = missing_values.mask_in(values)
        if found is not None:
            hidden = np.zeros(n_rows, dtype=bool) if hidden is None else hidden
            taken[j] = int(np.count_nonzero(found & ~hidden))
            hidden = found | hidden
        column = read_column(values, hidden, label, remedy)
        columns.append(column.values)
        if column.missing is not None:
            missing[j] = column.missing
        # Times of day are read as integers; other columns are not checked, for speed.
        timed = values.dtype.kind == "i" and source.is_time_of_day(j)
        temporal_type: TemporalType | None = "time of day" if timed else column.temporal_type
        if temporal_type is not None:
            temporal_types[j] = temporal_type
    taken = {j: n for j, n in taken.items() if n}
    known = (missing, missing_values, taken, factors, temporal_types)
    return Table(columns, n_rows, n_features, names, *known)


def _refuse_ragged(X: Any) -> None:
    """Raise ValueError for the first row of a list of lists with another length, if any."""
    lengths = [len(row) if hasattr(row, "__len__") else None for row in X]
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            raise ValueError(
                f"X row {row} has {length} cells where row 0 has {lengths[0]}. "
                "Every row must have the same number of cells."
            ) from None
