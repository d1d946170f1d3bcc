"""Fits of several ranks have the bytes of the fit in memory. Threads stand for processes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cluster.rank_fits import (
    Case,
    assert_same_model,
    class_target,
    classifier,
    count_target,
    fit_on_ranks,
    frame,
    number_target,
    partitioning,
    regressor,
)
from stagewise.dask.shard import Checkpoint, Shard
from stagewise.datasets import Dataset
from stagewise.training.stored.checkpoint import Rounds

N = 5_300


def weights(kind: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.integers(0, 3, N) if kind == "counts" else rng.random(N) * (rng.random(N) < 0.8)


def make_cases() -> dict[str, Case]:
    X, X_val = frame(N), frame(2_100, seed=9)
    y, labels = number_target(X), class_target(X)
    held = X_val, number_target(X_val), None
    stops = regressor(n_estimators=40, learning_rate=1.0, n_iter_no_change=2)
    sets = {"category_encoding": "sets"}
    weighted = (X_val, class_target(X_val), np.random.default_rng(4).integers(0, 2, 2_100))
    return {
        "numbers": Case(regressor(), X, y),
        "counts as weights": Case(regressor(), X, y, weights("counts")),
        "real weights": Case(classifier(**sets), X, labels, weights("real")),
        "two classes": Case(classifier(**sets), X, labels),
        "three classes": Case(classifier(**sets, n_estimators=3), X, class_target(X, 3)),
        "poisson": Case(regressor(loss="poisson"), X, count_target(X), weights("real")),
        "subsample": Case(regressor(subsample=0.5, random_state=7), X, y),
        "bootstrap": Case(regressor(sampling="bootstrap"), X, y, weights("real")),
        "GOSS": Case(classifier(**sets, sampling="goss"), X, class_target(X, 3)),
        "MVS": Case(regressor(sampling="mvs"), X, y, weights("counts")),
        "validation": Case(stops, X, y, valid=held),
        "weighted validation": Case(classifier(**sets), X, labels, valid=weighted),
        "deep trees": Case(regressor(max_leaf_nodes=60, min_samples_leaf=1), X, y),
    }


CASES = make_cases()


@pytest.mark.parametrize("n_ranks", [1, 2, 4, 5, 6])
@pytest.mark.parametrize("name", CASES)
def test_the_model_of_several_ranks_is_the_model_in_memory(name: str, n_ranks: int) -> None:
    case = CASES[name]
    cuts, places = partitioning(n_ranks, N, n_ranks)
    valid_cuts, _ = partitioning(n_ranks + 50, 2_100, n_ranks)
    for found in fit_on_ranks(case, cuts, places, n_ranks, valid_cuts):
        assert_same_model(found, case.local)
        assert found.n_iter_ == case.local.n_iter_


@pytest.mark.parametrize("seed", range(10))
def test_no_partitioning_matters(seed: int) -> None:
    case = CASES[list(CASES)[seed % 5]]
    cuts, places = partitioning(100 + seed, N, 3)
    for found in fit_on_ranks(case, cuts, places, 3):
        assert_same_model(found, case.local)


def test_ranks_without_rows_and_many_small_partitions() -> None:
    X = frame(1_500)
    case = Case(regressor(n_estimators=2), X, number_target(X))
    cuts = sorted({*range(0, 900, 7), 1_024, 1_025})
    places = np.random.default_rng(0).integers(0, 3, len(cuts) + 1).tolist()
    for found in fit_on_ranks(case, cuts, places, 4):  # rank 3 has none
        assert_same_model(found, case.local)


def test_partitions_of_one_class_only() -> None:
    X = frame(N)
    labels = np.sort(class_target(X, 3))
    case = Case(classifier(category_encoding="sets", n_estimators=2), X, labels)
    cuts = [int(np.searchsorted(labels, label)) for label in ("no", "yes")]
    for found in fit_on_ranks(case, cuts, [2, 0, 1], 3):
        assert_same_model(found, case.local)
        assert found.classes_.tolist() == ["maybe", "no", "yes"]


def test_categories_and_missing_values_of_single_partitions() -> None:
    X = frame(N)
    X["city"] = X["city"].astype(str)
    X.loc[3_000:, "city"] = "Bonn"
    X.loc[:2_999, "city"] = X.loc[:2_999, "city"].replace({"Rome": None})
    X["city"] = X["city"].astype("category")
    X.loc[:2_999, "d"] = X.loc[:2_999, "d"].fillna(0.0)
    case = Case(regressor(), X, number_target(X))
    for found in fit_on_ranks(case, [1_000, 3_000], [1, 0, 1], 2):
        assert_same_model(found, case.local)


def test_a_categorical_column_that_is_missing_in_a_partition() -> None:
    X = frame(2_000)
    X.loc[:999, "city"] = None
    case = Case(regressor(), X, number_target(X).fillna(0))
    for found in fit_on_ranks(case, [1_000], [0, 1], 2):
        assert_same_model(found, case.local)


@pytest.mark.parametrize("name", ["numbers", "three classes", "validation", "subsample"])
@pytest.mark.parametrize("n", [1, 2, None])
def test_a_fit_that_resumes_has_the_same_bytes(name: str, n: int | None) -> None:
    """From some rounds, or from all that the fit had, also those after the best one (None)."""
    case, shards = CASES[name], list[Shard]()
    fit_on_ranks(case, [3_000], [0, 0], 1, [50], shards=shards)
    assert shards[0].checkpoint is not None
    rounds = shards[0].checkpoint.state["model"]
    assert rounds.n >= case.local.n_iter_
    if n is not None:
        per_round = len(rounds.trees) // rounds.n
        losses = rounds.train_loss[:n], rounds.valid_loss[:n]
        rounds = Rounds(n, rounds.trees[: n * per_round], *losses)
    cuts, places = partitioning(n or 0, N, 2)
    checkpoint = Checkpoint(rounds.n, {"model": rounds})
    for found in fit_on_ranks(case, cuts, places, 2, [50], checkpoint):
        assert_same_model(found, case.local)
        assert found.fit_report_["stop_reason"] == case.local.fit_report_["stop_reason"]


def test_an_error_of_one_rank_is_raised_once_and_names_the_partition() -> None:
    X = frame(N)
    y = number_target(X).to_numpy(copy=True)
    y[4_000] = np.nan
    with pytest.raises(ValueError, match=r"Row 0 is the first of rows 0 to 2,299 of partition 1"):
        fit_on_ranks(Case(regressor(), X, y), [3_000], [0, 1], 2)


def test_all_weights_may_not_be_zero() -> None:
    X = frame(100)
    case = Case(regressor(), X, number_target(X), np.zeros(100))
    with pytest.raises(ValueError, match="at least one non-zero"):
        fit_on_ranks(case, [50], [0, 1], 2)


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "absolute_error"},
        {"n_estimators": "auto", "learning_rate": 0.5, "n_iter_no_change": 2},
        {"grow_policy": "symmetric"},
        {"early_stopping": True, "n_estimators": 20},
        {"warm_start": True},
        {"loss": "huber", "callbacks": [lambda progress: None]},
    ],
    ids="-".join,
)
def test_rows_that_fit_into_one_rank_are_fitted_there(parameters: dict[str, Any]) -> None:
    case = replace(CASES["counts as weights"], estimator=regressor(**parameters))
    for found in fit_on_ranks(case, [2_000, 4_000], [1, 0, 2], 3):
        assert_same_model(found, case.local)
        assert found.get_params() == case.estimator.get_params() | {"n_jobs": 1}


def test_rows_that_fit_into_no_rank_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dataset, "limit", lambda self: 10_000)
    case = replace(CASES["numbers"], estimator=regressor(loss="huber"))
    with pytest.raises(ValueError, match=r"loss='huber' .*needs all rows in memory: .*5,300 rows"):
        fit_on_ranks(case, [2_000], [0, 1], 2)
