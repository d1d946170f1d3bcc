"""The noun `Dataset`: a table that is read in batches, as often as needed.

A dataset is a description: where the rows are, their columns and their roles. It holds no rows, and
each pass reads them again in the same order. Passes decode ahead, on a thread of their own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

import numpy as np

from stagewise.datasets.batch import Batch, Part
from stagewise.datasets.file_list import DataFile
from stagewise.datasets.memory import available_memory, read_bytes
from stagewise.datasets.progress_source import ProgressSource
from stagewise.datasets.read_ahead import read_ahead
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Dataset", "Source"]

BATCH_BYTES = 1 << 24
"""A batch has about this many bytes, unless the caller passes the number of its rows."""
BATCHES_PER_LIMIT, READING_BATCHES = 48, 16
"""With a memory limit, a batch has at most this part of it; and the batches that reading needs at
once: decoded, in the queue, and converted."""
DECODER_BYTES = 48 << 20
"""What the decoder of files needs besides."""
LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 17
"""The smallest and the largest number of rows of such a batch."""
TEXT_BYTES = 32
"""The assumed size of a value without a fixed width."""
NAMES_SHOWN = 8


class Source(Protocol):
    """Rows outside memory that can be read more than once."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None: unknown without reading them."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of files, in row order; empty if there are no files."""

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Read some columns of all rows, in row order."""

    def by_file(self) -> tuple[Source, ...]:
        """Return one source per file, with the same schema."""

    def describe(self) -> str:
        """Return where the rows are, in a few words."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table in files, or in batches, that may be larger than memory.

    `stagewise.read_parquet`, `read_csv` and `read_batches` return one. Every pass over `batches`
    reads the rows again, in the same order.

    Parameters
    ----------
    source : Source
        The rows.
    features : tuple of str
        The names of the features.
    target, weight : str or None
        The names of the columns of the targets and of the weights.
    cache : Path or None
        The folder of the files that a fit writes; None: the folder of temporary files.
    memory_limit : int or None
        The memory of a fit, in bytes; None: half of the memory that is available.
    has_names : bool
        Whether a model keeps the names of the features, as of a data frame and not of an array.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import stagewise
    >>> table = pa.table({"area": [50.0, 80.0, 120.0], "price": [1.0, 2.0, 3.0]})
    >>> dataset = stagewise.read_batches(table, target="price")
    >>> dataset.features, dataset.n_rows
    (('area',), 3)
    >>> [batch.first_row for batch in dataset.batches(batch_rows=2)]
    [0, 2]
    """

    source: Source
    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    cache: Path | None = None
    memory_limit: int | None = None
    has_names: bool = True

    def __new__(cls, *args: Any, **values: Any) -> Self:
        """Return an empty dataset; arguments of LightGBM's class are an error with ours."""
        source = next(iter(args), values.get("source"))
        if args or values:
            known = {field.name for field in fields(cls)}
            if not hasattr(source, "batches") or values.keys() - known:
                raise TypeError(
                    "A stagewise.Dataset is a table in files or batches: stagewise.read_parquet, "
                    "read_csv and read_batches return one. LightGBM's Dataset(X, label=y) is "
                    "fit(X, y) here, with arrays and data frames themselves."
                )
        return super().__new__(cls)

    @classmethod
    def choose_columns(
        cls,
        source: Source,
        columns: Sequence[str] | None,
        target: str | None,
        weight: str | None,
    ) -> Dataset:
        """Return a dataset of a source; `columns` are the features, None: all others.

        Raises
        ------
        ValueError
            If a column does not exist, or has two roles.
        """
        names = list(source.schema.names)
        for role, name in (("target", target), ("weight", weight)):
            if name is not None:
                _check_name(name, names, role)
        if target is not None and target == weight:
            raise ValueError(
                f"{target!r} cannot be both the target and the weight; name two columns."
            )
        roles = {name for name in (target, weight) if name is not None}
        if columns is None:
            chosen = tuple(name for name in names if name not in roles)
        else:
            chosen = tuple(columns)
            for name in chosen:
                _check_name(name, names, "columns")
        clash = next((name for name in chosen if name in roles), None)
        if clash is not None:
            raise ValueError(
                f"{clash!r} is the target or the weight and cannot be a feature; leave it out of "
                "columns."
            )
        if len(set(chosen)) < len(chosen) or not chosen:
            raise ValueError("columns must have each feature once, and at least one.")
        return cls(source, chosen, target, weight)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that have a role: features, target and weight."""
        return (*self.features, *(n for n in (self.target, self.weight) if n is not None))

    @property
    def schema(self) -> pa.Schema:
        """The names and the types of the columns that have a role."""
        import pyarrow as pa

        return pa.schema([self.source.schema.field(name) for name in self.columns])

    @property
    def n_rows(self) -> int:
        """The number of rows; of a stream, they are counted by a pass over the rows."""
        known = self.source.n_rows
        if known is not None:
            return known
        return sum(batch.n_rows for batch in self.batches(columns=self.features[:1]))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The row groups of Parquet files, or the CSV files, with their global row numbers.

        Empty if the rows do not come from files.
        """
        return self.source.parts

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files, in row order."""
        return tuple(dict.fromkeys(part.file for part in self.parts))

    def batches(
        self, *, columns: Sequence[str] | None = None, batch_rows: int | None = None
    ) -> Generator[Batch]:
        """Read the rows once, in their order.

        The next batches are decoded on another thread while the caller works on one. At most four
        batches are in memory.

        Parameters
        ----------
        columns : sequence of str or None
            The columns to read, of all columns of the source; None: features, target and weight.
        batch_rows : int or None
            The largest number of rows of a batch; None: about 16 MB. A batch does not span two row
            groups.

        Yields
        ------
        Batch
            With `table`, a pyarrow.Table, and `first_row`, the number of its first row.
        """
        given: Any = 1 if batch_rows is None else batch_rows
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise ValueError(
                f"batch_rows must be a whole number, at least 1; got {short_repr(batch_rows)}."
            )
        names = self.columns if columns is None else tuple(columns)
        known = list(self.source.schema.names)
        for name in names:
            _check_name(name, known, "columns")
        if batch_rows is None:
            types = [self.source.schema.field(name).type for name in names]
            batch_rows = _usual_rows(types, self._batch_bytes())
        return read_ahead(self.source.batches(names, batch_rows))

    def features_of(self, batch: Batch) -> Any:
        """Return the features of a batch, as estimators read them."""
        return self.features_of_table(batch.table)

    def features_of_table(self, table: Any) -> Any:
        """Return the features of rows in memory, as estimators read them."""
        if isinstance(table, np.ndarray):
            return table
        chosen = table.select(self.features)
        if self.has_names:
            return chosen
        return np.column_stack([column.to_numpy() for column in chosen.columns])

    def with_limits(
        self, cache: str | PathLike[str] | None, memory_limit: int | str | None
    ) -> Dataset:
        """Return the same rows with a folder for files and a limit of the memory of a fit.

        Raises
        ------
        FileNotFoundError
            If there is no such folder.
        ValueError
            If the limit is not a number of bytes, or too small.
        """
        folder = None if cache is None else Path(cache)
        if folder is not None and not folder.is_dir():
            raise FileNotFoundError(f"cache: there is no folder {str(folder)!r}; create it.")
        return replace(self, cache=folder, memory_limit=read_bytes(memory_limit, "memory_limit"))

    def with_progress(self, show: Callable[[int, int, int | None], None]) -> Dataset:
        """Return the same rows; `show` is called while they are read, see `ProgressSource`."""
        return replace(self, source=cast("Source", ProgressSource(self.source, show)))

    def _batch_bytes(self) -> int:
        """Return the size of a batch; several of them are in memory at once."""
        return min(BATCH_BYTES, self.limit() // BATCHES_PER_LIMIT)

    def limit(self) -> int:
        """Return the memory of a fit, in bytes."""
        return available_memory() // 2 if self.memory_limit is None else self.memory_limit

    def memory_bytes(self) -> int:
        """Return the memory that a fit may use for its rows, besides that of the batches."""
        return max(0, self.limit() - self.reading_bytes())

    def reading_bytes(self) -> int:
        """Return the memory that reading batches needs."""
        return READING_BATCHES * self._batch_bytes() + DECODER_BYTES

    def row_bytes(self) -> int:
        """Return the bytes of a row in memory, about."""
        return sum(_width(field.type) for field in self.schema)

    def cache_folder(self) -> str:
        """Return the folder of the files that a fit writes."""
        return tempfile.gettempdir() if self.cache is None else str(self.cache)

    def to_table(self, *, columns: Sequence[str] | None = None) -> pa.Table:
        """Read all rows into memory, as a pyarrow.Table."""
        import pyarrow as pa

        with closing(self.batches(columns=columns)) as batches:
            return pa.concat_tables([batch.table for batch in batches])

    def by_file(self) -> tuple[Dataset, ...]:
        """Return one dataset per file, with the columns and types of the whole."""
        return tuple(replace(self, source=source) for source in self.source.by_file())

    def __repr__(self) -> str:
        rows = "" if self.source.n_rows is None else f"{self.source.n_rows:,} rows, "
        shown = ", ".join(self.features[:NAMES_SHOWN])
        more = ", …" if len(self.features) > NAMES_SHOWN else ""
        roles = "".join(
            f", {role} {name!r}"
            for role, name in (("target", self.target), ("weight", self.weight))
            if name is not None
        )
        return (
            f"Dataset({rows}{len(self.features)} features: {shown}{more}{roles}; "
            f"{self.source.describe()})"
        )


def _usual_rows(types: Sequence[pa.DataType], batch_bytes: int) -> int:
    """Return the number of rows, a power of two, of a batch of columns of these types."""
    width = sum(_width(kind) for kind in types)
    rows = batch_bytes // max(1, width)
    return min(MOST_ROWS, max(LEAST_ROWS, 1 << (rows.bit_length() - 1 if rows else 0)))


def _width(kind: pa.DataType) -> int:
    """Return the number of bytes of a value, at least about."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # text, lists, and other types without a fixed width
        return TEXT_BYTES


def _check_name(name: Any, names: Sequence[str], argument: str) -> None:
    if name in names:
        return
    shown = ", ".join(map(repr, names[:NAMES_SHOWN])) + (", …" if len(names) > NAMES_SHOWN else "")
    raise ValueError(
        f"{argument}: the dataset has no column {short_repr(name)}."
        f"{nearest_name(str(name), names)} Its columns are {shown}."
    )
