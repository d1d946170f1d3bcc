"""Parquet files: footers give schemas, row counts and row numbers; row groups are read in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stagewise.datasets.arrow import reason_of
from stagewise.datasets.batch import Batch, Part, refuse_no_rows
from stagewise.datasets.file_list import DataFile
from stagewise.datasets.tables import Layout

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ENDINGS", "ParquetSource"]

ENDINGS = (".parquet", ".pq")
READ_BYTES = 1 << 18
"""The bytes of a column that are read at once: memory does not depend on the row groups."""


@dataclass(frozen=True)
class ParquetSource:
    """The rows of Parquet files.

    Parameters
    ----------
    layout : Layout
        The columns.
    parts : tuple of Part
        The row groups.
    """

    layout: Layout
    parts: tuple[Part, ...]

    @classmethod
    def open(
        cls,
        files: Sequence[DataFile],
        types: Mapping[str, pa.DataType],
        is_used: Callable[[str], bool],
    ) -> ParquetSource:
        """Read the footers of files; see `Layout.merge` for the arguments."""
        schemas, parts, n_rows = {}, [], 0
        for file in files:
            with _open(file) as reader:
                schemas[file] = reader.schema_arrow
                if reader.metadata.num_row_groups == 0:
                    parts.append(Part(file, None, n_rows, 0))
                for group in range(reader.metadata.num_row_groups):
                    count = reader.metadata.row_group(group).num_rows
                    parts.append(Part(file, group, n_rows, count))
                    n_rows += count
        refuse_no_rows(parts)
        return cls(Layout.merge(schemas, types, is_used), tuple(parts))

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
        for part in self.parts:
            part.file.check()
        opened: DataFile | None = None
        reader: Any = None
        try:
            for part in self.parts:
                if part.n_rows == 0:
                    continue
                if part.file != opened:
                    _close(reader)
                    part.file.check()
                    reader, opened = _reader(part.file), part.file
                yield from self._read_part(reader, part, columns, batch_rows)
        finally:
            _close(reader)

    def _read_part(
        self, reader: Any, part: Part, columns: Sequence[str], batch_rows: int
    ) -> Iterator[Batch]:
        import pyarrow as pa

        stored, first = self.layout.stored(columns), part.first_row
        with _name_damage(part.place):
            pieces = reader.iter_batches(batch_rows, row_groups=[part.row_group], columns=stored)
        while True:
            with _name_damage(part.place):
                piece = next(pieces, None)
            if piece is None:
                break
            table = self.layout.complete(pa.Table.from_batches([piece]), columns, part.file)
            yield Batch(table, first, part)
            first += table.num_rows
        if first != part.first_row + part.n_rows:
            raise ValueError(
                f"{part.place} has {first - part.first_row} rows, but its footer has "
                f"{part.n_rows}; the file is damaged, so write it again."
            )

    def by_file(self) -> tuple[ParquetSource, ...]:
        """Return one source per file, with the same schema."""
        files = dict.fromkeys(part.file for part in self.parts)
        return tuple(self._only(file) for file in files)

    def _only(self, file: DataFile) -> ParquetSource:
        parts = [part for part in self.parts if part.file == file]
        begin = parts[0].first_row
        moved = (replace(part, first_row=part.first_row - begin) for part in parts)
        return replace(self, parts=tuple(moved))

    def describe(self) -> str:
        """Return the number of files and row groups."""
        n_files = len({part.file for part in self.parts})
        return (
            f"{n_files} Parquet file{'s' * (n_files > 1)}, {len(self.parts)} "
            f"row group{'s' * (len(self.parts) > 1)}"
        )


@contextmanager
def _open(file: DataFile) -> Iterator[Any]:
    reader = _reader(file)
    try:
        yield reader
    finally:
        _close(reader)


def _reader(file: DataFile) -> Any:
    import pyarrow.parquet as pq

    with _name_damage(repr(str(file.path)), whole=True):
        return pq.ParquetFile(
            file.path,
            pre_buffer=False,
            buffer_size=READ_BYTES,
            page_checksum_verification=True,
        )


def _close(reader: Any) -> None:
    if reader is not None:
        reader.close()


@contextmanager
def _name_damage(place: str, *, whole: bool = False) -> Iterator[None]:
    """Turn an error of Arrow into one that names the file."""
    import pyarrow as pa

    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError) as error:
        what = "cannot be read as Parquet" if whole else "cannot be read"
        raise ValueError(
            f"{place} {what}: {reason_of(error)}. The file is damaged or incomplete; write it "
            "again, or leave it out."
        ) from error
