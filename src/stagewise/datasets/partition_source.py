"""Partitions of a cluster that are in memory: some of all rows of a fit, in row order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from stagewise.datasets.array_partition import ArrayPartition
from stagewise.datasets.arrow import reason_of
from stagewise.datasets.batch import Batch, Part

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Partition", "PartitionSource", "common_schema", "partition_schema"]


class Partition(Protocol):
    """Rows in memory: a pyarrow.Table, an `ArrayPartition` or a `FramePartition`."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    @property
    def nbytes(self) -> int:
        """The size of the values."""

    def slice(self, offset: int, length: int) -> Partition:
        """Return some rows, without a copy."""

    def column(self, name: str) -> Any:
        """Return a column of Arrow."""


class PartitionSource:
    """The rows of some partitions.

    Parameters
    ----------
    partitions : mapping of int to Partition
        The partitions by their numbers; the order of the numbers is the order of the rows.
    schema : pyarrow.Schema
        The columns and types of all partitions of the fit.
    """

    parts: tuple[Part, ...] = ()

    def __init__(self, partitions: Mapping[int, Partition], schema: pa.Schema) -> None:
        self._partitions, self.schema = dict(sorted(partitions.items())), schema

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(partition.num_rows for partition in self._partitions.values())

    @property
    def n_bytes(self) -> int:
        """The size of the partitions."""
        return sum(partition.nbytes for partition in self._partitions.values())

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Read some columns of all rows, in row order; a batch has rows of one partition.

        All features of an array are read as an array, if their types are the common ones.
        """
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        for number, partition in self._partitions.items():
            matrix = None
            if isinstance(partition, ArrayPartition) and partition.features == schema:
                matrix = partition.X
            for begin in range(0, partition.num_rows, batch_rows):
                if matrix is None:
                    rows = _table(partition.slice(begin, batch_rows), schema, number)
                else:
                    rows = matrix[begin : begin + batch_rows]
                yield Batch(rows, begin, partition=number)

    def by_file(self) -> tuple[PartitionSource, ...]:
        """Return the source itself: it has no files."""
        return (self,)

    def describe(self) -> str:
        """Return the number of partitions."""
        return f"{len(self._partitions)} partitions"

    def release(self) -> None:
        """Release the rows; they cannot be read again."""
        self._partitions.clear()


def partition_schema(table: Partition) -> pa.Schema:
    """Return the columns and types of a partition; categories have codes of 32 bits."""
    import pyarrow as pa

    def widest(kind: Any) -> Any:
        if not pa.types.is_dictionary(kind):
            return kind
        if pa.types.is_null(kind.value_type):  # all values are missing
            return pa.null()
        return pa.dictionary(pa.int32(), kind.value_type)

    return pa.schema([(field.name, widest(field.type)) for field in table.schema])


def _table(rows: Partition, schema: pa.Schema, number: int) -> pa.Table:
    """Return columns of some rows of a partition, with the common types."""
    import pyarrow as pa

    try:
        cast = [_cast(rows.column(field.name), field.type) for field in schema]
    except (pa.ArrowException, ValueError) as error:
        raise ValueError(
            f"Partition {number} does not have the column types of the others: "
            f"{reason_of(error)}. Convert the columns to one type."
        ) from error
    return pa.table(cast, schema=schema)


def _cast(column: Any, kind: Any) -> Any:
    """Return a column as another type."""
    import pyarrow as pa

    if column.type == kind:
        return column
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    return column.cast(kind)


def common_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return the columns and types of all partitions, from those of each.

    A column without any value has the type null.

    Raises
    ------
    ValueError
        If partitions have different columns, or types that have no common one.
    """
    import pyarrow as pa

    distinct = list(dict.fromkeys(schemas))
    for schema in distinct:
        if schema.names != distinct[0].names:
            raise ValueError(
                f"The partitions have different columns: {distinct[0].names} and {schema.names}."
            )
    try:
        return pa.unify_schemas(distinct, promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueError(f"The partitions have different types: {reason_of(error)}.") from error
