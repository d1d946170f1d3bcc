"""A column that is written once and read several times, in a file without a name."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Spool"]

BLOCK = 1 << 20
"""The number of values of a block."""


class Spool:
    """The values of a column, appended piece by piece.

    Parameters
    ----------
    dtype : data type
        Of the values.
    folder : Path or None
        The folder of the file; None: that of temporary files. The file disappears with the process.
    """

    def __init__(self, dtype: npt.DTypeLike, folder: Path | None) -> None:
        self.dtype, self.folder, self._n = np.dtype(dtype), folder, 0
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (finalize)
        self._close = weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._n

    def append(self, values: npt.NDArray[Any]) -> None:
        """Append values."""
        self._file.seek(self._n * self.dtype.itemsize)
        self._write(np.ascontiguousarray(values, dtype=self.dtype))
        self._n += len(values)

    def _write(self, values: npt.NDArray[Any]) -> None:
        rest = values.view(np.uint8)
        while len(rest):
            rest = rest[self._file.write(rest.data) :]

    def read(self, begin: int, n: int) -> npt.NDArray[Any]:
        """Return n values from a position on."""
        values = np.empty(n, dtype=self.dtype)
        rest, at = values.view(np.uint8), begin * self.dtype.itemsize
        while len(rest):
            self._file.seek(at)
            done = self._file.readinto(rest.data)
            if not done:
                raise OSError("the file of a column has fewer values than were written")
            rest, at = rest[done:], at + done
        return values

    def blocks(self) -> Iterator[npt.NDArray[Any]]:
        """Read all values in blocks."""
        for begin in range(0, self._n, BLOCK):
            yield self.read(begin, min(BLOCK, self._n - begin))

    def close(self) -> None:
        """Remove the file; this also happens when the object is no longer used."""
        self._close()
