"""A partition of a cluster whose features are an array in memory.

Arrow has no column with strides, so a table would be a copy of an array in C order. This partition
has the array itself: columns are copied batch by batch, if at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrayPartition", "arrow_column", "is_numeric"]

Array = npt.NDArray[Any]


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Return whether a type is one of booleans, integers or floats that Arrow has."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def arrow_column(cells: Array) -> Any:
    """Return numbers as a column of Arrow: a copy unless they are contiguous; NaN stays NaN."""
    import pyarrow as pa

    native = cells.astype(cells.dtype.newbyteorder("="), copy=False)
    return pa.chunked_array([pa.array(native)])


@dataclass(frozen=True, eq=False)
class ArrayPartition:
    """The rows of an array, and other columns; it has some members of pyarrow.Table.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The features: booleans, integers or floats, with any strides.
    others : pyarrow.Table
        The other columns.
    """

    X: Array
    others: pa.Table

    @classmethod
    def of(cls, X: Array) -> ArrayPartition | pa.Table:
        """Return the rows of an array; of objects, a table, whose columns have their own types."""
        import pyarrow as pa

        if is_numeric(X.dtype):
            return cls(X, pa.table({}))
        return pa.table({f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])})

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.X)

    @property
    def nbytes(self) -> int:
        """The size of the values."""
        return int(self.X.nbytes + self.others.nbytes)

    def __sizeof__(self) -> int:
        """Return the size for Dask, which moves partitions to files if memory is short."""
        return object.__sizeof__(self) + self.nbytes

    @property
    def features(self) -> pa.Schema:
        """The names and types of the features."""
        import pyarrow as pa

        kind = pa.from_numpy_dtype(self.X.dtype)
        return pa.schema([(f"x{j}", kind) for j in range(self.X.shape[1])])

    @property
    def schema(self) -> pa.Schema:
        """The names and types of all columns."""
        import pyarrow as pa

        return pa.schema([*self.features, *self.others.schema])

    def append_column(self, name: str, column: pa.Array) -> ArrayPartition:
        """Return the rows with another column."""
        import pyarrow as pa

        # A table without columns has no rows.
        empty = not self.others.num_columns
        others = pa.table({name: column}) if empty else self.others.append_column(name, column)
        return replace(self, others=others)

    def slice(self, offset: int, length: int) -> ArrayPartition:
        """Return some rows, without a copy."""
        own = self.X[offset : offset + length]
        return ArrayPartition(own, self.others.slice(offset, length))

    def column(self, name: str) -> Any:
        """Return a column of Arrow."""
        if name in self.others.column_names:
            return self.others.column(name)
        return arrow_column(self.X[:, int(name[1:])])
