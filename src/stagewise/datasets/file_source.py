"""What the sources of files share: columns, parts in row order, checks, errors of Arrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Self

from stagewise.datasets.arrow import reason_of
from stagewise.datasets.batch import Batch, Part
from stagewise.datasets.file_list import DataFile
from stagewise.datasets.tables import Layout

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FileSource", "name_faults"]


@dataclass(frozen=True)
class FileSource(ABC):
    """The rows of files; see `Source`.

    Parameters
    ----------
    layout : Layout
        The columns.
    parts : tuple of Part
        The parts of the files, in row order.
    """

    layout: Layout
    parts: tuple[Part, ...]

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        return self.layout.schema

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(part.n_rows for part in self.parts)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Read some columns of all rows, in row order."""
        for file in self._files():
            file.check()
        parts = (part for part in self.parts if part.n_rows)
        for file, own in groupby(parts, attrgetter("file")):
            file.check()
            yield from self._read_file(file, own, columns, batch_rows)

    @abstractmethod
    def _read_file(
        self, file: DataFile, parts: Iterable[Part], columns: Sequence[str], batch_rows: int
    ) -> Iterator[Batch]:
        """Read some columns of the parts of a file."""

    def by_file(self) -> tuple[Self, ...]:
        """Return one source per file, with the same schema."""
        return tuple(self._only(file) for file in self._files())

    def _only(self, file: DataFile) -> Self:
        parts = [part for part in self.parts if part.file == file]
        begin = parts[0].first_row
        moved = (replace(part, first_row=part.first_row - begin) for part in parts)
        return replace(self, parts=tuple(moved))

    def _files(self) -> list[DataFile]:
        return list(dict.fromkeys(part.file for part in self.parts))


@contextmanager
def name_faults(make_error: Callable[[str], Exception]) -> Iterator[None]:
    """Replace an error of Arrow by one that names the file.

    Parameters
    ----------
    make_error : callable
        Gets the reason and returns the exception.
    """
    import pyarrow as pa

    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError) as error:
        raise make_error(reason_of(error)) from error
