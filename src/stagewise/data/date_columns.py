"""Converts text columns of dates to datetimes, by the rule of the CSV files of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from stagewise.data.reading.frame import Frame, open_frame
from stagewise.data.reading.text_dates import parse_iso_date
from stagewise.validation.messages import column_label, short_repr

__all__ = ["parse_dates"]


def parse_dates(X: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a data frame in which text columns of dates are datetimes.

    A column is converted if all of its cells are missing or dates in ISO 8601, such as 2024-03-01,
    2024-03-01 14:05:07 or 2024-03-01T14:05:07.25+02:00. The command line reads CSV files by the
    same rule. Datetimes with a time zone are converted to UTC.

    Parameters
    ----------
    X : data frame
        Of pandas, polars, pyarrow or another library that narwhals supports. It is not changed.
    columns : list of str or None, default=None
        The columns to convert; a cell that is no such date is an error. None: all columns of text
        that hold only such dates.

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


def _read_dates(frame: Frame, place: int, *, strict: bool) -> Any:
    """Return a column as datetimes; None, or ValueError if it is strict, if a cell is no date."""
    cells = frame.frame.get_column(frame.labels[place]).to_list()
    known: dict[Any, int | None] = {}
    found = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[ns]")
    for row, cell in enumerate(cells):
        if cell is None or cell != cell:
            continue
        if cell not in known:
            known[cell] = parse_iso_date(cell) if isinstance(cell, str) else None
        date = known[cell]
        if date is None:
            if not strict:
                return None
            raise ValueError(
                f"{column_label(frame.names, place)} holds {short_repr(cell)} at row {row}, which "
                "is no date such as 2024-03-01 or 2024-03-01 14:05:00. Convert the column by its "
                "own format, for instance with pandas.to_datetime(..., format=...)."
            )
        found[row] = np.datetime64(date, "ns")
    return found if known else None


def _series(frame: Frame, place: int, dates: Any) -> nw.Series[Any]:
    label, backend = frame.labels[place], frame.frame.implementation
    if backend.is_pyarrow():
        return nw.new_series(label, dates.tolist(), nw.Datetime("ns"), backend=backend)
    return nw.new_series(label, dates, backend=backend)
