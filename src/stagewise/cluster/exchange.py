"""The interface between training and its peers, and the collective operations built on it.

An exchange has one primitive, ``all_to_all``. Reduce-scatter, all-gather, sums and maxima are
functions of it, written once here, so that Dask, MPI, Ray and the threads of the tests differ in
the primitive only. Sums are sums of int64, which do not depend on the order or the number of ranks;
this module must not add floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Buffer = Any  # an object with the buffer protocol; collections.abc.Buffer needs Python 3.12
Int64Array = NDArray[np.int64]

# Up to this many bytes in all, every rank sends its array to every other one: one trip, not two.
DIRECT_SUM_BYTES = 1 << 18


class EpochError(Exception):
    """The end of an epoch before its result; every rank raises it, for the same reason.

    Parameters
    ----------
    kind : {"lost", "leaving", "failed", "cancelled", "start"}
        "lost": a rank cannot be reached. "leaving": its worker closes. "failed": it raised an
        exception. "cancelled": the client cancelled the epoch or is gone. "start": not all ranks
        started within the time limit.
    rank : int
        The rank that caused the end; -1 if no rank did.
    message : str
        The cause in words.
    """

    def __init__(self, kind: str, rank: int, message: str) -> None:
        super().__init__(kind, rank, message)
        self.kind, self.rank, self.message = kind, rank, message

    def anew(self) -> EpochError:
        """Return a new exception with the same reason.

        One that was raised holds the frames of the training, which hold the exchange: the two must
        not hold each other, since the garbage collector does not traverse the native core.
        """
        return EpochError(*self.args)

    def __str__(self) -> str:
        return f"the epoch ended ({self.kind}, rank {self.rank}): {self.message}"


class Exchange(Protocol):
    """What a rank needs of its peers.

    Attributes
    ----------
    rank : int
        The number of this rank, from 0.
    size : int
        The number of ranks.
    """

    rank: int
    size: int

    def all_to_all(self, parts: Sequence[Buffer]) -> list[memoryview]:
        """Send ``parts[i]`` to rank i and return what each rank sent to this one, in rank order.

        Every rank calls it equally often. The parts may be changed as soon as it returns. The
        result must not be written to; it is valid until the caller releases it.

        Raises
        ------
        EpochError
            If a rank is lost, fails or is cancelled, on all ranks.
        """
        ...

    def close(self) -> None:
        """Wait until all ranks are done, then release everything; a second call does nothing."""
        ...


class LocalExchange:
    """The exchange of a single rank."""

    rank = 0
    size = 1

    def all_to_all(self, parts: Sequence[Buffer]) -> list[memoryview]:
        """Return the one part."""
        return [as_bytes(parts[0])]

    def close(self) -> None:
        """Do nothing."""


def as_bytes(buffer: Buffer) -> memoryview:
    """Return a contiguous view of the bytes of a buffer, without a copy."""
    view = memoryview(buffer)
    return view if view.ndim == 1 and view.format == "B" else view.cast("B")


def all_gather(exchange: Exchange, buffer: Buffer) -> list[memoryview]:
    """Return the buffers of all ranks, in rank order; their lengths may differ."""
    return exchange.all_to_all([buffer] * exchange.size)


def _chunk_bounds(length: int, size: int) -> list[int]:
    """Return the ``size + 1`` bounds of nearly equal chunks, the longer ones first."""
    base, longer = divmod(length, size)
    return [i * base + min(i, longer) for i in range(size + 1)]


def reduce_scatter(exchange: Exchange, values: Int64Array) -> Int64Array:
    """Return the sum over all ranks of one chunk of a vector: that of this rank."""
    bounds = _chunk_bounds(len(values), exchange.size)
    received = exchange.all_to_all([values[begin:end] for begin, end in pairwise(bounds)])
    return _fold(received, np.add)


def sum_int64(exchange: Exchange, values: Int64Array) -> Int64Array:
    """Return the sum of a vector over all ranks; it wraps modulo 2^64."""
    if exchange.size == 2 or values.nbytes * exchange.size <= DIRECT_SUM_BYTES:
        return _fold(all_gather(exchange, values), np.add)
    chunks = all_gather(exchange, reduce_scatter(exchange, values))
    return np.concatenate([np.frombuffer(chunk, np.int64) for chunk in chunks])


def max_int64(exchange: Exchange, values: Int64Array) -> Int64Array:
    """Return the maximum of a vector over all ranks, element by element."""
    return _fold(all_gather(exchange, values), np.maximum)


def _fold(received: Sequence[memoryview], operation: np.ufunc) -> Int64Array:
    """Return the elementwise fold of int64 vectors, in rank order."""
    total = np.frombuffer(received[0], np.int64).copy()
    for chunk in received[1:]:
        operation(total, np.frombuffer(chunk, np.int64), out=total)
    return total
