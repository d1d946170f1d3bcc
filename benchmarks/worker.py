"""A process that imports one library and runs one job at a time.

Jobs arrive as lines of JSON and results leave as lines of JSON, so libraries never share a process,
a thread pool or an allocator, and an idle worker uses no CPU. What is measured is decided in
measure.py.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from cases import Table, surface_table
from machine import ForeignTime
from peers import HUBER_WIDTH, PEERS, QUANTILE, TWEEDIE_POWER, Peer, Work
from scipy import sparse

ONE_ROW_CALLS = 2000
ONE_ROW_ROWS = 256


class Jobs:
    """The table in memory, and the jobs that use it."""

    def __init__(self) -> None:
        self.peers: dict[str, Peer] = {}
        self.table: Table | None = None
        self.models: dict[str, Any] = {}

    def hello(self, peer: str) -> dict[str, Any]:
        """Import the library and train a few trees, so that nothing is lazily loaded later."""
        self.peers[peer] = PEERS[peer]()
        offered = PEERS[peer]
        if "fit" in offered.kinds and offered.offers("usual", "squared_error"):
            X, y = surface_table(500, 12, 0)
            for variant in offered.variants:
                self.peers[peer].fit(X, y, Work("regression", "squared_error", 0, 3, 1, 0, variant))
        return {"version": self.peers[peer].version()}

    def load(self, folder: str) -> dict[str, Any]:
        """Read a table into memory (the previous one is freed first)."""
        self.drop()
        self.table = Table(*(read_part(Path(folder), name) for name in Table._fields))
        return {}

    def drop(self) -> dict[str, Any]:
        """Free the table and the models."""
        self.table = None
        self.models.clear()
        gc.collect()
        return {}

    def fit(self, peer: str, **work: Any) -> dict[str, Any]:
        """Train once; return seconds, held-out loss, and peak memory beyond the memory before."""
        table = self._table()
        work_settings = Work(**work)
        rows, others = (
            self.peers[peer].feed(X, work_settings) for X in (table.X_train, table.X_test)
        )
        gc.collect()
        before = _reset_peak()
        with ForeignTime() as foreign:
            start = time.perf_counter()
            model = self.peers[peer].fit(rows, table.y_train, work_settings)
            seconds = time.perf_counter() - start
        peak = _peak() - before
        prediction = self.peers[peer].predict(model, others, work_settings)
        return {
            "seconds": seconds,
            "loss": held_out_loss(work_settings.loss, table.y_test, prediction),
            "peak_mb": peak / 2**20,
            "foreign": foreign.seconds,
            "capacity": foreign.capacity,
        }

    def one_row(self, peer: str, **work: Any) -> dict[str, Any]:
        """Predict single rows in turn; return the median time of a call in nanoseconds."""
        table = self._table()
        work_settings = Work(**work)
        if peer not in self.models:
            self.models[peer] = self.peers[peer].fit(table.X_train, table.y_train, work_settings)
        predict = self.peers[peer].one_row(self.models[peer], work_settings)
        rows = [row[None, :].astype(np.float64) for row in table.X_test[:ONE_ROW_ROWS]]
        times = np.empty(ONE_ROW_CALLS, dtype=np.int64)
        clock = time.perf_counter_ns
        gc.collect()
        with ForeignTime() as foreign:
            for call in range(ONE_ROW_CALLS):
                x = rows[call % ONE_ROW_ROWS]
                start = clock()
                predict(x)
                times[call] = clock() - start
        return {
            "ns": float(np.median(times)),
            "foreign": foreign.seconds,
            "capacity": foreign.capacity,
        }

    def _table(self) -> Table:
        if self.table is None:
            raise RuntimeError("no table was loaded")
        return self.table


def read_part(folder: Path, name: str) -> Any:
    """Read one part of a table, which is sparse if it was saved as a sparse matrix."""
    path = folder / f"{name}.npz"
    return sparse.load_npz(path) if path.exists() else np.load(folder / f"{name}.npy")


def held_out_loss(loss: str, y: np.ndarray, prediction: np.ndarray) -> float:
    """Mean loss in float64; the root for squared error, the deviance for positive losses."""
    f = np.asarray(prediction, dtype=np.float64)
    if loss in ("log_loss", "exponential", "adaboost"):
        return _class_loss(loss, y, f)
    if f.ndim == 2 and y.ndim == 1 and f.shape[1] > 1:  # class probabilities and class codes
        y = np.eye(f.shape[1])[y]
    f, y = f.reshape(y.shape), y.astype(np.float64)
    away = np.abs(y - f)
    if loss == "squared_error":
        return float(np.sqrt(np.mean(away**2)))
    if loss == "absolute_error":
        return float(np.mean(away))
    if loss == "huber":
        near = np.minimum(away, HUBER_WIDTH)
        return float(np.mean(near * (away - near / 2.0)))
    if loss == "quantile":
        return float(np.mean(np.where(y > f, QUANTILE, 1.0 - QUANTILE) * away))
    from sklearn.metrics import mean_tweedie_deviance

    power = {"poisson": 1.0, "tweedie": TWEEDIE_POWER, "gamma": 2.0}[loss]
    return float(mean_tweedie_deviance(y, f, power=power))


def _class_loss(loss: str, y: np.ndarray, p: np.ndarray) -> float:
    if loss == "adaboost":
        return float(np.mean((p > 0.5) != y))
    if p.ndim == 1:
        p = np.column_stack([1.0 - p, p])
    right = np.clip(p[np.arange(len(y)), y] / p.sum(axis=1), 1e-15, 1.0)
    if loss == "exponential":  # e^(-yF) with F = half the log odds
        return float(np.mean(np.sqrt((1.0 - right) / right)))
    return float(-np.mean(np.log(right)))


def _status(key: str) -> int | None:
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _reset_peak() -> int:
    """Reset the peak memory, where the system can; return the memory in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _status("VmRSS") or _peak()
    return _status("VmRSS") or _peak()


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> None:
    # Libraries may print to stdout; results go through a copy of it.
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    jobs = Jobs()
    for line in sys.stdin:
        job = json.loads(line)
        try:
            result = getattr(jobs, job.pop("do"))(**job)
        except Exception as error:  # any exception of a library is reported as a result
            last = traceback.format_exc(limit=-2)
            result = {"error": f"{type(error).__name__}: {error}", "traceback": last}
        print(json.dumps(result), file=output)


if __name__ == "__main__":
    main()
