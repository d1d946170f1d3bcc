"""Copies of the rounds of a running fit, which the client keeps.

While an epoch runs, the client requests the new rounds of rank 0 every second. A request does not
block the client, since a worker that does not respond must be found.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from distributed import Client

from stagewise.dask.rank import RUNNING
from stagewise.dask.shard import Checkpoint
from stagewise.training.stored.checkpoint import STAGES, Checkpoints
from stagewise.training.stored.round_records import Record, join_records

__all__ = ["RoundCopies", "records_after"]

SECONDS = 1.0
"""The time between two requests."""


class RoundCopies:
    """The rounds of a fit on a cluster, as the client has them.

    Parameters
    ----------
    client : Client
        The client.
    checkpoints : Checkpoints
        What keeps the rounds, and has those to resume from.
    """

    def __init__(self, client: Client, checkpoints: Checkpoints) -> None:
        self._client, self._checkpoints = client, checkpoints
        self._records: dict[str, list[Record]] = {}
        self._request: Future[dict[str, dict[str, Record]]] | None = None
        self._due = 0.0
        for stage in STAGES:
            rounds = checkpoints.load(stage)
            if rounds is not None:
                self._records[stage] = [Record.following(0, rounds)]

    @property
    def newest(self) -> Checkpoint | None:
        """The rounds to resume from; None: there are none."""
        stages = {stage: join_records(records) for stage, records in self._records.items()}
        n_rounds = sum(rounds.n for rounds in stages.values())
        return Checkpoint(n_rounds, stages) if n_rounds else None

    def poll(self, key: str, address: str) -> None:
        """Keep the rounds that have arrived; request new ones if it is time.

        Parameters
        ----------
        key : str
            The key of the task of a rank.
        address : str
            Its worker.
        """
        if self._request is not None:
            if not self._request.done():
                return
            found: dict[str, dict[str, Record]] = {}
            with suppress(OSError):  # the driver finds out what is lost
                found = self._request.result()
            self._request = None
            for records in found.values():
                self._keep(records)
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + SECONDS
            loop: Any = self._client.loop
            request = self._run(key, address)
            self._request = asyncio.run_coroutine_threadsafe(request, loop.asyncio_loop)

    def stop(self) -> None:
        """Cancel the request whose rounds have not arrived."""
        if self._request is not None:
            self._request.cancel()
            self._request = None

    def add(self, checkpoint: Checkpoint | None) -> None:
        """Keep the rounds that a rank has reported."""
        if checkpoint is not None:
            self._keep(records_of(checkpoint, self._n_rounds))

    async def _run(self, key: str, address: str) -> dict[str, dict[str, Record]]:
        """Return the new rounds by worker; empty: the worker does not respond."""
        found: dict[str, dict[str, Record]] = await self._client.run(
            records_after, key, self._n_rounds, workers=[address], on_error="ignore"
        )
        return found

    @property
    def _n_rounds(self) -> dict[str, int]:
        return {s: sum(r.n_rounds for r in records) for s, records in self._records.items()}

    def _keep(self, records: Mapping[str, Record]) -> None:
        for stage, record in records.items():
            known = self._records.setdefault(stage, [])
            known.append(record)
            self._checkpoints.save(stage, join_records(known))


def records_after(key: str, n_rounds: Mapping[str, int]) -> dict[str, Record]:
    """Return the rounds of a rank of this worker that the client does not have.

    Parameters
    ----------
    key : str
        The key of the task of the rank.
    n_rounds : mapping of str to int
        The number of rounds of each stage that the client has.
    """
    shard = RUNNING.get(key)
    if shard is None or shard.checkpoint is None:
        return {}
    return records_of(shard.checkpoint, n_rounds)


def records_of(checkpoint: Checkpoint, n_rounds: Mapping[str, int]) -> dict[str, Record]:
    """Return the rounds of a checkpoint after the first ones of each stage."""
    return {
        stage: Record.following(n_rounds.get(stage, 0), rounds)
        for stage, rounds in checkpoint.state.items()
        if rounds.n > n_rounds.get(stage, 0)
    }
