"""Compare the default with that of LightGBM on tables with many rows: loss and time.

The fits of both take turns in one process, and the medians of their times are compared. Run it with
nothing else on the machine. The ratios are in many_rows.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, Job
from run import loss_of
from tables import read_table, table_names

BOTH = ("lightgbm", "stagewise")
LEAST_ROWS, MOST_ROWS = 60_000, 133_000


def compare(folder: Path, name: str, times: int, threads: int) -> dict[str, Any]:
    """Return the loss and the time of the default, divided by those of LightGBM."""
    table = read_table(folder, name, MOST_ROWS)
    train, test = table.split(0)
    job = Job(name, 0, table.task, table.X.iloc[train], table.y[train], threads, 0)
    seconds: dict[str, list[float]] = {contender: [] for contender in BOTH}
    losses: dict[str, float] = {}
    for contender in BOTH * times:
        start = time.perf_counter()
        model = CONTENDERS[contender](job)
        seconds[contender].append(time.perf_counter() - start)
        losses[contender] = loss_of(table.task, model, table.X.iloc[test], table.y[test])
    theirs, ours = (statistics.median(seconds[contender]) for contender in BOTH)
    return {
        "rows": len(train),
        "loss": round(losses["stagewise"] / losses["lightgbm"], 4),
        "time": round(ours / theirs, 2),
        "seconds": round(ours, 3),
    }


def main() -> None:
    """Compare all tables of a folder that have enough rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with tables and their index.json")
    parser.add_argument("--times", type=int, default=5, help="fits of each library")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    index = json.loads((args.data / "index.json").read_text())
    found = {}
    for name in table_names(args.data):
        if index[name]["rows"] >= LEAST_ROWS:
            found[name] = compare(args.data, name, args.times, args.threads)
            print(name, found[name], flush=True)
    lines = [f"{json.dumps(name)}: {json.dumps(figures)}" for name, figures in found.items()]
    Path(__file__).with_name("many_rows.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
