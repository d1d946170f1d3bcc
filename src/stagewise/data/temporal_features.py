"""Columns of dates, durations and times of day, and the check that new data have the same types.

A model stores them as nanoseconds, so numbers of another unit (days, seconds) would be compared
with its thresholds without an error. Numbers have no unit; they are refused, not guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from stagewise.data.reading.datetimes import TemporalType
from stagewise.data.reading.sparse import SparseCells
from stagewise.data.reading.table import Table
from stagewise.validation.messages import column_label, short_repr

__all__ = ["TEXT_CONVERSIONS", "check_temporal_types"]

TEXT_CONVERSIONS: Mapping[TemporalType, str] = MappingProxyType(
    {
        "duration": "pandas.to_timedelta",
        "time of day": "datetime.time.fromisoformat",
    }
)
"""How text becomes the values of a temporal type; dates in ISO 8601 are read."""

NUMBER_CONVERSIONS: Mapping[TemporalType, str] = MappingProxyType(
    {
        "date": "pandas.to_datetime(..., unit=...)",
        "duration": "pandas.to_timedelta(..., unit=...)",
        "time of day": "datetime.time(hour, minute)",
    }
)
"""How numbers become the values of a temporal type."""


def check_temporal_types(
    table: Table,
    known: Mapping[int, TemporalType],
    real: Collection[int],
    names: Sequence[str] | None,
    caller: str,
) -> None:
    """Raise ValueError unless columns have the temporal types that they had in training.

    A column without values (all cells are missing) has any type. Dates in a column of numbers are
    an error, too: as nanoseconds they would be larger than all thresholds.

    Parameters
    ----------
    table : Table
        New data, with the columns in the order of the features.
    known : mapping of int to {"date", "duration", "time of day"}
        The temporal types of the features that have one.
    real : collection of int
        The features that are floating point numbers. Wide integers without a temporal type may be
        dates: model files before version 1.4 have no temporal types.
    names : sequence of str or None
        The names of the features.
    caller : str
        The estimator's name.
    """
    for position, kind in table.temporal_types.items():
        first = _first_value(table, position) if position in real else None
        if first is not None:
            raise ValueError(
                f"{column_label(names, position)} has values of type {kind} from row {first[0]} "
                f"on, but it was a column of numbers when {caller} was fitted. Pass the numbers "
                "that it had."
            )
    for position, was in known.items():
        found = table.temporal_types.get(position)
        if was == found:
            continue
        label = column_label(names, position)
        first = _first_value(table, position)
        if first is None:
            continue
        row, value = first
        if found is None:
            raise ValueError(
                f"{label} holds the number {short_repr(value)} at row {row}, but it was a column "
                f"of type {was} when {caller} was fitted. Convert the values first, by "
                f"{NUMBER_CONVERSIONS[was]}: numbers have no unit, and none is guessed."
            )
        raise ValueError(
            f"{label} has values of type {found} from row {row} on, but it was a column of type "
            f"{was} when {caller} was fitted. Pass values of type {was}."
        )


def _first_value(table: Table, position: int) -> tuple[int, Any] | None:
    """Return the first row with a value, and the value; None: all are missing."""
    if isinstance(table.columns, SparseCells):  # its cells without a stored value are 0
        return (0, 0.0) if table.n_rows else None
    column = table.column(position)
    missing = np.isnan(column.values) if column.values.dtype.kind == "f" else column.missing
    present = np.ones(table.n_rows, dtype=bool) if missing is None else ~missing
    if not present.any():
        return None
    row = int(np.argmax(present))
    return row, column.values[row]
