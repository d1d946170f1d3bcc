"""Collections as arguments of `fit`: names of columns, shapes, and what they cannot be.

The ranks are threads of this process, and the tasks of the partitions run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import Delayed

import stagewise.dask
from cluster.clusters import DASK_WARNINGS
from cluster.rank_fits import assert_same_model, frame, number_target, regressor
from cluster.thread_exchange import run_ranks
from stagewise.dask import GradientBoostingRegressor, estimators
from stagewise.dask.shard import Shard

pytestmark = DASK_WARNINGS

N, RANKS = 3_000, 2


def fit_in_threads(
    client: Any, compute: Callable[[], list[Any]], train: Any, checkpoints: Any = None
) -> Any:
    """Run the ranks of a fit as threads; see `fit_on_cluster`."""
    tables = compute()

    def one(exchange: Any) -> Any:
        own = range(exchange.rank, len(tables), RANKS)
        return train(exchange, Shard([tables[i] for i in own], own, 1))

    return run_ranks(RANKS, one)[0]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> GradientBoostingRegressor:
    """Return an estimator whose ranks are threads."""
    client = SimpleNamespace(
        compute=lambda tables: list(dask.compute(*tables, scheduler="synchronous"))
    )
    monkeypatch.setattr(estimators, "fit_on_cluster", fit_in_threads)
    monkeypatch.setattr(estimators, "default_client", lambda: client)
    return GradientBoostingRegressor(n_estimators=6)


def parts_of(rows: Any) -> list[Delayed]:
    """Return rows as three delayed parts."""
    return [dask.delayed(rows[begin : begin + 1_000]) for begin in range(0, len(rows), 1_000)]


def rows_named(*names: Any) -> tuple[pd.DataFrame, pd.Series[Any], np.ndarray]:
    """Return three features with these names, a target that needs all of them, and weights."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=list(names))
    y = X.iloc[:, 0] + 5 * X.iloc[:, 1] + X.iloc[:, 2] * X.iloc[:, 1]
    return X, y, rng.integers(0, 3, N)


@pytest.mark.parametrize("collection", [parts_of, lambda rows: dd.from_pandas(rows, npartitions=3)])
def test_features_may_have_the_names_of_the_arguments(
    model: GradientBoostingRegressor, collection: Any
) -> None:
    X, y, weight = rows_named("y", "sample_weight", "y_val")
    weight = pd.Series(weight)
    model.fit(collection(X), collection(y), collection(weight))
    assert_same_model(model, regressor().fit(X, y, weight))
    assert model.feature_names_in_.tolist() == ["y", "sample_weight", "y_val"]


def test_validation_rows_may_have_the_names_of_the_arguments(
    model: GradientBoostingRegressor,
) -> None:
    X, y, weight = rows_named("y_val", "y", "sample_weight_val")
    held = {"X_val": X[2_000:], "y_val": y[2_000:], "sample_weight_val": weight[2_000:]}
    model.fit(parts_of(X), parts_of(y), **{name: parts_of(own) for name, own in held.items()})
    assert_same_model(model, regressor().fit(X, y, **held))


def test_a_list_of_frames_may_have_the_target_and_the_weights_as_columns(
    model: GradientBoostingRegressor,
) -> None:
    X, y, weight = rows_named(0, 1, 2)
    rows = X.assign(t=y, w=weight)
    model.fit(parts_of(rows), "t", "w")
    assert_same_model(model, regressor().fit(X, y, weight))


@pytest.mark.parametrize("has_weights", [True, False])
@pytest.mark.parametrize("collection", [parts_of, lambda rows: dd.from_pandas(rows, npartitions=1)])
def test_validation_rows_have_weights_if_they_have_the_column(
    model: GradientBoostingRegressor, collection: Any, has_weights: bool
) -> None:
    X, y, weight = rows_named("a", "b", "c")
    rows = X.assign(t=y, w=weight)
    held = rows[2_000:] if has_weights else rows[2_000:].drop(columns="w")
    model.fit(parts_of(rows), "t", "w", X_val=collection(held))
    held_weight = weight[2_000:] if has_weights else None
    local = regressor().fit(
        X, y, weight, X_val=X[2_000:], y_val=y[2_000:], sample_weight_val=held_weight
    )
    assert_same_model(model, local)


def test_a_message_about_an_argument_has_its_name(model: GradientBoostingRegressor) -> None:
    X, y, _ = rows_named("a", "b", "sample_weight")
    with pytest.raises(ValueError, match=r"column 'sample_weight \(argument of fit\)'"):
        model.fit(parts_of(X), parts_of(y), parts_of(np.zeros(N)))
    with pytest.raises(ValueError, match=r"X has 1000 rows, but y \(argument of fit\) has 999"):
        model.fit(parts_of(X), [dask.delayed(y[:999]), *parts_of(y)[1:]])


def test_a_column_that_a_part_does_not_have_is_named_with_the_partition(
    model: GradientBoostingRegressor,
) -> None:
    X, y, _ = rows_named("a", "b", "c")
    parts = [*parts_of(X.assign(t=y))[:2], *parts_of(X[2_000:])]
    with pytest.raises(ValueError, match=r"X has no column 't'.* \(In partition 2\.\)"):
        model.fit(parts, "t")
    with pytest.raises(ValueError, match="'a' cannot be both the target and the weight"):
        model.fit(parts, "a", "a")
    with pytest.raises(ValueError, match="y is 'a', but X is an array"):
        model.fit(da.ones((10, 2)), "a")


@pytest.mark.parametrize("shape", [(N,), (N, 2, 3)])
def test_arrays_without_two_dimensions_are_refused_before_any_work(shape: tuple[int, ...]) -> None:
    X, y = da.ones(shape, chunks=1_000), da.ones(N, chunks=1_000)
    message = f"Expected 2D array, got {len(shape)}D array instead: X is a dask.array.Array"
    unfitted = GradientBoostingRegressor(n_estimators=3)
    with pytest.raises(ValueError, match=message):
        unfitted.fit(X, y)
    with pytest.raises(ValueError, match=message.replace("X is", "X_val is")):
        unfitted.fit(da.ones((N, 2), chunks=(1_000, 2)), y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match=message):
        unfitted.predict(X)
    with pytest.raises(ValueError, match=message):
        stagewise.dask.shap_values(unfitted, X)


def test_a_series_is_no_table_of_features() -> None:
    X = dd.from_pandas(pd.Series(np.ones(10)), npartitions=1)
    with pytest.raises(ValueError, match=r"X is a dask.dataframe.Series.* X.to_frame\(\) has one"):
        GradientBoostingRegressor().predict(X)


def test_targets_of_several_columns_are_refused_before_any_work() -> None:
    X = da.ones((N, 2), chunks=(1_000, 2))
    with pytest.raises(ValueError, match="y has several targets, and a cluster trains a model of"):
        GradientBoostingRegressor(n_estimators=3).fit(X, X)


def test_sets_to_watch_are_refused_before_any_work() -> None:
    X = da.ones((N, 2), chunks=(1_000, 2))
    with pytest.raises(
        TypeError, match=r"no argument 'eval_set'\. Here it is X_val \(X_val=\.\.\., "
    ):
        GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0], eval_set=[(X, X[:, 0])])


IN_ONE_PLACE: dict[str, dict[str, Any]] = {
    "init": {"init": regressor(n_estimators=2)},
    "eval_metric": {"eval_metric": ["mae", "rmse"], "early_stopping": True},
}


@pytest.mark.parametrize("name", IN_ONE_PLACE)
def test_a_fit_that_needs_all_rows_reports_it(model: GradientBoostingRegressor, name: str) -> None:
    X = frame(N)
    y = number_target(X)
    model.set_params(**IN_ONE_PLACE[name]).fit(parts_of(X), parts_of(y))
    assert model.fingerprint() == regressor(**IN_ONE_PLACE[name]).fit(X, y).fingerprint()
    assert model.to_local().fit_report_["rows_in_memory"].startswith(name)
