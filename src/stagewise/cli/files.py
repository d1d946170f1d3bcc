"""Opens tables in CSV and Parquet files: in memory, or as datasets.

The column types of a CSV file are those of the whole file, not of its first lines. Nothing is
dropped or filled in here.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stagewise.cli.errors import InputError, did_you_mean, listing
from stagewise.cli.hints import nearest_first
from stagewise.cli.table_writer import open_table_writer
from stagewise.datasets import Dataset
from stagewise.datasets.csv_source import ENDINGS as CSV_ENDINGS
from stagewise.datasets.csv_source import CsvSource, csv_options
from stagewise.datasets.file_list import find_files
from stagewise.datasets.parquet_source import ENDINGS as PARQUET
from stagewise.datasets.parquet_source import ParquetSource

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "PARQUET",
    "check_writable",
    "open_tables",
    "pick",
    "read_file",
    "require",
    "write_columns",
]

# Types are inferred from the first block. Most files fit in this one; for those that do not and
# whose types change later, the whole file is read again as one block.
_FIRST_BLOCK = 16 * 2**20
_LARGEST_BLOCK = 2**31 - 1


def require() -> None:
    """Raise if pyarrow, which reads all tables, is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError(
            "Reading tables needs pyarrow; install it with: pip install 'stagewise[cli]'"
        )


def open_tables(
    sources: Sequence[str], as_text: Collection[str] = (), ignore: Collection[str] = ()
) -> Dataset:
    """Open CSV or Parquet files, folders or patterns as one dataset.

    Parameters
    ----------
    sources : sequence of str
        Files, folders or patterns; all files have one format. The suffix determines it; with an
        unknown suffix, the first bytes do.
    as_text : collection of str
        Columns of CSV files that stay text, so that 007 does not become 7.
    ignore : collection of str
        Columns that may differ between the files.

    Raises
    ------
    InputError
        If there is no such file, or the files have several formats.
    ColumnMismatchError
        If a column differs between the files.
    """
    require()
    try:
        files = find_files(list(sources), (*PARQUET, *CSV_ENDINGS))
        kinds = {_is_parquet(file.path): file.path for file in files}
        if len(kinds) > 1:
            raise InputError(
                f"{str(kinds[True])!r} is a Parquet file and {str(kinds[False])!r} is a CSV file; "
                "name files of one format."
            )
    except FileNotFoundError as error:
        raise InputError(str(error)) from error
    kind, types = (ParquetSource, {}) if True in kinds else (CsvSource, _texts(as_text))
    source = kind.open(files, types, lambda name: name not in ignore)
    return Dataset.choose_columns(source, None, None, None)


def _texts(names: Collection[str]) -> dict[str, pa.DataType]:
    import pyarrow as pa

    return dict.fromkeys(names, pa.string())


def read_file(path: Path, as_text: Collection[str] = ()) -> pa.Table:
    """Read a table from a CSV or Parquet file.

    Parameters
    ----------
    path : Path
        The suffix determines the format; with an unknown suffix, the first bytes do.
    as_text : collection of str
        Columns of a CSV file that stay text, so that 007 does not become 7.

    Returns
    -------
    pyarrow.Table
        With at least one row and one column, and distinct column names.
    """
    require()
    import pyarrow as pa

    if not path.exists():
        raise InputError(f"There is no file {str(path)!r}; check the path.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name one CSV or Parquet file in it.")
    if path.stat().st_size == 0:
        raise InputError(f"{str(path)!r} is empty; it needs a header line and rows.")
    kind = "Parquet" if _is_parquet(path) else "CSV"
    try:
        table = _read_parquet(path) if kind == "Parquet" else _read_csv(path, as_text)
    except (pa.ArrowException, UnicodeDecodeError, EOFError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise InputError(f"{str(path)!r} cannot be read as {kind}: {reason}.") from error
    return _checked(table, path)


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() in PARQUET:
        return True
    with path.open("rb") as file:
        return not path.name.lower().endswith(CSV_ENDINGS) and file.read(4) == b"PAR1"


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read()


def _read_csv(path: Path, as_text: Collection[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    parse, convert = csv_options(path, dict.fromkeys(as_text, pa.string()))
    try:
        read = csv.ReadOptions(block_size=_FIRST_BLOCK)
        return csv.read_csv(path, read, parse, convert)
    except pa.ArrowInvalid as error:
        if "conversion error" not in str(error):
            raise
        read = csv.ReadOptions(block_size=_LARGEST_BLOCK)
        return csv.read_csv(path, read, parse, convert)


def _checked(table: pa.Table, path: Path) -> pa.Table:
    times = Counter(table.column_names)
    doubles = [name for name, count in times.items() if count > 1]
    if doubles:
        raise InputError(
            f"{str(path)!r} has more than one column named {listing(doubles)}; rename them."
        )
    if table.num_rows == 0:
        raise InputError(f"{str(path)!r} has a header but no rows; add rows.")
    return table


def pick(table: pa.Table, name: str, *, option: str, path: Path) -> pa.ChunkedArray:
    """Return a column by name; the error suggests the nearest name."""
    if name not in table.column_names:
        raise InputError(
            f"{option}: {str(path)!r} has no column {name!r}"
            f"{did_you_mean(name, table.column_names)}; "
            f"its columns are {nearest_first(name, table.column_names)}."
        )
    return table.column(name)


# --- writing ----------------------------------------------------------------------------------


def check_writable(path: Path, endings: Sequence[str] = ()) -> None:
    """Raise, before any work, if a file cannot be written."""
    if endings and path.suffix.lower() not in endings:
        raise InputError(
            f"{str(path)!r}: the suffix determines the format; use one of {', '.join(endings)}."
        )
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name a file in it.")
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"There is no folder {str(folder)!r} for {path.name!r}; create it.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"The folder {str(folder)!r} is not writable; choose another.")


def write_columns(columns: Mapping[str, Any], path: Path | None) -> None:
    """Write columns as a table: to a file, or as CSV to standard output.

    Parameters
    ----------
    columns : mapping of str to array
        The columns, in this order.
    path : Path or None
        A ``.csv`` or ``.parquet`` file, replaced atomically; None: standard output.
    """
    import pyarrow as pa

    with open_table_writer(path) as writer:
        writer.write(pa.table(dict(columns)))
