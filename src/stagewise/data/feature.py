"""What a model remembers of one column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from stagewise.data.categories.categories import Categories
from stagewise.data.reading.column import Array
from stagewise.data.reading.datetimes import TemporalType

__all__ = ["Feature"]


@dataclass(frozen=True, eq=False)
class Feature:
    """One column of the training data.

    Parameters
    ----------
    name : str or None
        Its name, if it had one.
    kind : {"real", "wide_integer", "categorical"}
        A real column is used as it is. A wide_integer column held integers beyond 2**53 and is
        replaced by the number of cuts below each value. A categorical column is replaced by the
        number of each value's level.
    cuts : int64 or uint64 array, or None
        Increasing; only for a wide_integer column.
    levels : Levels or None
        Only for a categorical column.
    moment : {"date", "duration", "time of day"}, or None
        What its numbers stand for, if these are nanoseconds. It is only shown: features that
        differ in nothing else are equal.
    """

    name: str | None
    kind: Literal["real", "wide_integer", "categorical"]
    cuts: Array | None = None
    categories: Categories | None = None
    temporal_type: TemporalType | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Feature):
            return NotImplemented
        mine, theirs = (
            (self.name, self.kind, self.categories),
            (other.name, other.kind, other.categories),
        )
        if mine != theirs:
            return False
        if self.cuts is None or other.cuts is None:
            return self.cuts is other.cuts
        return self.cuts.dtype == other.cuts.dtype and np.array_equal(self.cuts, other.cuts)

    def __hash__(self) -> int:
        return hash((self.name, self.kind))
