"""One epoch on one worker: its links, its heartbeat, its end.

Everything here runs in the event loop of the worker. The thread of the training reads the inboxes
only. The worker gets one handler while it has an epoch; the handler passes each incoming comm to
its epoch. No plugin is registered and no port opened.

The start: rank 0 sets a Dask event, the other ranks wait for it and connect to rank 0. When all
have, rank 0 sends GO, and every pair of ranks connects, the higher rank to the lower one. With tcp
and tls, a pair has two comms: one for the heartbeat and the end, one for the payloads, whose socket
the training uses directly. READY follows when all are open.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from distributed import Worker
from distributed.comm import Comm, connect
from distributed.core import Status

from stagewise.cluster.exchange import EpochError
from stagewise.dask.link import BEAT, BYE, DATA, END, GO, READY, Link, Message
from stagewise.dask.socket_transport import SCHEMES, detach, shut_down

HANDLER = "stagewise_exchange"
RUNNING_TASK = ("executing", "long-running")
RUNNING_WORKER = (Status.running, Status.paused)

Inbox = SimpleQueue[Message | EpochError]


@dataclass(frozen=True)
class Limits:
    """Time limits of an epoch, in seconds.

    Parameters
    ----------
    start : float, default=120.0
        From the start of the first rank to the start of the last one.
    silence : float, default=30.0
        A peer from which nothing arrives for so long is lost. Its event loop sends heartbeats while
        it computes.
    beat : float, default=5.0
        Between two heartbeats.
    tick : float, default=0.5
        Between two checks of the peers, the worker and the task.
    """

    start: float = 120.0
    silence: float = 30.0
    beat: float = 5.0
    tick: float = 0.5


class Door:
    """The handler of a worker, which has it while it takes part in an epoch."""

    def __init__(self) -> None:
        self.epochs: dict[str, Epoch] = {}

    async def accept(self, comm: Comm, epoch: str, rank: int, data: bool) -> Status:
        """Pass a comm to its epoch and wait until the epoch releases it."""
        target = self.epochs.get(epoch)
        if target is None:
            comm.abort()
        else:
            target.add_comm(rank, comm, data)
            await target.released.wait()
        return Status.dont_reply


def door_of(worker: Worker) -> Door:
    """Return the door of a worker, a new one if it has none."""
    handler = worker.handlers.get(HANDLER)
    if handler is None:
        worker.handlers[HANDLER] = handler = Door().accept
    return handler.__self__  # type: ignore[no-any-return]


class Epoch:
    """The part of an epoch that runs in the event loop of one worker.

    Parameters
    ----------
    worker : Worker
        The worker of this rank.
    key : str
        The key of the task of this rank; the epoch ends when the task is cancelled.
    name : str
        A name that no other epoch has.
    rank : int
        The number of this rank.
    addresses : sequence of str
        The addresses of the workers, in rank order.
    limits : Limits
        The time limits.
    direct : bool
        Whether the training uses sockets of its own where the protocol has some.
    """

    def __init__(
        self,
        worker: Worker,
        key: str,
        name: str,
        rank: int,
        addresses: Sequence[str],
        limits: Limits,
        direct: bool,
    ) -> None:
        self.worker, self.key, self.name, self.rank = worker, key, name, rank
        self.addresses, self.limits = addresses, limits
        self.direct = direct and all(address.startswith(SCHEMES) for address in addresses)
        self.peers = [(rank + i) % len(addresses) for i in range(1, len(addresses))]
        self.inboxes: dict[int, Inbox] = {peer: SimpleQueue() for peer in self.peers}
        self.links: dict[int, Link] = {}
        self.data: dict[int, Comm] = {}
        self.sockets: dict[int, socket.socket] = {}
        self.reason: EpochError | None = None
        self.released = asyncio.Event()
        self._changed = asyncio.Event()  # a comm, a GO, a READY, a BYE or the end
        self._go = rank == 0
        self._ending: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # The start

    async def open(self) -> None:
        """Connect all ranks, or raise EpochError."""
        door_of(self.worker).epochs[self.name] = self
        self._spawn(self._watch())
        connecting = asyncio.ensure_future(self._connect())
        try:
            await asyncio.wait_for(self._until(connecting.done), self.limits.start)
            if not self.reason:
                await connecting
        except TimeoutError:
            missing = [self.addresses[peer] for peer in self.peers if peer not in self.links]
            self.end(
                EpochError(
                    "start", -1, f"not started within {self.limits.start:g} s: {', '.join(missing)}"
                )
            )
        except OSError as error:
            self.end(
                EpochError("lost", -1, f"rank {self.rank} cannot reach the scheduler: {error}")
            )
        finally:
            connecting.cancel()
            if self.rank == 0:
                with suppress(OSError):
                    await self.worker.scheduler.event_clear(name=self.name)
        if self.reason:
            raise self.reason.anew()

    async def _connect(self) -> None:
        try:
            if self.rank == 0:
                await self.worker.scheduler.event_set(name=self.name)
                await self._until(lambda: len(self.links) == len(self.peers))
                await self._send_all(GO)
            else:
                await self.worker.scheduler.event_wait(name=self.name, timeout=self.limits.start)
                await self._connect_to(0, data=False)
                await self._until(lambda: self._go)
                for peer in range(1, self.rank):
                    await self._connect_to(peer, data=False)
                await self._until(lambda: len(self.links) == len(self.peers))
            if self.direct:
                await self._connect_data()
        finally:
            self._changed.set()

    async def _connect_data(self) -> None:
        """Open the comms of the payloads. Bytes may be sent on them when all ranks are ready."""
        for peer in range(self.rank):
            await self._connect_to(peer, data=True)
        await self._until(lambda: len(self.data) == len(self.peers))
        await self._send_all(READY)
        await self._until(lambda: all(link.ready for link in self.links.values()))

    async def _connect_to(self, peer: int, data: bool) -> None:
        address = self.addresses[peer]
        hello = {"op": HANDLER, "epoch": self.name, "rank": self.rank, "data": data, "reply": False}
        try:
            comm = await connect(address, deserialize=False, **self.worker.connection_args)
            await comm.write(hello)
        except OSError as error:
            self.end(
                EpochError("lost", peer, f"{address}: rank {self.rank} cannot connect: {error}")
            )
        else:
            self.add_comm(peer, comm, data)

    def add_comm(self, peer: int, comm: Comm, data: bool) -> None:
        """Take a comm to a peer."""
        if self.reason or peer not in self.inboxes or peer in (self.data if data else self.links):
            comm.abort()
        elif data:
            comm.name = f"{HANDLER} {self.name} {self.rank}-{peer} data"
            self.data[peer], self.sockets[peer] = comm, detach(comm)
        else:
            self.links[peer] = Link(comm, f"{HANDLER} {self.name} {self.rank}-{peer}")
            self._spawn(self._read(peer, self.links[peer]))
        self._changed.set()

    # While it runs

    async def post(self, number: int, payloads: dict[int, bytes]) -> None:
        """Send a payload to each peer."""
        for peer, payload in payloads.items():
            try:
                await self.links[peer].send(DATA, number, payload)
            except OSError as error:
                self.lose(peer, str(error))

    async def _read(self, peer: int, link: Link) -> None:
        inbox = self.inboxes[peer]
        try:
            while not link.done:
                message = await link.receive()
                if message.kind == DATA:
                    inbox.put(message)
                elif message.kind == GO:
                    self._go = True
                elif message.kind == READY:
                    link.ready = True
                elif message.kind == BYE:
                    link.done = True
                elif message.kind == END:
                    self.end(EpochError(*json.loads(bytes(message.payload))))
                if message.kind != DATA:
                    self._changed.set()
        except OSError as error:
            self.lose(peer, str(error))

    async def _watch(self) -> None:
        """Check the task, the worker and the peers; send heartbeats.

        Silence is counted in ticks of this event loop: a worker that was itself stopped does not
        take its peers for lost.
        """
        limits, since_beat = self.limits, 0.0
        while not self.reason:
            await asyncio.sleep(limits.tick)
            self._check_worker()
            since_beat += limits.tick
            beat = since_beat >= limits.beat
            since_beat = 0.0 if beat else since_beat
            for peer, link in list(self.links.items()):
                link.silent += limits.tick
                if link.silent > limits.silence and not link.done:
                    self.lose(peer, f"silent for {limits.silence:g} s")
                elif beat:
                    with suppress(OSError):
                        await link.send(BEAT)

    def _check_worker(self) -> None:
        task = self.worker.state.tasks.get(self.key)
        if task is None or task.state not in RUNNING_TASK:
            self.end(EpochError("cancelled", -1, "the client cancelled the task or is gone"))
        elif self.worker.status not in RUNNING_WORKER:
            self.end(
                EpochError(
                    "leaving",
                    self.rank,
                    f"{self.addresses[self.rank]} is {self.worker.status.name}",
                )
            )

    # The end

    def lose(self, peer: int, cause: str) -> None:
        """End the epoch since a peer cannot be reached, unless it has sent its last message."""
        if not self.links[peer].done:
            self.end(EpochError("lost", peer, f"{self.addresses[peer]}: {cause}"))

    async def lose_unless_ended(self, peer: int, cause: str, seconds: float) -> None:
        """Lose a peer if no message gives another reason within a time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._until(lambda: False), seconds)
        self.lose(peer, cause)

    def end(self, reason: EpochError) -> None:
        """End the epoch here and at all peers; the first reason counts."""
        if self.reason is None:
            self.reason = reason
            for inbox in self.inboxes.values():
                inbox.put(reason)
            for channel in self.sockets.values():
                shut_down(channel)
            self._changed.set()
            self._ending = asyncio.ensure_future(self._send_end(reason))

    async def _send_end(self, reason: EpochError) -> None:
        payload = json.dumps(reason.args).encode()
        await asyncio.gather(*(link.close(END, payload) for link in self.links.values()))

    async def close(self) -> None:
        """Wait for the last message of every peer, unless ended; then release everything."""
        try:
            if not self.reason:
                await self._send_all(BYE)
                await self._until(lambda: all(link.done for link in self.links.values()))
        finally:
            await self._release()

    async def _release(self) -> None:
        if self._ending:
            await self._ending
        await asyncio.gather(*(link.close() for link in self.links.values()))
        for comm in self.data.values():
            comm.abort()
        self.released.set()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        door = door_of(self.worker)
        door.epochs.pop(self.name, None)
        if not door.epochs:
            self.worker.handlers.pop(HANDLER, None)

    async def _send_all(self, kind: int) -> None:
        for link in list(self.links.values()):
            with suppress(OSError):
                await link.send(kind)

    # Waiting

    async def _until(self, condition: Any) -> None:
        """Wait until a condition holds or the epoch has ended."""
        while not (self.reason or condition()):
            self._changed.clear()
            await self._changed.wait()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        """Remove a task; one that failed ends the epoch instead of leaving it without a reader."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.end(EpochError("failed", self.rank, repr(error)))
