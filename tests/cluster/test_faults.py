"""Faults of workers in a fit: the result is that of an undisturbed fit, and nothing is left."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from distributed import Client

from cluster.clusters import DASK_WARNINGS, SHORT, assert_restored, inventory, wait_for
from cluster.dummy_training import DummyTraining, expected, partition
from stagewise.dask.driver import fit_on_cluster

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]

N_PARTITIONS = 6
ROUNDS = 200

Fault = Callable[[Client, str, int], None]


def kill(client: Client, address: str, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def stop(client: Client, address: str, pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def retire(client: Client, address: str, pid: int) -> None:
    client.retire_workers([address])


def restart(client: Client, address: str, pid: int) -> None:
    client.restart_workers([address])


CASES = [
    (kill, 0, True),
    (kill, 1, True),
    (kill, 1, False),
    (stop, 0, True),
    (stop, 1, False),
    (retire, 1, True),
    (retire, 0, False),
    (restart, 1, True),
]


def resumed(folder: Path) -> set[int]:
    """Return the rounds from which later epochs resumed."""
    return {int(path.name.split(".")[1]) for path in folder.glob("round.*")} - {0}


@pytest.mark.parametrize(("fault", "rank", "direct"), CASES)
def test_fit_continues_with_the_survivors(
    fragile: Client, tmp_path: Path, fault: Fault, rank: int, direct: bool
) -> None:
    client = fragile
    parts = client.map(partition, range(N_PARTITIONS))
    client.gather(parts)
    pids = client.run(os.getpid)
    address = sorted(pids)[rank]
    before = inventory(client, partitions=False)
    del before[address]
    training = DummyTraining(ROUNDS, pause=0.01, announce=str(tmp_path / "round"))
    with ThreadPoolExecutor(1) as pool:
        fit = pool.submit(
            fit_on_cluster, client, lambda: list(parts), training, limits=SHORT, direct=direct
        )
        wait_for(lambda: len(list(tmp_path.glob("round.0.*"))) == 3)
        start = time.monotonic()
        fault(client, address, pids[address])
        wait_for(lambda: resumed(tmp_path), 15.0)
        seconds = time.monotonic() - start
        sys.stdout.write(f"{fault.__name__} {rank}: round {resumed(tmp_path)}, {seconds:.2f} s\n")
        assert fit.result(60) == expected(N_PARTITIONS, ROUNDS)
    if fault is stop:
        os.kill(pids[address], signal.SIGKILL)
    assert_restored(client, before, partitions=False)
