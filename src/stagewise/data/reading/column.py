"""One column of cells of any type, as numbers.

A column becomes float32 or float64 if that is exact, and otherwise stays a 64-bit integer; any
rounding is a warning or an error. Arrays that already have the right type are returned unchanged.
This module must not import frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.cell import TEMPORAL_TYPES, Family, cell_number, family, is_missing
from stagewise.data.reading.datetimes import TemporalType, temporal_type_of
from stagewise.data.reading.text_dates import look_like_dates, read_dates
from stagewise.validation.messages import short_repr, warn_caller

__all__ = [
    "LARGEST_EXACT",
    "Column",
    "as_floats",
    "is_number",
    "is_wide",
    "missing_mask",
    "native_floats",
    "read_column",
    "read_date_texts",
    "refuse_cell",
    "refuse_mixed",
    "with_missing",
]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

LARGEST_EXACT = 2**53
"""Every integer up to this one is a double; the next one is not."""


class Column(NamedTuple):
    """The cells of one column.

    Parameters
    ----------
    values : array of shape (n_rows,)
        float32 or float64, where NaN is a missing value; or int64 or uint64 for a *wide* column,
        which holds integers beyond 2**53.
    missing : bool array of shape (n_rows,), or None
        Which cells of a wide column are missing; None if there are none.
    temporal_type : {"date", "duration", "time of day"}, or None
        The type of the cells, if their numbers are nanoseconds.
    """

    values: Array
    missing: Mask | None
    temporal_type: TemporalType | None = None

    def take(self, rows: npt.NDArray[np.uint32]) -> Column:
        """Return the cells of some rows."""
        missing = None if self.missing is None else self.missing[rows]
        return Column(self.values[rows], missing, self.temporal_type)


def read_column(cells: Array, missing: Mask | None, label: str, remedy: str) -> Column:
    """Return cells of any numpy type as numbers.

    Parameters
    ----------
    cells : array of shape (n_rows,)
        Booleans, integers, floats, dates, durations, or objects that are numbers, decimals,
        dates, durations, times of day or missing. Numbers, dates, durations and times of day must
        not be mixed.
    missing : bool array of shape (n_rows,), or None
        Cells to treat as missing, besides NaN, NaT, None and NA.
    label : str
        The name of the column in messages.
    remedy : str
        The advice if the column holds text.

    Returns
    -------
    Column
    """
    kind = cells.dtype.kind
    if kind == "f":
        return Column(with_missing(native_floats(cells, label), missing), None)
    if kind in "biu":
        return _read_integers(cells, missing)
    if kind in "mM":
        return _read_instants(cells, missing, label)
    # Text, complex numbers and records are read as objects too, for the error message.
    objects: Array = cells.astype(object)
    if missing is not None:
        objects[missing] = None
    return _read_objects(objects, label, remedy)


def read_date_texts(cells: Array, missing: Mask | None, label: str, remedy: str) -> Array:
    """Return text in ISO 8601 as datetimes; raise ValueError for a cell that is no date.

    The arguments are those of `read_column`.
    """
    objects: Array = cells.astype(object)
    if missing is not None:
        objects[missing] = None
    found, wrong = read_dates(objects.tolist())
    if wrong:
        raise ValueError(
            f"{label} holds {short_repr(objects[wrong[0]])} at row {wrong[0]}, which is no date "
            f"such as 2024-03-01 or 2024-03-01 14:05:00. {remedy}."
        )
    return found


def as_floats(values: Array) -> Array | None:
    """Return an array of numbers as floats, or None if floats cannot hold them all exactly."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f":
        return native_floats(values)
    if kind in "biu" and size <= 2:
        return values.astype(np.float32)
    if kind in "iu" and (size < 8 or not is_wide(values)):
        return values.astype(np.float64)
    return None


def native_floats(values: Array, label: str = "X") -> Array:
    """Return floats of any width, byte order and alignment as aligned float32 or float64.

    float32 and float64 arrays of any shape, order and stride are returned as they are.
    """
    dtype = values.dtype
    if dtype.itemsize == 2:
        return values.astype(np.float32)
    if dtype.itemsize > 8:
        return _narrowed(values, label)
    # The core counts strides in elements, so a field of a packed record must be copied.
    awkward = not values.flags.aligned or any(step % dtype.itemsize for step in values.strides)
    if awkward or not dtype.isnative:
        return values.astype(dtype.newbyteorder("="))
    return values


def refuse_cell(cell: object, row: int, label: str, remedy: str) -> NoReturn:
    """Raise the error for a cell that is not a number."""
    where = f"{short_repr(cell)} at row {row}"
    if isinstance(cell, str):
        # Also "1.5": reading text as numbers would corrupt columns of identifiers.
        if is_number(cell):
            number = (
                "If the column holds numbers, convert it first, for instance with astype(float)"
            )
            remedy = f"{number}. {remedy}"
        elif look_like_dates([cell]):
            remedy = (
                "If the column holds dates, convert it first, for instance with pandas.to_datetime "
                "or stagewise.parse_dates (data frames), or with datetime.datetime.fromisoformat "
                f"(single rows). {remedy}"
            )
        raise ValueError(
            f"{label} holds the text {where}; text is not converted to numbers. {remedy}."
        )
    if isinstance(cell, (complex, np.complexfloating)):
        raise ValueError(
            f"Complex data not supported: {label} holds {where}. "
            "Pass the real and the imaginary part as two columns."
        )
    if type(cell).__name__ == "Period":  # of pandas
        raise TypeError(
            f"{label} holds the period {where}. Convert the column to datetimes first: "
            "X[...].dt.to_timestamp()."
        )
    try:
        float(cell)  # type: ignore[arg-type]
        reason = "its type is not supported"
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise TypeError(
        f"{label} holds a {type(cell).__name__}, {where}, where every cell must be a number or "
        f"missing ({reason}). Convert the column to a numeric type first."
    )


def is_number(cell: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def missing_mask(items: Sequence[Any]) -> Mask:
    """Return which objects are missing values: None, NaN, and pandas' NA and NaT."""
    return np.array([is_missing(item) for item in items], dtype=bool)


def with_missing(values: Array, missing: Mask | None) -> Array:
    """Return floats with NaN where a cell is missing; a copy only if there are such cells."""
    if missing is None or not missing.any():
        return values
    return np.where(missing, values.dtype.type(np.nan), values)


def _narrowed(values: Array, label: str) -> Array:
    """Return long doubles as doubles, with a warning if a value changes."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = values.astype(np.float64)
    changed = (narrow.astype(values.dtype) != values) & ~np.isnan(narrow)
    if changed.any():
        warn_caller(
            f"{label} holds {int(changed.sum())} extended-precision values that do not fit in a "
            "float64 and were rounded. Pass float64 data to silence this warning."
        )
    return narrow


def _read_integers(cells: Array, missing: Mask | None) -> Column:
    if cells.dtype.itemsize <= 2:
        return Column(with_missing(cells.astype(np.float32), missing), None)
    if cells.dtype.itemsize == 8 and missing is not None and missing.any():
        # The value under a missing value must not make the column wide.
        cells = np.where(missing, cells.dtype.type(0), cells)
    if cells.dtype.itemsize == 8 and is_wide(cells):
        wide = np.ascontiguousarray(cells, dtype=cells.dtype.newbyteorder("="))
        return Column(wide, missing if missing is not None and missing.any() else None)
    return Column(with_missing(cells.astype(np.float64), missing), None)


def is_wide(cells: Array) -> bool:
    """Return whether some of these integers are beyond ±2**53."""
    if cells.size == 0:
        return False
    return int(cells.max()) > LARGEST_EXACT or int(cells.min()) < -LARGEST_EXACT


def _read_instants(cells: Array, missing: Mask | None, label: str) -> Column:
    """Return dates and durations as integer nanoseconds, whatever their unit."""
    gone = np.isnat(cells) if missing is None else np.isnat(cells) | missing
    unit = np.dtype(f"{cells.dtype.kind}8[ns]")
    exact = cells.astype(unit)
    # numpy wraps around silently outside the years 1678 to 2262; converting back detects it.
    wrapped = (exact.astype(cells.dtype) != cells) & ~gone
    if wrapped.any():
        row = int(np.argmax(wrapped))
        _refuse_datetime(cells[row], row, label)
    return _read_integers(exact.view(np.int64), gone)._replace(
        temporal_type=temporal_type_of(cells)
    )


def _refuse_datetime(cell: object, row: int, label: str) -> NoReturn:
    raise ValueError(
        f"{label} holds {cell} at row {row}, which is not a 64-bit count of nanoseconds "
        "(years 1678 to 2262). Pass such dates as numbers, for instance as days since a date."
    )


def _read_objects(cells: Array, label: str, remedy: str) -> Column:
    items: list[Any] = cells.tolist()
    # Each type is checked once, so common columns need no loop over the cells.
    families = {kind: family(kind) for kind in set(map(type, items))}
    if not {"text", "other"}.isdisjoint(families.values()):
        strange = [kind for kind, its in families.items() if its in ("text", "other")]
        row = next(row for row, item in enumerate(items) if type(item) in strange)
        refuse_cell(items[row], row, label, remedy)
    refuse_mixed(items, families, label)
    if families.keys() <= {float, type(None)}:
        return Column(cells.astype(np.float64), None)
    numbers = _numbers_of(items, label)
    temporal_type = temporal_type_of(cells)
    if temporal_type is not None:
        return _from_nanoseconds(numbers)._replace(temporal_type=temporal_type)
    return _from_numbers(numbers, label)


def _from_nanoseconds(numbers: Sequence[int | float]) -> Column:
    """Return nanoseconds in the type that an array of dates has, so that both give one model."""
    missing = np.array([n != n for n in numbers], dtype=bool)
    whole = [0 if gone else int(n) for n, gone in zip(numbers, missing, strict=True)]
    return _read_integers(np.array(whole, dtype=np.int64), missing)


def refuse_mixed(items: Sequence[Any], families: Mapping[type, Family], label: str) -> None:
    """Raise TypeError if numbers, dates, durations and times of day are mixed."""
    counted = {its for its in families.values() if its in ("number", *TEMPORAL_TYPES)}
    if len(counted) < 2:
        return
    rows = {
        families[type(item)]: row
        for row, item in reversed(list(enumerate(items)))
        if families[type(item)] in counted and not is_missing(item)
    }
    if len(rows) > 1:
        first, second = sorted(rows.values())[:2]
        raise TypeError(
            f"{label} holds the {families[type(items[first])]} {short_repr(items[first])} at row "
            f"{first} and the {families[type(items[second])]} {short_repr(items[second])} at row "
            f"{second}, which cannot be compared. Give each kind a column of its own."
        )


def _numbers_of(items: Sequence[Any], label: str) -> list[int | float]:
    """Return the number of each object; NaN where it is missing."""
    numbers: list[int | float] = []
    try:
        for item in items:
            numbers.append(cell_number(item))  # noqa: PERF401 - its length is the row of an error
    except OverflowError:
        row = len(numbers)
        if family(type(items[row])) in TEMPORAL_TYPES:
            _refuse_datetime(items[row], row, label)
        _refuse_number(items[row], row, label)
    return numbers


def _from_numbers(numbers: Sequence[int | float], label: str) -> Column:
    """Return Python numbers, NaN where missing, in the type that holds all of them exactly."""
    wide = [row for row, n in enumerate(numbers) if isinstance(n, int) and not _is_double(n)]
    if not wide:
        return Column(np.array(numbers, dtype=np.float64), None)
    missing = np.array([n != n for n in numbers])
    whole = [0 if gone else n for n, gone in zip(numbers, missing, strict=True)]
    if all(isinstance(n, int) or n.is_integer() for n in whole):
        least, most = min(whole), max(whole)
        if least >= -(2**63) and most < 2**64 and (least >= 0 or most < 2**63):
            dtype = np.int64 if most < 2**63 else np.uint64
            values = np.array([int(n) for n in whole], dtype=dtype)
            return Column(values, missing if missing.any() else None)
    return _refuse_number(numbers[wide[0]], wide[0], label)


def _refuse_number(number: object, row: int, label: str) -> NoReturn:
    raise ValueError(
        f"{label} holds {number} at row {row}; no numeric type holds this number and the rest of "
        "the column exactly. Convert the column to float64 if rounding is acceptable."
    )


def _is_double(number: int) -> bool:
    try:
        return float(number) == number
    except OverflowError:
        return False
