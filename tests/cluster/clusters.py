"""Clusters of real processes, and what is left on their workers."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from distributed import Client, LocalCluster, Scheduler, Worker
from distributed.comm import Comm

from stagewise.boosting.stored_rows import StoredTable
from stagewise.dask.epoch import HANDLER, Limits

# Dask leaves sockets of lost workers to the garbage collector.
DASK_WARNINGS = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
# Dask starts them when it needs them, such as for a large message.
DASK_THREADS = ("IPythonHistory", "Dask-Offload")
SHORT = Limits(start=20.0, silence=4.0, beat=1.0, tick=0.25)


def make_cluster(n_workers: int, **options: Any) -> LocalCluster:
    """Return a cluster of processes with one thread each, under nannies."""
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        **options,
    )


def start_threads(client: Client) -> None:
    """Run a task on every worker, since its first task starts a thread; wait until none is left."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    futures = [client.submit(abs, 1, workers=[a], pure=False) for a in workers]
    client.gather(futures)
    client.cancel(futures)
    wait_for(lambda: not any(counts["tasks"] for counts in inventory(client).values()))


async def count(dask_worker: Worker) -> dict[str, Any]:
    """Return what a worker has."""
    gc.collect()
    tasks = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]
    return {
        "handlers": sorted(dask_worker.handlers),
        "plugins": sorted(dask_worker.plugins),
        "keys": sorted(map(str, dask_worker.data)),
        "tasks": sorted(map(str, dask_worker.state.tasks)),
        "threads": sum(not t.name.startswith(DASK_THREADS) for t in threading.enumerate()),
        "stores": sum(isinstance(each, StoredTable) for each in gc.get_objects()),
        "coroutines": sorted(name for name in tasks if name.startswith(("Epoch", "Door", "Link"))),
        "comms": sum(
            not comm.closed() and str(comm.name).startswith(HANDLER) for comm in Comm._instances
        ),
        "listeners": len([c for c in psutil.Process().net_connections() if c.status == "LISTEN"]),
        "accepted": sum(op == HANDLER for op in dask_worker._comms.values()),
    }


def inventory(client: Client, partitions: bool = True) -> dict[str, dict[str, Any]]:
    """Return what each worker has, with or without the keys of partitions."""
    found: dict[str, dict[str, Any]] = client.run(count)
    for counts in found.values():
        for name in ("keys", "tasks"):
            counts[name] = [key for key in counts[name] if partitions or "partition" not in key]
    return found


def events(client: Client) -> int:
    """Return the number of events on the scheduler."""

    def of(dask_scheduler: Scheduler) -> int:
        return len(dask_scheduler.extensions["events"]._events)

    return client.run_on_scheduler(of)


def assert_restored(
    client: Client, before: dict[str, dict[str, Any]], partitions: bool = True
) -> None:
    """Assert that the workers that still exist soon have what they had."""
    deadline = time.monotonic() + 8.0
    while True:
        now = inventory(client, partitions)
        left = {a: (before[a], now[a]) for a in before if a in now and now[a] != before[a]}
        n_events = events(client)
        if not left and not n_events:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"left: {left}, {n_events} events")
        time.sleep(0.1)


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not hold in time"
        time.sleep(0.02)
