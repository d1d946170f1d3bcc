"""The libraries that train from Parquet files, each in its own best way.

A contender starts the clock when its library is imported, and returns a function of an Arrow table
that predicts the probability of class 1.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from synthetic import NAMES, TARGET
from turns import peak_memory

LEAVES, BINS, LEARNING_RATE, MIN_ROWS = 31, 255, 0.1, 20
LIGHTGBM = {
    "objective": "binary",
    "num_leaves": LEAVES,
    "learning_rate": LEARNING_RATE,
    "min_data_in_leaf": MIN_ROWS,
    "max_bin": BINS,
    "verbosity": -1,
}

Predict = Callable[[Any], np.ndarray]


class Clock:
    """The times of a fit: of all of it, and of its rounds.

    Attributes
    ----------
    begin, first_round : float
        When the fit and its rounds began.
    imported_mb : float
        The peak of the resident memory before the fit.
    """

    def __init__(self) -> None:
        self.begin = self.first_round = self.imported_mb = 0.0

    def start(self) -> None:
        """Start the fit."""
        self.imported_mb = peak_memory()
        self.begin = time.perf_counter()

    def start_rounds(self, ago: float = 0.0) -> None:
        """Start the rounds, which began some seconds ago."""
        self.first_round = time.perf_counter() - ago

    def seconds(self) -> dict[str, float]:
        """Return the times until now."""
        now = time.perf_counter()
        return {"seconds": now - self.begin, "rounds_seconds": now - self.first_round}


@dataclass(frozen=True)
class Job:
    """What is trained.

    Parameters
    ----------
    folder : Path
        The files.
    trees, threads : int
        Their numbers.
    limit : int or None
        The memory limit of Stagewise in bytes; None: it has none.
    """

    folder: Path
    trees: int
    threads: int
    limit: int | None = None

    @property
    def files(self) -> list[Path]:
        """The files in row order."""
        return sorted(self.folder.glob("*.parquet"))


def read_features(table: Any) -> np.ndarray:
    """Return the features of an Arrow table as an array in C order."""
    X = np.empty((table.num_rows, len(NAMES)), np.float32)
    for j, name in enumerate(NAMES):
        X[:, j] = table.column(name).to_numpy()
    return X


def fit_stagewise(job: Job, clock: Clock, *, in_memory: bool) -> Predict:
    """Train from the files in passes, or read them into a table first."""
    from stagewise import GradientBoostingClassifier, read_parquet

    def start_rounds(progress: Any) -> None:
        if progress.round == 1:
            clock.start_rounds(ago=progress.seconds)

    clock.start()
    model = GradientBoostingClassifier(
        n_estimators=job.trees,
        learning_rate=LEARNING_RATE,
        max_leaf_nodes=LEAVES,
        max_features=1.0,  # as the peers do
        min_samples_leaf=MIN_ROWS,
        max_bins=BINS,
        n_jobs=job.threads,
        callbacks=[start_rounds],
    )
    data = read_parquet(job.folder, target=TARGET, memory_limit=job.limit)
    if in_memory:
        table = data.to_table()
        model.fit(table.select(NAMES), table.column(TARGET).to_numpy())
    else:
        model.fit(data)
    return lambda rows: model.predict_proba(rows.select(NAMES))[:, 1]


def fit_xgboost(job: Job, clock: Clock, *, growth: dict[str, Any]) -> Predict:
    """Train from pages that XGBoost writes to a folder; one file is one page."""
    import pyarrow.parquet as pq
    import xgboost as xgb

    class Files(xgb.DataIter):
        def __init__(self, cache: str) -> None:
            self.at = 0
            super().__init__(cache_prefix=str(Path(cache) / "pages"))

        def next(self, input_data: Callable[..., None]) -> bool:
            if self.at == len(job.files):
                return False
            table = pq.read_table(job.files[self.at])
            input_data(data=read_features(table), label=table.column(TARGET).to_numpy())
            self.at += 1
            return True

        def reset(self) -> None:
            self.at = 0

    clock.start()
    with tempfile.TemporaryDirectory() as cache:
        data = xgb.ExtMemQuantileDMatrix(Files(cache), max_bin=BINS, nthread=job.threads)
        clock.start_rounds()
        settings = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_bin": BINS,
            "learning_rate": LEARNING_RATE,
            "nthread": job.threads,
        }
        model = xgb.train(settings | growth, data, num_boost_round=job.trees)
        del data
    return lambda rows: model.inplace_predict(read_features(rows))


def fit_lightgbm(job: Job, clock: Clock) -> Predict:
    """Train from sequences of rows, one for each file."""
    import lightgbm as lgb
    import pyarrow.parquet as pq

    held = HeldGroup()

    class Rows(lgb.Sequence):
        def __init__(self, path: Path) -> None:
            self.file = pq.ParquetFile(path)
            groups = self.file.metadata
            sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
            self.begins = np.cumsum([0, *sizes])
            self.batch_size = sizes[0]  # a batch is a row group

        def __len__(self) -> int:
            return int(self.begins[-1])

        def __getitem__(self, rows: Any) -> np.ndarray:
            first = rows.start if isinstance(rows, slice) else int(rows)
            group = int(np.searchsorted(self.begins, first, side="right")) - 1
            X = held.read(self.file, group)
            if isinstance(rows, slice):
                return X
            return X[first - self.begins[group]].astype(np.float64)  # it refuses others

    clock.start()
    targets = [pq.read_table(path, columns=[TARGET]).column(TARGET) for path in job.files]
    y = np.concatenate([target.to_numpy() for target in targets])
    settings = LIGHTGBM | {"num_threads": job.threads}
    data = lgb.Dataset([Rows(path) for path in job.files], label=y, params=settings)
    data.construct()
    clock.start_rounds()
    model = lgb.train(settings, data, num_boost_round=job.trees)
    return lambda rows: model.predict(read_features(rows))


class HeldGroup:
    """The last row group that was read; LightGBM reads rows in their order, twice."""

    def __init__(self) -> None:
        self._place: tuple[Any, int] = (None, -1)
        self._X = np.empty((0, 0), np.float32)

    def read(self, file: Any, group: int) -> np.ndarray:
        """Return the features of a row group."""
        if self._place != (file, group):
            self._X = np.empty((0, 0), np.float32)
            self._place, self._X = (file, group), read_features(file.read_row_group(group))
        return self._X
