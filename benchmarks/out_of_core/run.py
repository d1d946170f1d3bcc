"""Measure training from Parquet files against the peers (what ``make out-of-core`` runs).

A seeded table is written as Parquet files. Stagewise trains on it in memory, and from the files
with a memory limit of a quarter of what its rows need; XGBoost from an ``ExtMemQuantileDMatrix``
and LightGBM from a ``Sequence``, both of which read the same files. All have 100 trees of about 31
leaves and 255 bins. Every turn is a process of its own; the time is that of the whole fit, reading
included.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402

FEATURES, LEAVES, BINS = 28, 31, 255
FILE_ROWS, GROUP_ROWS = 1_000_000, 250_000
ROW_BYTES = FEATURES + 8 + 4 + 8 + 8 + 4
"""Of a store: codes, slots, target, score, row lists; the limit is a quarter of this per row."""
NAMES = [f"f{j}" for j in range(FEATURES)]
LABELS = {
    "memory": "Stagewise, rows in memory",
    "limited": "**Stagewise**, from files, a quarter of the memory",
    "dataset": "Stagewise, from files, without a limit",
    "xgboost": "XGBoost, `ExtMemQuantileDMatrix`, depth-wise",
    "lightgbm": "LightGBM, `Sequence`",
}


def write_table(folder: Path, n_rows: int) -> None:
    """Write the rows, one million to a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, first in enumerate(range(0, n_rows, FILE_ROWS)):
        rng, n = np.random.default_rng(number), min(FILE_ROWS, n_rows - first)
        X = rng.standard_normal((FEATURES, n), dtype=np.float32)
        score = X[0] * X[1] + np.sin(3 * X[2]) + X[3] - 0.5 * X[4] ** 2 + 0.3 * X[5:10].sum(axis=0)
        y = (score + rng.standard_normal(n, dtype=np.float32) > 0).astype(np.int8)
        table = pa.table(dict(zip(NAMES, X, strict=True)) | {"y": y})
        pq.write_table(table, folder / f"{number:04d}.parquet", row_group_size=GROUP_ROWS)


def files_of(folder: Path) -> list[Path]:
    """Return the files in row order."""
    return sorted(folder.glob("*.parquet"))


def read_part(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and the target of a file."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return np.column_stack([table.column(n).to_numpy() for n in NAMES]), table.column(
        "y"
    ).to_numpy()


# --- contenders -------------------------------------------------------------------------------


def fit_stagewise(folder: Path, trees: int, limit: int | None) -> Callable[[np.ndarray], Any]:
    """Train from the files; limit: bytes, 0: in memory."""
    import stagewise

    model = stagewise.GradientBoostingClassifier(n_estimators=trees, learning_rate=0.1)
    data = stagewise.read_parquet(folder, target="y", memory_limit=limit or None)
    if limit == 0:
        table = data.to_table()
        model.fit(table.select(list(data.features)), table.column("y").to_numpy())
    else:
        model.fit(data)
    return lambda X: model.predict_proba(X)[:, 1]


def fit_xgboost(folder: Path, trees: int) -> Callable[[np.ndarray], Any]:
    """Train from pages on disk."""
    import xgboost as xgb

    class Files(xgb.DataIter):
        def __init__(self) -> None:
            self.at = 0
            self.cache = tempfile.TemporaryDirectory()
            super().__init__(cache_prefix=str(Path(self.cache.name) / "pages"))

        def next(self, input_data: Callable[..., None]) -> bool:
            if self.at == len(files_of(folder)):
                return False
            X, y = read_part(files_of(folder)[self.at])
            input_data(data=X, label=y)
            self.at += 1
            return True

        def reset(self) -> None:
            self.at = 0

    files = Files()  # the folder of its pages lives as long as it does
    data = xgb.ExtMemQuantileDMatrix(files, max_bin=BINS + 1)
    settings = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "max_bin": BINS + 1,
        "max_depth": 5,
        "learning_rate": 0.1,
    }
    model = xgb.train(settings, data, num_boost_round=trees)
    del data, files
    return lambda X: model.predict(xgb.DMatrix(X))


def fit_lightgbm(folder: Path, trees: int) -> Callable[[np.ndarray], Any]:
    """Train from sequences of rows, one per file."""
    import lightgbm as lgb
    import pyarrow.parquet as pq

    class Rows(lgb.Sequence):
        batch_size = 65_536

        def __init__(self, path: Path) -> None:
            self.path, self.X = path, np.empty((0, 0))
            self.n = pq.ParquetFile(path).metadata.num_rows

        def __getitem__(self, rows: Any) -> np.ndarray:
            if not len(self.X):
                self.X = read_part(self.path)[0]
            found = self.X[rows].astype(np.float64)  # it refuses others
            if isinstance(rows, slice) and rows.stop is not None and rows.stop >= self.n:
                self.X = np.empty((0, 0))
            return found

        def __len__(self) -> int:
            return self.n

    targets = [pq.read_table(path, columns=["y"]).column("y") for path in files_of(folder)]
    y = np.concatenate([target.to_numpy() for target in targets])
    data = lgb.Dataset([Rows(path) for path in files_of(folder)], label=y, params={"max_bin": BINS})
    settings = {
        "objective": "binary",
        "num_leaves": LEAVES,
        "learning_rate": 0.1,
        "max_bin": BINS,
        "verbosity": -1,
    }
    return lgb.train(settings, data, num_boost_round=trees).predict


def run_one(name: str, folder: Path, trees: int, n_rows: int) -> dict[str, float]:
    """Train once; return the time, the peak memory and the loss of new rows."""
    start = time.perf_counter()
    if name in ("memory", "limited", "dataset"):
        quarter = max(n_rows * ROW_BYTES // 4, 128 * 2**20)
        predict = fit_stagewise(folder, trees, {"memory": 0, "limited": quarter}.get(name))
    else:
        predict = {"xgboost": fit_xgboost, "lightgbm": fit_lightgbm}[name](folder, trees)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    X, y = read_part(files_of(folder.parent / "test")[0])
    p = np.clip(predict(X), 1e-9, 1 - 1e-9)
    loss = -float(np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
    return {"seconds": seconds, "peak_mb": peak, "log_loss": loss}


def main() -> None:
    """Write the table, run the contenders in turn, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--contenders", nargs="+", default=list(LABELS))
    parser.add_argument("--folder", type=Path, help="for the table (default: a temporary one)")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run_one(args.one[0], Path(args.one[1]), args.trees, args.rows)))
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as top:
        folder, test = Path(top) / "train", Path(top) / "test"
        folder.mkdir()
        test.mkdir()
        write_table(folder, args.rows)
        write_table(test, 200_000)
        found: dict[str, list[dict[str, float]]] = {name: [] for name in args.contenders}
        for _ in range(args.repeats):
            for name in args.contenders:
                command = [sys.executable, __file__, "--one", name, str(folder)]
                command += ["--rows", str(args.rows), "--trees", str(args.trees)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
                print(name, found[name][-1], file=sys.stderr, flush=True)
    print_table(found, args)


def print_table(found: dict[str, list[dict[str, float]]], args: argparse.Namespace) -> None:
    """Print the medians, and the time of the others divided by that of the limited fit."""
    about = machine.describe({})
    print(f"{args.rows:,} rows × {FEATURES}, {args.trees} trees; {json.dumps(about)}\n")
    print("| | seconds | ÷ limited | peak memory, MB | log loss |\n|---|---|---|---|---|")
    medians = {
        name: {key: statistics.median(r[key] for r in runs) for key in runs[0]}
        for name, runs in found.items()
    }
    base = medians.get("limited", next(iter(medians.values())))["seconds"]
    for name, own in medians.items():
        print(
            f"| {LABELS[name]} | {own['seconds']:.1f} | {own['seconds'] / base:.2f} | "
            f"{own['peak_mb']:.0f} | {own['log_loss']:.5f} |"
        )


if __name__ == "__main__":
    main()
