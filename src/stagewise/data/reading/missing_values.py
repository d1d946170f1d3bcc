"""The parameter `missing_values`: values that count as missing besides NaN.

A value is converted to the type of the cells before it is compared: -999.9 is rounded to float32 in
a float32 column, so it is found there. A value that the type cannot hold is not found. This module
must not import tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.data.reading.cell import family
from stagewise.data.reading.column import Array, Mask

__all__ = ["ONLY_NAN", "MissingValues"]


@dataclass(frozen=True)
class MissingValues:
    """The values that count as missing.

    Parameters
    ----------
    values : tuple of int and float
        Distinct: whole numbers as int in increasing order, then the others; see `of`.
    """

    values: tuple[int | float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[int | float]) -> MissingValues:
        """Return the missing values of finite numbers in any order; -999 equals -999.0."""
        plain = {int(v) if v == int(v) and -(2**63) <= v < 2**64 else float(v) for v in values}
        return cls(tuple(sorted(plain, key=lambda v: (isinstance(v, float), v))))

    def __bool__(self) -> bool:
        return bool(self.values)

    def mask_in(self, cells: Array) -> Mask | None:
        """Return the mask of cells that hold one of the values; None if no cell does.

        Dates and durations are not numbers, so nothing is found in them.

        Parameters
        ----------
        cells : array of any shape
            Of any type; objects that are not numbers are ignored.
        """
        if not self.values:
            return None
        if cells.dtype.kind == "O":
            return _any_or_none(self._found_in_objects(cells))
        found: Mask | None = None
        for value in self.values:
            own = _in_type(value, cells.dtype)
            if own is not None:
                found = cells == own if found is None else found | (cells == own)
        return None if found is None else _any_or_none(found)

    def _found_in_objects(self, cells: Array) -> Mask:
        # Python compares integers and floats exactly.
        known = set(self.values)
        items = [
            family(type(item)) == "number" and item in known for item in cells.ravel().tolist()
        ]
        return np.array(items, dtype=bool).reshape(cells.shape)


ONLY_NAN = MissingValues()
"""The default: only NaN, None, NA and NaT are missing."""


def _any_or_none(found: Mask) -> Mask | None:
    return found if found.any() else None


def _in_type(value: int | float, dtype: np.dtype[Any]) -> np.generic | None:
    """Return the value in the type of the cells; None if the type cannot hold it."""
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            own: np.floating[Any] = dtype.type(value)
        # A value that overflows to inf or underflows to 0 is not the same value any more.
        return own if np.isfinite(own) and (own == 0) == (value == 0) else None
    if dtype.kind in "biu" and isinstance(value, int):
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return dtype.type(value) if low <= value <= high else None
    return None
