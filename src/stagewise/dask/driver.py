"""The client's side: starts the ranks of an epoch, and a new epoch when one ends early.

An epoch takes the workers that hold partitions. One task per worker is pinned to it. When all ranks
have read their partitions, these are released. When a worker is lost, Dask computes partitions on
other workers again, and the next epoch resumes from the newest checkpoint: that of the ranks that
reported, or the copy of the client if it keeps one. The driver uses Dask's public client, and
operations of the scheduler (``unregister``, ``event_is_set``, ``event_clear``).
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import dask
from distributed import Client, Future, wait

from stagewise.cluster.exchange import EpochError
from stagewise.dask.epoch import Limits
from stagewise.dask.rank import Held, RankSpec, read_event, run_rank
from stagewise.dask.round_copies import RoundCopies
from stagewise.dask.shard import Checkpoint, Report, Training
from stagewise.training.stored.checkpoint import Checkpoints

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.02
READ_CHECK_SECONDS = 0.5
SURVEY_SECONDS = 2.0
# Ranks of live workers get this long to report an end; a rank reports at its next exchange.
REPORT_SECONDS = 10.0
# A report is fetched from its worker, which may be stopped or die meanwhile: the first attempt ends
# after this long, and each further one after twice as long.
FETCH_SECONDS = 5.0
# A worker is lost when its last heartbeat to the scheduler is older than this share of
# ``Limits.silence``.
STALE_SHARE = 0.6
PRIORITY = 100
LARGE_ARGUMENTS = {"distributed.admin.large-graph-warning-threshold": "1TB"}
"""Dask does not warn of the size of a checkpoint, which every rank gets."""

Compute = Callable[[], list[Future]]
Holders = dict[Any, Sequence[str]]
"""The workers that have each key."""


@dataclass
class Outcome:
    """What the ranks of one epoch reported.

    Attributes
    ----------
    results : list
        The results of the ranks that finished; all equal.
    ended : list of EpochError
        The reasons of the ranks that did not.
    checkpoint : Checkpoint or None
        The newest one.
    unusable : set of str
        The addresses of lost, leaving and unreachable workers; the next epoch does without them.
    """

    results: list[Any] = field(default_factory=list)
    ended: list[EpochError] = field(default_factory=list)
    checkpoint: Checkpoint | None = None
    unusable: set[str] = field(default_factory=set)

    def add(self, report: Report, address: str) -> None:
        """Add the report of a rank."""
        if report.ended is None:
            self.results.append(report.result)
            return
        self.ended.append(report.ended)
        if report.ended.kind == "leaving":
            self.unusable.add(address)
        self.checkpoint = newer(self.checkpoint, report.checkpoint)


def newer(first: Checkpoint | None, second: Checkpoint | None) -> Checkpoint | None:
    """Return the checkpoint with more rounds."""
    if first is None or second is None:
        return first or second
    return second if second.round > first.round else first


def fit_on_cluster(
    client: Client,
    compute: Compute,
    train: Training,
    *,
    limits: Limits | None = None,
    max_idle_epochs: int = 3,
    direct: bool = True,
    checkpoints: Checkpoints | None = None,
) -> Any:
    """Train on the workers that hold the partitions, and return the result.

    Parameters
    ----------
    client : Client
        A synchronous client.
    compute : callable
        Starts the tasks of the partitions and returns their futures, in row order. It is called
        once per epoch; scattered data cannot be computed again.
    train : callable
        Gets an `Exchange` and a `Shard`. Its result must not depend on which rank has which
        partitions.
    limits : Limits, optional
        The time limits of an epoch.
    max_idle_epochs : int, default=3
        The most epochs in a row that end early without a new checkpoint.
    direct : bool, default=True
        Whether the training uses the sockets of Dask's comms, with tcp and tls.
    checkpoints : Checkpoints or None, default=None
        What keeps the rounds on the client, for a training that resumes after the end of this
        process; None: nothing does. The state of the training is then a dict of `Rounds` by stage.

    Raises
    ------
    EpochError
        If too many epochs end early, or no worker is left. An exception of a rank is raised as it
        is.
    OSError
        If the connection to the scheduler is lost.
    """
    copies = None if checkpoints is None else RoundCopies(client, checkpoints)

    def run(unusable: set[str], checkpoint: Checkpoint | None) -> Outcome:
        partitions = compute()
        try:
            holders, usable = survey(client, partitions, unusable)
            assignment = assign(partitions, holders, usable)
            epoch = EpochRun(client, assignment, limits or Limits(), direct, copies)
            return epoch.run(partitions, holders, train, checkpoint)
        finally:
            partitions.clear()  # an exception would hold them

    first = None if copies is None else copies.newest
    return _run_epochs(run, first, max(1, max_idle_epochs))


def _run_epochs(
    run: Callable[[set[str], Checkpoint | None], Outcome],
    checkpoint: Checkpoint | None,
    max_idle_epochs: int,
) -> Any:
    """Run epochs until one has a result; raise the last reason if too many have no progress."""
    unusable: set[str] = set()
    idle = 0
    while True:
        outcome = run(unusable, checkpoint)
        if outcome.results:
            return outcome.results[0]
        newest = newer(checkpoint, outcome.checkpoint)
        idle = idle + 1 if newest is checkpoint else 0
        if idle == max_idle_epochs:
            raise outcome.ended[0]
        logger.warning("%s; a new epoch starts without %s", outcome.ended[0], outcome.unusable)
        checkpoint, unusable = newest, outcome.unusable


def survey(
    client: Client, partitions: Sequence[Future], unusable: set[str]
) -> tuple[Holders, list[str]]:
    """Wait for the partitions; return their holders, and the workers that can take a rank."""
    wait(list(partitions))
    for partition in partitions:
        if partition.status != "finished":
            partition.result()
    workers = workers_of(client)
    usable = [
        address
        for address, info in workers.items()
        if info["status"] == "running" and address not in unusable
    ]
    if not usable:
        raise EpochError("lost", -1, "the cluster has no running worker")
    return dict(client.who_has(list(partitions))), sorted(usable)


def workers_of(client: Client) -> dict[str, Any]:
    """Return what the scheduler has about each worker, freshly."""
    return client.sync(client.scheduler.identity, n_workers=-1)["workers"]  # type: ignore[no-any-return]


def assign(
    partitions: Sequence[Future], holders: Holders, usable: Sequence[str]
) -> dict[str, list[int]]:
    """Give each partition to the usable holder with the fewest, or to any if there is none.

    Dask moves a partition to its worker if the worker does not hold it.
    """
    assignment: dict[str, list[int]] = {address: [] for address in usable}
    for index, partition in enumerate(partitions):
        candidates = [
            address for address in holders.get(partition.key, ()) if address in assignment
        ] or usable
        address = min(candidates, key=lambda candidate: (len(assignment[candidate]), candidate))
        assignment[address].append(index)
    return {address: indices for address, indices in assignment.items() if indices}


class EpochRun:
    """One epoch on the client.

    Parameters
    ----------
    client : Client
        The client.
    assignment : dict of str to list of int
        The partitions of each worker.
    limits : Limits
        The time limits.
    direct : bool
        Whether the training uses the sockets of Dask's comms.
    copies : RoundCopies or None
        The rounds that the client keeps.
    """

    def __init__(
        self,
        client: Client,
        assignment: dict[str, list[int]],
        limits: Limits,
        direct: bool,
        copies: RoundCopies | None = None,
    ) -> None:
        self.client, self.assignment, self.limits, self.direct = client, assignment, limits, direct
        self.copies = copies
        self.name = uuid.uuid4().hex
        self.pending: dict[str, Future] = {}
        self.outcome = Outcome()
        self._heartbeats: dict[str, tuple[float, float]] = {}  # the last one, and since when
        self._fetch_seconds: dict[str, float] = {}

    def run(
        self,
        partitions: list[Future],
        holders: Holders,
        train: Training,
        checkpoint: Checkpoint | None,
    ) -> Outcome:
        """Run the epoch to its end; an interrupt cancels its ranks. The partitions are released."""
        try:
            with dask.config.set(LARGE_ARGUMENTS):
                self._submit(partitions, holders, train, checkpoint)
            self._collect(partitions)
        finally:
            if self.copies is not None:
                self.copies.stop()
            self.client.cancel(list(self.pending.values()))
            self.pending = {}
            for event in (self.name, read_event(self.name)):
                with suppress(OSError):
                    self.client.sync(self.client.scheduler.event_clear, name=event)
        if self.copies is not None:
            self.copies.add(self.outcome.checkpoint)
            self.outcome.checkpoint = self.copies.newest
        if not self.outcome.unusable:
            self._exclude_unreachable()
        return self.outcome

    def _submit(
        self,
        partitions: Sequence[Future],
        holders: Holders,
        train: Training,
        checkpoint: Checkpoint | None,
    ) -> None:
        addresses = list(self.assignment)
        for rank, (address, indices) in enumerate(self.assignment.items()):
            own = [partitions[index] for index in indices]
            spec = RankSpec(self.name, rank, addresses, indices, self.limits, self.direct)
            self.pending[address] = self.client.submit(
                run_rank,
                spec,
                train,
                [Held(p.key) if address in holders.get(p.key, ()) else p for p in own],
                checkpoint,
                key=spec.key,
                workers=[address],
                allow_other_workers=False,
                priority=PRIORITY,
                pure=False,
            )

    def _collect(self, partitions: list[Future]) -> None:
        """Wait until every rank has reported or is lost, or the time to report is over.

        The partitions are released as soon as all ranks have read them.
        """
        check_at = time.monotonic()
        survey_at, give_up_at = time.monotonic() + SURVEY_SECONDS, float("inf")
        while self.pending and time.monotonic() < give_up_at:
            time.sleep(POLL_SECONDS)
            self._take_reports()
            self._copy_rounds()
            now = time.monotonic()
            if partitions and now >= check_at:
                check_at = now + READ_CHECK_SECONDS
                if self._all_have_read():
                    partitions.clear()
            if (self.outcome.ended or self.outcome.results) and give_up_at == float("inf"):
                survey_at, give_up_at = now, now + REPORT_SECONDS
            if self.pending and now >= survey_at:
                self._find_lost()
                survey_at = now + SURVEY_SECONDS

    def _copy_rounds(self) -> None:
        """Keep the new rounds of rank 0, unless it has reported."""
        address = next(iter(self.assignment))
        if self.copies is not None and address in self.pending:
            self.copies.poll(self.pending[address].key, address)

    def _all_have_read(self) -> bool:
        name = read_event(self.name)
        return bool(self.client.sync(self.client.scheduler.event_is_set, name=name))

    def _take_reports(self) -> None:
        for address, future in list(self.pending.items()):
            if future.status == "cancelled" and self.client.status != "running":
                raise ConnectionError("the connection to the scheduler was lost")
            if future.status == "pending":
                continue
            seconds = self._fetch_seconds.get(address, FETCH_SECONDS)
            try:
                report = future.result(timeout=seconds)
            except TimeoutError:  # its worker is lost, or slow
                self._fetch_seconds[address] = 2 * seconds
                continue
            self.outcome.add(report, address)
            del self.pending[address]

    def _find_lost(self) -> None:
        """Take ranks for lost whose worker is removed, or silent for scheduler and peers."""
        workers = workers_of(self.client)
        newest = max((info["last_seen"] for info in workers.values()), default=0.0)
        for address, future in list(self.pending.items()):
            info = workers.get(address)
            if info is None:
                self._lose(address, future, "the scheduler removed the worker")
            elif self._is_silent(address, info["last_seen"], newest):
                self._evict(address)
                self._lose(address, future, "the worker is silent")

    def _is_silent(self, address: str, last_seen: float, newest: float) -> bool:
        """Return whether a worker has sent no heartbeat for too long.

        Its peers must have lost it, too. The only rank has none, nor has one whose peers have all
        reported: then its heartbeat must not have changed for the whole time.
        """
        before, since = self._heartbeats.get(address, (-1.0, 0.0))
        if last_seen != before:
            since = time.monotonic()
            self._heartbeats[address] = last_seen, since
        if self.outcome.ended:
            return newest - last_seen > STALE_SHARE * self.limits.silence
        alone = len(self.pending) == 1
        return alone and time.monotonic() - since > self.limits.silence

    def _exclude_unreachable(self) -> None:
        """Exclude the rank that most ranks cannot reach although its worker lives."""
        lost = Counter(e.rank for e in self.outcome.ended if e.kind == "lost" and e.rank >= 0)
        for rank, _ in lost.most_common(1):
            self.outcome.unusable.add(list(self.assignment)[rank])

    def _lose(self, address: str, future: Future, cause: str) -> None:
        rank = list(self.assignment).index(address)
        self.outcome.ended.append(EpochError("lost", rank, f"{address}: {cause}"))
        self.outcome.unusable.add(address)
        self.client.cancel([future])
        del self.pending[address]

    def _evict(self, address: str) -> None:
        """Remove a silent worker from the cluster, so that Dask computes its partitions elsewhere.

        Dask itself removes it after ``distributed.scheduler.worker-ttl`` only, five minutes by
        default.
        """
        logger.warning("worker %s is silent and is removed from the cluster", address)
        self.client.sync(
            self.client.scheduler.unregister,
            address=address,
            stimulus_id=f"stagewise-evict-{self.name}",
            close=True,
        )
