"""Forests of `stagewise.dask` on a cluster of two processes."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from distributed import Client

import stagewise
from cluster.clusters import DASK_WARNINGS, assert_restored, inventory, wait_for
from cluster.rank_fits import class_target, frame, number_target
from stagewise.dask import (
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    shap_values,
)

pytestmark = DASK_WARNINGS

N = 3_000


def test_a_forest_of_two_processes_is_that_of_one_machine(client: Client, tmp_path: Path) -> None:
    X, X_val = frame(N), frame(500, seed=8)
    y, y_val = class_target(X, 3), class_target(X_val, 3)
    weight = np.random.default_rng(0).integers(0, 3, N)
    parameters: dict[str, Any] = {"n_estimators": 30, "early_stopping": True, "max_depth": 4}
    local = stagewise.RandomForestClassifier(**parameters)
    local.fit(X, y, weight, X_val=X_val, y_val=y_val)
    rows = dd.from_pandas(X.assign(label=y, times=weight), npartitions=5)
    held = dd.from_pandas(X_val.assign(label=y_val), npartitions=2)
    before = inventory(client)
    model = RandomForestClassifier(**parameters).fit(rows, "label", "times", X_val=held)
    assert_restored(client, before)
    assert model.fingerprint() == local.fingerprint()
    assert model.oob_prediction_.tobytes() == local.oob_prediction_.tobytes()
    features = rows[list(X.columns)]
    assert np.array_equal(model.predict_proba(features).compute(), local.predict_proba(X))
    assert np.array_equal(model.predict(features).compute(), local.predict(X))
    expected = stagewise.inspection.shap_values(local, X.iloc[:50]).values
    found = shap_values(model, dd.from_pandas(X.iloc[:50], npartitions=2)).values.compute()
    assert found.tobytes() == expected.tobytes()
    model.save(tmp_path / "model.stgw")
    assert type(stagewise.load(tmp_path / "model.stgw")) is stagewise.RandomForestClassifier


def test_a_forest_of_an_array(client: Client) -> None:
    X = frame(N)
    y = number_target(X).to_numpy()
    matrix = X[["a", "b", "c", "d"]].to_numpy()
    local = stagewise.RandomForestRegressor(n_estimators=5).fit(matrix, y)
    rows, target = da.from_array(matrix, chunks=(1_100, 2)), da.from_array(y, chunks=1_100)
    model = RandomForestRegressor(n_estimators=5).fit(rows, target, client=client)
    assert model.fingerprint() == local.fingerprint()


@dataclass(frozen=True)
class Slow:
    """A callback that leaves a file when a tree is done, and waits."""

    folder: str

    def __call__(self, progress: Any) -> None:
        (Path(self.folder) / f"{os.getpid()}-{progress.round}").touch()
        time.sleep(0.03)


def test_a_forest_whose_worker_is_killed_starts_again_with_the_same_bytes(
    client: Client, tmp_path: Path
) -> None:
    X = frame(N)
    y = number_target(X)
    local = stagewise.RandomForestRegressor(n_estimators=30).fit(X, y)
    rows = dd.from_pandas(X.assign(y=y), npartitions=4)
    pids = client.run(os.getpid)
    address = sorted(pids)[1]
    before = inventory(client)
    del before[address]
    model = RandomForestRegressor(n_estimators=30, callbacks=[Slow(str(tmp_path))])
    with ThreadPoolExecutor(1) as pool:
        fit = pool.submit(model.fit, rows, "y", client=client)
        wait_for(lambda: len(list(tmp_path.glob("*"))) > 4)
        os.kill(pids[address], signal.SIGKILL)
        assert fit.result(60).fingerprint() == local.fingerprint()
    assert_restored(client, before)
    wait_for(lambda: len(client.run(os.getpid)) == 2)


def test_early_stopping_without_rows_to_measure_is_refused_before_any_work() -> None:
    model = ExtraTreesClassifier(early_stopping=True)
    with pytest.raises(ValueError, match="needs out-of-bag rows or validation rows"):
        model.fit(None, "y")
