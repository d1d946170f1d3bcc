"""A partition of a cluster whose features are an array in memory.

Arrow has no column with strides, so a table would be a copy of an array in C order. This partition
has the array itself: columns are copied batch by batch, if at all.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrayPartition", "arrow_column", "is_numeric", "refuse_known_name"]

Array = npt.NDArray[Any]


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Return whether a type is one of booleans, integers or floats that Arrow has."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def refuse_known_name(name: str, names: Collection[str]) -> None:
    """Raise ValueError if a partition has a column of this name."""
    if name in names:
        raise ValueError(
            f"X has a column {name!r}, which is the name of the targets or of the weights; rename "
            "the column of X."
        )


def arrow_column(cells: Array) -> Any:
    """Return an array as a column of Arrow, in the byte order of the machine; NaN stays NaN.

    Contiguous numbers are not copied.
    """
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

    def append_column(self, name: str, column: pa.ChunkedArray) -> ArrayPartition:
        """Return the rows with another column; raise ValueError if its name is known."""
        import pyarrow as pa

        refuse_known_name(name, self.schema.names)
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
