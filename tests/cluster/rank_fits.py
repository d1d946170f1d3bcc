"""Fits of several ranks, as threads of one process, and tables to fit."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.base import clone

from cluster.thread_exchange import run_ranks
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.dask.forest_fit import ForestFit
from stagewise.dask.partition_fit import PartitionFit, Roles
from stagewise.dask.shard import Shard

ROUNDS = 6


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    """Return a table with numbers, missing values and categories."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    data["c"] = rng.integers(0, 5, n)
    data["d"] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    data["city"] = pd.Categorical(rng.choice(["Oslo", "Bern", "Rome", "Riga"], n))
    return data


def number_target(data: pd.DataFrame, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 100 + 3 * data["a"] * data["c"] + (data["city"] == "Rome") + rng.normal(size=len(data))


def class_target(data: pd.DataFrame, n: int = 2) -> np.ndarray:
    signal = number_target(data)
    return np.array(["no", "maybe", "yes"])[:n][pd.qcut(signal, n, labels=False).astype(int)]


def count_target(data: pd.DataFrame) -> np.ndarray:
    return np.random.default_rng(2).poisson(np.exp(0.5 * data["a"]))


@dataclass
class Case:
    """An estimator with its rows, and optionally weights and validation rows."""

    estimator: Any
    X: pd.DataFrame
    y: Any
    weight: Any = None
    valid: tuple[pd.DataFrame, Any, Any] | None = None
    _local: Any = field(default=None, init=False)

    @property
    def local(self) -> Any:
        """The estimator, fitted in memory."""
        if self._local is None:
            validation = {}
            if self.valid is not None:
                validation = dict(
                    zip(("X_val", "y_val", "sample_weight_val"), self.valid, strict=True)
                )
            self._local = clone(self.estimator).fit(self.X, self.y, self.weight, **validation)
        return self._local


def partitioning(seed: int, n: int, n_ranks: int) -> tuple[list[int], list[int]]:
    """Return random cuts, with empty partitions and partitions of one row, and their ranks."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, n, rng.integers(2, 9)))
    cuts = np.sort(np.concatenate([cuts, cuts[:2], cuts[1:2] + 1]))
    return np.minimum(cuts, n).tolist(), rng.integers(0, n_ranks, len(cuts) + 1).tolist()


def tables_of(X: pd.DataFrame, y: Any, weight: Any, cuts: list[int]) -> list[pa.Table]:
    """Return the partitions of rows; categories without rows in a partition are not in it."""
    whole = X.assign(target=np.asarray(y))
    if weight is not None:
        whole = whole.assign(weight=np.asarray(weight))
    found = []
    for begin, end in itertools.pairwise([0, *cuts, len(X)]):
        part = whole.iloc[begin:end].copy()
        for name in part.columns[part.dtypes == "category"]:
            part[name] = part[name].cat.remove_unused_categories()
        found.append(pa.Table.from_pandas(part, preserve_index=False))
    return found


def fit_on_ranks(
    case: Case,
    cuts: list[int],
    places: list[int],
    n_ranks: int,
    valid_cuts: list[int] | None = None,
    checkpoint: Any = None,
    n_threads: int = 1,
    memory_limit: int | None = None,
    shards: list[Shard] | None = None,
) -> list[Any]:
    """Return the fitted estimator of each rank; `places` are the ranks of the partitions.

    `shards` gets what the ranks were given, with their last checkpoints.
    """
    tables = tables_of(case.X, case.y, case.weight, cuts)
    roles, valid_roles = Roles("target", None if case.weight is None else "weight"), None
    n_training = len(tables)
    if case.valid is not None:
        tables += tables_of(*case.valid, valid_cuts or [])
        valid_roles = Roles("target", None if case.valid[2] is None else "weight")
    places = [places[i % len(places)] for i in range(len(tables))]

    def fit(exchange: Any) -> Any:
        own = [i for i, rank in enumerate(places) if rank == exchange.rank]
        kind = PartitionFit if hasattr(case.estimator, "learning_rate") else ForestFit
        training = kind(clone(case.estimator), roles, valid_roles, n_training)
        shard = Shard([tables[i] for i in own], own, n_threads, checkpoint, None, memory_limit)
        if shards is not None:
            shards.append(shard)
        return training(exchange, shard)

    return run_ranks(n_ranks, fit)


def assert_same_model(found: Any, local: Any) -> None:
    """Assert that two fits have the same bytes."""
    assert found.fingerprint() == local.fingerprint()
    assert found.train_loss_.tobytes() == local.train_loss_.tobytes()
    assert found.model_.valid_loss.tobytes() == local.model_.valid_loss.tobytes()


def regressor(**parameters: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(**{"n_estimators": ROUNDS} | parameters)


def classifier(**parameters: Any) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(**{"n_estimators": ROUNDS} | parameters)
