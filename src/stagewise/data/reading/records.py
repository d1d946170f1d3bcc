"""Rows with names: dictionaries, named tuples and dataclass instances.

One dictionary of single values is one row; one dictionary of lists, tuples or arrays is a table by
columns. Each column keeps its Python objects, which `read_column` and `factorise` read, so that a
cell has the same value and the same errors as in a data frame. This module must not import tables.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from stagewise.data.reading.cell import family
from stagewise.data.reading.column import Array, Mask
from stagewise.data.reading.column_names import refuse_missing_names
from stagewise.datasets.dataset import Dataset
from stagewise.validation.messages import short_repr

__all__ = ["Records", "are_records", "as_row", "named_values", "open_records", "refuse_records"]

TABLE_INTERFACES = ("__array__", "__arrow_c_stream__", "__narwhals_dataframe__")
"""Attributes of tables, which may be dictionaries or dataclass instances themselves."""

GIVE_NONE = "Pass None or NaN for a value that is missing."


@dataclass(frozen=True)
class Records:
    """The columns of rows with names, with the interface of `Frame`.

    Parameters
    ----------
    names : list of str
        The names of the columns.
    columns : list of arrays of shape (n_rows,)
        The cells of each column: Python objects, or the array that was passed.
    n_rows : int
        The number of rows.
    """

    names: list[str]
    columns: list[Array]
    n_rows: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return self.n_rows, len(self.names)

    def cells(self, position: int) -> tuple[Array, Mask | None]:
        """Return the cells of one column, and a mask of missing values."""
        column = self.columns[position]
        mask = np.ma.getmaskarray(column) if np.ma.is_masked(column) else None
        return np.asarray(column), mask

    def text_codes(self, position: int) -> None:
        """Return None: a column of objects has no codes."""

    def has_category_type(self, position: int) -> bool:
        """Return False: a Python object has no category type."""
        return False

    def is_text(self, position: int) -> bool:
        """Return whether a column holds text."""
        column = self.columns[position]
        if column.dtype.kind != "O":
            return column.dtype.kind in "UT"
        return any(family(kind) == "text" for kind in set(map(type, column.tolist())))

    def is_time_of_day(self, position: int) -> bool:
        """Return False: times of day are objects, which `read_column` recognises."""
        return False

    def refuse_category(self, position: int, remedy: str) -> None:
        """Do nothing: a Python object has no category type."""


def are_records(X: Any) -> bool:
    """Return whether X is a row with names, a dictionary of columns, or a list of such rows."""
    if isinstance(X, list):
        return bool(X) and _is_record(X[0])
    return _is_record(X)


def named_values(row: Any) -> Mapping[Any, Any] | None:
    """Return the values of one row by name; None if the row has no names."""
    if not _is_record(row):
        return None
    if isinstance(row, Mapping):
        return row
    if isinstance(row, tuple):
        return dict(zip(row._fields, row, strict=True))  # type: ignore[attr-defined]
    return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}


def as_row(X: Any) -> Any:
    """Return a pandas series whose labels are text, such as X.iloc[0], as a dictionary; else X.

    Raises
    ------
    ValueError
        If two values have the same label.
    """
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(X).__mro__}
    if ("pandas", "Series") not in kinds:
        return X
    labels = X.index.tolist()
    if not labels or not all(isinstance(label, str) for label in labels):
        return X
    row = dict(zip(labels, X.tolist(), strict=True))
    if len(row) < len(labels):
        twice = next(label for place, label in enumerate(labels) if label in labels[:place])
        raise ValueError(f"X is a pandas series, read as one row, with the label {twice!r} twice.")
    return row


def open_records(X: Any, known: Sequence[str] | None = None) -> Records | None:
    """Open X if its rows have names.

    Parameters
    ----------
    X : object
        A dictionary, a named tuple or a dataclass instance; a list of these; or a dictionary whose
        values are lists, tuples or arrays of the same length. With `known` also a pandas series.
    known : sequence of str, or None
        The columns that are read, in this order; other names are ignored. None: the names of the
        first row, which all rows must have.

    Returns
    -------
    Records or None
        None if X is none of these.

    Raises
    ------
    ValueError, TypeError
        If a name is missing, no text, or new in a later row; or if a dictionary has both single
        values and columns.
    """
    X = X if known is None else as_row(X)
    if not are_records(X):
        return None
    if isinstance(X, Mapping) and _has_columns(X, known):
        return _from_columns(X, known)
    return _from_rows(X if isinstance(X, list) else [X], known)


def refuse_records(X: Any, caller: str) -> None:
    """Raise ValueError if X has names, because the model has none to match them with."""
    if are_records(X):
        kind = f"list of {type(X[0]).__name__}" if isinstance(X, list) else type(X).__name__
        raise ValueError(
            f"X is a {kind}, whose values are matched by name, but {caller} was fitted without "
            "feature names. Pass an array or a list of lists with the columns in the order of the "
            "fit, or fit with a data frame or a list of dictionaries."
        )


def _is_record(row: Any) -> bool:
    """Return whether an object is one row with names, or a dictionary of columns."""
    if type(row) is dict:  # the common case
        return True
    named = (
        isinstance(row, Mapping)
        or (isinstance(row, tuple) and hasattr(row, "_fields"))
        or (dataclasses.is_dataclass(row) and not isinstance(row, type))
    )
    return named and not _is_table(row)


def _is_table(X: Any) -> bool:
    """Return whether a dictionary or a dataclass instance is a table: some sparse matrices are."""
    if isinstance(X, Dataset) or scipy.sparse.issparse(X):
        return True
    return any(hasattr(X, interface) for interface in TABLE_INTERFACES)


def _is_column(value: Any) -> bool:
    """Return whether a value of a dictionary is a column: it has a length and an order."""
    if isinstance(value, (str, bytes, Mapping, AbstractSet)) or not hasattr(value, "__len__"):
        return False
    return not (isinstance(value, np.ndarray) and value.ndim == 0)


def _has_columns(X: Mapping[Any, Any], known: Sequence[str] | None) -> bool:
    """Return whether a dictionary has columns; raise if it also has single values."""
    read = [name for name in (X if known is None else known) if name in X]
    columns = [name for name in read if _is_column(X[name])]
    if columns and len(columns) < len(read):
        single = next(name for name in read if name not in columns)
        raise ValueError(
            f"X is a dictionary in which {short_repr(columns[0])} is a column "
            f"({short_repr(X[columns[0]])}) and {short_repr(single)} is a single value "
            f"({short_repr(X[single])}). Pass single values for one row, or lists of the same "
            "length for a table."
        )
    return bool(columns)


def _from_columns(X: Mapping[Any, Any], known: Sequence[str] | None) -> Records:
    _check_names(X)
    if known is not None:
        refuse_missing_names(list(X), known)
    names = list(X if known is None else known)
    columns = [_column(X[name], name) for name in names]
    lengths = [len(column) for column in columns]
    for name, length in zip(names, lengths, strict=True):
        if length != lengths[0]:
            raise ValueError(
                f"X column {name!r} has {length} values where {names[0]!r} has {lengths[0]}. "
                "Every column must have the same number of values."
            )
    return Records(names, columns, lengths[0])


def _column(value: Any, name: str) -> Array:
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise ValueError(
                f"X column {name!r} is an array of shape {value.shape}. Pass one value per row."
            )
        return value
    if not isinstance(value, (list, tuple, range)):
        raise TypeError(
            f"X is a dictionary in which {name!r} is a {type(value).__module__}."
            f"{type(value).__name__}. Pass lists, tuples or numpy arrays, or a data frame: its "
            "library aligns series by its own rules."
        )
    return _objects(value)


def _from_rows(rows: Sequence[Any], known: Sequence[str] | None) -> Records:
    values = []
    for place, row in enumerate(rows):
        named = named_values(row)
        if named is None:
            raise TypeError(
                f"X row {place} is a {type(row).__name__}, {short_repr(row)}, where row 0 is a "
                f"{type(rows[0]).__name__}. Every row must have names."
            )
        values.append(named)
    _check_names(values[0])
    names = list(values[0] if known is None else known)
    for place, named in enumerate(values):
        if known is not None:
            where = f"In row {place} of X: " if len(values) > 1 else ""
            refuse_missing_names(named, known, where, _renamed(named, known) or GIVE_NONE)
        elif named.keys() != values[0].keys():
            name = next(iter(sorted(map(str, named.keys() ^ values[0].keys()))))
            other = (place, 0) if name in named else (0, place)
            raise ValueError(
                f"X row {other[0]} has the name {name!r}, which row {other[1]} does not have. "
                f"Every row must have the same names. {GIVE_NONE}"
            )
    columns = [_objects([named[name] for named in values]) for name in names]
    return Records(names, columns, len(values))


def _renamed(row: Mapping[Any, Any], known: Sequence[str]) -> str:
    """Return the remedy for names of named tuples such as _3; empty: the row has none."""
    own = next((name for name in row if re.fullmatch(r"_\d+", str(name)) and name not in known), "")
    lost = [name for name in known if name not in row and not name.isidentifier()]
    if not own or not lost:
        return ""
    return (
        f"Named tuples, such as those of itertuples() of pandas, have the name {own!r} instead of "
        f"one that is no Python name, such as {lost[0]!r}. Pass X.iloc[[i]] or the dictionaries of "
        "X.to_dict('records')."
    )


def _check_names(row: Mapping[Any, Any]) -> None:
    for name in row:
        if not isinstance(name, str):
            raise TypeError(
                f"X has the name {short_repr(name)}, a {type(name).__name__}. Names of features "
                "must be text; pass an array or a list of lists for columns without names."
            )


def _objects(values: Sequence[Any]) -> Array:
    column = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):  # an assignment of the whole would open nested lists
        column[place] = value
    return column
