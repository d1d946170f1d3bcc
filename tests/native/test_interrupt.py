"""Native calls end when their thread's work is cancelled or a signal handler raises."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stagewise import DecisionTreeRegressor
from stagewise._native import Cancellation, set_cancellation

pytestmark = pytest.mark.native

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300_000, 6))
Y = RNG.normal(size=300_000)


def long_fit(n_jobs: int = 1) -> None:
    """Run a fit that takes many seconds."""
    DecisionTreeRegressor(criterion="absolute_error", n_jobs=n_jobs).fit(X, Y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_cancelled_thread_ends_its_native_call(n_jobs: int) -> None:
    cancellation = Cancellation()
    ended: list[type] = []

    def work() -> None:
        set_cancellation(cancellation)
        try:
            long_fit(n_jobs)
        except KeyboardInterrupt as interrupt:
            ended.append(type(interrupt))
        finally:
            set_cancellation(None)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    cancellation.cancel()
    thread.join(5.0)
    assert ended == [KeyboardInterrupt]


def test_calls_of_a_cancelled_thread_do_not_start() -> None:
    outer = Cancellation()
    assert set_cancellation(outer) is None
    try:
        inner = Cancellation()
        outer.cancel()
        assert inner.cancelled()
        with pytest.raises(KeyboardInterrupt):
            long_fit()
    finally:
        assert set_cancellation(None) is outer
    assert not Cancellation().cancelled()


def test_set_cancellation_takes_a_cancellation_only() -> None:
    with pytest.raises((TypeError, RuntimeError)):
        set_cancellation("cancelled")  # type: ignore[arg-type]
    assert set_cancellation(None) is None


class AlarmError(Exception):
    """Raised by the signal handler."""


@pytest.fixture
def alarm() -> Iterator[list[int]]:
    """Raise an alarm every 0.2 seconds; the second time, the handler raises."""
    rung: list[int] = []

    def ring(*_: Any) -> None:
        rung.append(os.getpid())
        if len(rung) == 2:
            raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    yield rung
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_raising_signal_handler_ends_a_call_and_a_silent_one_does_not(
    n_jobs: int, alarm: list[int]
) -> None:
    with pytest.raises(AlarmError):
        long_fit(n_jobs)
    assert len(alarm) == 2
