"""Opens datasets: Parquet files, CSV files, and batches of other libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from stagewise.datasets.arrow import arrow_types, require_pyarrow
from stagewise.datasets.csv_source import ENDINGS as CSV_ENDINGS
from stagewise.datasets.csv_source import CsvSource
from stagewise.datasets.dataset import Dataset
from stagewise.datasets.file_list import find_files
from stagewise.datasets.parquet_source import ENDINGS as PARQUET_ENDINGS
from stagewise.datasets.parquet_source import ParquetSource
from stagewise.datasets.stream_source import StreamSource

__all__ = ["read_batches", "read_csv", "read_parquet"]


def read_parquet(
    source: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    cache: str | PathLike[str] | None = None,
    memory_limit: int | str | None = None,
    types: Mapping[str, Any] | None = None,
) -> Dataset:
    """Open Parquet files as one table. Only their footers are read.

    Parameters
    ----------
    source : str, path, or list of these
        Files, folders, which are searched recursively for .parquet and .pq, or patterns such as
        ``"in/*.parquet"``. The rows are in the order of the sorted paths. Folders named
        ``year=2024`` directly above the files become columns: whole numbers, or else text.
    target, weight : str or None
        The columns of the targets and of the weights.
    columns : sequence of str or None
        The features; None: all columns but target and weight.
    cache : str, Path or None
        The folder of the files that a fit writes; None: the folder of temporary files. They
        disappear when the fit ends.
    memory_limit : int, str or None
        The memory that a fit may use for its rows: bytes, or a text such as "4GB"; None: half of
        the memory that is available.
    types : mapping of str to Arrow type or str, or None
        Types that columns are converted to, such as ``{"id": "int64"}``.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If files are damaged, have no rows, or have different columns or types.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import pyarrow.parquet
    >>> import stagewise
    >>> pa.parquet.write_table(pa.table({"area": [50.0, 80.0], "price": [1, 2]}), "a.parquet")
    >>> stagewise.read_parquet("*.parquet", target="price")
    Dataset(2 rows, 1 features: area, target 'price'; 1 Parquet file, 1 row group)
    """
    opened = _open_files(ParquetSource, PARQUET_ENDINGS, source, target, weight, columns, types)
    return opened.with_limits(cache, memory_limit)


def read_csv(
    source: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    cache: str | PathLike[str] | None = None,
    memory_limit: int | str | None = None,
    types: Mapping[str, Any] | None = None,
) -> Dataset:
    """Open CSV files as one table. All files are read once, to find types and count rows.

    Parameters
    ----------
    source : str, path, or list of these
        As for `read_parquet`; in folders, .csv, .tsv and .txt files, also compressed (.gz, .bz2,
        .zst, .lz4). The first line has the names; the delimiter is found from it.
    target, weight, columns, cache, memory_limit
        As for `read_parquet`.
    types : mapping of str to Arrow type or str, or None
        Types of columns, such as ``{"zip": "string"}``, so that 007 does not become 7. The type of
        another column is the narrowest that holds all of its cells in all files.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file cannot be read, has no rows, or lacks a column of the others.
    """
    opened = _open_files(CsvSource, CSV_ENDINGS, source, target, weight, columns, types)
    return opened.with_limits(cache, memory_limit)


def read_batches(
    source: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    cache: str | PathLike[str] | None = None,
    memory_limit: int | str | None = None,
) -> Dataset:
    """Open the batches of another library as one table.

    Parameters
    ----------
    source : object
        A pyarrow.dataset.Dataset, a Polars LazyFrame, an object with ``__arrow_c_stream__`` such as
        a DuckDB relation or a data frame, a list of record batches, or a function without
        arguments that returns a new iterator of record batches at each call. Every pass must have
        the same rows, in the same order; an iterator that can be read only once is an error.
    target, weight, columns, cache, memory_limit
        As for `read_parquet`.

    Returns
    -------
    Dataset
    """
    require_pyarrow()
    opened = Dataset.choose_columns(StreamSource(source), columns, target, weight)
    return opened.with_limits(cache, memory_limit)


def _open_files(
    kind: type[ParquetSource] | type[CsvSource],
    endings: Sequence[str],
    source: Any,
    target: str | None,
    weight: str | None,
    columns: Sequence[str] | None,
    types: Mapping[str, Any] | None,
) -> Dataset:
    require_pyarrow()
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names; got the text {columns!r}.")
    used = None if columns is None else {*columns, target, weight}
    opened = kind.open(
        find_files(source, endings), arrow_types(types), lambda name: used is None or name in used
    )
    return Dataset.choose_columns(opened, columns, target, weight)
