"""A partition of a cluster whose columns are those of a data frame in memory.

A table of Arrow has a mask of the missing values of every column, and is a copy if columns have
strides. This partition has the columns themselves: numbers become columns of Arrow batch by batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.datasets.array_partition import arrow_column, refuse_known_name

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FramePartition"]


@dataclass(frozen=True, eq=False)
class FramePartition:
    """The rows of a data frame; it has some members of pyarrow.Table.

    Parameters
    ----------
    columns : mapping of str to array or pyarrow.ChunkedArray
        The columns: those of numbers are arrays with any strides.
    """

    columns: Mapping[str, npt.NDArray[Any] | pa.ChunkedArray]

    @property
    def num_rows(self) -> int:
        """The number of rows; without columns there are none."""
        return len(next(iter(self.columns.values()), ()))

    @property
    def nbytes(self) -> int:
        """The size of the values."""
        return sum(int(column.nbytes) for column in self.columns.values())

    def __sizeof__(self) -> int:
        """Return the size for Dask, which moves partitions to files if memory is short."""
        return object.__sizeof__(self) + self.nbytes

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        import pyarrow as pa

        kinds = {
            name: pa.from_numpy_dtype(c.dtype) if isinstance(c, np.ndarray) else c.type
            for name, c in self.columns.items()
        }
        return pa.schema(kinds.items())

    def append_column(self, name: str, column: pa.ChunkedArray) -> FramePartition:
        """Return the rows with another column; raise ValueError if its name is known."""
        refuse_known_name(name, self.columns)
        return FramePartition({**self.columns, name: column})

    def slice(self, offset: int, length: int) -> FramePartition:
        """Return some rows, without a copy."""
        return FramePartition(
            {
                name: c[offset : offset + length]
                if isinstance(c, np.ndarray)
                else c.slice(offset, length)
                for name, c in self.columns.items()
            }
        )

    def column(self, name: str) -> Any:
        """Return a column of Arrow."""
        column = self.columns[name]
        return arrow_column(column) if isinstance(column, np.ndarray) else column
