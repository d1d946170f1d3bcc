"""What each rank of a fit does: it reads its partitions and trains with the other ranks.

The fit is that of the ordinary estimator from a `Dataset`; the other ranks have the other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stagewise.cluster.exchange import Exchange
from stagewise.cluster.peers import Peers
from stagewise.dask.shard import Checkpoint, Shard
from stagewise.datasets.dataset import Dataset
from stagewise.datasets.partition_source import (
    Partition,
    PartitionSource,
    common_schema,
    partition_schema,
)
from stagewise.training.reading.training_data import FitArguments
from stagewise.training.stored.checkpoint import Checkpoints, Rounds

__all__ = ["PartitionFit", "Roles"]


@dataclass(frozen=True)
class Roles:
    """The columns of the partitions.

    Parameters
    ----------
    target : str
        The column of the targets.
    weight : str or None
        The column of the weights; None: all ones.
    has_names : bool
        Whether the features have names.
    optional_weight : bool
        Whether the partitions may have no column of weights: all weights are ones then.
    """

    target: str
    weight: str | None = None
    has_names: bool = True
    optional_weight: bool = False

    def weight_among(self, names: Sequence[str]) -> str | None:
        """Return the column of the weights of partitions with these columns."""
        return None if self.optional_weight and self.weight not in names else self.weight


@dataclass(frozen=True)
class PartitionFit:
    """The fit of an estimator to partitions, on one of several ranks.

    Parameters
    ----------
    estimator : estimator
        The ordinary estimator; its `random_state` is a number.
    roles : Roles
        The columns of the training rows.
    valid_roles : Roles or None
        The columns of the validation rows; None: there are none.
    n_training : int
        The number of training partitions; those of validation rows follow.
    """

    estimator: Any
    roles: Roles
    valid_roles: Roles | None
    n_training: int

    def __call__(self, exchange: Exchange, shard: Shard) -> Any:
        """Return the fitted estimator, the same on every rank."""
        estimator = self.estimator
        estimator.set_params(n_jobs=shard.n_threads)
        if exchange.rank:
            estimator.set_params(verbose=0)
        arguments, checkpoints = self.read(exchange, shard)
        estimator._fit(arguments, Peers(exchange), checkpoints)  # noqa: SLF001
        return estimator

    def read(self, exchange: Exchange, shard: Shard) -> tuple[FitArguments, Checkpoints | None]:
        """Return the rows of this rank as arguments of `fit`, and what keeps the rounds."""
        datasets = self.datasets(exchange, shard)
        valid = datasets[1] if len(datasets) > 1 else None
        return FitArguments(datasets[0], None, X_val=valid), _ShardCheckpoints(shard, datasets)

    def datasets(self, exchange: Exchange, shard: Shard) -> list[Dataset]:
        """Return the training rows and, if there are any, the validation rows of this rank."""
        peers = Peers(exchange)
        tables = dict(zip(shard.indices, shard.partitions, strict=True))
        train = {i: table for i, table in tables.items() if i < self.n_training}
        valid = {i: table for i, table in tables.items() if i >= self.n_training}
        found = [_dataset(train, self.roles, shard, peers)]
        if self.valid_roles is not None:
            found.append(_dataset(valid, self.valid_roles, shard, peers))
        return found


class _ShardCheckpoints:
    """Keeps the rounds of a fit where the driver finds them; see `Checkpoints`."""

    def __init__(self, shard: Shard, datasets: Sequence[Dataset]) -> None:
        self._shard, self._datasets = shard, datasets

    def load(self, stage: str) -> Rounds | None:
        checkpoint = self._shard.checkpoint
        return None if checkpoint is None else checkpoint.state.get(stage)

    def save(self, stage: str, rounds: Rounds) -> None:
        before = self._shard.checkpoint
        stages = ({} if before is None else before.state) | {stage: rounds}
        self._shard.checkpoint = Checkpoint(sum(each.n for each in stages.values()), stages)

    def rows_are_stored(self) -> None:
        for dataset in self._datasets:
            source: Any = dataset.source
            source.release()
        self._shard.release()


def _dataset(tables: dict[int, Partition], roles: Roles, shard: Shard, peers: Peers) -> Dataset:
    """Return the partitions of this rank with the columns and types of all partitions."""
    tables = {i: table for i, table in sorted(tables.items()) if table.num_rows}
    own = {partition_schema(table): i for i, table in reversed(tables.items())}
    schemas = {i: schema for each in peers.gather(own) for schema, i in each.items()}
    if not schemas:
        raise ValueError("All partitions are empty; add rows.")
    schema = common_schema(schemas)
    dataset = Dataset.choose_columns(
        PartitionSource(tables, schema), None, roles.target, roles.weight_among(schema.names)
    )
    folder = None if shard.folder is None else Path(shard.folder)
    return replace(
        dataset, cache=folder, memory_limit=shard.memory_limit, has_names=roles.has_names
    )
