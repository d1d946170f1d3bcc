"""Measure models of survival times: ``python benchmarks/survival/run.py DATA``.

DATA is a folder with the tables surv_*.parquet. The results are written to results.json and
RESULTS.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from contenders import CONTENDERS, Fitted, Rows
from tables import TABLES, read_table, split

from report import write_report
from stagewise.kaplan_meier import KaplanMeier
from stagewise.metrics.survival import brier_scores, concordance, time_mean, uno_weights

HERE = Path(__file__).parent
SPLITS = 10
TIMES = 50
"""The number of times of the integrated Brier score."""
TURNS, SHORT = 5, 0.5
"""The turns of a fit, and the seconds from which there is one turn."""


def measure(name: str, train: Rows, held: Rows, seed: int) -> dict[str, float]:
    """Return the seconds of the processor in a fit, and the quality of its predictions."""
    predict, seconds = _timed(name, train, seed)
    censoring = KaplanMeier.of(None, train.time, train.event, censoring=True)
    limit = float(np.quantile(train.time, 0.9))
    times = np.linspace(*np.quantile(train.time[train.event], [0.1, 0.9]), TIMES)
    found = predict(held, times)
    weights = uno_weights(censoring, held.time, held.event, limit)
    brier = brier_scores(censoring, held.time, held.event, found.survival, times)
    return {
        "seconds": seconds,
        "harrell": concordance(held.time, held.event, found.risk),
        "uno": concordance(held.time, held.event, found.risk, event_weight=weights),
        "brier": time_mean(brier, times),
    }


def _timed(name: str, train: Rows, seed: int) -> tuple[Fitted, float]:
    """Return a fit and its seconds; of a short one, the least of several turns."""
    least = np.inf
    for _ in range(TURNS):
        began = time.process_time()
        predict = CONTENDERS[name](train, seed)
        seconds = time.process_time() - began
        least = min(least, seconds)
        if seconds > SHORT:
            break
    return predict, least


def main() -> None:
    """Measure every library on every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--contenders", nargs="*", default=list(CONTENDERS))
    given = parser.parse_args()
    path = HERE / "results.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for table in given.tables:
        rows = read_table(given.data, table)
        for seed in range(given.splits):
            train, held = split(rows, seed)
            for name in given.contenders:
                own = results.setdefault(table, {}).setdefault(name, {})
                own[str(seed)] = measure(name, train, held, seed)
        path.write_text(json.dumps(results, indent=1) + "\n")
    write_report(results, HERE / "RESULTS.md")


if __name__ == "__main__":
    main()
