"""What the ranks of a fit exchange: numbers, bytes and times.

The functions run on workers. `MeasuredFit` is a fit whose exchange is counted; `AllReduce` has no
rows and measures sums alone.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.cluster.exchange import Buffer, Exchange, as_bytes, sum_int64
from stagewise.dask.partition_fit import PartitionFit
from stagewise.dask.shard import Shard

# Of vectors of int64, with the number of sums that are measured.
SIZES = {1 << 10: 200, 1 << 16: 200, 1 << 19: 100, 1 << 22: 20}
WARM_UP = 5


class CountingExchange:
    """An exchange that counts its calls.

    Attributes
    ----------
    seconds : float
        The time in calls, waiting for peers included.
    sizes : Counter
        How often a number of bytes was sent to another rank by a call.
    """

    def __init__(self, inner: Exchange) -> None:
        self._inner, self.rank, self.size = inner, inner.rank, inner.size
        self.seconds, self.sizes = 0.0, Counter[int]()

    def all_to_all(self, parts: Sequence[Buffer]) -> list[memoryview]:
        """Send ``parts[i]`` to rank i and return what each rank sent."""
        begin = time.perf_counter()
        received = self._inner.all_to_all(parts)
        self.seconds += time.perf_counter() - begin
        self.sizes[len(as_bytes(parts[(self.rank + 1) % self.size]))] += 1
        return received

    def close(self) -> None:
        """Do nothing; the task closes the inner exchange."""


class MeasuredShard(Shard):
    """The rows of a rank; notes when they are stored and when each round ends."""

    def start(self, exchange: CountingExchange) -> None:
        """Start the clock."""
        self.exchange, self.begin, self.ends = exchange, time.perf_counter(), list[float]()

    def release(self) -> None:
        """Forget the partitions."""
        super().release()
        self.stored = time.perf_counter()
        self.exchange.seconds = 0.0
        self.exchange.sizes.clear()

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "checkpoint" and value is not None:
            self.ends.append(time.perf_counter())

    def facts(self) -> dict[str, Any]:
        """Return the times of the fit, and per tree what was exchanged."""
        trees, counts = len(self.ends), self.exchange.sizes
        rounds = self.ends[-1] - self.stored
        return {
            "read_seconds": self.stored - self.begin,
            "rounds_seconds": rounds,
            "tree_ms": 1e3 * rounds / trees,
            "exchange_ms": 1e3 * self.exchange.seconds / trees,
            "exchanges": sum(counts.values()) / trees,
            "kilobytes": sum(size * n for size, n in counts.items()) / trees / 1e3,
            "sizes": sorted((size, n / trees) for size, n in counts.items()),
        }


@dataclass(frozen=True)
class MeasuredFit:
    """A fit on one of several ranks, with its times; see `PartitionFit`."""

    fit: PartitionFit

    def __call__(self, exchange: Exchange, shard: Shard) -> tuple[Any, dict[str, Any]]:
        """Return the fitted estimator and the facts of this rank."""
        counting = CountingExchange(exchange)
        own = MeasuredShard(**shard.__dict__)
        own.start(counting)
        model = self.fit(counting, own)
        return model, own.facts()


@dataclass(frozen=True)
class AllReduce:
    """Sums of vectors of several sizes."""

    def __call__(self, exchange: Exchange, shard: Shard) -> list[tuple[int, float, float]]:
        """Return the bytes, the median and the 0.9 quantile of the seconds of a sum."""
        found = []
        for size, repeats in SIZES.items():
            values, times = np.arange(size // 8), []
            for _ in range(WARM_UP + repeats):
                begin = time.perf_counter()
                sum_int64(exchange, values)
                times.append(time.perf_counter() - begin)
            deciles = statistics.quantiles(times[WARM_UP:], n=10)
            found.append((size, statistics.median(times[WARM_UP:]), deciles[-1]))
        return found
