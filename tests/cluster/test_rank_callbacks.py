"""Rank 0 calls the callbacks and measures time; all ranks stop after the same round."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from cluster.rank_fits import Case, assert_same_model, fit_on_ranks, frame, number_target, regressor
from stagewise import RandomForestRegressor
from stagewise.dask.shard import Checkpoint

N = 2_500


class Stop:
    """Stops after a round; it keeps the rounds and the threads that called it."""

    calls: list[tuple[int, int]]  # of all copies, since estimators are cloned

    def __init__(self, last: int) -> None:
        self.last = last

    def __call__(self, progress: Any) -> bool:
        Stop.calls.append((progress.round, threading.get_ident()))
        return bool(progress.round == self.last)


def make_case(kind: str, **parameters: Any) -> Case:
    X = frame(N)
    make: Any = regressor if kind == "boosting" else RandomForestRegressor
    return Case(make(**{"n_estimators": 20} | parameters), X, number_target(X))


@pytest.mark.parametrize("n_ranks", [1, 2, 5])
@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_a_callback_stops_all_ranks_after_the_same_round(kind: str, n_ranks: int) -> None:
    case = make_case(kind, callbacks=[Stop(7)])
    Stop.calls = []
    expected = case.local
    Stop.calls = []
    places = [i % n_ranks for i in range(6)]
    for found in fit_on_ranks(case, [100, 900, 900, 1_500, 2_000], places, n_ranks):
        assert_same_model(found, expected)
        assert found.n_iter_ == 7
        reason = found.fit_report_["stop_reason"]
        assert reason.startswith("callback ")
        assert reason.endswith(" returned True")
    rounds, threads = zip(*Stop.calls, strict=True)
    assert rounds == tuple(range(1, 8))
    assert len(set(threads)) == 1


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_a_time_limit_stops_all_ranks_after_the_same_round(kind: str) -> None:
    case = make_case(
        kind, n_estimators=100_000, time_limit=0.5, callbacks=[lambda _: time.sleep(0.01)]
    )
    found = fit_on_ranks(case, [1_200, 1_800], [1, 0, 2], 3)
    rounds = {model.n_iter_ for model in found}
    assert len(rounds) == 1
    assert 1 <= rounds.pop() < 100
    assert len({model.fingerprint() for model in found}) == 1
    assert {model.fit_report_["stop_reason"] for model in found} == {"time_limit of 0.5 s"}


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_a_callback_that_raises_ends_the_fit_of_all_ranks(kind: str) -> None:
    def fail(progress: Any) -> None:
        if progress.round == 3:
            raise LookupError("round 3")

    with pytest.raises(LookupError, match="round 3"):
        fit_on_ranks(make_case(kind, callbacks=[fail]), [1_200], [0, 1], 2)


def test_the_round_after_which_a_fit_stops_is_not_a_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fit that resumed from it would go on."""
    saved: list[int] = []
    original = Checkpoint.__init__

    def record(self: Checkpoint, n: int, state: Any) -> None:
        saved.append(n)
        original(self, n, state)

    monkeypatch.setattr(Checkpoint, "__init__", record)
    Stop.calls = []
    fit_on_ranks(make_case("boosting", callbacks=[Stop(4)]), [1_000], [0, 1], 2)
    assert sorted(saved) == [1, 1, 2, 2, 3, 3]
