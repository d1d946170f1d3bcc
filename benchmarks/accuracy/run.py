"""Measure the accuracy of contenders on the tables of a folder (`make accuracy DATA=folder`).

A figure is the loss of one contender on one split of one table, with the times of fit and predict.
Each contender has one file in results/; a figure that is in it is not measured again, so a run can
be interrupted. Tables run in parallel, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["RESULTS", "Figure", "Store", "loss_of", "measure"]

RESULTS = Path(__file__).parent / "results"
TABLES = "tables.json"
SPLITS = 3
MOST_ROWS = 12_000


@dataclass(frozen=True)
class Figure:
    """The loss of a contender on a split of a table, and its times in seconds.

    A time is None if other work ran on the machine.
    """

    loss: float
    fit_seconds: float | None
    predict_seconds: float | None
    version: str


def loss_of(task: str, model: Any, X: Any, y: np.ndarray) -> float:
    """Return the log loss, or the root mean squared error in standard deviations of y."""
    if task == "regression":
        return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)) / y.std())
    p = np.clip(np.asarray(model.predict_proba(X), dtype=np.float64), 1e-15, 1.0)
    p /= p.sum(axis=1, keepdims=True)
    return float(-np.log(p[np.arange(len(y)), y]).mean())


@dataclass(frozen=True)
class Store:
    """Entries by name, in a file with one line for each."""

    path: Path

    def read(self) -> dict[str, Any]:
        """Return all entries."""
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def add(self, entries: Mapping[str, Any]) -> None:
        """Add entries; the file is replaced at once, so that an interrupted run loses none."""
        found = self.read() | entries
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".new")
        lines = [f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found)]
        draft.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        draft.replace(self.path)


def measure(
    folder: Path, name: str, missing: Sequence[tuple[str, int]], threads: int, most_rows: int
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the facts of a table, and its figures by contender.

    Parameters
    ----------
    folder : Path
        The folder of the tables.
    name : str
        The table.
    missing : sequence of (contender, split)
        The figures to measure.
    threads : int
        The threads of a fit.
    most_rows : int
        The largest number of rows of a table.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    from contenders import CONTENDERS, Job, load_library, package_of
    from tables import read_table

    warnings.simplefilter("ignore")
    table = read_table(folder, name, most_rows)
    found: dict[str, dict[str, Any]] = {}
    for contender, split in missing:
        train, test = table.split(split)
        X, y = table.X.iloc[train], table.y[train]
        job = Job(name, split, table.task, X, y, threads, seed=split)
        load_library(contender)
        start = time.perf_counter()
        model = CONTENDERS[contender](job)
        fitted = time.perf_counter()
        loss = loss_of(table.task, model, table.X.iloc[test], table.y[test])
        times = round(fitted - start, 4), round(time.perf_counter() - fitted, 4)
        figure = Figure(loss, *times, version(package_of(contender)))
        found.setdefault(contender, {})[f"{name}/{split}"] = asdict(figure)
    return table.facts(), found


def main() -> None:
    """Measure what is missing, and write the report."""
    from contenders import CONTENDERS, TUNED, is_ready
    from tables import table_names

    from report import write_report

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with tables and their index.json")
    parser.add_argument("--only", nargs="+", help="names of tables")
    usual = [name for name in CONTENDERS if name != TUNED]
    parser.add_argument("--contenders", nargs="+", default=usual, choices=[*CONTENDERS])
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="most rows of a table")
    parser.add_argument("--jobs", type=int, default=2, help="tables at once")
    parser.add_argument("--threads", type=int, default=1, help="threads of each fit")
    parser.add_argument("--again", action="store_true", help="measure known figures once more")
    args = parser.parse_args()
    folder = RESULTS if args.rows == MOST_ROWS else RESULTS.with_name(f"results-{args.rows}")
    stores = {c: Store(folder / f"{c}.json") for c in args.contenders}
    known = {c: set() if args.again else set(store.read()) for c, store in stores.items()}
    with ProcessPoolExecutor(args.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        waiting = {}
        for name in reversed(args.only or table_names(args.data)):  # the largest first
            missing = [
                (c, s)
                for s in range(args.splits)
                for c in stores
                if f"{name}/{s}" not in known[c] and is_ready(c, name, s)
            ]
            if missing:
                job = pool.submit(measure, args.data, name, missing, args.threads, args.rows)
                waiting[job] = name
        for number, job in enumerate(as_completed(waiting), start=1):
            facts, found = job.result()
            Store(folder / TABLES).add({waiting[job]: facts})
            for contender, figures in found.items():
                stores[contender].add(figures)
            print(f"{number} of {len(waiting)}: {waiting[job]}", flush=True)
    print(write_report(folder))


if __name__ == "__main__":
    main()
