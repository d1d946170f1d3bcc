"""Ranks as threads of one process: the exchange of the tests.

The ranks meet at a barrier, so that a result does not depend on timing. A rank that fails breaks
the barrier, and all the other ranks raise the same ``EpochError``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from stagewise.cluster.exchange import Buffer, EpochError, Exchange, as_bytes

Result = TypeVar("Result")


class _Meeting:
    """What the threads of one epoch share."""

    def __init__(self, size: int, time_limit: float) -> None:
        self.barrier = threading.Barrier(size, timeout=time_limit)
        self.table: list[list[bytes]] = [[] for _ in range(size)]
        self.reason: EpochError | None = None
        self.lock = threading.Lock()

    def end(self, reason: EpochError) -> EpochError:
        """End the epoch; the first reason is kept and returned."""
        with self.lock:
            self.reason = self.reason or reason
        self.barrier.abort()
        return self.reason

    def wait(self) -> None:
        try:
            self.barrier.wait()
        except threading.BrokenBarrierError:
            reason = EpochError("lost", -1, "a rank did not reach the exchange in time")
            raise self.end(reason).anew() from None


class ThreadExchange:
    """The exchange of one thread; made by `run_ranks`."""

    def __init__(self, rank: int, size: int, meeting: _Meeting) -> None:
        self.rank, self.size, self._meeting = rank, size, meeting

    def all_to_all(self, parts: Sequence[Buffer]) -> list[memoryview]:
        """Send ``parts[i]`` to rank i and return what each rank sent to this one, in rank order."""
        meeting = self._meeting
        meeting.table[self.rank] = [bytes(as_bytes(part)) for part in parts]
        meeting.wait()
        received = [memoryview(row[self.rank]) for row in meeting.table]
        meeting.wait()
        return received

    def close(self) -> None:
        """Do nothing; the threads end with their function."""


def run_ranks(
    size: int, function: Callable[[Exchange], Result], time_limit: float = 60.0
) -> list[Result]:
    """Call a function in ``size`` threads, each with its exchange, and return the results.

    Parameters
    ----------
    size : int
        The number of ranks.
    function : callable
        It gets the exchange of its rank.
    time_limit : float, default=60.0
        The longest wait for a rank, in seconds.

    Raises
    ------
    Exception
        The exception of the rank that failed first. The other ranks raised ``EpochError``.
    """
    meeting = _Meeting(size, time_limit)
    first: list[BaseException] = []

    def call(rank: int) -> Result:
        try:
            return function(ThreadExchange(rank, size, meeting))
        except EpochError:
            raise
        except BaseException as error:
            with meeting.lock:
                first.append(error)
            meeting.end(EpochError("failed", rank, repr(error)))
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(call, rank) for rank in range(size)]
    if first:
        raise first[0]
    return [future.result() for future in futures]
