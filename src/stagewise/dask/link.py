"""One Dask comm to one peer, and the messages on it.

A message is a kind, a number and a payload. It is written as ready-made frames (``Serialized``),
and the comm does not deserialize, so that neither pickle nor a copy of the payload is involved. The
event loop of the worker runs everything here.
"""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from typing import NamedTuple

from distributed.comm import Comm
from distributed.protocol import Serialized
from distributed.protocol.core import dumps

DATA, BEAT, GO, READY, BYE, END = range(6)
FLUSH_SECONDS = 1.0


def _padding() -> int:
    """Return the length that aligns the payload to 8 bytes in the buffer of the receiver.

    The receiver reads the frames into one buffer. The prelude of the frames has a multiple of 8
    bytes; the two headers before ours have the same length in every message.
    """
    headers = dumps(Serialized({}, [b"", b""]))[:2]
    return -sum(map(len, headers)) % 8


_HEAD = struct.Struct(f"<qq{_padding()}x")


class Message(NamedTuple):
    """A message of a peer."""

    kind: int
    number: int
    payload: memoryview


class Link:
    """The comm to one peer.

    Attributes
    ----------
    comm : Comm
        The comm. It has one reader and, since writes do not suspend before the message is queued,
        an ordered writer.
    silent : float
        The seconds of this event loop since the last message of the peer.
    ready : bool
        Whether the peer has opened all its comms.
    done : bool
        Whether the peer has sent its last message.
    """

    def __init__(self, comm: Comm, name: str) -> None:
        comm.deserialize = False
        comm.allow_offload = False
        comm.name = name
        self.comm = comm
        self.silent = 0.0
        self.ready = False
        self.done = False

    async def send(self, kind: int, number: int = 0, payload: bytes = b"") -> None:
        """Write a message. The payload must not change until the peer has it, hence its type."""
        await self.comm.write(Serialized({}, [_HEAD.pack(kind, number), payload]))

    async def receive(self) -> Message:
        """Read the next message; ``CommClosedError`` if there is none."""
        frames = (await self.comm.read()).frames
        self.silent = 0.0
        kind, number = _HEAD.unpack(frames[0])
        return Message(kind, number, memoryview(frames[1]))

    async def close(self, kind: int = BEAT, payload: bytes = b"") -> None:
        """Send a last message, flush and close the comm; abort it if the peer does not read."""
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._send_and_close(kind, payload), FLUSH_SECONDS)
        self.comm.abort()

    async def _send_and_close(self, kind: int, payload: bytes) -> None:
        await self.send(kind, 0, payload)
        await self.comm.close()
