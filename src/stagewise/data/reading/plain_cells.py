"""The cells of few rows as plain Python objects, read without narwhals.

Opening a data frame and its columns takes tens of microseconds per column, whatever the number of
rows. For few rows it is faster to take the cells one by one. Only column types whose cells are the
same objects in `read_frame` are read here; for any other table the result is None, and the caller
reads it by the general path. pandas and polars are never imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagewise.data.reading.records import are_records, named_values

__all__ = ["FEW", "plain_cells"]

FEW = 32
"""Up to this many rows are read cell by cell."""

POLARS_NUMBERS = frozenset(
    ("Float64", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Boolean")
)
POLARS_CATEGORIES = frozenset(("String", "Categorical", "Enum")) | POLARS_NUMBERS
PANDAS_TEXT = frozenset(("str", "string"))

Cells = Sequence[Any]


def plain_cells(
    X: Any, names: Sequence[str], categorical: frozenset[int]
) -> Sequence[Cells] | None:
    """Return the cells of each named column of few rows.

    Parameters
    ----------
    X : object
        The data.
    names : sequence of str
        The columns to read.
    categorical : frozenset of int
        The positions of the categorical ones among `names`.

    Returns
    -------
    sequence of sequences, or None
        For each name, a cell per row. None: read X by the general path.
    """
    kind = type(X)
    if kind.__name__ == "DataFrame":
        if len(X) > FEW:
            return None
        library = kind.__module__.partition(".")[0]
        if library == "pandas":
            return _pandas_cells(X, names, categorical)
        return _polars_cells(X, names, categorical) if library == "polars" else None
    if kind is np.ndarray or not are_records(X):
        return None
    return _record_cells(X if kind is list else [X], names)


def _record_cells(rows: Sequence[Any], names: Sequence[str]) -> Sequence[Cells] | None:
    if len(rows) > FEW:
        return None
    named = [named_values(row) for row in rows]
    # The names of the first row must be text; those of the others are not compared.
    if named[0] is None or set(map(type, named[0])) != {str}:
        return None
    try:
        return [[row[name] for row in named] for name in names]  # type: ignore[index]
    except (KeyError, TypeError):
        return None


def _pandas_cells(
    X: Any, names: Sequence[str], categorical: frozenset[int]
) -> Sequence[Cells] | None:
    labels = X.columns.tolist()
    if set(map(type, labels)) != {str} or len(set(labels)) < len(labels):
        return None
    if not set(names) <= set(labels):
        return None
    cells = []
    for position, name in enumerate(names):
        column = _pandas_column(X[name], position in categorical)
        if column is None:
            return None
        cells.append(column)
    return cells


def _pandas_column(series: Any, is_categorical: bool) -> Cells | None:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        # A float32 category is the decimal number that it prints, so it is not read here.
        wide_enough = dtype.itemsize == 8 or (dtype.itemsize == 4 and not is_categorical)
        if dtype.kind in "biuO" or (dtype.kind == "f" and wide_enough):
            return list(series.tolist())
        return None
    if not is_categorical:
        return None
    if type(dtype).__name__ == "CategoricalDtype":
        categories = dtype.categories
        return [None if code < 0 else categories[code] for code in series.array.codes.tolist()]
    return list(series.tolist()) if dtype.name in PANDAS_TEXT else None


def _polars_cells(
    X: Any, names: Sequence[str], categorical: frozenset[int]
) -> Sequence[Cells] | None:
    place, types = {name: j for j, name in enumerate(X.columns)}, X.dtypes
    for position, name in enumerate(names):
        if name not in place:
            return None
        kind = types[place[name]].base_type().__name__
        allowed = POLARS_CATEGORIES if position in categorical else POLARS_NUMBERS
        if kind not in allowed and not (kind == "Float32" and position not in categorical):
            return None
    rows = X.rows()  # of all columns: a selection of few takes longer
    return [[row[place[name]] for row in rows] for name in names]
