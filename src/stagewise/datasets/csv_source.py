"""CSV files: their types are found, and their rows counted, by a first pass over all files.

The type of a column is the first of Arrow's types, in the order in which Arrow tries them, that
reads all of its cells in all files. Nothing is dropped or filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stagewise.datasets.arrow import common_type
from stagewise.datasets.batch import Batch, Part, refuse_no_rows
from stagewise.datasets.file_list import DataFile
from stagewise.datasets.file_source import FileSource, name_faults
from stagewise.datasets.tables import Layout

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ENDINGS", "CsvSource", "csv_options"]

_PACKED = (".gz", ".bz2", ".zst", ".lz4")
_PLAIN = (".csv", ".tsv", ".txt")
ENDINGS = (*_PLAIN, *(plain + packed for plain in _PLAIN for packed in _PACKED))

FIRST_BLOCK = 16 * 2**20
"""Types are inferred from this many bytes of each file, and corrected by the first pass."""
BLOCK = 4 * 2**20
"""The number of bytes that are parsed at once in later passes."""


@dataclass(frozen=True)
class CsvSource(FileSource):
    """The rows of CSV files; a part is a file.

    Parameters
    ----------
    types : mapping of str to pyarrow.DataType
        The types of the cells.
    """

    types: Mapping[str, pa.DataType]

    @classmethod
    def open(
        cls,
        files: Sequence[DataFile],
        types: Mapping[str, pa.DataType],
        is_used: Callable[[str], bool],
    ) -> CsvSource:
        """Find the types and count the rows of files; see `Layout.merge` for the arguments."""
        import pyarrow as pa

        headers = {file: _infer(file) for file in files}
        found = _merge(headers.values())
        found |= {name: kind for name, kind in types.items() if name in found}
        n_rows: list[int] = []
        while len(n_rows) < len(files):
            file = files[len(n_rows)]
            try:
                n_rows.append(sum(piece.num_rows for piece in _pieces(file, found)))
            except _WrongTypeError as error:
                name = headers[file].names[error.column]
                if name in types:
                    raise ValueError(
                        f"Column {name!r} of {str(file.path)!r} cannot be read as "
                        f"{types[name]}: {error}. Pass another type in types."
                    ) from error
                found[name] = _next_type(found[name])
                n_rows.clear()  # the files before must be read with the new type as well
        parts, first = [], 0
        for file, count in zip(files, n_rows, strict=True):
            parts.append(Part(file, None, first, count))
            first += count
        refuse_no_rows(parts)
        schemas = {
            file: pa.schema([(name, found[name]) for name in header.names])
            for file, header in headers.items()
        }
        return cls(Layout.merge(schemas, types, is_used), tuple(parts), found)

    def _read_file(
        self, file: DataFile, parts: Iterable[Part], columns: Sequence[str], batch_rows: int
    ) -> Iterator[Batch]:
        import pyarrow as pa

        for part in parts:
            first = part.first_row
            for piece in _pieces(file, self.types, self.layout.stored(columns)):
                table = self.layout.complete(pa.Table.from_batches([piece]), columns, file)
                for begin in range(0, table.num_rows, batch_rows):
                    batch = Batch(table.slice(begin, batch_rows), first, part)
                    yield batch
                    first += batch.n_rows

    def describe(self) -> str:
        """Return the number of files."""
        return f"{len(self.parts)} CSV file{'s' * (len(self.parts) > 1)}"


class _WrongTypeError(Exception):
    """A cell of a column cannot be read as the type of the column."""

    def __init__(self, column: int, message: str) -> None:
        super().__init__(message)
        self.column = column


def csv_options(path: Path, types: Mapping[str, pa.DataType]) -> tuple[Any, Any]:
    """Return how a CSV file is parsed, and how its cells are converted.

    Parameters
    ----------
    path : Path
        The file; its first line determines the delimiter.
    types : mapping of str to pyarrow.DataType
        The types of columns that are not inferred.
    """
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True)
    # An empty cell of a text column is missing; a quoted "" is an empty text.
    convert = csv.ConvertOptions(
        strings_can_be_null=True, quoted_strings_can_be_null=False, column_types=dict(types)
    )
    return parse, convert


def _delimiter(path: Path) -> str:
    """Return the delimiter: the most frequent candidate in the first line."""
    import pyarrow as pa

    with pa.input_stream(str(path), compression="detect") as stream:
        head = stream.read(2**16).splitlines()
    if not head:
        raise ValueError(f"{str(path)!r} is empty; it needs a header line and rows.")
    return max(",;\t|", key=lambda sign: head[0].count(sign.encode()))


def _infer(file: DataFile) -> pa.Schema:
    """Return the names of the columns of a file, and types inferred from its first block."""
    from pyarrow import csv

    with name_faults(_fault(file)):
        parse, convert = csv_options(file.path, {})
        read = csv.ReadOptions(block_size=FIRST_BLOCK)
        with csv.open_csv(file.path, read, parse, convert) as reader:
            schema = reader.schema
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"{str(file.path)!r} has more than one column named {twice!r}; rename them."
        )
    return schema


def _pieces(
    file: DataFile, types: Mapping[str, pa.DataType], columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, block by block."""
    from pyarrow import csv

    with name_faults(_fault(file)):
        parse, convert = csv_options(file.path, types)
        if columns is not None:
            convert.include_columns = list(columns)
        read = csv.ReadOptions(block_size=BLOCK)
        with csv.open_csv(file.path, read, parse, convert) as reader:
            yield from reader


def _fault(file: DataFile) -> Callable[[str], Exception]:
    """Return a function that makes the error about a file from its reason."""

    def fault(reason: str) -> Exception:
        column = re.match(r"In CSV column #(\d+): .*conversion error", reason)
        if column is not None:
            return _WrongTypeError(int(column[1]), reason)
        return ValueError(f"{str(file.path)!r} cannot be read as CSV: {reason}.")

    return fault


# --- types ------------------------------------------------------------------------------------


def _order() -> list[pa.DataType]:
    """Return the types of cells in the order in which Arrow tries them."""
    import pyarrow as pa

    times = [pa.date32(), pa.time32("s"), pa.timestamp("s"), pa.timestamp("ns")]
    return [pa.null(), pa.int64(), pa.bool_(), *times, pa.float64(), pa.string(), pa.binary()]


def _next_type(kind: pa.DataType) -> pa.DataType:
    """Return the type to try after one that does not read all cells."""
    order = _order()
    return order[min(order.index(kind) + 1, len(order) - 1)]


def _merge(headers: Any) -> dict[str, pa.DataType]:
    """Return for each column the first type that may read the cells of all files."""
    order = _order()
    found: dict[str, pa.DataType] = {}
    for header in headers:
        for field in header:
            before = found.setdefault(field.name, field.type)
            if common_type(before, field.type) is None or before == order[0]:
                found[field.name] = max(before, field.type, key=order.index)
    return found
