"""Callbacks, time limits and interrupts of fits on a cluster of two processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import pytest
from distributed import Client, get_worker

from cluster.clusters import DASK_WARNINGS, assert_restored, inventory, wait_for
from cluster.rank_fits import frame, number_target, regressor
from stagewise.dask import GradientBoostingRegressor, RandomForestRegressor

pytestmark = DASK_WARNINGS

N = 4_000
TESTS = str(Path(__file__).parents[1])


def make_rows() -> Any:
    X = frame(N)
    return dd.from_pandas(X.assign(y=number_target(X)), npartitions=4)


@dataclass(frozen=True)
class StopAfter:
    """A callback that stops after a round; it leaves a file for the worker that calls it."""

    last: int
    folder: str

    def __call__(self, progress: Any) -> bool:
        (Path(self.folder) / get_worker().address.rpartition(":")[2]).touch()
        return bool(progress.round == self.last)


def test_a_callback_runs_on_one_worker_and_stops_the_fit(client: Client, tmp_path: Path) -> None:
    X = frame(N)
    local = regressor(n_estimators=9, learning_rate=0.1).fit(X, number_target(X))
    before = inventory(client)
    callback = StopAfter(9, str(tmp_path))
    model = GradientBoostingRegressor(n_estimators=40, learning_rate=0.1, callbacks=[callback])
    model.fit(make_rows(), "y")
    assert model.fingerprint() == local.fingerprint()
    assert len(list(tmp_path.iterdir())) == 1
    assert model.fit_report_["stop_reason"] == f"callback {callback!r} returned True"
    assert_restored(client, before)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, RandomForestRegressor])
def test_a_callback_that_raises_ends_the_fit_and_leaves_nothing(client: Client, kind: Any) -> None:
    def fail(progress: Any) -> None:
        if progress.round == 3:
            raise LookupError("a callback failed on purpose")

    before = inventory(client)
    start = time.monotonic()
    with pytest.raises(LookupError, match="failed on purpose"):
        kind(n_estimators=10**6, callbacks=[fail]).fit(make_rows(), "y")
    assert time.monotonic() - start < 20.0
    assert_restored(client, before)


def test_a_time_limit_stops_the_fit(client: Client) -> None:
    X = frame(N)
    before = inventory(client)
    model = GradientBoostingRegressor(n_estimators=10**6, learning_rate=0.1, time_limit=1.0)
    model.fit(make_rows(), "y")
    assert model.fit_report_["stop_reason"] == "time_limit of 1 s"
    local = regressor(n_estimators=model.n_iter_, learning_rate=0.1).fit(X, number_target(X))
    assert model.fingerprint() == local.fingerprint()
    assert_restored(client, before)


CLIENT = """
    import sys
    from distributed import Client
    from cluster.test_dask_callbacks import StopAfter, make_rows
    from stagewise.dask import GradientBoostingRegressor, RandomForestRegressor

    client = Client(sys.argv[1])
    kind = {"boosting": GradientBoostingRegressor, "forest": RandomForestRegressor}[sys.argv[3]]
    kind(n_estimators=10**6, callbacks=[StopAfter(0, sys.argv[2])]).fit(make_rows(), "y")
"""


@pytest.mark.cluster
@pytest.mark.parametrize("kind", ["boosting", "forest"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_fit_whose_client_is_interrupted_or_killed(
    client: Client, tmp_path: Path, kind: str, number: signal.Signals
) -> None:
    before = inventory(client)
    arguments = client.scheduler.address, str(tmp_path), kind
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CLIENT), *arguments],
        env={**os.environ, "PYTHONPATH": TESTS},
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: list(tmp_path.iterdir()), 30.0)
    time.sleep(0.2)
    process.send_signal(number)
    assert process.wait(10) != 0
    assert_restored(client, before)
