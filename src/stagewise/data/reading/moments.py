"""Dates, durations and times of day: nanoseconds as people write them, and back.

The one idea: a model has moments as whole nanoseconds and remembers which of the three they stood
for; here is the only place in Python that makes words of them, and numbers of words. A page has a
twin, `report/page/datetimes.js`, which tests hold to this file. Must not know columns or features.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from stagewise.data.reading.cell import MOMENTS, Moment, family, is_missing
from stagewise.validation.messages import shown

__all__ = [
    "PARTS",
    "SECOND",
    "Moment",
    "moment_number",
    "moment_of",
    "moment_ticks",
    "moment_words",
    "short_words",
]

SECOND = 10**9
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
EPOCH = dt.date(1970, 1, 1).toordinal()

GRAINS = (DAY, HOUR, MINUTE, SECOND, 10**6, 10**3, 1)
"""What words are rounded to, if finer parts would say nothing."""
PARTS = 200
"""How many grains a range has at least whose values are told apart."""

STEPS = (
    *(digit * 10**power for power in range(9) for digit in (1, 2, 5)),
    *(count * SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * HOUR for count in (1, 2, 3, 6, 12)),
    *(count * DAY for count in (1, 2, 7, 14)),
)
"""Distances between ticks that are easily read."""
DAYS = tuple(digit * 10**power for power in (1, 2, 3, 4, 5) for digit in (1, 2, 5))
MONTHS = (1, 2, 3, 6, *(12 * digit * 10**power for power in (0, 1, 2) for digit in (1, 2, 5)))
"""Longer ones, of durations and of dates."""

CLOCK = r"(?P<hour>\d+):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.(?P<part>\d{1,9}))?)?"
FORMS: dict[Moment, tuple[str, str]] = {
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
"""How each is written, and examples for those who did not know."""


def moment_of(cells: npt.NDArray[Any]) -> Moment | None:
    """Say what the cells of a column are, if some of them are moments; of objects the first kind.

    Parameters
    ----------
    cells : array of shape (n_rows,)
        Of any type.
    """
    if cells.dtype.kind != "O":
        kinds: dict[str, Moment] = {"M": "date", "m": "duration"}
        return kinds.get(cells.dtype.kind)
    items: list[Any] = cells.tolist()
    families = {kind: family(kind) for kind in set(map(type, items))}
    held = {its for its in families.values() if its in ("number", *MOMENTS)}
    if len(held) > 1:  # numpy's NaT has one of two types, whatever it is missing from
        held = {families[type(item)] for item in items if not is_missing(item)}
    return next((moment for moment in MOMENTS if moment in held), None)


def moment_words(nanoseconds: float | None, moment: Moment, *, within: float = 0.0) -> str:
    """Return a moment as people write it.

    Parameters
    ----------
    nanoseconds : int, float or None
        Since 1970 in UTC, since midnight, or as long as it lasts. None and NaN are missing.
    moment : {"date", "duration", "time of day"}
        What it is.
    within : float
        How far apart the moments are among which it stands, in nanoseconds: it is rounded to
        days, hours, …, microseconds if there are 200 of these between them. 0: to nothing.

    Returns
    -------
    str
        "2024-03-01", "2024-03-01 14:05:00.25"; "3 d", "3 d 04:00:00", "-00:00:01"; "14:05:00".
        Numbers that no moment is, beyond 64 bits, are "inf" and "-inf".

    Examples
    --------
    >>> from stagewise.data.reading.moments import moment_words
    >>> moment_words(1_709_301_900_000_000_000, "date")
    '2024-03-01 14:05:00'
    >>> moment_words(76 * 3600 * 10**9, "duration")
    '3 d 04:00:00'
    """
    if nanoseconds is None or nanoseconds != nanoseconds:
        return "missing"
    if not -(2**63) <= nanoseconds < 2**63:
        return "inf" if nanoseconds > 0 else "-inf"
    grain = next((grain for grain in GRAINS if grain * PARTS <= within), 1)
    # Down, not to the nearest: a whole number is at most 5.5 exactly if it is at most 5.
    whole = (math.floor(nanoseconds) + grain // 2) // grain * grain
    if moment == "date":
        days, rest = divmod(whole, DAY)
        day = dt.date.fromordinal(EPOCH + days).isoformat()
        return f"{day} {_clock(rest)}" if rest else day
    sign = "-" if whole < 0 else ""
    days, rest = divmod(abs(whole), DAY)
    if moment == "time of day" or not days:
        return sign + _clock(abs(whole))
    return f"{sign}{days} d {_clock(rest)}" if rest else f"{sign}{days} d"


def short_words(nanoseconds: float | None, moment: Moment, digits: int) -> str:
    """Return a moment with about so many digits that count; a date, which has no size, in full."""
    size = 0.0 if nanoseconds is None or moment == "date" else abs(nanoseconds)
    return moment_words(nanoseconds, moment, within=size * PARTS / 10**digits)


def _clock(nanoseconds: int) -> str:
    seconds, part = divmod(nanoseconds, SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{part:09}".rstrip("0") if part else text


def moment_number(text: str, moment: Moment) -> int:
    """Return the nanoseconds that a text means: what `moment_words` writes, and a little more.

    Of dates the letter T may stand before the time, and a zone (Z, +02:00) behind it; seconds may
    be left out; durations may have any number of hours.

    Raises
    ------
    ValueError
        If it is no such moment; the message shows how one is written.
    """
    pattern, example = FORMS[moment]
    found = re.fullmatch(pattern, text.strip(), re.ASCII)
    number = None if found is None else _meant(found.groupdict(), moment)
    if number is None or not -(2**63) <= number < 2**63:
        raise ValueError(f"{shown(text)} is no {moment}; write one as {example}.")
    return number


def _meant(parts: dict[str, str | None], moment: Moment) -> int | None:
    """Return the sum of the parts; None if there is no such hour or day."""
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    number = hour * HOUR + minute * MINUTE + second * SECOND
    number += int((parts["part"] or "").ljust(9, "0"))
    if moment == "duration":
        number += int(parts["days"] or 0) * DAY
        return -number if parts["sign"] else number
    if hour > 23:
        return None
    if moment == "time of day":
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


def moment_ticks(least: float, most: float, moment: Moment, about: int = 5) -> list[int]:
    """Return places on an axis that are easily read, in nanoseconds, at most about so many.

    Whole years, months, weeks, days, hours, …; of durations and times of day no months.
    """
    least, most = max(least, -(2.0**63)), min(most, 2.0**63 - 1024)
    if not least < most:
        return []
    rough = (most - least) / about
    step = next((step for step in STEPS if step >= rough), None)
    if step is None and moment == "date":
        months = next(n for n in MONTHS if n * 30 * DAY >= rough)
        return list(_firsts(math.ceil(least), math.floor(most), months))
    step = step or next(n * DAY for n in DAYS if n * DAY >= rough)
    first, last = -(-math.ceil(least) // step), math.floor(most) // step
    return [number * step for number in range(first, last + 1)]


def _firsts(least: int, most: int, months: int) -> Iterator[int]:
    """Yield the first days of every so many months, counted from the year 0."""
    begin = dt.date.fromordinal(EPOCH + least // DAY)
    number = -(-(begin.year * 12 + begin.month - 1) // months) * months
    while True:
        first = (dt.date(number // 12, number % 12 + 1, 1).toordinal() - EPOCH) * DAY
        if first > most:
            return
        if first >= least:
            yield first
        number += months
