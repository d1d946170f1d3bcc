"""Faults in real fits: the bytes of an undisturbed fit, or one clear error, and nothing is left."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, Future

from cluster.clusters import (
    DASK_WARNINGS,
    SHORT,
    assert_restored,
    inventory,
    make_cluster,
    start_threads,
    wait_for,
)
from cluster.rank_fits import frame, number_target, regressor
from stagewise import RandomForestRegressor
from stagewise.cluster.exchange import EpochError, Exchange
from stagewise.dask import GradientBoostingRegressor
from stagewise.dask.driver import fit_on_cluster
from stagewise.dask.forest_fit import ForestFit
from stagewise.dask.partition_fit import PartitionFit
from stagewise.dask.partitions import read_partitions
from stagewise.dask.shard import Shard

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]

N = 4_000
SECONDS = 40.0
"""The longest time from a fault to an error."""


@pytest.fixture
def small() -> Iterator[Client]:
    """Return the client of two workers with 500 MB each, which a test may destroy."""
    with make_cluster(2, memory_limit="500MB") as cluster, Client(cluster) as client:
        start_threads(client)
        yield client


def make_table(n: int = N) -> tuple[pd.DataFrame, Any]:
    X = frame(n)
    return X, number_target(X)


def make_rows(n: int = N) -> Any:
    X, y = make_table(n)
    return dd.from_pandas(X.assign(y=y), npartitions=4)


def make_part(seed: int) -> pd.DataFrame:
    """Return 40 MB of rows, made by a worker."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"x{j}": rng.normal(size=10**5) for j in range(50)}).assign(y=1.0)


def first_time(path: str) -> bool:
    """Return whether this is the first call of all processes with a path."""
    try:
        Path(path).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@dataclass(frozen=True)
class FillMemory:
    """A callback that allocates memory in round 5, until the nanny ends its worker."""

    folder: str
    always: bool

    def __call__(self, progress: Any) -> None:
        again = not first_time(f"{self.folder}/{progress.round}")
        if progress.round != 5 or (again and not self.always):
            return
        filled = []
        for _ in range(100):
            filled.append(np.ones(10**6))
            time.sleep(0.02)
        time.sleep(30)


def test_a_fit_whose_worker_is_ended_for_its_memory_resumes(small: Client, tmp_path: Path) -> None:
    X, y = make_table()
    local = regressor(n_estimators=20).fit(X, y)
    callback = FillMemory(str(tmp_path), always=False)
    model = GradientBoostingRegressor(n_estimators=20, callbacks=[callback])
    assert model.fit(make_rows(), "y", client=small).fingerprint() == local.fingerprint()
    assert len(list(tmp_path.iterdir())) == 20


def test_a_fit_that_ends_every_worker_for_its_memory_is_an_error(
    small: Client, tmp_path: Path
) -> None:
    callback = FillMemory(str(tmp_path), always=True)
    model = GradientBoostingRegressor(n_estimators=20, callbacks=[callback])
    start = time.monotonic()
    with pytest.raises(EpochError, match="lost"):
        model.fit(make_rows(), "y", client=small)
    assert time.monotonic() - start < 2 * SECONDS  # three epochs
    wait_for(lambda: len(small.run(os.getpid)) == 2)
    for counts in inventory(small).values():
        assert not counts["keys"] + counts["tasks"] + counts["coroutines"]


def limit_memory(n_bytes: int) -> None:
    """Let this process get so many more bytes from the system."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (used + n_bytes, hard))


@dataclass(frozen=True)
class Starved:
    """A training whose process cannot get more memory, on the rank with partition 0."""

    training: PartitionFit

    def __call__(self, exchange: Exchange, shard: Shard) -> Any:
        if 0 not in shard.indices:
            return self.training(exchange, shard)
        limits = resource.getrlimit(resource.RLIMIT_AS)
        stack = threading.stack_size(1 << 20)
        limit_memory(0)
        held = []  # memory that the process has freed, but not returned
        try:
            with suppress(MemoryError):
                while True:
                    held.append(np.empty(1 << 16, np.uint8))
            del held[-32:]
            limit_memory(3 << 20)  # for the stack of a thread
            return self.training(exchange, shard)
        finally:
            held.clear()
            threading.stack_size(stack)
            resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_memory_that_the_system_refuses_is_one_error(fragile: Client, kind: str) -> None:
    start_threads(fragile)
    parts = [dask.delayed(make_part)(seed) for seed in range(4)]
    partitions = read_partitions(dd.from_delayed(parts, meta=make_part(0).iloc[:0]), "y", None)
    fit: PartitionFit
    if kind == "boosting":
        fit = PartitionFit(regressor(n_estimators=5), partitions.roles, None, 4)
    else:
        fit = ForestFit(RandomForestRegressor(n_estimators=5), partitions.roles, None, 4)
    before = inventory(fragile)
    start = time.monotonic()
    # A process without memory may also end, three times.
    with pytest.raises((MemoryError, EpochError)):
        fit_on_cluster(fragile, partial(fragile.compute, partitions.tables), Starved(fit))
    assert time.monotonic() - start < 2 * SECONDS
    wait_for(lambda: len(fragile.run(os.getpid, on_error="ignore")) == 3)
    assert_restored(fragile, before)


@dataclass(frozen=True)
class DieAfterwards:
    """A training after which the process of one rank is killed, once."""

    training: PartitionFit
    index: int
    path: str

    def __call__(self, exchange: Exchange, shard: Shard) -> Any:
        fitted = self.training(exchange, shard)
        if self.index in shard.indices and first_time(self.path):
            os.kill(os.getpid(), signal.SIGKILL)
        return fitted


@pytest.mark.parametrize(("index", "n_workers"), [(0, 3), (1, 3), (0, 1)])
def test_the_death_of_a_worker_right_after_training(
    fragile: Client, tmp_path: Path, index: int, n_workers: int
) -> None:
    X, y = make_table()
    local = regressor().fit(X, y)
    partitions = read_partitions(make_rows(), "y", None)
    path = tmp_path / "died"
    fit = DieAfterwards(PartitionFit(regressor(), partitions.roles, None, 4), index, str(path))
    workers = sorted(fragile.scheduler_info(n_workers=-1)["workers"])
    if n_workers == 1:
        fragile.retire_workers(workers[1:])
    compute = partial(fragile.compute, partitions.tables)
    found = fit_on_cluster(fragile, compute, fit, limits=SHORT)
    assert found.fingerprint() == local.fingerprint()
    assert path.exists()
    wait_for(lambda: not any(c["tasks"] for c in inventory(fragile).values()))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_signal_at_a_random_time_changes_no_byte(
    fragile: Client, number: signal.Signals, seed: int
) -> None:
    start_threads(fragile)
    X, y = make_table()
    local = regressor(n_estimators=60).fit(X, y)
    partitions = read_partitions(make_rows(), "y", None)
    fit = PartitionFit(regressor(n_estimators=60), partitions.roles, None, 4)
    pids = fragile.run(os.getpid)
    rng = np.random.default_rng(seed)
    address = sorted(pids)[rng.integers(3)]
    before = inventory(fragile)
    del before[address]
    with ThreadPoolExecutor(1) as pool:
        compute = partial(fragile.compute, partitions.tables)
        found = pool.submit(fit_on_cluster, fragile, compute, fit, limits=SHORT)
        time.sleep(rng.uniform(0.0, 1.5))
        os.kill(pids[address], number)
        try:
            assert found.result(2 * SECONDS).fingerprint() == local.fingerprint()
        finally:
            with suppress(ProcessLookupError):  # the nanny has ended it
                os.kill(pids[address], signal.SIGKILL)
    wait_for(lambda: address not in fragile.scheduler_info(n_workers=-1)["workers"])
    assert_restored(fragile, before)


@dataclass(frozen=True)
class Announce:
    """A callback that leaves a file."""

    path: str

    def __call__(self, progress: Any) -> None:
        Path(self.path).touch()


def test_a_fit_whose_tasks_are_cancelled_ends(fragile: Client, tmp_path: Path) -> None:
    start_threads(fragile)
    before = inventory(fragile)
    running = tmp_path / "running"
    model = GradientBoostingRegressor(n_estimators=10**6, callbacks=[Announce(str(running))])
    with ThreadPoolExecutor(1) as pool:
        fit = pool.submit(model.fit, make_rows(), "y", client=fragile)
        wait_for(running.exists)
        keys = [key for key in fragile.futures if str(key).startswith("stagewise-rank-")]
        fragile.cancel([Future(key, fragile) for key in keys])
        with pytest.raises(CancelledError):
            fit.result(SECONDS)
    del fit
    assert_restored(fragile, before)
