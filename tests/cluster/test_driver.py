"""Decisions of the driver, without a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from stagewise.cluster.exchange import EpochError
from stagewise.dask.driver import EpochRun, Outcome, assign
from stagewise.dask.epoch import Limits
from stagewise.dask.shard import Checkpoint, Report


@dataclass(frozen=True)
class Part:
    key: str


def test_a_partition_goes_to_its_holder_with_the_fewest() -> None:
    parts: Any = [Part("p"), Part("q"), Part("r")]
    holders = {"p": ["a", "b"], "q": ["a", "b"], "r": ["b"]}
    assert assign(parts, holders, ["a", "b", "c"]) == {"a": [0], "b": [1, 2]}


def test_a_partition_without_a_usable_holder_goes_to_any_worker() -> None:
    parts: Any = [Part("p"), Part("q")]
    assert assign(parts, {"p": ["a"], "q": ["lost"]}, ["a", "b"]) == {"a": [0], "b": [1]}


def test_the_newest_checkpoint_is_kept() -> None:
    outcome = Outcome()
    for number in (3, 5, 4):
        report = Report(ended=EpochError("lost", 1, ""), checkpoint=Checkpoint(number, b""))
        outcome.add(report, "a")
    assert outcome.checkpoint == Checkpoint(5, b"")


def test_a_live_worker_that_peers_cannot_reach_is_excluded() -> None:
    client: Any = None
    run = EpochRun(client, {"a": [0], "b": [1], "c": [2]}, Limits(), direct=True)
    for rank in (1, 1, 0):
        run.outcome.add(Report(ended=EpochError("lost", rank, "")), "x")
    run._exclude_unreachable()
    assert run.outcome.unusable == {"b"}


class Fetched:
    """A future that is finished; `result` waits for its worker."""

    status = "finished"

    def __init__(self, result: Any) -> None:
        self._result, self.waits = result, []

    def result(self, timeout: float) -> Any:
        self.waits.append(timeout)
        if self._result is None:
            raise TimeoutError
        return Report(result=self._result)


def test_a_worker_that_stops_before_its_report_is_fetched_does_not_end_the_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other ranks have the same result."""
    monkeypatch.setattr("stagewise.dask.driver.REPORT_SECONDS", 0.2)
    live = {address: {"last_seen": 0.0} for address in "ab"}
    monkeypatch.setattr("stagewise.dask.driver.workers_of", lambda client: live)
    client: Any = type("Client", (), {"status": "running"})()
    run = EpochRun(client, {"a": [0], "b": [1]}, Limits(), direct=True)
    stopped, other = Fetched(None), Fetched("model")
    run.pending = {"a": stopped, "b": other}  # type: ignore[dict-item]
    run._collect([])
    assert run.outcome.results == ["model"]
    assert stopped.waits[:3] == [5.0, 10.0, 20.0]


def test_a_result_of_the_only_rank_is_fetched_again() -> None:
    client: Any = type("Client", (), {"status": "running"})()
    run = EpochRun(client, {"a": [0]}, Limits(), direct=True)
    slow = Fetched(None)
    run.pending = {"a": slow}  # type: ignore[dict-item]
    run._take_reports()
    assert run.pending
    slow._result = "model"
    run._take_reports()
    assert run.outcome.results == ["model"]
    assert not run.pending
