"""The exchange of a rank on a Dask worker, used from the thread of its training.

All traffic goes over connections that Dask opens on the port of the worker, so that the security of
the cluster applies to it. With tcp and tls the training uses the sockets of these connections;
otherwise it passes its payloads to the event loop of the worker and waits, without the GIL, for
those of its peers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from queue import Empty
from typing import Any

from distributed import Worker

from stagewise.cluster.exchange import Buffer, EpochError, as_bytes
from stagewise.dask.epoch import Epoch, Inbox, Limits
from stagewise.dask.socket_transport import SocketTransport

POLL_SECONDS = 1.0


class CommTransport:
    """Sends and receives by messages of Dask comms, through the event loop; for every protocol.

    Parameters
    ----------
    epoch : Epoch
        The epoch.
    loop : asyncio.AbstractEventLoop
        Its event loop.
    check : callable
        Called about once a second while peers are awaited; it may raise.
    """

    def __init__(
        self, epoch: Epoch, loop: asyncio.AbstractEventLoop, check: Callable[[], None]
    ) -> None:
        self._epoch, self._loop, self._check = epoch, loop, check

    def exchange(self, number: int, parts: Sequence[Buffer]) -> dict[int, memoryview]:
        """Send each peer its part and return what each peer sent.

        The parts are copied, since the event loop may write them after the return. The received
        views are writable and aligned, and not copied.
        """
        payloads = {peer: bytes(as_bytes(parts[peer])) for peer in self._epoch.peers}
        asyncio.run_coroutine_threadsafe(self._epoch.post(number, payloads), self._loop)
        return {peer: self._receive(number, inbox) for peer, inbox in self._epoch.inboxes.items()}

    def _receive(self, number: int, inbox: Inbox) -> memoryview:
        while True:
            try:
                message = inbox.get(timeout=POLL_SECONDS)
                break
            except Empty:
                self._check()
        if isinstance(message, EpochError):
            inbox.put(message)
            raise message.anew()
        if message.number != number:
            raise RuntimeError(f"exchange {number} received a message of exchange {message.number}")
        return message.payload


class DaskExchange:
    """The exchange of one rank; the constructor returns when all ranks are connected.

    Parameters
    ----------
    worker : Worker
        The worker of this rank.
    key : str
        The key of the task that runs this rank.
    epoch : str
        A name that no other epoch on the cluster has.
    rank : int
        The number of this rank.
    addresses : sequence of str
        The addresses of the workers, in rank order.
    limits : Limits
        Time limits.
    direct : bool, default=True
        Whether the training uses the sockets of the comms, with tcp and tls.

    Raises
    ------
    EpochError
        If not all ranks start within the limit, or one fails.
    """

    def __init__(
        self,
        worker: Worker,
        key: str,
        epoch: str,
        rank: int,
        addresses: Sequence[str],
        limits: Limits,
        direct: bool = True,
    ) -> None:
        self.rank, self.size = rank, len(addresses)
        self._loop: asyncio.AbstractEventLoop = worker.loop.asyncio_loop
        self._count = 0
        self._closed = False

        async def make() -> Epoch:  # its events belong to the event loop that runs
            return Epoch(worker, key, epoch, rank, addresses, limits, direct)

        self._epoch: Epoch = self._call(make())
        try:
            self._call(self._epoch.open())
        except BaseException as error:
            self.fail(error)
            self.close()
            raise
        self._transport = self._make_transport()

    def _make_transport(self) -> SocketTransport | CommTransport:
        if not self._epoch.direct:
            return CommTransport(self._epoch, self._loop, self._check)
        sockets = {peer: self._epoch.sockets[peer] for peer in self._epoch.peers}
        return SocketTransport(sockets, self._check, self._lose)

    def all_to_all(self, parts: Sequence[Buffer]) -> list[memoryview]:
        """Send ``parts[i]`` to rank i and return what each rank sent to this one, in rank order.

        The view of the own part is that of the argument; the others are writable and aligned to 8
        bytes.
        """
        self._check()
        self._count += 1
        received = self._transport.exchange(self._count, parts)
        received[self.rank] = as_bytes(parts[self.rank])
        return [received[rank] for rank in range(self.size)]

    def fail(self, error: BaseException) -> None:
        """End the epoch on all ranks, since this one raised an exception."""
        reason = EpochError("failed", self.rank, repr(error))
        self._loop.call_soon_threadsafe(self._epoch.end, reason)

    def close(self) -> None:
        """Wait until all ranks are done, then release everything; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._call(self._epoch.close())

    def _check(self) -> None:
        """Raise the reason of the end, if the epoch has ended."""
        if self._epoch.reason:
            raise self._epoch.reason.anew()
        self._check_loop()

    def _check_loop(self) -> None:
        if not self._loop.is_running():
            raise EpochError("leaving", self.rank, "the event loop of the worker has stopped")

    def _lose(self, peer: int, error: OSError) -> None:
        """Raise the reason of the end; it is the loss of the peer if no other one is known soon."""
        self._call(self._epoch.lose_unless_ended(peer, str(error), POLL_SECONDS))
        self._check()
        raise error

    def _call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the event loop and return its result."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        while True:
            try:
                return future.result(POLL_SECONDS)
            except FutureTimeoutError:
                if future.done():
                    raise
                self._check_loop()
