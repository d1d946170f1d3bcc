"""Measure predictions of Parquet files against the peers (what ``make scoring`` runs).

A seeded table is written as Parquet files, each library trains 100 trees of 31 leaves on a part of
it and predicts all rows from the files. The peers use the loop that their documentation suggests:
batches of pyarrow, one call of ``predict`` each. Libraries take turns; each turn is a process of
its own, and its peak memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402
from goals import Goal, goal_facts, goal_table  # noqa: E402
from synthetic import FEATURES, NAMES, TEST_BLOCK, block_sizes, make_block  # noqa: E402
from turns import (  # noqa: E402
    machine_line,
    medians,
    package_versions,
    peak_memory,
    quiet_line,
    take_turns,
)

TREES, LEAVES = 100, 31
TRAINING_ROWS = 100_000
GROUP_ROWS = 1_000_000
BATCH_ROWS = 1 << 16
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


def write_table(folder: Path, n_rows: int, n_files: int) -> None:
    """Write the files, and the models that are trained on other rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = make_block(TEST_BLOCK, TRAINING_ROWS)
    train_models(folder, pa.table(list(X), names=NAMES), y)
    for number, size in enumerate(block_sizes(n_rows, n_files)):
        table = pa.table(list(make_block(number, size)[0]), names=NAMES)
        pq.write_table(table, folder / f"part-{number:03}.parquet", row_group_size=GROUP_ROWS)


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
        data = xgboost.QuantileDMatrix(X, y, feature_names=NAMES)
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

    import_module("stagewise.cli.predict")  # imports are not timed
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
    import_module("pyarrow.parquet")  # all need it; it is not timed
    run = CONTENDERS[name](folder, threads)
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory()}))


# --- the page ---------------------------------------------------------------------------------


def about(settings: dict[str, Any]) -> str:
    """Return how the figures were measured."""
    return (
        f"Written by `make scoring`; edits are overwritten. {settings['rows']:,} rows × "
        f"{FEATURES} float32 in {settings['files']} files with row groups of at most "
        f"{GROUP_ROWS:,} rows; {TREES} trees of {LEAVES} leaves, {settings['threads']} threads; "
        f"the peers and decoding alone have batches of {BATCH_ROWS:,} rows; medians of "
        f"{settings['repeats']} interleaved turns. Peak memory is that of the process. The files "
        "were just written, so they are in the page cache as far as memory permits."
    )


def page(results: dict[str, Any]) -> str:
    """Return RESULTS.md."""
    rows, own = results["settings"]["rows"], medians(results["entries"])
    lines = [
        "# Scoring of Parquet files",
        "",
        about(results["settings"]),
        "",
        quiet_line(results["foreign"]),
        "",
        machine_line(results["machine"]),
        "",
        "| | seconds | million rows a second | time ÷ ours | peak memory, MB |",
        "|---|---|---|---|---|",
    ]
    for name, m in own.items():
        ratio = f"{m['seconds'] / own['stagewise']['seconds']:.2f}" if "stagewise" in own else ""
        speed = rows / m["seconds"] / 1e6
        lines.append(
            f"| {LABELS[name]} | {m['seconds']:.2f} | {speed:.2f} | {ratio} | {m['peak_mb']:.0f} |"
        )
    return "\n".join([*lines, "", bound_line(own), "", *goal_table(find_goals(own))]) + "\n"


def bound_line(own: dict[str, dict[str, float]]) -> str:
    """Return what bounds the time."""
    if not {"decoding", "memory", "stagewise"} <= own.keys():
        return ""
    decoding, model, total = (own[n]["seconds"] for n in ("decoding", "memory", "stagewise"))
    bound = "decoding" if decoding >= model else "**the model**"
    return (
        f"Decoding alone {decoding:.2f} s, the model alone {model:.2f} s, both {total:.2f} s: "
        f"bound by {bound}; both ÷ decoding alone {total / decoding:.2f}."
    )


def find_goals(own: dict[str, dict[str, float]]) -> list[Goal]:
    """Return the goals that were measured."""
    times = {name: m["seconds"] for name, m in own.items()}
    known = [times[name] for name in PEERS if name in times]
    if not known or "stagewise" not in times:
        return []
    return [Goal("the fastest loop of a peer ÷ ours", GOAL, min(known) / times["stagewise"])]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the files are written (temporary)")
    parser.add_argument("--threads", type=int, default=len(machine.usable_cpus()))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS), choices=CONTENDERS)
    parser.add_argument("--out", type=Path, default=HERE, help="where the results are written")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    args = parse()
    if args.child:
        run_child(args.child, args.folder, args.threads)
        return
    for doubt in machine.check_quiet(load_too=True):
        print(f"WARNING: the machine is busy ({doubt})", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="scoring-", dir=args.folder) as top:
        os.environ["TMPDIR"] = top  # the output of the command ends with the run
        folder = Path(top) / "rows"
        folder.mkdir()
        write_table(folder, args.rows, args.files)
        own = ["--folder", str(folder), "--threads", str(args.threads)]
        results = take_turns(
            args.contenders, args.repeats, lambda name: [__file__, "--child", name, *own]
        )
    keys = ("rows", "files", "threads", "repeats")
    results["settings"] = {key: getattr(args, key) for key in keys}
    results["machine"] = machine.describe(package_versions())
    results["goals"] = goal_facts(find_goals(medians(results["entries"])))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (args.out / "RESULTS.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
