"""What each rank of a forest does: it gets the rows of all ranks, and grows some of the trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stagewise.cluster.exchange import Exchange
from stagewise.cluster.peers import Peers
from stagewise.dask.partition_fit import PartitionFit
from stagewise.dask.shard import Shard
from stagewise.datasets.dataset import Dataset
from stagewise.datasets.memory import format_bytes
from stagewise.training.reading.training_data import FitArguments
from stagewise.training.stored.gather_rows import gather_rows, split_table

__all__ = ["ForestFit"]


@dataclass(frozen=True)
class ForestFit(PartitionFit):
    """The fit of a forest to partitions, on one of several ranks; see `PartitionFit`.

    The trees do not depend on each other, so the ranks share the trees and not the rows.
    """

    def read(self, exchange: Exchange, shard: Shard) -> tuple[FitArguments, None]:
        """Return the rows of all ranks, in row order, as arguments of `fit`."""
        peers, datasets = Peers(exchange), self.datasets(exchange, shard)
        _check_memory(datasets, peers)
        tables = [gather_rows(dataset, peers, everywhere=True) for dataset in datasets]
        shard.release()
        parts = [
            part
            for dataset, table in zip(datasets, tables, strict=True)
            for part in split_table(dataset, table)
        ]
        return FitArguments(*parts), None


def _n_bytes(dataset: Dataset) -> int:
    """Return the size of the partitions of this rank."""
    source: Any = dataset.source
    return int(source.n_bytes)


def _check_memory(datasets: Sequence[Dataset], peers: Peers) -> None:
    """Raise on all ranks if the rows of all ranks do not fit into the memory of one."""
    n_bytes = sum(_n_bytes(dataset) for dataset in datasets)
    sizes, limits = zip(*peers.gather((n_bytes, datasets[0].limit())), strict=True)
    if sum(sizes) > min(limits):
        raise MemoryError(
            f"A forest needs all rows on every worker: they have {format_bytes(sum(sizes))}, and "
            f"a worker has {format_bytes(min(limits))} for them, half of its memory limit. "
            "Use workers with more memory, fewer columns, or smaller types such as float32; "
            "stagewise.dask.GradientBoosting… divides the rows among the workers."
        )
