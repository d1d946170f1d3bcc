"""Writes tables piece by piece: to Parquet, to CSV, or as CSV to standard output.

A file appears under its name only when it is complete.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from stagewise.datasets.parquet_source import ENDINGS as PARQUET
from stagewise.model.file.atomic import open_replacement

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TableWriter", "open_table_writer"]

GROUP_ROWS = 1 << 20
"""The number of rows of a row group of Parquet."""
GROUP_BYTES = 1 << 26
"""A row group with more bytes in memory ends earlier."""


class TableWriter(Protocol):
    """Writes the rows of a table, one piece after another."""

    def write(self, table: pa.Table) -> None:
        """Write the next rows; all pieces have the same columns."""


@contextmanager
def open_table_writer(
    path: Path | None, notes: Mapping[str, str] | None = None
) -> Iterator[TableWriter]:
    """Open a writer; the file is replaced atomically when the block ends without an error.

    Parameters
    ----------
    path : Path or None
        A ``.csv`` or ``.parquet`` file; None: CSV on standard output.
    notes : mapping of str to str, or None
        Key-value metadata of a Parquet file.
    """
    if path is None:
        yield _CsvWriter(lambda data: sys.stdout.write(data.decode()))
        return
    with open_replacement(path) as file:
        if path.suffix.lower() in PARQUET:
            writer = _ParquetWriter(file, notes or {})
            try:
                yield writer
                writer.close()
            except BaseException:
                writer.abandon()
                raise
        else:
            yield _CsvWriter(file.write)


class _CsvWriter:
    def __init__(self, put: Any) -> None:
        self._put, self._first = put, True

    def write(self, table: pa.Table) -> None:
        import pyarrow as pa
        from pyarrow import csv

        sink = pa.BufferOutputStream()
        csv.write_csv(_plain(table), sink, csv.WriteOptions(include_header=self._first))
        self._put(sink.getvalue().to_pybytes())
        self._first = False


class _ParquetWriter:
    """Collects pieces until they fill a row group."""

    def __init__(self, file: Any, notes: Mapping[str, str]) -> None:
        self._file, self._notes = file, notes
        self._pieces: list[pa.Table] = []
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        if self._writer is None:
            schema = table.schema.remove_metadata().with_metadata(dict(self._notes))
            self._writer = pq.ParquetWriter(self._file, schema)
        self._pieces.append(table.replace_schema_metadata())
        rows = sum(piece.num_rows for piece in self._pieces)
        if rows >= GROUP_ROWS or sum(piece.nbytes for piece in self._pieces) >= GROUP_BYTES:
            self._write_group()

    def close(self) -> None:
        if self._pieces:
            self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        """Write no footer, also when the writer is deleted: the file is removed."""
        if self._writer is not None:
            self._writer.is_open = False

    def _write_group(self) -> None:
        import pyarrow as pa

        group = pa.concat_tables(self._pieces)
        self._pieces.clear()
        self._writer.write_table(group.cast(self._writer.schema), row_group_size=GROUP_ROWS)


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionary types, which CSV does not have."""
    from pyarrow import types

    for place, field in enumerate(table.schema):
        if types.is_dictionary(field.type):
            column = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, column)
    return table
