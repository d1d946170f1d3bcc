"""The description of one training column that a model stores."""

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
        Its name, or None.
    kind : {"real", "wide_integer", "categorical"}
        The values of a real column are used unchanged. A wide_integer column had integers beyond
        2**53; each value is replaced by the number of cuts below it. In a categorical column each
        value is replaced by the code of its category.
    cuts : int64 or uint64 array, or None
        Increasing; only for a wide_integer column.
    categories : Categories or None
        Only for a categorical column.
    temporal_type : {"date", "duration", "time of day"}, or None
        For a column of nanoseconds, what these are. It is used for display only: features that
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
