"""What each rank of a forest does: it gets the rows of all ranks, and grows some of the trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stagewise.cluster.exchange import Exchange, all_gather
from stagewise.cluster.peers import Peers
from stagewise.dask.partition_fit import PartitionFit, Roles
from stagewise.dask.shard import Shard
from stagewise.datasets.dataset import Dataset
from stagewise.datasets.memory import available_memory
from stagewise.training.reading.training_data import FitArguments

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["GatheredFit"]

GIGABYTE = 10**9
WHOLE = 1 << 40
"""More rows than a partition has: it is read as one batch."""


@dataclass(frozen=True)
class GatheredFit(PartitionFit):
    """The fit of a forest to partitions, on one of several ranks; see `PartitionFit`.

    The trees do not depend on each other, so the ranks share the trees and not the rows.
    """

    def read(self, exchange: Exchange, shard: Shard) -> tuple[FitArguments, None]:
        """Return the rows of all ranks, in row order, as arguments of `fit`."""
        peers = Peers(exchange)
        own = [_Partitions.of(dataset) for dataset in self.datasets(exchange, shard)]
        _check_memory(sum(each.n_bytes for each in own), shard, peers)
        tables = [each.gather(exchange, peers) for each in own]
        del own
        shard.release()
        rows = _arguments(tables[0], self.roles)
        held: Sequence[Any] = (None, None, None)
        if self.valid_roles is not None:
            held = _arguments(tables[1], self.valid_roles)
        return FitArguments(*rows, *held), None


def _check_memory(n_bytes: int, shard: Shard, peers: Peers) -> None:
    """Raise on all ranks if the rows of all ranks do not fit into the memory of one."""
    limit = available_memory() // 2 if shard.memory_limit is None else shard.memory_limit
    sizes, limits = zip(*peers.gather((n_bytes, limit)), strict=True)
    if sum(sizes) > min(limits):
        raise MemoryError(
            f"A forest needs all rows on every worker: they have {sum(sizes) / GIGABYTE:.3g} GB, "
            f"and a worker has {min(limits) / GIGABYTE:.3g} GB for them, half of its memory limit. "
            "Use workers with more memory, fewer columns, or smaller types such as float32; "
            "stagewise.dask.GradientBoosting… divides the rows among the workers."
        )


@dataclass(frozen=True)
class _Partitions:
    """The partitions of this rank by their numbers, with the schema of all partitions."""

    tables: dict[int, pa.Table]
    schema: pa.Schema

    @classmethod
    def of(cls, dataset: Dataset) -> _Partitions:
        """Return the partitions of a dataset."""
        batches = dataset.source.batches(dataset.columns, WHOLE)
        return cls({batch.partition or 0: batch.table for batch in batches}, dataset.schema)

    @property
    def n_bytes(self) -> int:
        return sum(table.nbytes for table in self.tables.values())

    def gather(self, exchange: Exchange, peers: Peers) -> pa.Table:
        """Return the rows of all ranks, in the order of the partitions."""
        import pyarrow as pa

        lengths = peers.gather([(i, table.num_rows) for i, table in self.tables.items()])
        parts = {}
        received = all_gather(exchange, self._stream())
        for stream, pairs in zip(received, lengths, strict=True):
            table, begin = pa.ipc.open_stream(pa.py_buffer(stream)).read_all(), 0
            for number, length in pairs:
                parts[number] = table.slice(begin, length)
                begin += length
        ordered = pa.concat_tables([part for _, part in sorted(parts.items())])
        return ordered.unify_dictionaries().combine_chunks()

    def _stream(self) -> memoryview:
        """Return the rows as bytes of Arrow's stream format, which has one dictionary a column."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        whole = pa.concat_tables([self.schema.empty_table(), *self.tables.values()])
        with pa.ipc.new_stream(sink, self.schema) as writer:
            writer.write_table(whole.unify_dictionaries())
        return memoryview(sink.getvalue())


def _arguments(table: pa.Table, roles: Roles) -> tuple[Any, Any, Any]:
    """Return X, y and sample_weight of a table."""
    weight = None if roles.weight is None else table.column(roles.weight).to_numpy()
    X = table.drop_columns([name for name in (roles.target, roles.weight) if name is not None])
    if not roles.has_names:
        X = np.column_stack([column.to_numpy() for column in X.columns])
    return X, _values(table.column(roles.target)), weight


def _values(column: Any) -> Any:
    import pyarrow as pa

    # NumPy has no type for categories.
    return column.to_pandas() if pa.types.is_dictionary(column.type) else column.to_numpy()
