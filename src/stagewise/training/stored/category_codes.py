"""The categories of the training rows of a dataset: one pass reads them, and files keep them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns
from stagewise.data import Features
from stagewise.training.stored.dataset_rows import DatasetRows
from stagewise.training.stored.spool import Spool

__all__ = ["CategoryCodes"]

BLOCK_ROWS = 1 << 18
"""The rows of a block."""
FLOAT32_CATEGORIES = 1 << 24
"""The largest number of categories whose codes are exact as float32."""


@dataclass(frozen=True)
class CategoryCodes:
    """The codes of the categories of rows.

    Attributes
    ----------
    of_features : list of Spool or None
        For each feature, the codes of the rows that this rank reads, as trees read them; None: it
        is not categorical.
    n_rows : int
        The number of these rows.
    """

    of_features: list[Spool | None]
    n_rows: int

    @classmethod
    def read(cls, rows: DatasetRows, features: Features) -> CategoryCodes:
        """Read the rows of a dataset."""
        counts, folder = features.n_categories_per_feature(), rows.target.y.folder
        types = [np.float32 if n <= FLOAT32_CATEGORIES else np.float64 for n in counts]
        spools = [Spool(kind, folder) if n else None for n, kind in zip(counts, types, strict=True)]
        for columns, present in rows.columns():
            own = columns if present is None else columns.take(present)
            for feature, spool in enumerate(spools):
                if spool is not None:
                    spool.append(own.column(feature))
        return cls(spools, len(rows.target.y))

    def blocks(self) -> Iterator[tuple[int, Columns]]:
        """Return blocks of rows: the first row of each, and its columns.

        The columns are those of all features; numeric ones are 0.
        """
        for first in range(0, self.n_rows, BLOCK_ROWS):
            n = min(BLOCK_ROWS, self.n_rows - first)
            none: npt.NDArray[np.float64] = np.zeros(n)
            columns = [none if s is None else s.read(first, n) for s in self.of_features]
            yield first, Columns(columns)
