"""Offsets of rows: scores that are added to those of the model, and exposures.

An exposure is the time, area or number of units that a count or an amount belongs to. With a log
link it multiplies the prediction: its logarithm is an offset. Each is an array, one number for all
rows, or a column of X, which is then no feature. This module must not import losses.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.column import Array, Mask
from stagewise.data.reading.frame import open_frame
from stagewise.data.reading.records import as_row, named_values, open_records
from stagewise.data.reading.table import exact_array
from stagewise.data.reading.vector import read_vector
from stagewise.data.target import read_doubles
from stagewise.elementary import portable_log
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["NO_OFFSET", "RowOffset", "offset_scores", "read_column_of", "without_columns"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

NUMBERS = "Pass numbers"


@dataclass(frozen=True)
class RowOffset:
    """The offsets that a model was fitted with, and so needs for predictions.

    Parameters
    ----------
    offset, exposure : bool or str
        False: the model has none. True: it is passed with the rows. Text: this column of X.
    """

    offset: bool | str = False
    exposure: bool | str = False

    @classmethod
    def of(cls, offset: Any, exposure: Any) -> RowOffset:
        """Return which offsets were passed to `fit`."""
        sources = [
            value if isinstance(value, str) else value is not None for value in (offset, exposure)
        ]
        return cls(*sources)

    def __bool__(self) -> bool:
        return bool(self.offset or self.exposure)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of X that are offsets."""
        return tuple(s for s in (self.offset, self.exposure) if isinstance(s, str))

    @property
    def passed(self) -> tuple[str, ...]:
        """The arguments that are passed with the rows."""
        return tuple(name for name in ("offset", "exposure") if getattr(self, name) is True)


NO_OFFSET = RowOffset()


def read_column_of(X: Any, column: str, argument: str) -> tuple[Array, Mask | None]:
    """Return the cells of a column of X, and a mask of missing ones; see `Frame.cells`.

    Parameters
    ----------
    X : data frame, dictionary, or list of dictionaries
        The rows.
    column : str
        The name of the column.
    argument : str
        "offset" or "exposure", for messages.
    """
    X = as_row(X)
    records = open_records(X)
    table = open_frame(X, argument) if records is None else records
    names = None if table is None else table.names
    if table is None or names is None:
        raise ValueError(
            f"{argument}={column!r} is the name of a column, and X has no column names. Pass a "
            f"data frame, or {argument} as an array."
        )
    if column not in names:
        raise ValueError(
            f"{argument} is the column {column!r}, which X does not have."
            f"{nearest_name(column, names)} Add the column to X, or pass {argument}=..."
        )
    return table.cells(names.index(column))


def without_columns(X: Any, columns: Sequence[str]) -> Any:
    """Return a table without the columns that are offsets; raise ValueError if none is left."""
    records = open_records(X)
    frame = open_frame(X, "fit") if records is None else None
    table = frame or records
    assert table is not None
    assert table.names is not None
    kept = [name for name in table.names if name not in columns]
    if not kept:
        names = " and ".join(map(repr, dict.fromkeys(columns)))
        only = f"column {names} is" if len(set(columns)) == 1 else f"columns {names} are"
        raise ValueError(
            f"X has no features: its only {only} the offset or the exposure. Add a column that is "
            "a feature."
        )
    if frame is not None:
        return frame.select(kept).native()
    rows = [named_values(row) for row in (X if isinstance(X, list) else [X])]
    rest = [{n: v for n, v in row.items() if n not in columns} for row in rows if row is not None]
    return rest if isinstance(X, list) else rest[0]


def offset_scores(offset: Any, exposure: Any, X: Any, n_rows: int, n_outputs: int) -> Matrix | None:
    """Return what is added to the scores: the offset plus the logarithm of the exposure.

    Parameters
    ----------
    offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
        Scores; text is the name of a column of X.
    exposure : array-like of shape (n_rows,), number, str or None
        Positive numbers; text is the name of a column of X.
    X : object
        The rows, as they were passed.
    n_rows, n_outputs : int
        The number of rows, and of scores per row.

    Returns
    -------
    float64 array of shape (n_rows, n_outputs), or None
        None: all are 0.

    Raises
    ------
    ValueError, TypeError
        If one is missing, infinite or not a number, an exposure is not positive, or the shape is
        another one.
    """
    total = np.zeros((n_rows, n_outputs))
    if offset is not None:
        total += _read_offset(offset, X, n_rows, n_outputs)
    if exposure is not None:
        total += portable_log(_read_exposure(exposure, X, n_rows))[:, np.newaxis]
    return total if total.any() else None


def _read_offset(offset: Any, X: Any, n_rows: int, n_outputs: int) -> Matrix:
    columns = _columns(offset, X, n_rows, "offset")
    if isinstance(offset, str) and n_outputs > 1:
        raise ValueError(
            f"The offset {offset!r} is one column, and the model has {n_outputs} scores per row, "
            "each with an offset of its own, which a file cannot name. Leave the column out, or "
            f"pass an array of shape {(n_rows, n_outputs)} in Python."
        )
    if len(columns) not in (1, n_outputs) or (len(columns) < n_outputs and not _is_number(offset)):
        raise ValueError(
            f"offset has {len(columns)} column{'s' if len(columns) > 1 else ''}, and the model has "
            f"{n_outputs} score{'s' if n_outputs > 1 else ''} per row. Pass an array of shape "
            f"{(n_rows, n_outputs) if n_outputs > 1 else (n_rows,)}."
        )
    for values in columns:
        _refuse(~np.isfinite(values), values, "offset", "finite")
    return np.column_stack(columns)


def _read_exposure(exposure: Any, X: Any, n_rows: int) -> Vector:
    columns = _columns(exposure, X, n_rows, "exposure")
    if len(columns) > 1:
        raise ValueError(
            f"exposure has {len(columns)} columns; pass one number for each of the {n_rows} rows."
        )
    values = columns[0]
    wrong = ~(np.isfinite(values) & (values > 0))
    _refuse(wrong, values, "exposure", "positive and finite")
    return values


def _columns(values: Any, X: Any, n_rows: int, name: str) -> list[Vector]:
    """Return the columns of an offset or an exposure as numbers; NaN where they are missing."""
    if isinstance(values, str):
        cells, missing = read_column_of(X, values, name)
        return [_doubles(cells, missing, name)]
    if _is_number(values):
        return [np.full(n_rows, values, dtype=np.float64)]
    if isinstance(values, Mapping):
        raise TypeError(f"{name} is a dictionary, {short_repr(values)}. Pass an array.")
    frame = open_frame(values, "fit", name)
    if frame is not None:
        parts = [frame.cells(k) for k in range(frame.shape[1])]
    elif isinstance(values, (np.ndarray, list, tuple)) and np.ndim(exact_array(values)) == 2:
        array = exact_array(values)
        parts = [(array[:, k], None) for k in range(array.shape[1])]
    else:
        return [_doubles(*read_vector(values, n_rows, name), name)]
    if not parts or len(parts[0][0]) != n_rows:
        n = len(parts[0][0]) if parts else 0
        raise ValueError(f"{name} has {n} rows, and X has {n_rows}. Pass one for each row.")
    return [_doubles(cells, missing, name) for cells, missing in parts]


def _doubles(cells: Array, missing: Mask | None, name: str) -> Vector:
    return np.array(read_doubles(cells, missing, name, NUMBERS))


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _refuse(wrong: Mask, values: Vector, name: str, must: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        remedy = f"Pass {must} numbers" if wrong.all() else "Correct or remove these rows"
        raise ValueError(
            f"{name} must be {must}, but it is {values[row]} at row {row} (the first of "
            f"{int(wrong.sum())} such rows). {remedy}."
        )
