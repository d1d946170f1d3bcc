"""What the training of one rank gets, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stagewise.cluster.exchange import EpochError, Exchange

__all__ = ["Checkpoint", "Report", "Shard", "Training"]


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training after a number of rounds; the same on all ranks."""

    round: int
    state: Any


def _keep() -> None:
    """Release nothing."""


@dataclass
class Shard:
    """What the training of one rank gets.

    Attributes
    ----------
    partitions : list
        The partitions of this rank.
    indices : sequence of int
        Their numbers among all partitions.
    n_threads : int
        The threads of the worker; nannies set ``OMP_NUM_THREADS=1``.
    checkpoint : Checkpoint or None
        The state to resume from. The training replaces it after each round.
    folder : str or None
        The folder of files; None: that of temporary files.
    memory_limit : int or None
        The bytes that the training may use; None: half of those available.
    read : callable
        Called when this rank does not need its partitions any longer.
    """

    partitions: list[Any]
    indices: Sequence[int]
    n_threads: int
    checkpoint: Checkpoint | None = None
    folder: str | None = None
    memory_limit: int | None = None
    read: Callable[[], None] = field(default=_keep)

    def release(self) -> None:
        """Release the partitions."""
        self.partitions.clear()
        self.read()


@dataclass(frozen=True)
class Report:
    """The outcome of one rank: a result, or the reason of the end and the newest checkpoint."""

    result: Any = None
    ended: EpochError | None = None
    checkpoint: Checkpoint | None = None


Training = Callable[[Exchange, Shard], Any]
