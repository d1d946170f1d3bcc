"""Values that stand for a missing cell, besides NaN.

The one idea: a value is looked for in the type of the cells: as an integer among integers, rounded
to float32 among float32. So -999.9 is found in a float32 column, none of whose cells is -999.9, and
a value that the type cannot hold is found nowhere in it. This file must not know tables or names.
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
    """The values that count as missing, each once: whole ones as int, rising, then the others.

    Parameters
    ----------
    values : tuple of int and float
        As `of` puts them.
    """

    values: tuple[int | float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[int | float]) -> MissingValues:
        """Take finite numbers in any order; -999 and -999.0 are the same one."""
        plain = {int(v) if v == int(v) and -(2**63) <= v < 2**64 else float(v) for v in values}
        return cls(tuple(sorted(plain, key=lambda v: (isinstance(v, float), v))))

    def __bool__(self) -> bool:
        return bool(self.values)

    def mask_in(self, cells: Array) -> Mask | None:
        """Say which cells hold one of the values; None when none does.

        Dates and durations hold no numbers, so nothing is found in them.

        Parameters
        ----------
        cells : array of any shape
            Of any type; objects that are no numbers are passed over.
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
        # Python compares integers and floats exactly, whatever their size.
        known = set(self.values)
        items = [
            family(type(item)) == "number" and item in known for item in cells.ravel().tolist()
        ]
        return np.array(items, dtype=bool).reshape(cells.shape)


ONLY_NAN = MissingValues()
"""What is missing unless the caller says more: NaN, None, NA and NaT."""


def _any_or_none(found: Mask) -> Mask | None:
    return found if found.any() else None


def _in_type(value: int | float, dtype: np.dtype[Any]) -> np.generic | None:
    """Give the value as a cell of this type would hold it; None if no cell could."""
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            own: np.floating[Any] = dtype.type(value)
        # What overflows or vanishes is not that value any more, and 0 and inf are others.
        return own if np.isfinite(own) and (own == 0) == (value == 0) else None
    if dtype.kind in "biu" and isinstance(value, int):
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return dtype.type(value) if low <= value <= high else None
    return None
