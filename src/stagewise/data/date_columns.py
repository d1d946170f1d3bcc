"""Converts text columns of dates to datetimes, by the rule of the CSV files of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from stagewise.data.reading.cell import is_missing
from stagewise.data.reading.frame import Frame, open_frame
from stagewise.data.reading.text_columns import to_datetime_call
from stagewise.data.reading.text_dates import (
    MISSING_TEXTS,
    look_like_dates,
    parse_iso_date,
    read_dates,
)
from stagewise.errors import ColumnWarning
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import column_label, short_repr, warn_caller

__all__ = ["are_mostly_dates", "parse_dates"]

MOSTLY = 0.9
"""The share of dates among the cells of a column from which the others are probably mistakes."""


@suggests_arguments
def parse_dates(X: Any, columns: str | Sequence[str] | None = None) -> Any:
    """Return a data frame in which text columns of dates are datetimes.

    A column is converted if all of its cells are missing or dates in ISO 8601, such as 2024-03-01,
    2024-03-01 14:05:07, 2024-03-01T14:05:07.25+02:00, 20240301T140507 or the month 2024-03. As in
    CSV files, empty text, "NA", "n/a" and "null" are missing values. Datetimes with a time zone are
    converted to UTC. Columns of datetimes are not changed.

    Parameters
    ----------
    X : data frame
        Of pandas, polars, pyarrow or another library that narwhals supports. It is not changed.
    columns : str, list of str or None, default=None
        The columns to convert; a cell that is no such date is an error. None: all columns of text
        that hold only such dates; a column of dates in another format, or in which few cells are no
        dates, stays text, with a warning.

    Returns
    -------
    data frame
        Of the same library, with the same rows and columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from stagewise import parse_dates
    >>> parse_dates(pd.DataFrame({"day": ["2024-03-01", None], "city": ["Rome", "Oslo"]}))
             day  city
    0 2024-03-01  Rome
    1        NaT  Oslo
    """
    frame = open_frame(X, "parse_dates")
    if frame is None:
        raise TypeError(
            f"parse_dates converts the columns of a data frame; X is a {type(X).__name__}. Convert "
            "arrays and single rows by datetime.datetime.fromisoformat."
        )
    names = frame.names or [str(label) for label in frame.labels]
    columns = [columns] if isinstance(columns, str) else columns
    for name in columns or ():
        if name not in names:
            raise ValueError(f"columns has {name!r}, which is no column of X: {', '.join(names)}.")
    converted = []
    for place, name in enumerate(names):
        if columns is None:
            is_text = frame.is_text(place) or frame.has_category_type(place)
            dates = _read_dates(frame, place, strict=False) if is_text else None
        else:
            dates = _read_dates(frame, place, strict=True) if name in columns else None
        if dates is not None:
            converted.append(_series(frame, place, dates))
    return frame.frame.with_columns(*converted).to_native() if converted else X


def are_mostly_dates(n_dates: int, n_others: int) -> bool:
    """Return whether a column has so many dates that its other cells are probably mistakes."""
    return n_dates >= MOSTLY * (n_dates + n_others)


def _read_dates(frame: Frame, place: int, *, strict: bool) -> Any:
    """Return a column as datetimes; None, or ValueError if it is strict, if a cell is no date.

    None also for a column that has datetimes already. A column in which nearly all cells are dates
    causes a warning.
    """
    column = frame.frame.get_column(frame.labels[place])
    if column.dtype in (nw.Datetime, nw.Date):
        return None
    cells = column.to_list()
    found, wrong = read_dates(cells, 0 if strict else len(cells) * (1 - MOSTLY))
    n_dates = int(np.count_nonzero(~np.isnat(found)))
    if not wrong:
        return found if n_dates else None
    if strict:
        raise ValueError(
            f"{column_label(frame.names, place)} holds {short_repr(cells[wrong[0]])} at row "
            f"{wrong[0]}, which is no date such as 2024-03-01 or 2024-03-01 14:05:00. Convert the "
            f"column by its own format: {_own_format(frame, place, cells)}."
        )
    if are_mostly_dates(n_dates, len(wrong)):
        _warn_of_text(frame, place, wrong, cells)
    elif not n_dates and look_like_dates(cell for cell in cells if not _is_missing(cell)):
        warn_caller(
            f"{column_label(frame.names, place)} stays text: dates such as "
            f"{short_repr(cells[wrong[0]])} are not read without their format. Convert them: "
            f"{_own_format(frame, place, cells)}.",
            ColumnWarning,
        )
    return None


def _is_missing(cell: Any) -> bool:
    return cell in MISSING_TEXTS if isinstance(cell, str) else is_missing(cell)


def _own_format(frame: Frame, place: int, cells: list[Any]) -> str:
    """Return the call that converts dates in another format, such as 31/12/2024."""
    texts = [str(cell) for cell in cells if not _is_missing(cell)]
    dated = [text for text in texts if parse_iso_date(text) is None]
    return to_datetime_call(frame, place, dated)


def _warn_of_text(frame: Frame, place: int, wrong: list[int], cells: list[Any]) -> None:
    """Warn that few cells, which are no dates, keep a column as text."""
    name = frame.names[place] if frame.names is not None else str(frame.labels[place])
    others = f" and {len(wrong) - 1} more rows" if len(wrong) > 1 else ""
    warn_caller(
        f"{column_label(frame.names, place)} stays text: it holds {short_repr(cells[wrong[0]])} at "
        f"row {wrong[0]}{others}, which is no date such as 2024-03-01, and dates elsewhere. "
        "Correct these cells or replace them by None, and convert again; "
        f"parse_dates(X, [{name!r}]) makes such a cell an error.",
        ColumnWarning,
    )


def _series(frame: Frame, place: int, dates: Any) -> nw.Series[Any]:
    label, backend = frame.labels[place], frame.frame.implementation
    if backend.is_pyarrow():
        return nw.new_series(label, dates.tolist(), nw.Datetime("ns"), backend=backend)
    return nw.new_series(label, dates, backend=backend)
