"""One turn of the benchmark: a cluster of processes on this machine, its rows and one fit.

Every turn starts a cluster of its own, so that the memory of a worker is that of one library. The
rows are made on the workers and stay in their memory; each worker has equally many partitions.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from exchanges import AllReduce, MeasuredFit
from machine import usable_cpus
from synthetic import (
    FEATURES,
    NAMES,
    TARGET,
    TEST_BLOCK,
    block_sizes,
    log_loss,
    make_block,
    make_frame,
)
from turns import peak_memory

LEAVES, BINS, LEARNING_RATE, MIN_ROWS = 31, 255, 0.1, 20
PARTITIONS_PER_WORKER = 4
TEST_ROWS = 200_000


@dataclass(frozen=True)
class Job:
    """What is trained and where.

    Parameters
    ----------
    rows, trees, workers : int
        Their numbers; a worker has one thread.
    protocol : {"tcp", "tls"}
        Of the cluster.
    container : {"frame", "array"}
        The rows are a data frame or an array.
    fits : int
        The fits whose median is taken, after one that is not counted; 1: it counts.
    """

    rows: int
    trees: int
    workers: int
    protocol: str = "tcp"
    container: str = "frame"
    fits: int = 1

    @property
    def sizes(self) -> list[int]:
        """The rows of the partitions."""
        return block_sizes(self.rows, self.workers * PARTITIONS_PER_WORKER)

    @property
    def local_threads(self) -> int:
        """The threads of a fit in one process that uses the same cores."""
        return min(self.workers, len(usable_cpus()))


# --- the cluster and its rows ------------------------------------------------------------------


@contextmanager
def start_cluster(job: Job) -> Iterator[Any]:
    """Start worker processes on the loopback interface; return a client."""
    from distributed import Client, LocalCluster
    from distributed.security import Security

    secure = {"security": Security.temporary()} if job.protocol == "tls" else {}
    with (
        LocalCluster(
            n_workers=job.workers,
            threads_per_worker=1,
            processes=True,
            protocol=f"{job.protocol}://",
            dashboard_address="127.0.0.1:0",
            **secure,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(job.workers)
        yield client


def make_array(number: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a block as an array in C order, and its target."""
    X, y = make_block(number, n_rows)
    return np.ascontiguousarray(X.T), y


def persist_rows(client: Any, job: Job) -> tuple[Any, Any]:
    """Make the rows on the workers; return features and target as collections."""
    from distributed import wait

    addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
    make = make_frame if job.container == "frame" else make_array
    blocks = [
        client.submit(make, i, size, workers=[addresses[i % job.workers]], pure=False)
        for i, size in enumerate(job.sizes)
    ]
    wait(blocks)
    collections = frame_of(blocks) if job.container == "frame" else arrays_of(client, job, blocks)
    collections = client.persist(list(collections))
    wait(collections)
    return tuple(collections)


def frame_of(blocks: list[Any]) -> tuple[Any, Any]:
    import dask.dataframe as dd

    table = dd.from_delayed(blocks, meta=make_frame(0, 1), verify_meta=False)
    return table[NAMES], table[TARGET]


def arrays_of(client: Any, job: Job, blocks: list[Any]) -> tuple[Any, Any]:
    import dask.array as da

    parts = [client.submit(tuple.__getitem__, block, 0) for block in blocks]
    targets = [client.submit(tuple.__getitem__, block, 1) for block in blocks]
    X = [
        da.from_delayed(part, (size, FEATURES), np.float32)
        for part, size in zip(parts, job.sizes, strict=True)
    ]
    y = [
        da.from_delayed(part, (size,), np.int8)
        for part, size in zip(targets, job.sizes, strict=True)
    ]
    return da.concatenate(X), da.concatenate(y)


# --- memory of the workers ---------------------------------------------------------------------


def reset_peak() -> None:
    """Forget the peak of the resident memory of this process."""
    gc.collect()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def worker_peak(client: Any) -> float:
    """Return the largest peak of the workers, in MB."""
    return max(client.run(peak_memory).values())


# --- fits on the cluster -----------------------------------------------------------------------


def stagewise_parameters(job: Job) -> dict[str, Any]:
    return {
        "n_estimators": job.trees,
        "learning_rate": LEARNING_RATE,
        "max_leaf_nodes": LEAVES,
        "max_features": 1.0,  # as the peers do
        "min_samples_leaf": MIN_ROWS,
        "max_bins": BINS,
        "random_state": 0,
    }


def fit_stagewise(client: Any, job: Job, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    """Do what `stagewise.dask.GradientBoostingClassifier.fit` does, with measured ranks."""
    import stagewise
    from stagewise.dask.driver import fit_on_cluster
    from stagewise.dask.partition_fit import PartitionFit
    from stagewise.dask.partitions import read_partitions

    parts = read_partitions(X, y, None)
    local = stagewise.GradientBoostingClassifier(**stagewise_parameters(job))
    training = MeasuredFit(PartitionFit(local, parts.roles, None, len(parts.tables)))
    model, facts = fit_on_cluster(client, partial(client.compute, parts.tables), training)
    return partial(predict_stagewise, model, job), facts | {"fingerprint": model.fingerprint()}


def predict_stagewise(model: Any, job: Job, X: np.ndarray) -> np.ndarray:
    import pandas as pd

    rows = pd.DataFrame(X, columns=NAMES) if job.container == "frame" else X
    return model.predict_proba(rows)[:, 1]


def fit_xgboost(client: Any, job: Job, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    import xgboost as xgb
    from xgboost import dask as dxgb

    class Rounds(xgb.callback.TrainingCallback):
        def before_training(self, model: Any) -> Any:
            self.begin = time.perf_counter()
            return model

        def after_training(self, model: Any) -> Any:
            model.set_attr(rounds=str(time.perf_counter() - self.begin))
            return model

    settings = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": LEAVES,
        "max_depth": 0,
        "max_bin": BINS,
        "learning_rate": LEARNING_RATE,
    }
    data = dxgb.DaskQuantileDMatrix(client, X, y, max_bin=BINS)
    found = dxgb.train(client, settings, data, num_boost_round=job.trees, callbacks=[Rounds()])
    model = found["booster"]
    seconds = float(model.attr("rounds"))
    model.feature_names = None
    return model.inplace_predict, {"rounds_seconds": seconds}


def fit_lightgbm(client: Any, job: Job, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    from lightgbm.dask import DaskLGBMClassifier

    model = DaskLGBMClassifier(
        n_estimators=job.trees,
        num_leaves=LEAVES,
        learning_rate=LEARNING_RATE,
        min_child_samples=MIN_ROWS,
        max_bin=BINS,
        tree_learner="data",
        verbosity=-1,
        client=client,
    ).fit(X, y)  # it sets num_threads to the threads of the worker
    return model.booster_.predict, {}


LIBRARIES = {"stagewise": fit_stagewise, "xgboost": fit_xgboost, "lightgbm": fit_lightgbm}


def run_library(name: str, job: Job) -> dict[str, Any]:
    """Fit on a new cluster; return times, memory of the workers and the loss of new rows."""
    with start_cluster(job) as client:
        X, y = persist_rows(client, job)
        client.run(reset_peak)
        before = worker_peak(client)
        predict, facts = timed_fits(client, job, X, y, LIBRARIES[name])
        peak = worker_peak(client)
    return facts | {"rows_mb": before, "peak_mb": peak, "log_loss": test_loss(predict)}


def timed_fits(client: Any, job: Job, X: Any, y: Any, fit: Any) -> tuple[Any, dict[str, Any]]:
    """Return the model and the facts of the fit with the median time."""
    found = []
    for _ in range(job.fits + (job.fits > 1)):
        begin = time.perf_counter()
        predict, facts = fit(client, job, X, y)
        found.append((predict, facts | {"seconds": time.perf_counter() - begin}))
    counted = found[job.fits > 1 :]
    key = "tree_ms" if "tree_ms" in counted[0][1] else "seconds"
    return sorted(counted, key=lambda each: each[1][key])[len(counted) // 2]


def test_loss(predict: Any) -> float:
    X, y = make_array(TEST_BLOCK, TEST_ROWS)
    return log_loss(y, predict(X))


# --- without a cluster, and without rows -------------------------------------------------------


def local_rows(job: Job) -> tuple[Any, np.ndarray]:
    """Return the rows of all partitions as one table in memory."""
    import pandas as pd

    blocks = [make_block(i, size) for i, size in enumerate(job.sizes)]
    X = np.concatenate([block[0] for block in blocks], axis=1)
    y = np.concatenate([block[1] for block in blocks])
    return (pd.DataFrame(X.T, columns=NAMES) if job.container == "frame" else X.T.copy()), y


def run_local(job: Job) -> dict[str, Any]:
    """Fit the same rows in this process, with the threads that a cluster would have."""
    from stagewise import GradientBoostingClassifier

    rounds: list[float] = []
    X, y = local_rows(job)
    reset_peak()
    before, found = peak_memory(), []
    for _ in range(job.fits + (job.fits > 1)):
        model = GradientBoostingClassifier(
            n_jobs=job.local_threads,
            callbacks=[lambda progress: rounds.append(progress.seconds)],
            **stagewise_parameters(job),
        )
        begin = time.perf_counter()
        model.fit(X, y)
        found.append((rounds[-1], time.perf_counter() - begin))
    counted = found[job.fits > 1 :]
    rounds_seconds = statistics.median(each[0] for each in counted)
    return {
        "seconds": statistics.median(each[1] for each in counted),
        "rounds_seconds": rounds_seconds,
        "tree_ms": 1e3 * rounds_seconds / job.trees,
        "threads": job.local_threads,
        "rows_mb": before,
        "peak_mb": peak_memory(),
        "fingerprint": model.fingerprint(),
        "log_loss": test_loss(partial(predict_stagewise, model, job)),
    }


def run_sums(job: Job) -> dict[str, Any]:
    """Measure sums of vectors over the workers; see `AllReduce`."""
    from stagewise.dask.driver import fit_on_cluster

    with start_cluster(job) as client:
        addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])

        def compute() -> list[Any]:
            return [client.submit(abs, i, workers=[a], pure=False) for i, a in enumerate(addresses)]

        return {"sums": fit_on_cluster(client, compute, AllReduce())}
