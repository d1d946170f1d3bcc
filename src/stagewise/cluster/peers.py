"""The ranks of a fit, as the training uses them.

All ranks run the same code on different rows and make the same calls in the same order. A fit
without a cluster has one rank, for which every call returns its argument.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TypeVar

from stagewise.cluster.exchange import (
    Exchange,
    Int64Array,
    LocalExchange,
    all_gather,
    max_int64,
    sum_int64,
)

__all__ = ["ALONE", "Peers"]

T = TypeVar("T")


class Peers:
    """All ranks of a fit, this one included.

    Parameters
    ----------
    exchange : Exchange
        Carries the bytes.

    Attributes
    ----------
    rank : int
        The number of this rank, from 0.
    size : int
        The number of ranks.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange, self.rank, self.size = exchange, exchange.rank, exchange.size

    def sum(self, values: Int64Array) -> None:
        """Replace each number by its sum over all ranks."""
        if self.size > 1:
            values[:] = sum_int64(self._exchange, values)

    def max(self, values: Int64Array) -> None:
        """Replace each number by its maximum over all ranks."""
        if self.size > 1:
            values[:] = max_int64(self._exchange, values)

    def gather(self, item: T) -> list[T]:
        """Return the items of all ranks, in rank order."""
        if self.size == 1:
            return [item]
        return [pickle.loads(part) for part in all_gather(self._exchange, _dump(item))]

    def share(self, item: T) -> T:
        """Return the item of rank 0."""
        return self.gather(item)[0]

    def swap(self, items: Sequence[T]) -> list[T]:
        """Send ``items[i]`` to rank i; return what each rank sent to this one, in rank order."""
        if self.size == 1:
            return list(items)
        received = self._exchange.all_to_all([_dump(item) for item in items])
        return [pickle.loads(part) for part in received]


def _dump(item: object) -> bytes:
    return pickle.dumps(item, protocol=5)


ALONE = Peers(LocalExchange())
"""The only rank of a fit without a cluster."""
