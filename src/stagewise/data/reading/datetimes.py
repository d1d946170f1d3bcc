"""Dates, durations and times of day: formats nanoseconds as text, and parses such text.

A model stores temporal values as whole nanoseconds, together with their type. This is the only
Python module that formats and parses them; `report/page/datetimes.js` does the same in JavaScript,
and a test compares the two. This module must not import columns or features.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from stagewise.data.reading.cell import TEMPORAL_TYPES, TemporalType, family, is_missing
from stagewise.validation.messages import short_repr

__all__ = [
    "PARTS",
    "SECOND",
    "TemporalType",
    "datetime_ticks",
    "format_datetime",
    "format_datetime_short",
    "parse_datetime",
    "temporal_type_of",
]

SECOND = 10**9
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
EPOCH = dt.date(1970, 1, 1).toordinal()

GRAINS = (DAY, HOUR, MINUTE, SECOND, 10**6, 10**3, 1)
"""The units to which text is rounded, in nanoseconds."""
PARTS = 200
"""A range is shown in the largest unit of which it has at least this many."""

STEPS = (
    *(digit * 10**power for power in range(9) for digit in (1, 2, 5)),
    *(count * SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * HOUR for count in (1, 2, 3, 6, 12)),
    *(count * DAY for count in (1, 2, 7, 14)),
)
"""Readable distances between ticks, in nanoseconds."""
DAYS = tuple(digit * 10**power for power in (1, 2, 3, 4, 5) for digit in (1, 2, 5))
MONTHS = (1, 2, 3, 6, *(12 * digit * 10**power for power in (0, 1, 2) for digit in (1, 2, 5)))
"""Longer distances between ticks: days for durations, months for dates."""

CLOCK = r"(?P<hour>\d+):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.(?P<part>\d{1,9}))?)?"
FORMS: dict[TemporalType, tuple[str, str]] = {
    "date": (
        rf"(?P<day>\d{{4}}-\d\d-\d\d)(?:[T ]{CLOCK}(?P<zone>Z|[+-]\d\d:?[0-5]\d)?)?",
        "2024-03-01 or 2024-03-01 14:05:00",
    ),
    "duration": (
        rf"(?P<sign>-?)(?=.)(?:(?P<days>\d+) ?d)?(?: ?{CLOCK})?",
        "3 d 04:00:00 or 76:00:00",
    ),
    "time of day": (CLOCK, "14:05 or 14:05:00"),
}
"""The pattern of each type, and examples for error messages."""


def temporal_type_of(cells: npt.NDArray[Any]) -> TemporalType | None:
    """Return the temporal type of a column; None if no cell is temporal.

    If objects of several temporal types are mixed, the first of `TEMPORAL_TYPES` is returned.

    Parameters
    ----------
    cells : array of shape (n_rows,)
        Of any type.
    """
    if cells.dtype.kind != "O":
        kinds: dict[str, TemporalType] = {"M": "date", "m": "duration"}
        return kinds.get(cells.dtype.kind)
    items: list[Any] = cells.tolist()
    families = {kind: family(kind) for kind in set(map(type, items))}
    held = {its for its in families.values() if its in ("number", *TEMPORAL_TYPES)}
    if len(held) > 1:  # numpy's NaT is a date or a duration, whatever the column holds
        held = {families[type(item)] for item in items if not is_missing(item)}
    return next((temporal_type for temporal_type in TEMPORAL_TYPES if temporal_type in held), None)


def format_datetime(
    nanoseconds: float | None, temporal_type: TemporalType, *, within: float = 0.0
) -> str:
    """Return a date, a duration or a time of day as text.

    Parameters
    ----------
    nanoseconds : int, float or None
        Since 1970 in UTC, since midnight, or the length of a duration. None and NaN are missing.
    temporal_type : {"date", "duration", "time of day"}
        The type.
    within : float
        The range of the values that are shown together, in nanoseconds. The value is rounded to
        the largest of days, hours, …, microseconds of which the range has 200. 0: not rounded.

    Returns
    -------
    str
        "2024-03-01", "2024-03-01 14:05:00.25"; "3 d", "3 d 04:00:00", "-00:00:01"; "14:05:00".
        Numbers beyond 64 bits are "inf" and "-inf"; a missing value is "missing".

    Examples
    --------
    >>> from stagewise.data.reading.datetimes import format_datetime
    >>> format_datetime(1_709_301_900_000_000_000, "date")
    '2024-03-01 14:05:00'
    >>> format_datetime(76 * 3600 * 10**9, "duration")
    '3 d 04:00:00'
    """
    if nanoseconds is None or nanoseconds != nanoseconds:
        return "missing"
    if not -(2**63) <= nanoseconds < 2**63:
        return "inf" if nanoseconds > 0 else "-inf"
    grain = next((grain for grain in GRAINS if grain * PARTS <= within), 1)
    # Rounded down: for an integer x, x <= 5.5 holds exactly if x <= 5.
    whole = (math.floor(nanoseconds) + grain // 2) // grain * grain
    if temporal_type == "date":
        days, rest = divmod(whole, DAY)
        day = dt.date.fromordinal(EPOCH + days).isoformat()
        return f"{day} {_clock(rest)}" if rest else day
    sign = "-" if whole < 0 else ""
    days, rest = divmod(abs(whole), DAY)
    if temporal_type == "time of day" or not days:
        return sign + _clock(abs(whole))
    return f"{sign}{days} d {_clock(rest)}" if rest else f"{sign}{days} d"


def format_datetime_short(
    nanoseconds: float | None, temporal_type: TemporalType, digits: int
) -> str:
    """Return a duration or a time with about `digits` significant digits; a date in full."""
    size = 0.0 if nanoseconds is None or temporal_type == "date" else abs(nanoseconds)
    return format_datetime(nanoseconds, temporal_type, within=size * PARTS / 10**digits)


def _clock(nanoseconds: int) -> str:
    seconds, part = divmod(nanoseconds, SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{part:09}".rstrip("0") if part else text


def parse_datetime(text: str, temporal_type: TemporalType) -> int:
    """Return the nanoseconds of a text, in the format of `format_datetime`.

    Also accepted are: the letter T between date and time, a time zone (Z, +02:00) after the time,
    times without seconds, and durations with any number of hours.

    Raises
    ------
    ValueError
        If the text has another format; the message shows examples.
    """
    pattern, example = FORMS[temporal_type]
    found = re.fullmatch(pattern, text.strip(), re.ASCII)
    number = None if found is None else _sum_parts(found.groupdict(), temporal_type)
    if number is None or not -(2**63) <= number < 2**63:
        raise ValueError(f"{short_repr(text)} is not a {temporal_type}; write it as {example}.")
    return number


def _sum_parts(parts: dict[str, str | None], temporal_type: TemporalType) -> int | None:
    """Return the parts of a match as nanoseconds; None if the hour or the day does not exist."""
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    number = hour * HOUR + minute * MINUTE + second * SECOND
    number += int((parts["part"] or "").ljust(9, "0"))
    if temporal_type == "duration":
        number += int(parts["days"] or 0) * DAY
        return -number if parts["sign"] else number
    if hour > 23:
        return None
    if temporal_type == "time of day":
        return number
    try:
        day = dt.date.fromisoformat(parts["day"] or "")
    except ValueError:
        return None
    zone = parts["zone"] or "Z"
    if zone != "Z":
        ahead = int(zone[1:3]) * HOUR + int(zone[-2:]) * MINUTE
        number += ahead if zone[0] == "-" else -ahead
    return (day.toordinal() - EPOCH) * DAY + number


def datetime_ticks(
    least: float, most: float, temporal_type: TemporalType, about: int = 5
) -> list[int]:
    """Return readable positions of ticks on an axis, in nanoseconds; about `about` of them.

    They are whole years, months, weeks, days, hours, …; without months for durations and times.
    """
    least, most = max(least, -(2.0**63)), min(most, 2.0**63 - 1024)
    if not least < most:
        return []
    rough = (most - least) / about
    step = next((step for step in STEPS if step >= rough), None)
    if step is None and temporal_type == "date":
        months = next(n for n in MONTHS if n * 30 * DAY >= rough)
        return list(_firsts(math.ceil(least), math.floor(most), months))
    step = step or next(n * DAY for n in DAYS if n * DAY >= rough)
    first, last = -(-math.ceil(least) // step), math.floor(most) // step
    return [number * step for number in range(first, last + 1)]


def _firsts(least: int, most: int, months: int) -> Iterator[int]:
    """Yield the first day of every `months`-th month, counted from the year 0."""
    begin = dt.date.fromordinal(EPOCH + least // DAY)
    number = -(-(begin.year * 12 + begin.month - 1) // months) * months
    while True:
        first = (dt.date(number // 12, number % 12 + 1, 1).toordinal() - EPOCH) * DAY
        if first > most:
            return
        if first >= least:
            yield first
        number += months
