"""Rows encoded as in training, dense or sparse.

Rows are copied only as far as needed: tree traversal reads them in place, and only the selected
rows of a sparse matrix become dense, within a memory limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, SparseColumns
from stagewise.data.bins import core_columns
from stagewise.data.features import Features
from stagewise.data.reading.column import Array
from stagewise.data.reading.sparse import SparseCells
from stagewise.inspection import memory_limits

__all__ = ["EncodedRows", "sample_rows"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows encoded with the features of a model.

    Parameters
    ----------
    values : array of shape (n_rows, n_features), list of arrays, or Cells
        The encoded features: categories and wide integers as numbers.
    features : Features
        The features of the model.
    name : str
        The name of the argument, for messages.
    """

    values: Array | list[Array] | SparseCells
    features: Features
    name: str = "X"

    @property
    def n(self) -> int:
        """The number of rows."""
        if isinstance(self.values, SparseCells):
            return self.values.shape[0]
        return len(self.values[0] if isinstance(self.values, list) else self.values)

    def column(self, place: int) -> Vector:
        """Return one feature of all rows."""
        if isinstance(self.values, SparseCells):
            column = self.values.column(place)
        else:
            dense = self.values
            column = dense[place] if isinstance(dense, list) else dense[:, place]
        return np.ascontiguousarray(column, dtype=np.float64)

    def columns(self, chosen: npt.NDArray[np.intp] | None = None) -> list[Vector]:
        """Return all features of all rows, or of the chosen rows, one array for each.

        Raises
        ------
        ValueError
            If the rows are sparse and a dense copy would need more than COPY_BYTES.
        """
        if isinstance(self.values, SparseCells):
            dense = self._dense(self.values, memory_limits.COPY_BYTES, chosen)
            return [np.ascontiguousarray(column, dtype=np.float64) for column in dense.T]
        every = (self.column(place) for place in range(self.features.n))
        return [column if chosen is None else column[chosen] for column in every]

    def _dense(
        self, cells: SparseCells, most: int, chosen: npt.NDArray[np.intp] | None = None
    ) -> Array:
        """Return sparse rows, or some of them, as a dense array of at most this many bytes."""
        n, width = self.n if chosen is None else len(chosen), self.features.n
        memory_limits.check_size(
            f"{self.name} is a sparse matrix, and a dense copy of {n} of its rows x {width} "
            "features",
            n,
            8 * width,
            most,
            ", or set a smaller max_samples if the function has it",
        )
        return cells.dense(chosen)

    def tree_columns(self) -> Columns | SparseColumns:
        """Return all columns used in splits, target encodings included, without a copy."""
        columns: Columns | SparseColumns = self.features.append_derived(core_columns(self.values))
        return columns

    def dense_tree_columns(self, most: int) -> Columns:
        """Return the columns used in splits as dense arrays; sparse rows are copied."""
        if isinstance(self.values, SparseCells):
            copy = EncodedRows(self._dense(self.values, most), self.features, self.name)
            return copy.dense_tree_columns(most)
        columns = self.tree_columns()
        assert isinstance(columns, Columns)
        return columns


def sample_rows(weight: Vector, most: int | None, seed: int) -> npt.NDArray[np.int64]:
    """Return the sorted indices of rows with a positive weight, at most this many."""
    rows = np.flatnonzero(weight > 0)
    if most is None or len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
