"""Which text is a date.

Dates in ISO 8601 are converted to datetimes: by Arrow where CSV files are read, and by the same
rule in `parse_dates` and in columns that a model was fitted on as dates. The basic format
(20240301T140507) and months (2024-03) are dates too, except in CSV files: Arrow's parser of formats
accepts days that do not exist. Other formats are ambiguous (03/04/2024) and only recognised, for
advice. This module must not import columns or frames.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.cell import cell_number, family, is_missing
from stagewise.data.reading.datetimes import parse_datetime

__all__ = [
    "BASIC",
    "MISSING_TEXTS",
    "DayOrder",
    "are_day_numbers",
    "are_iso_dates",
    "day_order",
    "look_like_dates",
    "may_be_day_numbers",
    "parse_iso_date",
    "read_dates",
]

ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:[T ](\d\d)(:\d\d)?(:\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
TIME = r"(?:[T ]+\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
YEAR = r"(?:1[5-9]|2[0-9])\d\d"
BASIC = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)", re.ASCII)
"""The basic format of datetimes, such as 20240301T140507."""
YEAR_MONTH = re.compile(rf"{YEAR}-\d\d", re.ASCII)
LOOKS = re.compile(
    rf"(?:{YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}}"
    rf"|\d{{1,2}}([-/.])\d{{1,2}}\1{YEAR}"
    rf"|\d{{1,2}}/\d{{1,2}}/\d\d"
    rf"|\d{{1,2}}[- ]{MONTH}[- ,]+(?:{YEAR}|\d\d)"
    rf"|{MONTH} \d{{1,2}},? {YEAR}){TIME}",
    re.ASCII | re.IGNORECASE,
)
"""Numeric dates with a year of four digits, slashes, or a month as a word."""

FIGURES = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2\d{2,4}\b", re.ASCII)
DayOrder = Literal["day first", "month first", "ambiguous"]

FIRST_DAY, LAST_DAY = 19000101, 21001231
"""The limits of days as numbers."""

MISSING_TEXTS = frozenset(
    [
        *("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "-NaN", "-nan"),
        *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"),
    ]
)
"""The texts that are missing values in CSV files, as Arrow reads them."""


def parse_iso_date(text: str) -> int | None:
    """Return the nanoseconds since 1970 of a date or datetime in ISO 8601; None: it is none.

    Without a time zone it is read as UTC; a month is its first day.
    """
    found = ISO.fullmatch(_extended(text.strip()))
    if found is None:
        return None
    day, hour, minute, second, zone = found.groups()
    if second is not None and minute is None:
        return None
    clock = "" if hour is None else f" {hour}{minute or ':00'}{second or ''}{_zone(zone)}"
    try:
        return parse_datetime(day + clock, "date")
    except ValueError:
        return None


def _extended(text: str) -> str:
    """Return a month or a datetime of the basic format in the extended one; else the text."""
    if YEAR_MONTH.fullmatch(text):
        return f"{text}-01"
    basic = BASIC.fullmatch(text)
    return text if basic is None else basic.expand(r"\1-\2-\3 \4:\5:\6")


def _zone(zone: str | None) -> str:
    return f"{zone}:00" if zone is not None and len(zone) == 3 else zone or ""


def read_dates(
    cells: Sequence[Any], most_wrong: float = 0
) -> tuple[npt.NDArray[np.datetime64], list[int]]:
    """Return cells as datetimes, and the rows of cells that are no dates.

    Parameters
    ----------
    cells : sequence
        Text in ISO 8601, dates, datetimes, and missing values or `MISSING_TEXTS`.
    most_wrong : float
        Reading ends when more cells than this are no dates.
    """
    known: dict[str, int | None] = {}
    wrong: list[int] = []
    found = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[ns]")
    for row, cell in enumerate(cells):
        if isinstance(cell, str):
            if cell in MISSING_TEXTS:
                continue
            if cell not in known:
                known[cell] = parse_iso_date(cell)
            date = known[cell]
        elif is_missing(cell):
            continue
        else:
            date = _nanoseconds(cell)
        if date is not None:
            found[row] = np.datetime64(date, "ns")
            continue
        wrong.append(row)
        if len(wrong) > most_wrong:
            break
    return found, wrong


def _nanoseconds(cell: Any) -> int | None:
    """Return the nanoseconds of a date or a datetime; None: the object is none, or out of range."""
    if family(type(cell)) != "date":
        return None
    try:
        return int(cell_number(cell))
    except OverflowError:
        return None


def are_day_numbers(values: npt.NDArray[Any]) -> bool:
    """Return whether all numbers are days such as 20240301, from 1900 to 2100, and some differ.

    NaN is a missing value.
    """
    if not may_be_day_numbers(values):
        return False
    days = np.unique(values[~np.isnan(values)]).tolist()
    return len(days) > 1 and all(parse_iso_date(_day_text(day)) is not None for day in days)


def may_be_day_numbers(values: npt.NDArray[Any]) -> bool:
    """Return whether all numbers are whole and between the first and the last day; NaN is missing.

    Some of the values of a column suffice to exclude it.
    """
    if len(values) and (values[0] < FIRST_DAY or values[0] > LAST_DAY):  # most columns
        return False
    inside = (values >= FIRST_DAY) & (values <= LAST_DAY) & (values == np.floor(values))
    return bool((inside | np.isnan(values)).all())


def _day_text(day: float) -> str:
    text = str(int(day))
    return f"{text[:4]}-{text[4:6]}-{text[6:]}"


def are_iso_dates(values: Iterable[Any]) -> bool:
    """Return whether all values are text with a date in ISO 8601, and there is one."""
    return _all_texts(values, lambda text: parse_iso_date(text) is not None)


def look_like_dates(values: Iterable[Any]) -> bool:
    """Return whether all values are text that looks like a date of any usual format."""
    return _all_texts(values, _looks_like_date)


def _looks_like_date(text: str) -> bool:
    return LOOKS.fullmatch(text.strip()) is not None or parse_iso_date(text) is not None


def day_order(texts: Iterable[str]) -> DayOrder | None:
    """Return whether dates in figures such as 31/12/2024 begin with the day or the month.

    Returns
    -------
    {"day first", "month first", "ambiguous"}, or None
        "ambiguous": all numbers are at most 12. None: some text is no such date, or a number above
        12 comes first in one date and second in another.
    """
    first, second = 0, 0
    for text in texts:
        found = FIGURES.match(text.strip())
        if found is None:
            return None
        first, second = max(first, int(found[1])), max(second, int(found[3]))
    if first > 12:
        return "day first" if second <= 12 else None
    return "month first" if second > 12 else "ambiguous"


def _all_texts(values: Iterable[Any], holds: Callable[[str], bool]) -> bool:
    several = False
    for value in values:
        if not isinstance(value, str) or not holds(value):
            return False
        several = True
    return several
