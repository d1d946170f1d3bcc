"""Measure rankers against the peers: ``python benchmarks/ranking/run.py DATA``.

DATA is a folder with lightgbm_rank.parquet and catboost_querywise.parquet. In every seed another
third of the queries is held out. NDCG@10 is averaged over the seeds for each query, and libraries
are compared query by query. Fits take turns; the time is the CPU seconds of one thread, which other
processes of the machine hardly change, and the least of the seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from contenders import CONTENDERS, WITH_POSITIONS, library_of
from tables import NAMES, Queries, read

from stagewise import ranking_target
from stagewise.metrics.queries import RankedQueries
from stagewise.training.reading.query_reader import QueryReader

HERE = Path(__file__).parent
K = 10
OURS = next(iter(CONTENDERS))


def ndcg(rows: Queries, score: Any) -> dict[int, float]:
    """Return NDCG@10 of every query with a relevant row."""
    target = ranking_target(rows.truth, qid=rows.qid)
    y = QueryReader("benchmark").read(target, None, len(rows.truth)).y
    ranked = RankedQueries.of(y, np.asarray(score, dtype=np.float64).reshape(-1))
    names = np.unique(rows.qid)
    values = ranked.values("ndcg", K)
    return {int(q): float(v) for q, v in zip(names, values, strict=True) if np.isfinite(v)}


def measure(table: str, folder: Path, trees: int, seeds: int) -> dict[str, Any]:
    """Return NDCG@10 by contender and query, and the seconds of fits."""
    rows = read(table, folder)
    contenders = dict(CONTENDERS) | (WITH_POSITIONS if rows.position is not None else {})
    found: dict[str, dict[int, list[float]]] = {name: {} for name in contenders}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for seed in range(seeds):
        train, held = rows.split(seed)
        order = np.random.default_rng(seed).permutation(list(contenders))
        for name in order:
            began = time.process_time()
            predict = contenders[str(name)](train, trees, seed, 1)
            seconds[str(name)].append(time.process_time() - began)
            for q, value in ndcg(held, predict(held.X)).items():
                found[str(name)].setdefault(q, []).append(value)
        print(table, trees, f"seed {seed}", file=sys.stderr, flush=True)
    means = {name: {q: float(np.mean(v)) for q, v in own.items()} for name, own in found.items()}
    return {
        "rows": len(rows.qid),
        "seeds": seeds,
        "queries": len(np.unique(rows.qid)),
        "ndcg": {name: float(np.mean(list(own.values()))) for name, own in means.items()},
        "difference": {name: _difference(means, name) for name in contenders if name != OURS},
        "seconds": {name: min(own) for name, own in seconds.items()},
    }


def _difference(means: dict[str, dict[int, float]], other: str) -> list[float]:
    """Return ours minus theirs, paired by query, and its standard error."""
    own = np.array([means[OURS][q] - means[other][q] for q in means[OURS]])
    return [float(own.mean()), float(own.std(ddof=1) / np.sqrt(len(own)))]


def report(results: dict[str, Any]) -> str:
    """Return the page RESULTS.md."""
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [
        "# Rankings",
        "",
        "<!-- written by benchmarks/ranking/run.py -->",
        "",
        f"NDCG@{K} of held-out queries, random thirds of them, learning rate 0.1, 31 leaves",
        "(CatBoost: depth 5; Stagewise: its default, symmetric trees of 16 leaves with fewer",
        "than 10,000 training rows, else of 64). The difference is that of",
        "Stagewise's default loss (ndcg) minus the other one, paired by query, ± its standard",
        "error. The time is that of one thread in CPU seconds, the least of the seeds.",
        f"Versions: {versions}.",
        "",
    ]
    for key, own in results["tables"].items():
        best = max((v, n) for n, v in own["ndcg"].items() if library_of(n) != "Stagewise")
        fastest = min((v, n) for n, v in own["seconds"].items() if library_of(n) != "Stagewise")
        ratio = fastest[0] / own["seconds"][OURS]
        lines += [
            f"## {key}",
            "",
            f"{own['rows']} rows of {own['queries']} queries, {own['seeds']} seeds.",
            f"The best peer is {best[1]}, the fastest {fastest[1]}: {ratio:.1f} times the seconds",
            f"of {OURS}.",
            "",
            f"| | NDCG@{K} | ours minus this one | seconds |",
            "|---|---|---|---|",
        ]
        for name, value in own["ndcg"].items():
            paired = own["difference"].get(name)
            text = "" if paired is None else f"{paired[0]:+.4f} ± {paired[1]:.4f}"
            lines.append(f"| {name} | {value:.4f} | {text} | {own['seconds'][name]:.2f} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark, or write the page again with --report-only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--tables", nargs="+", default=NAMES)
    parser.add_argument("--trees", nargs="+", type=int, default=[100, 300])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--report-only", action="store_true")
    given = parser.parse_args()
    path = HERE / "results.json"
    known = json.loads(path.read_text()) if path.exists() else {"tables": {}}
    if not given.report_only:
        libraries = ("lightgbm", "xgboost", "catboost")
        known["versions"] = {name: import_module(name).__version__ for name in libraries}
        for table in given.tables:
            for trees in given.trees:
                own = measure(table, given.data, trees, given.seeds)
                known["tables"][f"{table}, {trees} trees"] = own
                path.write_text(json.dumps(known, indent=1) + "\n")
    (HERE / "RESULTS.md").write_text(report(known))


if __name__ == "__main__":
    main()
