"""Rows of other libraries, as Arrow streams that can be opened more than once.

A stream that can be read only once is refused. The number of rows of every pass is compared with
that of the first one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stagewise.datasets.arrow import reason_of
from stagewise.datasets.batch import Batch, Part

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StreamSource"]

REMEDY = (
    "Pass a table, a pyarrow.dataset.Dataset, a lazy frame, or a function without arguments that "
    "returns a new iterator of record batches at each call"
)

Open = Callable[[Sequence[str], int], Iterable[Any]]
"""Starts a pass over some columns, in batches of about this many rows."""


class StreamSource:
    """The rows of an object that yields record batches, as often as needed.

    Parameters
    ----------
    rows : object
        A pyarrow.dataset.Dataset, an object with ``__arrow_c_stream__``, a Polars LazyFrame, an
        iterable of record batches, or a function that returns one of these.
    """

    parts: tuple[Part, ...] = ()

    def __init__(self, rows: Any) -> None:
        self._name = f"{type(rows).__module__.split('.')[0]}.{type(rows).__qualname__}"
        self._start = _opener(rows)
        self._n_rows: int | None = _known_rows(rows)
        self.schema: pa.Schema = rows.schema if _has_schema(rows) else self._first_schema()
        names = self.schema.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"The batches have more than one column named {twice!r}; rename them.")
        if self._n_rows == 0:
            raise ValueError(f"The {self._name} has no rows; add rows.")

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None before the first pass of a stream."""
        return self._n_rows

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Read some columns of all rows, in row order."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        first = 0
        for table in _tables(self._start(columns, batch_rows)):
            chosen = self._choose(table, schema, first)
            for begin in range(0, table.num_rows, batch_rows):
                yield Batch(chosen.slice(begin, batch_rows), first + begin)
            first += table.num_rows
        self._check_count(first)

    def by_file(self) -> tuple[StreamSource, ...]:
        """Return the source itself: it has no files."""
        return (self,)

    def describe(self) -> str:
        """Return the kind of the object."""
        return f"batches of a {self._name}"

    def _first_schema(self) -> pa.Schema:
        tables = _tables(self._start((), 1))
        try:
            table = next(tables, None)
        finally:
            tables.close()
        if table is None:
            raise ValueError(f"The {self._name} has no batches; add rows.")
        return table.schema

    def _choose(self, table: pa.Table, schema: pa.Schema, first: int) -> pa.Table:
        import pyarrow as pa

        for name in schema.names:
            if name not in table.column_names:
                raise ValueError(
                    f"The batch at row {first:,} has no column {name!r}, which the first batch "
                    "has; all batches must have the same columns."
                )
        try:
            return table.select(schema.names).cast(schema)
        except (pa.ArrowException, ValueError) as error:
            raise ValueError(
                f"The batch at row {first:,} does not have the column types of the first batch: "
                f"{reason_of(error)}. All batches must have the same types."
            ) from error

    def _check_count(self, n_rows: int) -> None:
        """Record the number of rows of the first pass; raise if a later pass has another one."""
        if self._n_rows is None and n_rows:
            self._n_rows = n_rows
        if n_rows == 0 or n_rows != self._n_rows:
            before = "" if self._n_rows is None else f", and {self._n_rows:,} before"
            raise ValueError(
                f"The {self._name} had {n_rows:,} rows in this pass{before}; every pass must have "
                f"the same rows, at least one. {REMEDY}."
            )


def _has_schema(rows: Any) -> bool:
    """Return whether an object of Arrow has its schema before it is read."""
    import pyarrow as pa
    from pyarrow import dataset

    return isinstance(rows, (pa.Table, pa.RecordBatch, dataset.Dataset))


def _known_rows(rows: Any) -> int | None:
    """Return the number of rows of a table; None for other objects."""
    import pyarrow as pa

    return int(rows.num_rows) if isinstance(rows, (pa.Table, pa.RecordBatch)) else None


def _opener(rows: Any) -> Open:
    """Return the function that starts a pass; raise TypeError for what has only one pass."""
    import pyarrow as pa
    from pyarrow import dataset

    if isinstance(rows, dataset.Dataset):
        return lambda columns, n: rows.to_batches(columns=list(columns) or None, batch_size=n)
    if isinstance(rows, pa.RecordBatchReader) or hasattr(rows, "__next__"):
        raise TypeError(
            f"A {type(rows).__name__} can be read only once, and a dataset is read in several "
            f"passes. {REMEDY}."
        )
    if hasattr(rows, "collect_batches"):  # a lazy frame of Polars
        return lambda columns, n: (rows.select(columns) if columns else rows).collect_batches(
            chunk_size=n, maintain_order=True
        )
    if hasattr(rows, "__arrow_c_stream__"):
        return lambda columns, n: pa.RecordBatchReader.from_stream(rows)
    if inspect.isroutine(rows) or (callable(rows) and not hasattr(rows, "__iter__")):
        return lambda columns, n: rows()
    if hasattr(rows, "__iter__") and not isinstance(rows, (str, bytes, dict)):
        return lambda columns, n: rows
    raise TypeError(f"A {type(rows).__name__} has no record batches. {REMEDY}.")


def _tables(stream: Any) -> Generator[pa.Table]:
    """Yield the batches of a stream as tables: record batches, tables or frames of any library."""
    import pyarrow as pa

    if hasattr(stream, "__arrow_c_stream__") and not isinstance(stream, pa.RecordBatchReader):
        stream = pa.RecordBatchReader.from_stream(stream)
    for batch in stream:
        if isinstance(batch, pa.RecordBatch):
            yield pa.Table.from_batches([batch])
        elif isinstance(batch, pa.Table) or hasattr(batch, "__arrow_c_stream__"):
            yield pa.table(batch)
        else:
            raise TypeError(
                f"A batch is a {type(batch).__name__}; it must be a pyarrow.RecordBatch, or a "
                "table with __arrow_c_stream__."
            )
