"""The estimators of `stagewise.dask` on a cluster of two processes."""

from __future__ import annotations

import logging
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, get_worker
from sklearn.base import clone

import stagewise
from cluster.clusters import DASK_WARNINGS, SHORT, assert_restored, inventory, wait_for
from cluster.rank_fits import (
    Case,
    assert_same_model,
    class_target,
    classifier,
    frame,
    number_target,
    regressor,
)
from stagewise.dask import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.dask.driver import fit_on_cluster
from stagewise.dask.partition_fit import PartitionFit
from stagewise.dask.partitions import read_partitions

pytestmark = DASK_WARNINGS

N = 6_000


def test_frames_with_weights_validation_and_categories(client: Client) -> None:
    X, X_val = frame(N), frame(1_500, seed=8)
    y, y_val = class_target(X, 3), class_target(X_val, 3)
    weight = np.random.default_rng(0).integers(0, 3, N)
    case = Case(classifier(category_encoding="sets"), X, y, weight, (X_val, y_val, None))
    rows = dd.from_pandas(X.assign(label=y, times=weight), npartitions=5)
    held = dd.from_pandas(X_val.assign(label=y_val), npartitions=2)
    before = inventory(client)
    model = GradientBoostingClassifier(n_estimators=6, category_encoding="sets")
    model.fit(rows, "label", "times", X_val=held, client=client)
    assert_same_model(model, case.local)
    assert model.classes_.tolist() == case.local.classes_.tolist()
    assert_restored(client, before)  # keys, tasks, handlers, threads, listeners


def test_series_of_targets_and_predictions_without_computing(client: Client) -> None:
    X = frame(N)
    y = pd.Series(class_target(X))
    rows, labels = (dd.from_pandas(part, npartitions=4) for part in (X, y))
    model = GradientBoostingClassifier(n_estimators=6, category_encoding="sets").fit(rows, labels)
    local = classifier(category_encoding="sets").fit(X, y)
    assert_same_model(model, local)
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(model, method)(rows)
        assert dask.is_dask_collection(found)
        assert np.array_equal(found.compute(), getattr(local, method)(X))
        assert np.array_equal(getattr(model, method)(X), getattr(local, method)(X))
    some = rows[rows["a"] > 10]  # all partitions are empty
    assert len(model.predict_proba(some).compute()) == 0


def test_losses_that_are_bound_to_chunks(client: Client) -> None:
    X = frame(N)
    few = {"n_estimators": 4, "category_encoding": "sets"}
    y = pd.Series(number_target(X))
    rows, targets = (dd.from_pandas(part, npartitions=4) for part in (X, y))
    model = GradientBoostingRegressor(loss="normal", **few).fit(rows, targets)
    local = regressor(loss="normal", **few).fit(X, y)
    assert_same_model(model, local)
    assert np.array_equal(model.predict(rows).compute(), local.predict(X))
    assert np.array_equal(model.predict_dist(X).std, local.predict_dist(X).std)
    assert np.array_equal(model.to_local().predict_dist(X).mean, local.predict(X))
    labels = pd.Series(class_target(X, 3))
    focal = GradientBoostingClassifier(loss="focal", **few)
    focal.fit(rows, dd.from_pandas(labels, npartitions=4))
    own = classifier(loss="focal", **few).fit(X, labels)
    assert_same_model(focal, own)
    assert np.array_equal(focal.predict_proba(rows).compute(), own.predict_proba(X))


def test_arrays_and_delayed_parts(client: Client, tmp_path: Path) -> None:
    X = frame(N)
    y = number_target(X).to_numpy()
    matrix = X[["a", "b", "c", "d"]].to_numpy()
    local = regressor().fit(matrix, y)
    rows, target = da.from_array(matrix, chunks=(2_500, 2)), da.from_array(y, chunks=2_500)
    model = GradientBoostingRegressor(n_estimators=6).fit(rows, target, da.ones_like(target))
    assert_same_model(model, local)
    assert np.array_equal(model.predict(rows).compute(), local.predict(matrix))
    model.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    assert loaded.fingerprint() == local.fingerprint()
    assert type(model.to_local()) is type(loaded) is stagewise.GradientBoostingRegressor

    parts = [dask.delayed(X.iloc[i : i + 2_000]) for i in range(0, N, 2_000)]
    targets = [dask.delayed(y[i : i + 2_000]) for i in range(0, N, 2_000)]
    model = GradientBoostingRegressor(n_estimators=6).fit(parts, targets)
    assert_same_model(model, regressor().fit(X, y))
    assert np.array_equal(np.concatenate(dask.compute(*model.predict(parts))), model.predict(X))


def test_the_client_logs_the_end_of_a_fit(client: Client, caplog: Any) -> None:
    rows = dd.from_pandas(frame(200).assign(y=1.0 * np.arange(200)), npartitions=2)
    with caplog.at_level(logging.INFO, logger="stagewise"):
        GradientBoostingRegressor(n_estimators=6).fit(rows, "y", client=client)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "stagewise"]
    assert re.fullmatch(
        r"GradientBoostingRegressor: 6 rounds, [\d.]+ s, stop reason: all 6 rounds", line
    )


def test_an_error_of_a_rank_is_one_error_that_names_the_partition(client: Client) -> None:
    X = frame(N)
    y = number_target(X).to_numpy(copy=True)
    y[4_000] = np.nan
    rows = dd.from_pandas(X.assign(y=y), npartitions=3)
    before = inventory(client)
    with pytest.raises(ValueError, match=r"contains NaN.* of partition 2"):
        GradientBoostingRegressor(n_estimators=5).fit(rows, "y")
    assert_restored(client, before)


@dataclass(frozen=True)
class Log:
    """A callback that appends the round, and the keys of the worker, to a file, slowly.

    Rank 0 calls it.
    """

    folder: str

    def __call__(self, progress: Any) -> None:
        with (Path(self.folder) / str(os.getpid())).open("a") as file:
            file.write(f"{progress.round} {len(get_worker().data)}\n")
        sleep(0.04)


def test_a_fit_whose_worker_is_killed_resumes_with_the_same_bytes(
    client: Client, tmp_path: Path
) -> None:
    X = frame(N)
    y = number_target(X)
    local = regressor(n_estimators=40).fit(X, y)
    partitions = read_partitions(dd.from_pandas(X.assign(y=y), npartitions=4), "y", None)
    logging = regressor(n_estimators=40, callbacks=[Log(str(tmp_path))])
    training = PartitionFit(logging, partitions.roles, None, 4)
    pids = client.run(os.getpid)
    address = sorted(pids)[1]
    log, before = tmp_path / str(pids[sorted(pids)[0]]), inventory(client)
    del before[address]
    with ThreadPoolExecutor(1) as pool:
        compute = partial(client.compute, partitions.tables)
        fit = pool.submit(fit_on_cluster, client, compute, training, limits=SHORT)
        wait_for(lambda: log.exists() and len(log.read_text().splitlines()) > 8)
        os.kill(pids[address], signal.SIGKILL)
        assert_same_model(fit.result(60), local)
    survivor = log.read_text().splitlines()
    assert 40 <= len(survivor) <= 41  # it did not start again
    assert survivor[-1] == "40 0"  # the partitions were released
    assert_restored(client, before)
    wait_for(lambda: len(client.run(os.getpid)) == 2)


REFUSED: dict[str, dict[str, Any]] = {
    "early_stopping by several folds": {"early_stopping": "cv"},
    "warm_start": {"warm_start": True},
    "loss='absolute_error'": {"loss": "absolute_error"},
    "grow_policy='symmetric'": {"grow_policy": "symmetric"},
    "leaves='linear'": {"leaves": "linear"},
    "dropout": {"dropout": "dart"},
    "the method": {"response": "gradient"},
    "sampling, exactly 0.5 of the rows": {"sampling": "fixed_size", "subsample": 0.5},
    "sampling='group'": {"sampling": "group"},
    "oob_score": {"oob_score": True, "subsample": 0.5},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_cluster_does_not_support_is_refused_before_any_work(name: str) -> None:
    model = GradientBoostingRegressor(**{"n_estimators": 3} | REFUSED[name])
    with pytest.raises(ValueError, match=name):
        model.fit(None, "y")


def test_arguments_that_are_no_collections_are_refused_by_name() -> None:
    X = frame(100)
    rows = dd.from_pandas(X, npartitions=2)
    model = GradientBoostingRegressor(n_estimators=3)
    for arguments, message in (
        ((X, "a"), "X must be a dask.dataframe.DataFrame"),
        ((rows, None), "y is missing"),
        ((rows, "price"), "'price', but X has no such column"),
        ((rows, X["a"]), "y must be a column name"),
        ((rows, "a", rows["b"].repartition(npartitions=1)), "sample_weight has 1 partitions"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            model.fit(*arguments)


def test_parameters_are_those_of_the_estimator_of_one_machine() -> None:
    model = GradientBoostingClassifier(max_depth=3, n_estimators=7)
    assert clone(model).get_params() == model.get_params() == model.to_local().get_params()
