"""Rows as a model has them, dense or sparse, whole or some of them.

The one idea: what is asked for decides what is copied. A walk through trees reads rows as they
lie; a column is a column; and only cells that will be changed are made dense, of the rows that
were chosen, within a bound. Must not know what the rows are for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, SparseColumns
from stagewise.data.bins import core_columns
from stagewise.data.features import Features
from stagewise.data.reading.column import Array
from stagewise.data.reading.sparse import Cells
from stagewise.inspection import memory_limits

__all__ = ["Rows", "drawn_rows"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that a model has read.

    Parameters
    ----------
    values : array of shape (n_rows, n_features), list of arrays, or Cells
        The features: levels and wide integers as numbers.
    features : Features
        What the model remembers of them.
    name : str
        What the caller passed them as.
    """

    values: Array | list[Array] | Cells
    features: Features
    name: str = "X"

    @property
    def n(self) -> int:
        """How many rows there are."""
        if isinstance(self.values, Cells):
            return self.values.shape[0]
        return len(self.values[0] if isinstance(self.values, list) else self.values)

    def column(self, place: int) -> Vector:
        """Return one feature of all rows."""
        if isinstance(self.values, Cells):
            column = self.values.column(place)
        else:
            dense = self.values
            column = dense[place] if isinstance(dense, list) else dense[:, place]
        return np.ascontiguousarray(column, dtype=np.float64)

    def columns(self, chosen: npt.NDArray[np.intp] | None = None) -> list[Vector]:
        """Return all features of all rows, or of the chosen ones, one array for each.

        Raises
        ------
        ValueError
            If rows are sparse, and their dense copy would take more than COPY_BYTES.
        """
        if isinstance(self.values, Cells):
            dense = self._dense(self.values, memory_limits.COPY_BYTES, chosen)
            return [np.ascontiguousarray(column, dtype=np.float64) for column in dense.T]
        every = (self.column(place) for place in range(self.features.n))
        return [column if chosen is None else column[chosen] for column in every]

    def _dense(self, cells: Cells, most: int, chosen: npt.NDArray[np.intp] | None = None) -> Array:
        """Return sparse rows, or some of them, as an array, if that takes no more bytes."""
        n, width = self.n if chosen is None else len(chosen), self.features.n
        memory_limits.check_size(
            f"{self.name} is a sparse matrix, and a dense copy of {n} of its rows x {width} "
            "features",
            n,
            8 * width,
            most,
            ", or a smaller max_rows where there is one",
        )
        return cells.dense(chosen)

    def asked(self) -> Columns | SparseColumns:
        """Return all columns that trees ask about, what levels say included, as they lie."""
        columns: Columns | SparseColumns = self.features.extended(core_columns(self.values))
        return columns

    def asked_dense(self, most: int) -> Columns:
        """Return the same, dense; of sparse rows a copy of at most so many bytes."""
        if isinstance(self.values, Cells):
            copy = Rows(self._dense(self.values, most), self.features, self.name)
            return copy.asked_dense(most)
        columns = self.asked()
        assert isinstance(columns, Columns)
        return columns


def drawn_rows(weight: Vector, most: int | None, seed: int) -> npt.NDArray[np.int64]:
    """Return the places of the rows that count, at most so many of them, in their order."""
    rows = np.flatnonzero(weight > 0)
    if most is None or len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
