"""Measure training on a Dask cluster against the peers (what ``make cluster-bench`` runs).

Three parts: sums of vectors over the workers alone (``sums``), fits of few rows, which show the
overhead per tree (``overhead``), and fits of many rows, against the fit in one process and against
the Dask estimators of XGBoost and LightGBM (``fits``). Contenders take turns; each turn is a
process of its own that starts a cluster of its own. Results of parts that are not measured are
kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402
from goals import goal_facts  # noqa: E402
from page import find_goals, page  # noqa: E402
from turns import package_versions, take_turns  # noqa: E402

PARTS = ("sums", "overhead", "fits")
WORKERS = (2, 4)
PROTOCOLS = ("tcp", "tls")
CONTAINERS = ("frame", "array")
LIBRARIES = ("local", "stagewise", "xgboost", "lightgbm")


def turns_of(part: str, args: argparse.Namespace) -> list[str]:
    """Return the names of the turns of a part: library, protocol, workers, container."""
    if part == "fits":
        return [
            f"{library}-tcp-{args.fit_workers}-{container}"
            for container in args.containers
            for library in args.libraries
        ]
    clusters = [f"{protocol}-{n}-array" for n in args.workers for protocol in args.protocols]
    if part == "sums":
        return [f"sums-{cluster}" for cluster in clusters]
    local = [f"local-tcp-{n}-array" for n in args.workers]
    return [*local, *(f"stagewise-{cluster}" for cluster in clusters)]


def job_arguments(part: str, args: argparse.Namespace, name: str) -> list[str]:
    """Return the arguments of a turn, from the script on."""
    library, protocol, workers, container = name.split("-")
    rows, trees, fits = args.rows, args.trees, 1
    if part == "overhead":
        rows, trees, fits = args.rows_per_rank * int(workers), args.overhead_trees, args.fits
    numbers = {"rows": rows, "trees": trees, "workers": workers, "fits": fits}
    argv = [__file__, "--child", library, "--protocols", protocol, "--containers", container]
    for key, number in numbers.items():
        argv += [f"--{key}", str(number)]
    return argv


def run_child(args: argparse.Namespace) -> dict[str, Any]:
    from fits import Job, run_library, run_local, run_sums

    job = Job(
        args.rows, args.trees, args.workers[0], args.protocols[0], args.containers[0], args.fits
    )
    if args.child == "sums":
        return run_sums(job)
    return run_local(job) if args.child == "local" else run_library(args.child, job)


def measure(args: argparse.Namespace, results: dict[str, Any]) -> None:
    """Measure the parts; the results are stored after each."""
    for part in args.parts:
        for doubt in machine.check_quiet(load_too=True):
            print(f"WARNING: the machine is busy ({doubt})", file=sys.stderr)
        results["parts"][part] = take_turns(
            turns_of(part, args),
            args.repeats,
            partial(job_arguments, part, args),
            time_limit=args.time_limit,
        ) | {"settings": settings_of(part, args)}
        store(args.out, results)


def settings_of(part: str, args: argparse.Namespace) -> dict[str, Any]:
    keys = {
        "sums": ("repeats",),
        "overhead": ("repeats", "rows_per_rank", "overhead_trees", "fits"),
        "fits": ("repeats", "rows", "trees", "fit_workers"),
    }
    return {key: getattr(args, key) for key in keys[part]}


def store(folder: Path, results: dict[str, Any]) -> None:
    results["goals"] = goal_facts(find_goals(results))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "RESULTS.md").write_text(page(results))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add = parser.add_argument
    add("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    add("--repeats", type=int, default=3)
    add("--rows", type=int, default=4_000_000, help="of the fits of many rows")
    add("--trees", type=int, default=50, help="of the fits of many rows")
    add("--fit-workers", type=int, default=2, help="of the fits of many rows")
    add("--rows-per-rank", type=int, default=20_000, help="of the fits of few rows")
    add("--overhead-trees", type=int, default=50, help="of the fits of few rows")
    add("--fits", type=int, default=5, help="fits of few rows on each cluster; the median counts")
    add("--workers", nargs="+", type=int, default=list(WORKERS), help="of fits of few rows, sums")
    add("--protocols", nargs="+", default=list(PROTOCOLS), choices=PROTOCOLS)
    add("--containers", nargs="+", default=list(CONTAINERS), choices=CONTAINERS)
    add("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    add("--time-limit", type=float, default=900.0, help="of a turn, in seconds")
    add("--out", type=Path, default=HERE, help="where the results are written")
    add("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    args = parse()
    if args.child:
        print(json.dumps(run_child(args)))
        return
    path = args.out / "results.json"
    earlier = json.loads(path.read_text())["parts"] if path.exists() else {}
    results = {
        "machine": machine.describe(package_versions("dask", "distributed")),
        "parts": earlier,
    }
    measure(args, results)
    print(page(results))


if __name__ == "__main__":
    main()
