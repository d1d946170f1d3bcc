"""Which text is a date.

Dates in ISO 8601 are converted to datetimes: by Arrow where CSV files are read, and by the same
rule in `parse_dates`. Other formats are ambiguous (03/04/2024) and only recognised, for advice.
This module must not import columns or frames.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from stagewise.data.reading.datetimes import parse_datetime

__all__ = [
    "MISSING_TEXTS",
    "DayOrder",
    "are_iso_dates",
    "day_order",
    "look_like_dates",
    "parse_iso_date",
]

ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:[T ](\d\d)(:\d\d)?(:\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
TIME = r"(?:[T ]+\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
YEAR = r"(?:1[5-9]|2[0-9])\d\d"
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

MISSING_TEXTS = frozenset(
    [
        *("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "-NaN", "-nan"),
        *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"),
    ]
)
"""The texts that are missing values in CSV files, as Arrow reads them."""


def parse_iso_date(text: str) -> int | None:
    """Return the nanoseconds since 1970 of a date or datetime in ISO 8601; None: it is none.

    Without a time zone it is read as UTC.
    """
    found = ISO.fullmatch(text.strip())
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


def _zone(zone: str | None) -> str:
    return f"{zone}:00" if zone is not None and len(zone) == 3 else zone or ""


def are_iso_dates(values: Iterable[Any]) -> bool:
    """Return whether all values are text with a date in ISO 8601, and there is one."""
    return _all_texts(values, lambda text: parse_iso_date(text) is not None)


def look_like_dates(values: Iterable[Any]) -> bool:
    """Return whether all values are text that looks like a date of any usual format."""
    return _all_texts(values, lambda text: LOOKS.fullmatch(text.strip()) is not None)


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
