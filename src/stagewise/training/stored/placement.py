"""Which rank has which rows: their numbers in a fit, and the blocks of 1,024 rows that it stores.

Rows of positive weight are numbered in the order of the partitions. A block is stored by the rank
that has read its first row; the other ranks send it their rows of the block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stagewise.cluster.peers import Peers

__all__ = ["Placement", "Segment"]

BLOCK_ROWS = 1024
"""The rows of a block; see kRowBlock in native/core/shard.hpp."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Segment:
    """Rows that follow each other in a fit, of which one rank stores all.

    Attributes
    ----------
    begin, n : int
        The first row, among those that this rank reads, and the number of rows.
    number : int
        The number of the first row in the fit.
    owner : int
        The rank that stores them.
    """

    begin: int
    n: int
    number: int
    owner: int


@dataclass(frozen=True, eq=False)
class Placement:
    """The places of the rows of a fit.

    Attributes
    ----------
    rank : int
        This rank.
    ranks : int64 array
        The rank of each partition that has rows, in row order.
    first : int64 array
        The number of its first row, and at the end the number of all rows.
    """

    rank: int
    ranks: Numbers
    first: Numbers

    @classmethod
    def gather(cls, rows_per_partition: Mapping[int, int], peers: Peers) -> Placement:
        """Return the placement of the partitions that the ranks have read, by their numbers."""
        found = sorted(
            (partition, n, rank)
            for rank, rows in enumerate(peers.gather(dict(rows_per_partition)))
            for partition, n in rows.items()
            if n
        )
        counts = np.array([0, *(n for _, n, _ in found)], dtype=np.int64)
        ranks = np.array([rank for _, _, rank in found], dtype=np.int64)
        return cls(peers.rank, ranks, np.cumsum(counts))

    @property
    def n_all(self) -> int:
        """The number of rows of all ranks."""
        return int(self.first[-1])

    @cached_property
    def own_partitions(self) -> list[int]:
        """The positions, among all partitions that have rows, of those of this rank."""
        return np.flatnonzero(self.ranks == self.rank).tolist()

    @cached_property
    def _own(self) -> tuple[Numbers, Numbers]:
        """The number of the first row of each partition of this rank, and how many are before."""
        lengths = np.diff(self.first)[self.own_partitions]
        return self.first[:-1][self.own_partitions], np.append(0, np.cumsum(lengths))

    @cached_property
    def blocks(self) -> npt.NDArray[np.uint64]:
        """The numbers of the first rows of the blocks that this rank stores."""
        first, before = self._own
        each = [
            np.arange(start + -start % BLOCK_ROWS, start + n, BLOCK_ROWS, dtype=np.uint64)
            for start, n in zip(first.tolist(), np.diff(before).tolist(), strict=True)
        ]
        return np.concatenate(each) if each else np.empty(0, dtype=np.uint64)

    @property
    def n_stored(self) -> int:
        """The number of rows that this rank stores."""
        if not len(self.blocks):
            return 0
        return (len(self.blocks) - 1) * BLOCK_ROWS + min(
            BLOCK_ROWS, self.n_all - int(self.blocks[-1])
        )

    def partition_of(self, rows: Numbers) -> Numbers:
        """Return the positions, in `own_partitions`, of the partitions of rows of this rank."""
        return np.searchsorted(self._own[1], rows, side="right") - 1

    def runs(self, begin: int, n: int) -> Iterator[tuple[int, int]]:
        """Divide rows that this rank reads into runs; return (number of the first row, rows)."""
        before, end = self._own[1], begin + n
        while begin < end:
            last = int(before[np.searchsorted(before, begin, side="right")])
            count = min(end, last) - begin
            yield self.number(begin), count
            begin += count

    def number(self, row: int) -> int:
        """Return the number in the fit of a row that this rank reads."""
        first, before = self._own
        place = int(np.searchsorted(before, row, side="right")) - 1
        return int(first[place] + row - before[place])

    def position(self, number: int) -> int:
        """Return the position of a row in the store of this rank."""
        within = number % BLOCK_ROWS
        return int(np.searchsorted(self.blocks, np.uint64(number - within))) * BLOCK_ROWS + within

    def owner(self, number: int) -> int:
        """Return the rank that stores a row."""
        start = number - number % BLOCK_ROWS
        return int(self.ranks[np.searchsorted(self.first, start, side="right") - 1])

    def segments(self, begin: int, n: int) -> Iterator[Segment]:
        """Divide rows that this rank reads by the ranks that store them."""
        for number, count in self.runs(begin, n):
            # Another rank stores the first rows only, up to the end of their block.
            others = 0 if self.owner(number) == self.rank else min(count, -number % BLOCK_ROWS)
            if others:
                yield Segment(begin, others, number, self.owner(number))
            if count > others:
                yield Segment(begin + others, count - others, number + others, self.rank)
            begin += count
