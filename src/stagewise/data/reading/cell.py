"""Cells that are Python objects: their family of types, and their value as a number.

The family depends on the type alone, so each type of a column is checked once and not each cell.
Temporal values are whole nanoseconds: dates since 1970 in UTC, durations by their length, times of
day since midnight. pandas' types are recognised by name, without importing pandas. This module must
not import columns.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any, Literal

import numpy as np

__all__ = ["TEMPORAL_TYPES", "Family", "TemporalType", "cell_number", "family", "is_missing"]

TemporalType = Literal["date", "duration", "time of day"]
Family = TemporalType | Literal["missing", "text", "number", "other"]

TEMPORAL_TYPES: tuple[TemporalType, ...] = ("date", "duration", "time of day")
"""The families whose numbers are nanoseconds."""

LARGEST_DECIMAL = 400
"""Decimals with more digits before the point exceed every double, and are not expanded."""


def family(kind: type) -> Family:
    """Return the family of a type."""
    # pandas' NaT is a datetime, and numpy's timedelta64 an integer: the order matters.
    if kind is type(None) or _is_pandas(kind, "NAType", "NaTType"):
        return "missing"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (dt.date, np.datetime64)):
        return "date"
    if issubclass(kind, (dt.timedelta, np.timedelta64)):
        return "duration"
    if issubclass(kind, dt.time):
        return "time of day"
    if issubclass(kind, (bool, int, float, Decimal, np.bool_, np.integer, np.floating)):
        return "number"
    return "other"


def is_missing(item: Any) -> bool:
    """Return whether an object is a missing value: None, NaN, NaT, or pandas' NA or NaT."""
    if isinstance(item, (float, np.floating)):
        return bool(item != item)
    if isinstance(item, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(item))
    if isinstance(item, Decimal):
        return item.is_nan()
    return family(type(item)) == "missing"


def cell_number(item: Any) -> int | float:
    """Return the number of a cell; NaN if it is missing.

    A whole decimal becomes an integer, any other decimal the nearest double.

    Raises
    ------
    OverflowError
        If the number exceeds every double, or a datetime is no 64-bit count of nanoseconds.
    """
    if type(item) in (float, int):  # the common case
        return item  # type: ignore[no-any-return]
    if is_missing(item):
        return math.nan
    if family(type(item)) in TEMPORAL_TYPES:
        nanoseconds = _nanoseconds(item)
        if not -(2**63) < nanoseconds < 2**63:
            raise OverflowError(f"{item} is no 64-bit count of nanoseconds")
        return nanoseconds
    if isinstance(item, Decimal):
        return _from_decimal(item)
    if isinstance(item, (bool, int, np.bool_, np.integer)):
        return int(item)
    return float(item)


def _is_pandas(kind: type, *names: str) -> bool:
    return kind.__name__ in names and kind.__module__.split(".")[0] == "pandas"


def _from_decimal(item: Decimal) -> int | float:
    if item.is_infinite():
        return float(item)
    if item.adjusted() <= LARGEST_DECIMAL and item == item.to_integral_value():
        return int(item)
    number = float(item)
    if math.isinf(number):
        raise OverflowError(f"{item:.3e} is larger than any double")
    return number


def _nanoseconds(item: Any) -> int:
    if isinstance(item, dt.time):
        minutes = item.hour * 60 + item.minute
        return ((minutes * 60 + item.second) * 10**6 + item.microsecond) * 1000
    if isinstance(item, (np.datetime64, np.timedelta64)):
        exact = item.astype(f"{item.dtype.kind}8[ns]")
        if (
            exact.astype(item.dtype) != item
        ):  # numpy wraps around silently; converting back detects it
            raise OverflowError(f"{item} is no 64-bit count of nanoseconds")
        return int(exact.astype(np.int64))
    if isinstance(item, dt.datetime):
        zone = None if item.tzinfo is None else dt.UTC
        item = item - dt.datetime(1970, 1, 1, tzinfo=zone)
    elif isinstance(item, dt.date):
        item = item - dt.date(1970, 1, 1)
    seconds = int(item.days) * 86_400 + int(item.seconds)
    # pandas' durations also have nanoseconds.
    finer = int(getattr(item, "nanoseconds", 0))
    return (seconds * 10**6 + int(item.microseconds)) * 1000 + finer
