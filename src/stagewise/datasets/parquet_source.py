"""Parquet files: footers give schemas, row counts and row numbers; row groups are read in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stagewise.datasets.batch import Batch, Part, refuse_no_rows
from stagewise.datasets.file_list import DataFile
from stagewise.datasets.file_source import FileSource, name_faults
from stagewise.datasets.tables import Layout

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ENDINGS", "ParquetSource"]

ENDINGS = (".parquet", ".pq")
READ_BYTES = 1 << 18
"""The bytes of a column that are read at once: memory does not depend on the row groups."""


@dataclass(frozen=True)
class ParquetSource(FileSource):
    """The rows of Parquet files; their parts are row groups."""

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
            with closing(_open(file)) as reader:
                schemas[file] = reader.schema_arrow
                if reader.metadata.num_row_groups == 0:
                    parts.append(Part(file, None, n_rows, 0))
                for group in range(reader.metadata.num_row_groups):
                    count = reader.metadata.row_group(group).num_rows
                    parts.append(Part(file, group, n_rows, count))
                    n_rows += count
        refuse_no_rows(parts)
        return cls(Layout.merge(schemas, types, is_used), tuple(parts))

    def _read_file(
        self, file: DataFile, parts: Iterable[Part], columns: Sequence[str], batch_rows: int
    ) -> Iterator[Batch]:
        with closing(_open(file)) as reader:
            for part in parts:
                yield from self._read_part(reader, part, columns, batch_rows)

    def _read_part(
        self, reader: Any, part: Part, columns: Sequence[str], batch_rows: int
    ) -> Iterator[Batch]:
        import pyarrow as pa

        stored, first = self.layout.stored(columns), part.first_row
        damage = _damage(f"{part.place} cannot be read")
        with name_faults(damage):
            pieces = reader.iter_batches(batch_rows, row_groups=[part.row_group], columns=stored)
        while True:
            with name_faults(damage):
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

    def describe(self) -> str:
        """Return the number of files and row groups."""
        n_files = len({part.file for part in self.parts})
        return (
            f"{n_files} Parquet file{'s' * (n_files > 1)}, {len(self.parts)} "
            f"row group{'s' * (len(self.parts) > 1)}"
        )


def _open(file: DataFile) -> Any:
    """Return a reader of a file."""
    import pyarrow.parquet as pq

    with name_faults(_damage(f"{str(file.path)!r} cannot be read as Parquet")):
        return pq.ParquetFile(
            file.path,
            pre_buffer=False,
            buffer_size=READ_BYTES,
            page_checksum_verification=True,
        )


def _damage(problem: str) -> Callable[[str], Exception]:
    """Return a function that makes the error about a damaged file from its reason."""
    return lambda reason: ValueError(
        f"{problem}: {reason}. The file is damaged or incomplete; write it again, or leave it out."
    )
