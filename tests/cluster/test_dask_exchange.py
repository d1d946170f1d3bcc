"""Fits on a cluster that stays whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, Future
from distributed.security import Security

from cluster.clusters import (
    DASK_WARNINGS,
    SHORT,
    assert_restored,
    inventory,
    make_cluster,
    wait_for,
)
from cluster.dummy_training import DummyTraining, expected, partition
from stagewise.cluster.exchange import EpochError, Exchange
from stagewise.dask.driver import EpochRun, assign, fit_on_cluster, survey
from stagewise.dask.epoch import Limits
from stagewise.dask.shard import Checkpoint, Shard

TESTS = str(Path(__file__).parents[1])

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]


def fit(client: Client, parts: list[Future], training: Any, **options: Any) -> Any:
    return fit_on_cluster(client, lambda: list(parts), training, **{"limits": SHORT} | options)


def submit_partitions(client: Client, n: int) -> list[Future]:
    return client.map(partition, range(n))


@pytest.mark.parametrize("direct", [True, False])
def test_result_is_that_of_one_rank(client: Client, direct: bool) -> None:
    parts = submit_partitions(client, 7)
    client.gather(parts)
    before = inventory(client)
    assert fit(client, parts, DummyTraining(), direct=direct) == expected(7)
    assert_restored(client, before)


def first_round(exchange: Exchange, shard: Shard) -> int:
    """Return the round that a training resumes from."""
    assert shard.checkpoint is not None
    return shard.checkpoint.round


def test_a_large_checkpoint_is_sent_without_a_warning(client: Client) -> None:
    parts = submit_partitions(client, 2)
    holders, usable = survey(client, parts, set())
    run = EpochRun(client, assign(parts, holders, usable), SHORT, direct=True)
    outcome = run.run(parts, holders, first_round, Checkpoint(5, os.urandom(12 * 10**6)))
    assert set(outcome.results) == {5}


def swap_parts(exchange: Exchange, shard: Shard) -> bool:
    """Check messages of all lengths, and that parts may change after the call."""
    for length in (0, 1, 7, 1000, 65536, 300_000, 3_000_000):
        buffer = np.empty(length, np.uint8)
        for trip in range(3):
            buffer[:] = exchange.rank + trip
            received = exchange.all_to_all([buffer] * exchange.size)
            buffer[:] = 255
            for rank, view in enumerate(received):
                array = np.frombuffer(view, np.uint8)
                assert len(array) == length
                assert rank == exchange.rank or (array == rank + trip).all()
                assert length < 8 or np.frombuffer(view[: length // 8 * 8], np.int64).flags.aligned
    return True


@pytest.mark.parametrize("direct", [True, False])
def test_messages_have_any_length_and_are_aligned_and_independent(
    client: Client, direct: bool
) -> None:
    parts = submit_partitions(client, 3)
    assert fit(client, parts, swap_parts, direct=direct)


def test_two_fits_at_once_on_workers_with_one_thread(client: Client) -> None:
    parts = submit_partitions(client, 6)
    client.gather(parts)
    before = inventory(client)
    training = DummyTraining(pause=0.002)
    with ThreadPoolExecutor(3) as pool:
        fits = [pool.submit(fit, client, parts[k:], training) for k in (0, 0, 2)]
        results = [one.result(60) for one in fits]
    assert results[0] == results[1] == expected(6)
    assert results[2] != results[0]
    assert_restored(client, before)


@dataclass(frozen=True)
class Recorded:
    """A training that writes the reason of its end to a file."""

    training: DummyTraining
    path: str

    def __call__(self, exchange: Exchange, shard: Shard) -> str:
        try:
            return self.training(exchange, shard)
        except EpochError as ended:
            Path(f"{self.path}.{exchange.rank}").write_text(str(ended))
            raise


@pytest.mark.parametrize("direct", [True, False])
def test_all_ranks_have_the_same_reason(client: Client, tmp_path: Path, direct: bool) -> None:
    parts = submit_partitions(client, 6)
    client.gather(parts)
    training = Recorded(DummyTraining(fail_index=4), str(tmp_path / "reason"))
    with pytest.raises(ValueError, match="on purpose"):
        fit(client, parts, training, direct=direct)
    wait_for(lambda: len(list(tmp_path.glob("reason.*"))) == 1)
    reasons = {path.read_text() for path in tmp_path.glob("reason.*")}
    assert len(reasons) == 1
    assert "failed" in reasons.pop()


def test_a_peer_that_computes_longer_than_the_limit_of_silence_is_not_lost(client: Client) -> None:
    parts = submit_partitions(client, 3)
    training = DummyTraining(rounds=5, slow_index=1, slow_seconds=1.5 * SHORT.silence)
    assert fit(client, parts, training, max_idle_epochs=1) == expected(3, 5)


def test_an_exception_of_a_rank_reaches_the_caller(client: Client) -> None:
    parts = submit_partitions(client, 6)
    client.gather(parts)
    before = inventory(client)
    start = time.monotonic()
    with pytest.raises(ValueError, match="on purpose"):
        fit(client, parts, DummyTraining(fail_index=4))
    assert time.monotonic() - start < 5.0
    assert_restored(client, before)


def test_a_worker_that_does_not_start_ends_the_epoch_with_its_name(client: Client) -> None:
    parts = submit_partitions(client, 3)
    client.gather(parts)
    before = inventory(client)
    busy_address = next(iter(client.who_has(parts[:1]).values()))[0]
    busy = client.submit(time.sleep, 5, workers=[busy_address], pure=False)
    time.sleep(0.3)
    with pytest.raises(EpochError, match="not started within 1 s: .*" + busy_address):
        fit(
            client,
            parts,
            DummyTraining(),
            limits=Limits(start=1.0),
            max_idle_epochs=1,
        )
    busy.release()
    assert_restored(client, before)


CLIENT = """
    import sys
    from distributed import Client
    from cluster.clusters import SHORT
    from cluster.dummy_training import DummyTraining, partition
    from stagewise.dask.driver import fit_on_cluster

    client = Client(sys.argv[1])
    training = DummyTraining(rounds=10**6, announce=sys.argv[2])
    fit_on_cluster(client, lambda: client.map(partition, range(6)), training, limits=SHORT)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_an_interrupted_or_killed_client(
    client: Client, tmp_path: Path, number: signal.Signals
) -> None:
    before = inventory(client)
    announce = tmp_path / "round"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CLIENT), client.scheduler.address, str(announce)],
        env={**os.environ, "PYTHONPATH": TESTS},
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: len(list(tmp_path.glob("round.*"))) == 2)
    process.send_signal(number)
    assert process.wait(10) != 0
    assert_restored(client, before)


@pytest.mark.parametrize("direct", [True, False])
def test_tls_cluster_gives_the_same_result(direct: bool) -> None:
    pytest.importorskip("cryptography")
    security = Security.temporary()
    with (
        make_cluster(2, protocol="tls://", security=security) as cluster,
        Client(cluster) as client,
    ):
        parts = submit_partitions(client, 5)
        assert fit(client, parts, swap_parts, direct=direct)
        result = fit(client, parts, DummyTraining(), direct=direct)
    assert result == expected(5)


def test_fit_with_a_single_worker_needs_no_link(client: Client) -> None:
    address = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    parts = client.map(partition, range(100, 103), workers=[address])
    training = DummyTraining(rounds=3)
    assert len(fit(client, parts, training)) == 64
