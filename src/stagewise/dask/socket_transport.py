"""Payloads over the sockets of Dask comms, read and written by the thread of the training.

Dask opens, secures and accepts the connections on the port of the worker. After its handshake, the
event loop no longer watches their sockets: the training sends and receives on them itself, without
the GIL, and no thread has to be woken. TLS sockets keep their encryption. Only this thread uses the
sockets, until it closes the exchange; the event loop may shut them down, which ends a wait, but
does not close them.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from distributed.comm import Comm
from distributed.comm.tcp import TCP

from stagewise.cluster.exchange import Buffer, as_bytes

SCHEMES = ("tcp://", "tls://")
POLL_MILLISECONDS = 1000
# Up to this size, header and payload are joined; above, the copy costs more than a call.
JOINED_BYTES = 1 << 16

_HEAD = struct.Struct("<qq")
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def detach(comm: Comm) -> socket.socket:
    """Return the socket of a comm, which the event loop no longer watches; the comm closes it.

    No byte may arrive before this call that Dask does not read, since Dask's stream reads ahead.
    """
    if not isinstance(comm, TCP) or comm.stream is None:
        raise TypeError(f"{comm!r} has no socket")
    comm.stream.io_loop.remove_handler(comm.stream.fileno())
    return comm.stream.socket  # type: ignore[no-any-return]


def shut_down(channel: socket.socket) -> None:
    """End all waits on a socket, from any thread.

    ``SSLSocket.shutdown`` would drop the encryption, and the other thread would read cipher text.
    """
    with suppress(OSError):
        socket.socket.shutdown(channel, socket.SHUT_RDWR)


class _Transfer:
    """One payload to a peer and one from it."""

    def __init__(self, channel: socket.socket, number: int, part: memoryview) -> None:
        head = _HEAD.pack(number, part.nbytes)
        joined = part.nbytes <= JOINED_BYTES
        self.channel, self.number = channel, number
        self.unsent = [memoryview(head + part)] if joined else [memoryview(head), part]
        self.payload: memoryview | None = None
        self.received = False
        self._head = bytearray(_HEAD.size)
        self._room = memoryview(self._head)

    @property
    def events(self) -> int:
        """The events to wait for; 0 when the transfer is complete."""
        return (0 if self.received else select.POLLIN) | (select.POLLOUT if self.unsent else 0)

    def advance(self) -> None:
        """Send and receive what is possible without waiting."""
        with suppress(*_WOULD_BLOCK):
            while self.unsent:
                self._send()
        with suppress(*_WOULD_BLOCK):
            while not self.received:
                self._receive()

    def _send(self) -> None:
        view = self.unsent[0]
        self.unsent[0] = view[self.channel.send(view) :]
        if not self.unsent[0].nbytes:
            del self.unsent[0]

    def _receive(self) -> None:
        count = self.channel.recv_into(self._room)
        if count == 0:
            raise ConnectionResetError("the peer closed the connection")
        self._room = self._room[count:]
        if self._room.nbytes:
            return
        if self.payload is None:
            number, length = _HEAD.unpack(self._head)
            if number != self.number:
                raise RuntimeError(
                    f"exchange {self.number} received a message of exchange {number}"
                )
            self._room = self.payload = np.empty(length, np.uint8).data
        self.received = not self._room.nbytes


class SocketTransport:
    """Sends and receives over one socket per peer.

    Parameters
    ----------
    sockets : dict of int to socket
        The socket of each peer, in the order in which the messages are sent.
    check : callable
        Called about once a second while peers are awaited; it may raise.
    lose : callable
        Gets a peer and the error of its socket; it raises.
    """

    def __init__(
        self,
        sockets: dict[int, socket.socket],
        check: Callable[[], None],
        lose: Callable[[int, OSError], None],
    ) -> None:
        self._sockets, self._check, self._lose = sockets, check, lose

    def exchange(self, number: int, parts: Sequence[Buffer]) -> dict[int, memoryview]:
        """Send each peer its part and return what each peer sent.

        A part is with the kernel when the call returns. The received views are writable and
        aligned.
        """
        transfers = {
            peer: _Transfer(channel, number, as_bytes(parts[peer]))
            for peer, channel in self._sockets.items()
        }
        waiting = dict(transfers)
        while waiting:
            for peer in list(waiting):
                self._advance(peer, waiting)
            if waiting:
                self._wait(waiting)
        return {
            peer: transfer.payload
            for peer, transfer in transfers.items()
            if transfer.payload is not None
        }

    def _advance(self, peer: int, waiting: dict[int, _Transfer]) -> None:
        try:
            waiting[peer].advance()
        except OSError as error:
            self._lose(peer, error)
        if not waiting[peer].events:
            del waiting[peer]

    def _wait(self, waiting: dict[int, _Transfer]) -> None:
        poll = select.poll()
        for transfer in waiting.values():
            poll.register(transfer.channel, transfer.events)
        if not poll.poll(POLL_MILLISECONDS):
            self._check()
