"""The rows of all ranks in the memory of one of them, or of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stagewise.cluster.peers import Peers
from stagewise.datasets.dataset import Dataset

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["WHOLE", "gather_rows", "plain_column", "split_table"]

WHOLE = 1 << 40
"""More rows than a partition has: it is read as one batch."""


def gather_rows(dataset: Dataset, peers: Peers, *, everywhere: bool) -> pa.Table | None:
    """Return the rows of all ranks, in the order of the partitions.

    Parameters
    ----------
    dataset : Dataset
        The rows of this rank.
    peers : Peers
        The ranks.
    everywhere : bool
        Whether all ranks get the rows; otherwise rank 0 does, and the others get None.
    """
    import pyarrow as pa

    if peers.size == 1:
        return dataset.to_table()
    batches = dataset.source.batches(dataset.columns, WHOLE)
    own = {batch.partition or 0: batch.table for batch in batches}
    receives = [everywhere or rank == 0 for rank in range(peers.size)]
    others = any(wanted for rank, wanted in enumerate(receives) if rank != peers.rank)
    lengths = [(number, table.num_rows) for number, table in own.items()]
    message = (lengths, _stream(own, dataset.schema) if others else b"")
    received = peers.swap(
        [message if wanted and rank != peers.rank else None for rank, wanted in enumerate(receives)]
    )
    if not receives[peers.rank]:
        return None
    parts = dict(own)
    for item in received:
        if item is None:
            continue
        pairs, stream = item
        table, begin = pa.ipc.open_stream(pa.py_buffer(stream)).read_all(), 0
        for number, length in pairs:
            parts[number] = table.slice(begin, length)
            begin += length
    whole = pa.concat_tables([part for _, part in sorted(parts.items())])
    return whole.unify_dictionaries().combine_chunks()


def _stream(tables: dict[int, pa.Table], schema: pa.Schema) -> bytes:
    """Return rows as bytes of Arrow's stream format, which has one dictionary a column.

    A table that is pickled would have the whole buffers of those that it is a slice of.
    """
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    whole = pa.concat_tables([schema.empty_table(), *tables.values()])
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(whole.unify_dictionaries())
    return bytes(sink.getvalue())


def split_table(dataset: Dataset, table: pa.Table) -> tuple[Any, Any, Any]:
    """Return the features, the targets and the weights of the rows of a dataset."""
    weight = None if dataset.weight is None else table.column(dataset.weight).to_numpy()
    return dataset.features_of_table(table), plain_column(table.column(dataset.target)), weight


def plain_column(cells: Any) -> Any:
    """Return an Arrow column as an array, or as a pandas series if NumPy has no such type."""
    import pyarrow as pa

    return cells.to_pandas() if pa.types.is_dictionary(cells.type) else cells.to_numpy()
