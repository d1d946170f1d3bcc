"""One column of cells, of whatever type, as plain numbers.

The one idea: a column becomes float32 or float64 when that loses nothing, and stays a 64-bit
integer when it would lose something; no third thing happens without a warning or an error. Arrays
that are already what is wanted come back as they are. This file must not know frames or names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.cell import TEMPORAL_TYPES, Family, cell_number, family, is_missing
from stagewise.data.reading.datetimes import TemporalType, temporal_type_of
from stagewise.validation.messages import short_repr, warn_caller

__all__ = [
    "LARGEST_EXACT",
    "Column",
    "as_floats",
    "is_wide",
    "missing_mask",
    "native_floats",
    "read_column",
    "refuse_cell",
    "refuse_mixed",
    "with_missing",
]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

LARGEST_EXACT = 2**53
"""Every integer up to this one is also a double; the next one is not."""


class Column(NamedTuple):
    """The cells of one column.

    Parameters
    ----------
    values : array of shape (n_rows,)
        float32 or float64, where NaN is a missing cell; or int64 or uint64 for a *wide* column,
        one that holds integers no double can.
    missing : bool array of shape (n_rows,), or None
        Which cells of a wide column are missing; None when none is.
    moment : {"date", "duration", "time of day"}, or None
        What the cells were, if their numbers are nanoseconds.
    """

    values: Array
    missing: Mask | None
    temporal_type: TemporalType | None = None

    def take(self, rows: npt.NDArray[np.uint32]) -> Column:
        """Choose cells by their rows."""
        missing = None if self.missing is None else self.missing[rows]
        return Column(self.values[rows], missing, self.temporal_type)


def read_column(cells: Array, missing: Mask | None, label: str, remedy: str) -> Column:
    """Turn cells of any numpy type into numbers.

    Parameters
    ----------
    cells : array of shape (n_rows,)
        Booleans, integers, floats, dates, durations, or objects that are numbers, decimals,
        dates, durations, times of day or missing; of moments and numbers only one family.
    missing : bool array of shape (n_rows,), or None
        Cells to treat as missing, besides those that say so themselves (NaN, NaT, None, NA).
    label : str
        What to call the column in messages.
    remedy : str
        What to advise when the column holds text.

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
    # Text, complex numbers and records are objects too: the first of them says what is wrong.
    objects: Array = cells.astype(object)
    if missing is not None:
        objects[missing] = None
    return _read_objects(objects, label, remedy)


def as_floats(values: Array) -> Array | None:
    """Turn a whole array of numbers into floats, or give None if these do not hold them all."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f":
        return native_floats(values)
    if kind in "biu" and size <= 2:
        return values.astype(np.float32)
    if kind in "iu" and (size < 8 or not is_wide(values)):
        return values.astype(np.float64)
    return None


def native_floats(values: Array, label: str = "X") -> Array:
    """Floats of any width, byte order and alignment as float32 or float64 the core can read.

    float32 and float64 arrays of any shape, order and stride are returned as they are.
    """
    dtype = values.dtype
    if dtype.itemsize == 2:
        return values.astype(np.float32)
    if dtype.itemsize > 8:
        return _narrowed(values, label)
    # The core counts strides in elements, so a field of a packed record must be copied out.
    awkward = not values.flags.aligned or any(step % dtype.itemsize for step in values.strides)
    if awkward or not dtype.isnative:
        return values.astype(dtype.newbyteorder("="))
    return values


def refuse_cell(cell: object, row: int, label: str, remedy: str) -> NoReturn:
    """Raise the error for a cell that is not a number."""
    where = f"{short_repr(cell)} at row {row}"
    if isinstance(cell, str):
        # Also "1.5": guessing which text is a number is how columns of codes get corrupted.
        if _is_numeric_text(cell):
            number = "If it is one, convert the column first, for instance with astype(float)"
            remedy = f"{number}. {remedy}"
        raise ValueError(
            f"{label} holds the text {where}, and text is not read as a number. {remedy}."
        )
    if isinstance(cell, (complex, np.complexfloating)):
        raise ValueError(
            f"Complex data not supported: {label} holds {where}. "
            "Pass the real and the imaginary part as two columns."
        )
    try:
        float(cell)  # type: ignore[arg-type]
        reason = "its type is not one this library reads"
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise TypeError(
        f"{label} holds a {type(cell).__name__}, {where}, where every cell must be a number or "
        f"missing ({reason}). Convert the column to a numeric type first."
    )


def _is_numeric_text(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def missing_mask(items: Sequence[Any]) -> Mask:
    """Say which objects stand for a missing cell: None, NaN, and pandas' NA and NaT."""
    return np.array([is_missing(item) for item in items], dtype=bool)


def with_missing(values: Array, missing: Mask | None) -> Array:
    """Floats with NaN where a cell is missing; copied only if one is."""
    if missing is None or not missing.any():
        return values
    return np.where(missing, values.dtype.type(np.nan), values)


def _narrowed(values: Array, label: str) -> Array:
    """Long doubles as doubles, with a warning when that changes a value."""
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
        # What lies under a missing cell must not make the column wide.
        cells = np.where(missing, cells.dtype.type(0), cells)
    if cells.dtype.itemsize == 8 and is_wide(cells):
        wide = np.ascontiguousarray(cells, dtype=cells.dtype.newbyteorder("="))
        return Column(wide, missing if missing is not None and missing.any() else None)
    return Column(with_missing(cells.astype(np.float64), missing), None)


def is_wide(cells: Array) -> bool:
    """Whether some of these integers lie beyond what every double can hold."""
    if cells.size == 0:
        return False
    return int(cells.max()) > LARGEST_EXACT or int(cells.min()) < -LARGEST_EXACT


def _read_instants(cells: Array, missing: Mask | None, label: str) -> Column:
    """Dates and durations as integer nanoseconds, the same whatever unit they came in."""
    gone = np.isnat(cells) if missing is None else np.isnat(cells) | missing
    unit = np.dtype(f"{cells.dtype.kind}8[ns]")
    exact = cells.astype(unit)
    # numpy wraps around silently outside the years 1678 to 2262; the way back tells.
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
    # Checking each type once is what keeps this loop-free for the common columns.
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
    """Nanoseconds in the type that an array of dates has, so that both give one model."""
    missing = np.array([n != n for n in numbers], dtype=bool)
    whole = [0 if gone else int(n) for n, gone in zip(numbers, missing, strict=True)]
    return _read_integers(np.array(whole, dtype=np.int64), missing)


def refuse_mixed(items: Sequence[Any], families: Mapping[type, Family], label: str) -> None:
    """Raise if some objects are numbers and some are moments, or moments of different kinds."""
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
    """Give the number that each object is, NaN where it is missing."""
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
    """Python numbers, NaN where missing, in the one type that holds all of them exactly."""
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
        f"{label} holds {number} at row {row}, and no number type holds it and the rest of the "
        "column exactly. Convert the column to float64 if rounding is acceptable."
    )


def _is_double(number: int) -> bool:
    try:
        return float(number) == number
    except OverflowError:
        return False
