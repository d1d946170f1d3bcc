"""Decisions of the driver, without a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
