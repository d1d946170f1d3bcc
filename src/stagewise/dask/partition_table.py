"""The table of one partition: a part of X, with its targets and its weights.

A short task makes it. Names and values are read by the rules of tables in memory, and refused with
the same messages. Numbers are not copied. This module must not import collections of Dask.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stagewise.data.categories.factor import factorise
from stagewise.data.reading.column import native_floats, read_column, refuse_cell
from stagewise.data.reading.frame import feature_names
from stagewise.datasets.array_partition import ArrayPartition, arrow_column, is_numeric
from stagewise.datasets.arrow import reason_of
from stagewise.datasets.frame_partition import FramePartition
from stagewise.datasets.partition_source import Partition
from stagewise.validation.messages import column_label

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["make_table"]

Array = npt.NDArray[Any]


def make_table(
    X: Any,
    names: Sequence[str | None],
    columns: Sequence[Any],
    number: int,
    *,
    has_names: bool,
    optional: Collection[str] = (),
) -> Partition:
    """Return a partition as a table, without a copy of numbers.

    Parameters
    ----------
    X : data frame or array
        The features, perhaps with the target and the weights.
    names : sequence of str or None
        The names of the target and of the weights.
    columns : sequence
        Their values; None: X has them, or there are none.
    number : int
        The number of the partition, for messages.
    has_names : bool
        Whether X must be a data frame.
    optional : collection of str
        Those of the names that X may not have.

    Raises
    ------
    TypeError, ValueError
        If X or a column cannot be read; the message has the number of the partition.
    """
    roles = {n: values for n, values in zip(names, columns, strict=True) if n is not None}
    with _locate_errors(number):
        table, found = _read_part(X, [n for n, own in roles.items() if own is None], has_names)
        for name, values in roles.items():
            column = found.get(name) if values is None else _read_vector(values, name)
            if column is not None and len(column) != table.num_rows:
                raise ValueError(
                    f"X has {table.num_rows} rows, but {name} has {len(column)} values; pass one "
                    "value for each row."
                )
            if column is not None and table.num_rows:
                table = table.append_column(name, column)
            elif table.num_rows and name not in optional:
                raise ValueError(
                    f"X has no column {name!r}, which is named as the target or the weights. Add "
                    "the column, or pass the values."
                )
    return table


@contextmanager
def _locate_errors(number: int) -> Iterator[None]:
    """Append the number of the partition to errors; rows in them are counted from its first one."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if type(error) not in (ValueError, TypeError):
            raise
        raise type(error)(f"{error} (In partition {number}.)") from error


def _read_part(
    X: Any, of_X: Sequence[str], has_names: bool
) -> tuple[ArrayPartition | FramePartition, dict[str, pa.ChunkedArray]]:
    """Return the features of a part of X, and those of the columns `of_X` that it has."""
    import pyarrow as pa

    if isinstance(X, np.ndarray) and has_names:
        raise TypeError(
            "A part of X is an array; parts of a list must be data frames. Use "
            "dask.array.from_delayed for arrays."
        )
    if isinstance(X, np.ndarray):
        return _read_array(X), {}
    if isinstance(X, pd.DataFrame):
        series = [X.iloc[:, j] for j in range(X.shape[1])]
        return _read_columns(list(X.columns), series, len(X), of_X)
    if hasattr(X, "to_arrow"):
        X = X.to_arrow()
    if not isinstance(X, pa.Table):
        raise TypeError(
            f"A part of X is a {type(X).__module__}.{type(X).__name__}; parts must be arrays of "
            "NumPy, or data frames of pandas, polars or pyarrow. Convert it."
        )
    return _read_columns(X.column_names, X.columns, len(X), of_X)


def _read_array(X: Array) -> ArrayPartition | FramePartition:
    """Return the rows of an array; columns of objects have their own types."""
    import pyarrow as pa

    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: a part of X has the shape "
            f"{X.shape}. Pass rows and features."
        )
    _refuse_no_features(*X.shape)
    if X.dtype.kind == "c" and len(X):
        refuse_cell(X[0, 0], 0, column_label(None, 0), "")
    numbers = _arrow_floats(X, "X")
    if is_numeric(numbers.dtype):
        return ArrayPartition(numbers, pa.table({}))
    return FramePartition(
        {f"x{j}": _arrow(X[:, j], column_label(None, j)) for j in range(X.shape[1])}
    )


def _read_columns(
    labels: Sequence[Any], columns: Sequence[Any], n_rows: int, of_X: Sequence[str]
) -> tuple[FramePartition, dict[str, pa.ChunkedArray]]:
    """Return the features of a data frame, and some other columns; see `_read_part`."""
    if not n_rows:  # it may have any columns
        return FramePartition({}), {}
    texts = [str(label) for label in labels]
    places = {
        name: labels.index(name) if name in labels else texts.index(name)
        for name in of_X
        if name in texts
    }
    features = [j for j in range(len(labels)) if j not in places.values()]
    _refuse_no_features(n_rows, len(features))
    names = feature_names([labels[j] for j in features]) or [texts[j] for j in features]
    own = {
        name: _read_column(columns[j], column_label(names, i))
        for i, (name, j) in enumerate(zip(names, features, strict=True))
    }
    others = {name: _read_vector(columns[j], name) for name, j in places.items()}
    return FramePartition(own), others


def _refuse_no_features(n_rows: int, n_features: int) -> None:
    if n_rows and not n_features:
        raise ValueError(
            "X has no features; pass at least one column besides the target and the weights."
        )


def _read_vector(values: Any, name: str) -> pa.ChunkedArray:
    """Return targets or weights as a column of Arrow."""
    if isinstance(values, (np.ndarray, pd.DataFrame)):
        if values.ndim != 1 and values.shape[1:] != (1,):
            raise ValueError(
                f"{name} should be a 1d array, got an array of shape {values.shape} instead. Pass "
                "one value for each row."
            )
        values = values.iloc[:, 0] if isinstance(values, pd.DataFrame) else values.reshape(-1)
    column = _read_column(values, name)
    return arrow_column(column) if isinstance(column, np.ndarray) else column


def _read_column(values: Any, label: str) -> Array | pa.ChunkedArray:
    """Return one column: numbers of NumPy as an array, and all others as a column of Arrow."""
    if isinstance(values, pd.Series):
        values = _plain_values(values, label)
    if not isinstance(values, np.ndarray):
        return _arrow(values, label)
    if values.dtype.kind == "c" and len(values):
        refuse_cell(values[0], 0, label, "")
    numbers = _arrow_floats(values, label)
    return numbers if is_numeric(numbers.dtype) else _arrow(numbers, label)


def _plain_values(series: pd.Series[Any], label: str) -> Array | pd.Series[Any]:
    """Return the numbers of a series as an array, and other values as types that Arrow has.

    Periods are refused as by a fit in memory: they would become integers.
    """
    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        return _plain_values(series.sparse.to_dense(), label)
    if isinstance(dtype, pd.PeriodDtype):
        return read_column(series.to_numpy(object), None, label, "").values
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(
        dtype.categories.dtype, pd.PeriodDtype
    ):
        factorise(series.to_numpy(object), None, label)
        return series.cat.set_categories([])  # all values are missing
    is_number = isinstance(dtype, np.dtype) and dtype.kind in "biufc"
    return series.to_numpy() if is_number else series


def _arrow_floats(values: Array, label: str) -> Array:
    """Return floats that are wider than those of Arrow as float64; others as they are."""
    is_wide = values.dtype.kind == "f" and not is_numeric(values.dtype)
    return native_floats(values, label) if is_wide else values


def _arrow(values: Any, label: str) -> pa.ChunkedArray:
    """Return one column as a column of Arrow.

    Raises
    ------
    ValueError
        If Arrow has no type for all of its values.
    """
    import pyarrow as pa

    try:
        if isinstance(values, np.ndarray):
            return arrow_column(np.ascontiguousarray(values))
        if not isinstance(values, (pa.Array, pa.ChunkedArray)):
            is_polars = not isinstance(values, pd.Series) and hasattr(values, "to_arrow")
            values = values.to_arrow() if is_polars else pa.array(values, from_pandas=True)
        return pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    except pa.ArrowException as error:
        is_category = isinstance(getattr(values, "dtype", None), pd.CategoricalDtype)
        what = "categories" if is_category else "values"
        remedy = "cat.rename_categories(str)" if is_category else "astype(float) or astype(str)"
        raise ValueError(
            f"{label} has {what} of several types, and a column of a partition has one type "
            f"({reason_of(error)}). Convert them, for instance with {remedy}."
        ) from error
