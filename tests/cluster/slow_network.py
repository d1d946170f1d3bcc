"""A network with delay and loss, in user space: workers are reached through a proxy.

TCP hides a lost packet from programs: its bytes arrive after a retransmission, at least 200 ms
later on Linux. The proxy therefore delays each chunk of bytes by a millisecond, and one of a
hundred by 200 ms more.
"""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from distributed import Client, LocalCluster

DELAY, LOSS, RETRANSMISSION = 0.001, 0.01, 0.2
CHUNK = 1 << 16
WORKER = (sys.executable, "-m", "distributed.cli.dask_worker")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class SlowProxy:
    """Passes the bytes of all connections to a port, slowly.

    Attributes
    ----------
    port : int
        Where it listens.
    chunks, lost : int
        The numbers of chunks that it has passed, and of those that were lost once.
    """

    def __init__(self, target: int, seed: int) -> None:
        self.target, self.port = target, free_port()
        self.chunks = self.lost = 0
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        await self._ended.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        for pair in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.ensure_future(self._pass(*pair))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                while chunk := await reader.read(CHUNK):
                    is_lost = self._random.random() < LOSS
                    self.chunks, self.lost = self.chunks + 1, self.lost + is_lost
                    await asyncio.sleep(DELAY + RETRANSMISSION * is_lost)
                    writer.write(chunk)
                    await writer.drain()
        finally:
            writer.close()


@contextmanager
def slow_cluster(n_workers: int, folder: Path) -> Iterator[tuple[Client, list[SlowProxy]]]:
    """Return the client of workers that reach each other through proxies, and the proxies."""
    with ExitStack() as stack:
        cluster = stack.enter_context(
            LocalCluster(n_workers=0, processes=True, dashboard_address="127.0.0.1:0")
        )
        proxies = []
        for seed in range(n_workers):
            proxy = SlowProxy(free_port(), seed)
            stack.callback(proxy.close)
            proxies.append(proxy)
            options = {
                "--nthreads": "1",
                "--listen-address": f"tcp://127.0.0.1:{proxy.target}",
                "--contact-address": f"tcp://127.0.0.1:{proxy.port}",
                "--local-directory": str(folder),
            }
            words = [word for option in options.items() for word in option]
            worker = subprocess.Popen(
                [*WORKER, cluster.scheduler_address, "--no-nanny", "--no-dashboard", *words],
                stderr=subprocess.DEVNULL,
            )
            stack.callback(worker.wait)
            stack.callback(worker.kill)
        client = stack.enter_context(Client(cluster))
        client.wait_for_workers(n_workers, timeout=60)
        yield client, proxies
