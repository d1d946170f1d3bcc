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
        return pa.dictionary(pa.int32(), kind.value_type)

    return pa.schema([(field.name, widest(field.type)) for field in table.schema])


def _table(rows: Partition, schema: pa.Schema, number: int) -> pa.Table:
    """Return columns of some rows of a partition, with the common types."""
    import pyarrow as pa

    cast = []
    for field in schema:
        column = rows.column(field.name)
        try:
            cast.append(_cast(column, field.type))
        except (pa.ArrowException, ValueError) as error:
            raise ValueError(
                f"Column {field.name!r} is {column.type} in partition {number}, which cannot be "
                f"converted to {field.type}, the type of all partitions: {reason_of(error)}. "
                "Convert the column to one type in all partitions."
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


def common_schema(schemas: Mapping[int, pa.Schema]) -> pa.Schema:
    """Return the columns and types of all partitions, in the order of the first one.

    Parameters
    ----------
    schemas : mapping of int to pyarrow.Schema
        The columns of the partitions, by their numbers, as `partition_schema` returns them.

    Raises
    ------
    ValueError
        If partitions have different columns, or types that have no common one.
    """
    import pyarrow as pa

    first = min(schemas)
    names = schemas[first].names
    numbers = {schema: number for number, schema in sorted(schemas.items(), reverse=True)}
    distinct = {number: schema for schema, number in reversed(numbers.items())}
    for number, schema in distinct.items():
        _refuse_other_columns(names, first, schema.names, number)
    by_column = {name: {n: s.field(name).type for n, s in distinct.items()} for name in names}
    return pa.schema([(name, _common_type(name, kinds)) for name, kinds in by_column.items()])


def _refuse_other_columns(
    names: Sequence[str], first: int, others: Sequence[str], number: int
) -> None:
    """Raise ValueError if two partitions have different columns."""
    pairs = ((first, names, number, set(others)), (number, others, first, set(names)))
    for having, own, lacking, known in pairs:
        column = next((name for name in own if name not in known), None)
        if column is not None:
            raise ValueError(
                f"Partition {lacking} has no column {column!r}, which partition {having} has. Add "
                "the column, or leave it out of all partitions."
            )


def _common_type(name: str, kinds: Mapping[int, pa.DataType]) -> pa.DataType:
    """Return the type that a column has in all partitions.

    A partition in which the column has no value, and its type none, agrees with all others. If no
    partition has a value, the column is null, or categorical, with categories that are text.
    """
    import pyarrow as pa

    known = {number: kind for number, kind in kinds.items() if _has_values(kind)}
    if not known:
        is_categorical = all(map(pa.types.is_dictionary, kinds.values()))
        return pa.dictionary(pa.int32(), pa.string()) if is_categorical else pa.null()
    first = min(known)
    found = known[first]
    for number, kind in known.items():
        if kind == found:
            continue
        try:
            pair = [pa.schema([(name, one)]) for one in (found, kind)]
            found = pa.unify_schemas(pair, promote_options="permissive").field(name).type
        except pa.ArrowException as error:
            raise ValueError(
                f"Column {name!r} is {kind} in partition {number}, but {known[first]} in "
                f"partition {first}. Convert the column to one type in all partitions, for "
                "instance with astype."
            ) from error
    return found


def _has_values(kind: pa.DataType) -> bool:
    """Return whether a type is one of values, or of categories that are values."""
    import pyarrow as pa

    is_categorical = pa.types.is_dictionary(kind)
    return not pa.types.is_null(kind.value_type if is_categorical else kind)
