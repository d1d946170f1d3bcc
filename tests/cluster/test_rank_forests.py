"""Forests of several ranks have the bytes of the fit in memory. Threads stand for processes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cluster.rank_fits import (
    Case,
    assert_same_model,
    class_target,
    fit_on_ranks,
    frame,
    number_target,
    partitioning,
)
from stagewise import (
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

N = 1_300


def make_cases() -> dict[str, Case]:
    X, X_val = frame(N), frame(400, seed=9)
    y, labels = number_target(X), class_target(X, 3)
    rng = np.random.default_rng(3)
    counts, real = rng.integers(0, 3, N), rng.random(N) * (rng.random(N) < 0.8)
    held = X_val, number_target(X_val), rng.integers(0, 3, 400)
    stops = RandomForestRegressor(
        n_estimators=60, max_depth=3, early_stopping=True, n_iter_no_change=3
    )
    return {
        "numbers": Case(RandomForestRegressor(n_estimators=11), X, y),
        "counts as weights": Case(RandomForestRegressor(n_estimators=7), X, y, counts),
        "real weights": Case(RandomForestClassifier(n_estimators=7), X, labels, real),
        "two classes": Case(RandomForestClassifier(n_estimators=9), X, class_target(X)),
        "balanced": Case(
            RandomForestClassifier(n_estimators=5, class_weight="balanced"), X, labels
        ),
        "stops by bags": Case(stops, X, y),
        "validation": Case(stops, X, y, valid=held),
        "exact, medians": Case(
            RandomForestRegressor(n_estimators=3, criterion="absolute_error", split="exact"), X, y
        ),
        "random thresholds": Case(ExtraTreesClassifier(n_estimators=6), X, labels),
    }


CASES = make_cases()


def assert_same_forest(found: Any, local: Any) -> None:
    """Assert that two forests have the same bytes, those of the out-of-bag rows included."""
    assert_same_model(found, local)
    assert found.n_iter_ == local.n_iter_
    assert found.feature_importances_.tobytes() == local.feature_importances_.tobytes()
    for name in ("oob_prediction_", "oob_score_", "oob_loss_"):
        assert hasattr(found, name) == hasattr(local, name)
        if hasattr(local, name):
            assert (
                np.asarray(getattr(found, name)).tobytes()
                == np.asarray(getattr(local, name)).tobytes()
            )


@pytest.mark.parametrize("n_ranks", [1, 2, 4, 6])
@pytest.mark.parametrize("name", CASES)
def test_the_forest_of_several_ranks_is_the_forest_in_memory(name: str, n_ranks: int) -> None:
    case = CASES[name]
    cuts, places = partitioning(n_ranks, N, n_ranks)
    for found in fit_on_ranks(case, cuts, places, n_ranks, [7, 7, 200]):
        assert_same_forest(found, case.local)


@pytest.mark.parametrize("seed", range(6))
def test_no_partitioning_matters(seed: int) -> None:
    case = CASES[list(CASES)[seed]]
    cuts, places = partitioning(100 + seed, N, 3)
    for found in fit_on_ranks(case, cuts, places, 3, [50], n_threads=2):
        assert_same_forest(found, case.local)


def test_partitions_of_one_class_or_category_only() -> None:
    X = frame(N).sort_values("city", ignore_index=True)
    X.loc[:299, "d"] = np.nan
    case = Case(RandomForestClassifier(n_estimators=5), X, class_target(X, 3))
    cuts = np.flatnonzero(X["city"].cat.codes.diff()).tolist()[1:]
    for found in fit_on_ranks(case, cuts, [2, 0, 1], 3):
        assert_same_forest(found, case.local)
    labels = np.sort(class_target(X, 3))
    case = replace(case, y=labels)
    cuts = [int(np.searchsorted(labels, label)) for label in ("no", "yes")]
    for found in fit_on_ranks(case, cuts, [2, 0, 1], 3):
        assert_same_forest(found, case.local)


def test_columns_of_many_types() -> None:
    X = frame(N)
    X["text"] = X["city"].astype(str)
    X["flag"], X["small"] = X["a"] > 0, (X["b"] * 10).astype("int32")
    X["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(X["c"], unit="D")
    X["nullable"] = pd.array(X["c"], dtype="Int64")
    X["number"], X["single"] = pd.Categorical(X["c"]), X["a"].astype("float32")
    X.loc[7, ["text", "nullable", "day"]] = None
    forest = RandomForestClassifier(n_estimators=4, categorical_features=["text", "city", "number"])
    for y in (X["b"] > 0, X["c"], pd.Series(class_target(X, 3)).astype("category")):
        case = Case(forest, X, np.asarray(y))
        for found in fit_on_ranks(case, [300, 301], [1, 0, 1], 2):
            assert_same_forest(found, case.local)
            assert found.classes_.tolist() == case.local.classes_.tolist()


def test_rows_that_do_not_fit_into_a_worker_are_refused_with_both_sizes() -> None:
    case = CASES["numbers"]
    with pytest.raises(MemoryError, match=r"they have 5.*KB, and a worker has 40KB"):
        fit_on_ranks(case, [500], [0, 1], 2, memory_limit=40_000)


def test_a_grown_tree_is_the_same_after_pickling() -> None:
    from stagewise._native import ForestGrower

    grown: list[Any] = []
    original = ForestGrower.grow
    case = CASES["real weights"]

    class Spy:
        def __init__(self, *arguments: Any) -> None:
            self.grower = ForestGrower(*arguments)

        def grow(self, *arguments: Any) -> Any:
            grown.extend(original(self.grower, *arguments))
            return grown[-arguments[2] :]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stagewise.training.forest_trainer.ForestGrower", Spy)
        replace(case).local  # noqa: B018
    tree = grown[0][0]
    again = pickle.loads(pickle.dumps(tree, protocol=5))
    assert again.outputs == tree.outputs
    for found, expected in zip(
        (*again.arrays(), *again.category_sets()),
        (*tree.arrays(), *tree.category_sets()),
        strict=True,
    ):
        assert found.tobytes() == expected.tobytes()
