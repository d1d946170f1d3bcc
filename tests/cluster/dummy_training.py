"""A training whose result depends on all partitions and on no placement."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stagewise.cluster.exchange import Exchange, LocalExchange, sum_int64
from stagewise.dask.shard import Checkpoint, Shard

WORDS = 8192


def partition(index: int) -> np.ndarray:
    """Return a partition, always the same one."""
    return np.random.default_rng(index).integers(-(2**62), 2**62, WORDS)


@dataclass(frozen=True)
class DummyTraining:
    """Rounds of all-reduce of hashes; the state after a round is the hash of the sum of 64 KB."""

    rounds: int = 200
    pause: float = 0.0
    fail_index: int = -1
    fail_round: int = 100
    slow_index: int = -1
    slow_seconds: float = 0.0
    announce: str = ""

    def __call__(self, exchange: Exchange, shard: Shard) -> str:
        start, digest = (
            (shard.checkpoint.round, shard.checkpoint.state) if shard.checkpoint else (0, b"")
        )
        for index in range(start, self.rounds):
            seed = np.frombuffer(hashlib.sha256(digest).digest()[:8], np.int64)
            local = np.zeros(WORDS, np.int64)
            for part in shard.partitions:
                local += part * (seed | 1)
            if self.fail_index in shard.indices and index == self.fail_round:
                raise ValueError("a rank failed on purpose")
            if self.slow_index in shard.indices and index == start:
                time.sleep(self.slow_seconds)
            if self.pause:
                time.sleep(self.pause)
            digest = hashlib.sha256(sum_int64(exchange, local).tobytes()).digest()
            shard.checkpoint = Checkpoint(index + 1, digest)
            if self.announce and index == start + 3:
                Path(f"{self.announce}.{start}.{os.getpid()}").touch()
        return digest.hex()


def expected(n_partitions: int, rounds: int = 200) -> str:
    """Return the result of one rank with all partitions."""
    shard = Shard([partition(index) for index in range(n_partitions)], range(n_partitions), 1)
    return DummyTraining(rounds)(LocalExchange(), shard)
