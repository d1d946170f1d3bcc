"""Measure training from Parquet files against the peers (what ``make out-of-core`` runs).

A seeded table is written as Parquet files. Stagewise trains on it in memory, and from the files
with memory limits; XGBoost from an ``ExtMemQuantileDMatrix``, LightGBM from a ``Sequence``, both of
which read the same files. The first turn measures the memory that the fit in memory needs. Every
turn is a process of its own; the time is that of the whole fit, reading included.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402
from contenders import (  # noqa: E402
    BINS,
    LEAVES,
    Clock,
    Job,
    Predict,
    fit_lightgbm,
    fit_stagewise,
    fit_xgboost,
)
from goals import Goal, goal_facts, goal_table  # noqa: E402
from synthetic import FEATURES, TARGET, TEST_BLOCK, block_sizes, log_loss, make_arrow  # noqa: E402
from turns import (  # noqa: E402
    machine_line,
    medians,
    package_versions,
    peak_memory,
    quiet_line,
    run_turn,
    take_turns,
)

FILE_ROWS, GROUP_ROWS, TEST_ROWS = 1_000_000, 250_000, 200_000
STORE_BYTES = 32 + 4 + 8 + 8 + 4
"""What a store has for each row: codes (28, padded), target, score, gradients, row lists."""
LEAST_LIMIT = 128 * 2**20
DEPTH_WISE = {"grow_policy": "depthwise", "max_depth": 5}
BEST_FIRST = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": LEAVES}

Fit = Callable[[Job, Clock], Predict]
CONTENDERS: dict[str, Fit] = {
    "memory": partial(fit_stagewise, in_memory=True),
    "limited": partial(fit_stagewise, in_memory=False),
    "strict": partial(fit_stagewise, in_memory=False),
    "xgboost": partial(fit_xgboost, growth=DEPTH_WISE),
    "xgboost-best-first": partial(fit_xgboost, growth=BEST_FIRST),
    "lightgbm": fit_lightgbm,
}
LABELS = {
    "memory": "Stagewise, in memory",
    "limited": "**Stagewise**, from files, limit {limited}",
    "strict": "**Stagewise**, from files, limit {strict}",
    "xgboost": "XGBoost, `ExtMemQuantileDMatrix`, depth-wise (32 leaves)",
    "xgboost-best-first": "XGBoost, `ExtMemQuantileDMatrix`, best-first",
    "lightgbm": "LightGBM, `Sequence`",
}
GOALS = {"xgboost": ("XGBoost", 3.0), "lightgbm": ("LightGBM", 2.0)}
LIMIT_KINDS = {"limited": "¼ of the fit in memory", "strict": "¼ of the codes and state"}
MEMORY_GOAL = 2.0


def write_table(folder: Path, first_block: int, n_rows: int) -> None:
    """Write the rows, at most one million to a file."""
    import pyarrow.parquet as pq

    folder.mkdir()
    for number, size in enumerate(block_sizes(n_rows, -(-n_rows // FILE_ROWS))):
        table = make_arrow(first_block + number, size)
        pq.write_table(table, folder / f"{number:04d}.parquet", row_group_size=GROUP_ROWS)


def run_child(name: str, job: Job) -> dict[str, float]:
    """Train once; return times, the peak memory and the loss of new rows."""
    import pyarrow.parquet as pq

    clock = Clock()
    predict = CONTENDERS[name](job, clock)
    facts = clock.seconds() | {"peak_mb": peak_memory(), "imported_mb": clock.imported_mb}
    table = pq.read_table(job.folder.parent / "test")
    loss = log_loss(table.column(TARGET).to_numpy(), predict(table))
    return facts | {"log_loss": loss}


def drop_from_cache(folder: Path) -> None:
    """Remove the files from the page cache."""
    for path in folder.glob("*.parquet"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def child_argv(
    args: argparse.Namespace, folder: Path, limits: dict[str, int], name: str
) -> list[str]:
    argv = [__file__, "--child", name, "--folder", str(folder), "--trees", str(args.trees)]
    argv += ["--threads", str(args.threads)]
    return argv + (["--limit", str(limits[name])] if name in limits else [])


def measure(args: argparse.Namespace, top: Path) -> dict[str, Any]:
    """Write the table, find the limits and run the contenders."""
    folder = top / "train"
    write_table(folder, 0, args.rows)
    write_table(top / "test", TEST_BLOCK, TEST_ROWS)
    os.environ["TMPDIR"] = str(top)  # pages of XGBoost and our file are on the same disk
    needed = run_turn(child_argv(args, folder, {}, "memory"), args.time_limit)
    if needed is None:
        raise SystemExit("The fit in memory failed, so there is no limit to choose.")
    limits = {
        "limited": max(LEAST_LIMIT, int(needed["peak_mb"] * 2**20) // 4),
        "strict": max(LEAST_LIMIT, args.rows * STORE_BYTES // 4),
    }
    print(f"in memory: {needed}; limits: {limits}", file=sys.stderr)
    before = partial(drop_from_cache, folder) if args.cold else lambda: None
    argv = partial(child_argv, args, folder, limits)
    results = take_turns(
        args.contenders, args.repeats, argv, before=before, time_limit=args.time_limit
    )
    results["needed"], results["limits"] = needed, limits
    results["bytes_of_files"] = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    return results


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    keys = ("rows", "trees", "threads", "repeats", "cold")
    return {key: getattr(args, key) for key in keys}


def limits_in_mb(results: dict[str, Any]) -> dict[str, str]:
    return {name: f"{limit / 2**20:.0f} MB" for name, limit in results["limits"].items()}


def about(results: dict[str, Any]) -> str:
    """Return how the figures were measured."""
    settings, mb = results["settings"], limits_in_mb(results)
    cache = (
        "were dropped from the page cache before each turn"
        if settings["cold"]
        else "were just written, so they are in the page cache as far as memory permits"
    )
    return (
        f"Written by `make out-of-core`; edits are overwritten. {settings['rows']:,} rows × "
        f"{FEATURES} float32 ({results['bytes_of_files'] / 1e9:.2f} GB of Parquet), "
        f"{settings['trees']} trees of {LEAVES} leaves, {BINS} bins, {settings['threads']} "
        f"threads; medians of {settings['repeats']} interleaved turns. The fit in memory needs "
        f"{results['needed']['peak_mb']:.0f} MB; a quarter of it is the limit of one contender "
        f"({mb['limited']}), a quarter of the codes and the state of the rows that of another "
        f"({mb['strict']}). The files {cache}. The file of Stagewise and the pages of XGBoost are "
        "written and read through the page cache."
    )


def page(results: dict[str, Any]) -> str:
    """Return RESULTS.md."""
    own, mb = medians(results["entries"]), limits_in_mb(results)
    lines = [
        "# Training from Parquet files",
        "",
        about(results),
        "",
        quiet_line(results["foreign"]),
        "",
        machine_line(results["machine"]),
        "",
        (
            "Times in seconds; the rounds are boosting alone. Peak memory of the process in MB: "
            "resident, beyond that of the imported libraries, and without pages of files."
        ),
        "",
        (
            "| | whole fit | rounds | time ÷ in memory | resident | beyond imports | anonymous | "
            "log loss |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    base = own.get("memory", {}).get("seconds", float("nan"))
    for name, m in own.items():
        lines.append(
            f"| {LABELS[name].format(**mb)} | {m['seconds']:.1f} | {m['rounds_seconds']:.1f} | "
            f"{m['seconds'] / base:.2f} | {m['peak_mb']:.0f} | "
            f"{m['peak_mb'] - m['imported_mb']:.0f} | {m['anonymous_mb']:.0f} | "
            f"{m['log_loss']:.5f} |"
        )
    return "\n".join([*lines, "", *goal_table(find_goals(own))]) + "\n"


def find_goals(own: dict[str, dict[str, float]]) -> list[Goal]:
    """Return the goals of both limits; of XGBoost's two ways the faster one counts."""
    goals = []
    for limit, kind in LIMIT_KINDS.items():
        if limit not in own:
            continue
        seconds = own[limit]["seconds"]
        if "memory" in own:
            ratio = seconds / own["memory"]["seconds"]
            goals.append(Goal(f"time ÷ in memory, limit {kind}", MEMORY_GOAL, ratio, least=False))
        for library, (name, goal) in GOALS.items():
            times = [m["seconds"] for key, m in own.items() if key.startswith(library)]
            if times:
                goals.append(Goal(f"{name} ÷ ours, limit {kind}", goal, min(times) / seconds))
    return goals


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(machine.usable_cpus()))
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS), choices=CONTENDERS)
    parser.add_argument("--folder", type=Path, help="for the table (default: a temporary one)")
    parser.add_argument("--cold", action="store_true", help="files are read from the disk")
    parser.add_argument("--time-limit", type=float, default=1800.0, help="of a turn, in seconds")
    parser.add_argument("--out", type=Path, default=HERE, help="where the results are written")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    args = parse()
    if args.child:
        job = Job(args.folder, args.trees, args.threads, args.limit)
        print(json.dumps(run_child(args.child, job)))
        return
    for doubt in machine.check_quiet(load_too=True):
        print(f"WARNING: the machine is busy ({doubt})", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="out-of-core-", dir=args.folder) as top:
        results = measure(args, Path(top))
    results["settings"], results["machine"] = (
        settings_of(args),
        machine.describe(package_versions()),
    )
    results["goals"] = goal_facts(find_goals(medians(results["entries"])))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (args.out / "RESULTS.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
