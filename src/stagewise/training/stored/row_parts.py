"""The part of a fit that each row of a dataset belongs to: one byte per row, in a file.

A row of weight zero is absent. The other rows are divided if some are held out: a model, or the
model of a fold, is fitted to the rows that are learned, and the rows that are held out choose the
number of its rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.training.stored.spool import Spool

__all__ = ["ABSENT", "HELD", "LEARNED", "OTHER", "PRESENT", "RowParts"]

ABSENT, LEARNED, HELD, OTHER = range(4)
PRESENT = (LEARNED, HELD, OTHER)
"""All parts of the rows of positive weight."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RowParts:
    """Some parts of the rows that a rank reads.

    Attributes
    ----------
    of_rows : Spool
        The part of every row, in the order in which they are read.
    parts : tuple of int
        The parts of this set.
    """

    of_rows: Spool
    parts: tuple[int, ...] = PRESENT

    def mask(self, begin: int, n: int) -> Mask:
        """Return which of n rows are in this set."""
        return np.isin(self.of_rows.read(begin, n), self.parts)

    def rows(self, begin: int, n: int) -> npt.NDArray[np.uint32] | None:
        """Return which of n rows are in this set, as positions; None: all."""
        mask = self.mask(begin, n)
        return None if mask.all() else np.flatnonzero(mask).astype(np.uint32)
