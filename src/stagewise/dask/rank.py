"""The task of one rank on its worker.

The task leaves the thread pool of the worker at once (``secede``), so that it holds no slot while
it waits for its peers: two fits on workers with one thread each cannot block each other, and Dask
can compute lost partitions beside it. The task returns a report instead of raising, except for
exceptions of the training itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from distributed import Worker, get_worker, secede

from stagewise.cluster.exchange import EpochError
from stagewise.dask.dask_exchange import DaskExchange
from stagewise.dask.epoch import Limits
from stagewise.dask.shard import Checkpoint, Report, Shard, Training
from stagewise.datasets.memory import LEAST_MEMORY

MEMORY_SHARE = 0.5
"""The part of the memory limit of a worker that a fit may use."""
CALL_SECONDS = 10.0
RUNNING: dict[str, Shard] = {}
"""The shards of the ranks that train in this process, by the keys of their tasks."""


@dataclass(frozen=True)
class RankSpec:
    """The place of one rank in an epoch.

    Attributes
    ----------
    epoch : str
        The name of the epoch.
    rank : int
        The number of the rank.
    addresses : sequence of str
        The addresses of the workers, in rank order.
    indices : sequence of int
        The numbers of its partitions.
    limits : Limits
        The time limits.
    direct : bool
        Whether the training uses the sockets of Dask's comms, with tcp and tls.
    """

    epoch: str
    rank: int
    addresses: Sequence[str]
    indices: Sequence[int]
    limits: Limits
    direct: bool = True

    @property
    def key(self) -> str:
        """The key of the task."""
        return f"stagewise-rank-{self.epoch}-{self.rank}"


@dataclass(frozen=True)
class Held:
    """A partition that the worker has in its memory.

    A partition that is an argument of the task would stay in memory until the task ends.
    """

    key: Any


def read_event(epoch: str) -> str:
    """Return the name of the event that all ranks of an epoch have read their partitions."""
    return f"{epoch}-read"


def run_rank(
    spec: RankSpec, train: Training, partitions: list[Any], checkpoint: Checkpoint | None
) -> Report:
    """Train one rank and return its report; raise what the training raises."""
    worker = get_worker()
    secede()
    try:
        exchange = DaskExchange(
            worker, spec.key, spec.epoch, spec.rank, spec.addresses, spec.limits, spec.direct
        )
    except EpochError as ended:
        return Report(ended=ended.anew(), checkpoint=checkpoint)
    shard = _make_shard(worker, spec, partitions, checkpoint)
    if shard is None:
        lost = EpochError("lost", -1, f"a partition is no longer on {worker.address}")
        exchange.fail(lost)
        exchange.close()
        return Report(ended=lost, checkpoint=checkpoint)
    RUNNING[spec.key] = shard
    try:
        return Report(result=train(exchange, shard))
    except EpochError as ended:
        return Report(ended=ended.anew(), checkpoint=shard.checkpoint)
    except BaseException as error:
        exchange.fail(error)
        raise
    finally:
        del RUNNING[spec.key]
        exchange.close()
        if spec.rank == 0:  # the client may be gone
            _call_scheduler(worker, "event_clear", spec)


def _make_shard(
    worker: Worker, spec: RankSpec, partitions: list[Any], checkpoint: Checkpoint | None
) -> Shard | None:
    """Return what the training gets; None: a partition is not where it was."""
    try:
        own = [worker.data[part.key] if isinstance(part, Held) else part for part in partitions]
    except KeyError:
        return None

    def read() -> None:
        if spec.rank == 0:
            _call_scheduler(worker, "event_set", spec)

    limit = worker.memory_manager.memory_limit
    return Shard(
        own,
        spec.indices,
        worker.state.nthreads,
        checkpoint,
        worker.local_directory,
        None if not limit else max(LEAST_MEMORY, int(limit * MEMORY_SHARE)),
        read,
    )


def _call_scheduler(worker: Worker, operation: str, spec: RankSpec) -> None:
    """Set or clear the event of an epoch; without a scheduler there is no event."""
    call = getattr(worker.scheduler, operation)(name=read_event(spec.epoch))
    with suppress(OSError, TimeoutError):
        asyncio.run_coroutine_threadsafe(call, worker.loop.asyncio_loop).result(CALL_SECONDS)
