"""Measure predictions of Parquet files against the peers (what ``make scoring`` runs).

A seeded table is written as Parquet files, each library trains 100 trees of 31 leaves on a part of
it and predicts all rows from the files. The peers use the loop that their documentation suggests:
batches of pyarrow, one call of ``predict`` each. Libraries take turns; each turn is a process of
its own, and its peak memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402

FEATURES, TREES, LEAVES = 28, 100, 31
TRAINING_ROWS = 100_000
GROUP_ROWS = 1_000_000
BATCH_ROWS = 1 << 16
SEED = 1
GOAL = 3.0

LABELS = {
    "decoding": "pyarrow, decoding alone",
    "memory": "Stagewise, the model alone (rows in memory)",
    "stagewise": "**Stagewise**, `model.predict_proba(dataset)`",
    "command": "Stagewise, `stagewise predict`, with Parquet output",
    "lightgbm": "LightGBM, loop over Arrow batches",
    "lightgbm-numpy": "LightGBM, loop over numpy batches",
    "xgboost": "XGBoost, loop, `inplace_predict` of numpy batches",
    "xgboost-dmatrix": "XGBoost, loop, `DMatrix` of Arrow batches",
}
PEERS = ("lightgbm", "lightgbm-numpy", "xgboost", "xgboost-dmatrix")


# --- the table and the models -----------------------------------------------------------------


def make_rows(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 features and a binary target with interactions and noise."""
    X = rng.standard_normal((FEATURES, n_rows), dtype=np.float32)
    score = X[0] * X[1] + np.sin(3 * X[2]) + X[3] - 0.5 * X[4] ** 2 + 0.3 * X[5:10].sum(axis=0)
    return X, (score + rng.standard_normal(n_rows, dtype=np.float32) > 0).astype(np.int64)


def write_table(folder: Path, n_rows: int, n_files: int) -> None:
    """Write the files, and the models that are trained on the first rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, names = np.random.default_rng(SEED), [f"f{j}" for j in range(FEATURES)]
    X, y = make_rows(rng, TRAINING_ROWS)
    train_models(folder, pa.table(list(X), names=names), y)
    for place in range(n_files):
        size = n_rows // n_files + (place < n_rows % n_files)
        table = pa.table(list(make_rows(rng, size)[0]), names=names)
        pq.write_table(table, folder / f"part-{place:03}.parquet", row_group_size=GROUP_ROWS)


def train_models(folder: Path, table: Any, y: np.ndarray) -> None:
    from stagewise import GradientBoostingClassifier

    ours = GradientBoostingClassifier(
        n_estimators=TREES, max_leaf_nodes=LEAVES, learning_rate=0.1, max_depth=None
    )
    ours.fit(table, y).save(folder / "model.stgw")
    X = np.column_stack([column.to_numpy() for column in table.columns])
    try:
        import lightgbm

        params = {"objective": "binary", "num_leaves": LEAVES, "verbosity": -1}
        booster = lightgbm.train(params, lightgbm.Dataset(X, y), TREES)
        booster.save_model(folder / "model.lightgbm")
    except ImportError as error:
        print(f"left out lightgbm: {error}")
    try:
        import xgboost

        params = {"objective": "binary:logistic", "tree_method": "hist", "eta": 0.1}
        params |= {"grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0}
        names = table.column_names
        data = xgboost.QuantileDMatrix(X, y, feature_names=names)
        xgboost.train(params, data, TREES).save_model(folder / "model.ubj")
    except ImportError as error:
        print(f"left out xgboost: {error}")


# --- what is measured -------------------------------------------------------------------------


def arrow_batches(folder: Path) -> Iterator[Any]:
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        yield from pq.ParquetFile(path).iter_batches(BATCH_ROWS)


def numpy_batches(folder: Path) -> Iterator[np.ndarray]:
    for batch in arrow_batches(folder):
        yield np.column_stack([column.to_numpy() for column in batch.columns])


def decoding(folder: Path, threads: int) -> Callable[[], Any]:
    return lambda: sum(batch.num_rows for batch in arrow_batches(folder))


def stagewise_model(folder: Path, threads: int) -> Any:
    import stagewise

    return stagewise.load(folder / "model.stgw").set_params(n_jobs=threads)


def memory(folder: Path, threads: int) -> Callable[[], Any]:
    import stagewise

    model = stagewise_model(folder, threads)
    table = stagewise.read_parquet(folder).to_table().combine_chunks()
    return lambda: model.predict_proba(table)


def dataset(folder: Path, threads: int) -> Callable[[], Any]:
    import stagewise

    model = stagewise_model(folder, threads)
    return lambda: model.predict_proba(stagewise.read_parquet(folder))


def command(folder: Path, threads: int) -> Callable[[], Any]:
    from stagewise.cli.main import main

    out = tempfile.mkdtemp(prefix="scoring-")
    argv = ["predict", str(folder / "model.stgw"), str(folder), "--proba", "--out", out]
    return lambda: main([*argv, "--quiet", "--threads", str(threads)])


def lightgbm_loop(batches: Callable[[Path], Iterator[Any]]) -> Any:
    def start(folder: Path, threads: int) -> Callable[[], Any]:
        import lightgbm
        import pyarrow as pa

        model = lightgbm.Booster(model_file=folder / "model.lightgbm")

        def predict() -> np.ndarray:
            tables = (
                pa.Table.from_batches([b]) if isinstance(b, pa.RecordBatch) else b
                for b in batches(folder)
            )
            return np.concatenate([model.predict(rows, num_threads=threads) for rows in tables])

        return predict

    return start


def xgboost_loop(folder: Path, threads: int) -> Callable[[], Any]:
    import xgboost

    model = xgboost.Booster({"nthread": threads}, model_file=folder / "model.ubj")

    def predict() -> np.ndarray:
        parts = [model.inplace_predict(X, validate_features=False) for X in numpy_batches(folder)]
        return np.concatenate(parts)

    return predict


def xgboost_dmatrix_loop(folder: Path, threads: int) -> Callable[[], Any]:
    import pyarrow as pa
    import xgboost

    model = xgboost.Booster({"nthread": threads}, model_file=folder / "model.ubj")

    def predict() -> np.ndarray:
        tables = (pa.Table.from_batches([batch]) for batch in arrow_batches(folder))
        return np.concatenate(
            [model.predict(xgboost.DMatrix(table, nthread=threads)) for table in tables]
        )

    return predict


CONTENDERS: dict[str, Callable[[Path, int], Callable[[], Any]]] = {
    "decoding": decoding,
    "memory": memory,
    "stagewise": dataset,
    "command": command,
    "lightgbm": lightgbm_loop(arrow_batches),
    "lightgbm-numpy": lightgbm_loop(numpy_batches),
    "xgboost": xgboost_loop,
    "xgboost-dmatrix": xgboost_dmatrix_loop,
}


def run_child(name: str, folder: Path, threads: int) -> None:
    """Measure one contender in this process, and print seconds and peak memory as JSON."""
    run = CONTENDERS[name](folder, threads)
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory()}))


def peak_memory() -> float:
    """Return the peak memory of this process in MB.

    `getrusage` would also count the process that started this one.
    """
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


# --- turns and the page -----------------------------------------------------------------------


def measure(folder: Path, names: list[str], threads: int, repeats: int) -> dict[str, Any]:
    """Return the seconds and the peak memory of each contender in each turn."""
    entries: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with machine.ForeignTime() as foreign:
        own = 0.0
        for turn in range(repeats):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                argv = [sys.executable, __file__, "--child", name, "--folder", str(folder)]
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                done = subprocess.run(
                    [*argv, "--threads", str(threads)], capture_output=True, text=True, check=False
                )
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                own += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                if done.returncode:
                    print(f"left out {name}: {done.stderr.strip().splitlines()[-1]}")
                    entries[name].append({"seconds": float("nan"), "peak_mb": float("nan")})
                    continue
                entries[name].append(json.loads(done.stdout.splitlines()[-1]))
                print(f"turn {turn + 1}, {name}: {entries[name][-1]['seconds']:.2f} s", flush=True)
    busy = max(0.0, (foreign.seconds - own) / foreign.capacity)
    return {"foreign": busy, "entries": entries}


def page(results: dict[str, Any]) -> str:
    settings, facts = results["settings"], results["machine"]
    busy = results["foreign"]
    quiet = (
        f"The machine was **busy**: others took {busy:.0%} of it. Measure again."
        if busy > machine.QUIET_FOREIGN
        else "The machine was quiet."
    )
    rows = settings["rows"]
    times = {
        name: statistics.median(turn["seconds"] for turn in turns)
        for name, turns in results["entries"].items()
    }
    lines = [
        "# Scoring of Parquet files",
        "",
        (
            f"Written by `make scoring`; edits are overwritten. {rows:,} rows × {FEATURES} float32 "
            f"in {settings['files']} files with row groups of at most {GROUP_ROWS:,} rows; {TREES} "
            f"trees of {LEAVES} leaves, {settings['threads']} threads; the peers and decoding "
            f"alone have batches of {BATCH_ROWS:,} rows; medians of {settings['repeats']} turns. "
            "Peak memory is that of the process."
        ),
        "",
        quiet,
        "",
        f"{facts['processor']}, {facts['cores']} cores; "
        + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
        "",
        "| | seconds | million rows a second | time ÷ ours | peak memory, MB |",
        "|---|---|---|---|---|",
    ]
    for name, seconds in times.items():
        if np.isnan(seconds):
            continue
        ratio = f"{seconds / times['stagewise']:.2f}" if "stagewise" in times else ""
        peak = statistics.median(turn["peak_mb"] for turn in results["entries"][name])
        speed = rows / seconds / 1e6
        lines.append(f"| {LABELS[name]} | {seconds:.2f} | {speed:.2f} | {ratio} | {peak:.0f} |")
    known = [times[name] for name in PEERS if name in times and not np.isnan(times[name])]
    if known and "stagewise" in times:
        ratio = min(known) / times["stagewise"]
        verdict = "reached" if ratio >= GOAL else "**NOT REACHED**"
        lines += ["", f"Goal of {GOAL:g} times the fastest loop: {ratio:.1f}, {verdict}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the files are written (temporary)")
    parser.add_argument("--threads", type=int, default=len(machine.usable_cpus()))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS), choices=CONTENDERS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        run_child(args.child, args.folder, args.threads)
        return
    with tempfile.TemporaryDirectory(prefix="scoring-") as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_table(folder, args.rows, args.files)
        # The command writes its output to temporary folders, which end with the run.
        tempfile.tempdir = temporary
        results = measure(folder, args.contenders, args.threads, args.repeats)
    import pyarrow as pa

    results["settings"] = {
        "rows": args.rows,
        "files": args.files,
        "threads": args.threads,
        "repeats": args.repeats,
    }
    versions = {"pyarrow": pa.__version__}
    for name in ("lightgbm", "xgboost"):
        if name in sys.modules:
            versions[name] = str(sys.modules[name].__version__)
    results["machine"] = machine.describe(versions)
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "RESULTS.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
