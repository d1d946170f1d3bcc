"""Start the worker processes, send them tables and jobs, and collect the results.

At most one worker has a job at any time. A worker that hangs or dies is replaced and its job is
reported as failed; the rest of the benchmark continues.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, Table
from peers import PEERS
from scipy import sparse

# Threads of the default OpenMP policy spin for some milliseconds after their work is done.
SETTLE_SECONDS = 0.05
START_TIMEOUT = 300.0
WORKER = Path(__file__).with_name("worker.py")

POLICIES: dict[str, dict[str, str]] = {
    "default": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "single": {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
}
_MEDDLERS = ("OMP_", "GOMP_", "KMP_", "RAYON_", "MKL_", "OPENBLAS_", "STAGEWISE_")


class JobError(Exception):
    """A job that gave no figures: the library raised, hung or died."""


class Worker:
    """One process holding one library under one policy."""

    def __init__(self, policy: str, *, verbose: bool = False) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(_MEDDLERS)}
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.DEVNULL,
            env=clean | POLICIES[policy],
        )
        self._rest = b""
        self.holds = ""

    def request(self, timeout: float, do: str, **job: Any) -> dict[str, Any]:
        """Send a job and wait for its result."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **job}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise JobError("the worker died") from None
        result: dict[str, Any] = json.loads(self._line(time.monotonic() + timeout, timeout))
        if "error" in result:
            raise JobError(result["error"])
        return result

    def _line(self, deadline: float, timeout: float) -> bytes:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.close()
                raise JobError(f"longer than {timeout:.0f} s")
            read = os.read(pipe, 1 << 16)
            if not read:
                raise JobError(f"the worker died (exit status {self._process.wait()})")
            self._rest += read
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    @property
    def alive(self) -> bool:
        """Whether the process can receive jobs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, even if a job is running."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class TableStore:
    """Tables on disk, made once by the driver and read into memory by each worker."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, case: Case, draw: int) -> Path:
        """Return the folder of a table, making it when it is not there."""
        path = self._folder / f"{case.name}-{case.rows}-{case.features}-{draw}"
        if not path.exists():
            path.mkdir(parents=True)
            for name, array in zip(Table._fields, case.table(draw), strict=True):
                if case.sparse and name.startswith("X_"):
                    sparse.save_npz(path / f"{name}.npz", array, compressed=False)
                else:
                    np.save(path / f"{name}.npy", array)
        return path

    def remove_all(self) -> None:
        """Remove all tables."""
        shutil.rmtree(self._folder, ignore_errors=True)


class Team:
    """All workers of a run, by library and policy, and the CPU time used by other processes."""

    def __init__(self, tables: TableStore, *, verbose: bool = False) -> None:
        self._tables = tables
        self._verbose = verbose
        self._workers: dict[tuple[str, str], Worker] = {}
        self._met: set[tuple[str, str]] = set()
        self.versions: dict[str, str] = {}
        self.foreign = self.capacity = 0.0

    def start_worker(self, peer: str, policy: str) -> Worker:
        """Return the worker of a peer, started and warmed up."""
        key = (PEERS[peer].package, policy)
        worker = self._workers.get(key)
        if worker is None or not worker.alive:
            worker = self._workers[key] = Worker(policy, verbose=self._verbose)
            self._met = {met for met in self._met if (PEERS[met[0]].package, met[1]) != key}
        if (peer, policy) not in self._met:
            result = worker.request(START_TIMEOUT, "hello", peer=peer)
            self.versions[PEERS[peer].package] = result["version"]
            self._met.add((peer, policy))
        return worker

    def request(
        self, timeout: float, do: str, peer: str, policy: str, case: Case, draw: int, **work: Any
    ) -> dict[str, Any]:
        """Run a job of a peer on a table of a case and return its result."""
        worker = self.start_worker(peer, policy)
        folder = str(self._tables.path(case, draw))
        if worker.holds != folder:
            worker.request(START_TIMEOUT, "load", folder=folder)
            worker.holds = folder
        time.sleep(SETTLE_SECONDS)
        shape = {
            "task": case.task,
            "loss": case.loss,
            "n_classes": case.n_classes,
            "way": case.way,
            "categories": list(case.categories),
            "trees": case.trees,
        }
        result = worker.request(timeout, do, peer=peer, **shape, **work)
        self.foreign += result["foreign"]
        self.capacity += result["capacity"]
        return result

    def foreign_share(self) -> float:
        """Return the share of the cores that others used in the jobs since the last call."""
        share = max(0.0, self.foreign / self.capacity) if self.capacity else 0.0
        self.foreign = self.capacity = 0.0
        return share

    def drop(self, peer: str, policy: str) -> None:
        """Free the table that a worker has in memory."""
        worker = self._workers.get((PEERS[peer].package, policy))
        if worker is not None and worker.alive:
            with suppress(JobError):
                worker.request(START_TIMEOUT, "drop")
            worker.holds = ""

    def close(self) -> None:
        """End all workers; the next job starts new ones."""
        for worker in self._workers.values():
            if worker.alive:
                worker.close()
        self._workers.clear()
        self._met.clear()
