"""Held-out rows and weights of classes on several ranks: the bytes of the fit in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cluster.rank_fits import Case, assert_same_model, classifier, fit_on_ranks, regressor
from stagewise.dask.shard import Checkpoint, Shard

N = 58_000


def make_cases() -> dict[str, Case]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)})
    X["c"] = pd.Categorical(rng.choice(["x", "y", "z"], N))
    signal = (X["a"] + X["b"] * (X["c"] == "x") + rng.normal(size=N)).to_numpy()
    rare = np.where(np.arange(N) % 1800 == 0, "rare", np.where(signal > 0, "high", "low"))
    weight = rng.random(N) * (rng.random(N) < 0.9)
    shops = X.assign(shop=pd.Categorical([f"shop {i}" for i in rng.integers(0, 70, N)]))
    sales = signal + rng.normal(size=(70, 3))[shops["shop"].cat.codes, X["c"].cat.codes]
    fast: dict[str, Any] = {"learning_rate": 0.5, "n_iter_no_change": 2, "max_leaf_nodes": 6}
    auto = fast | {"n_estimators": "auto"}
    stops = fast | {"n_estimators": 30, "early_stopping": True}
    return {
        "auto": Case(regressor(**auto), X, signal, weight),
        "auto, a rare class": Case(classifier(**auto), X, rare),
        "auto, target encoding": Case(regressor(**auto), shops, sales, weight),
        "early stopping": Case(classifier(**stops), X, rare, weight),
        "balanced": Case(classifier(**stops, class_weight="balanced"), X, rare),
        "a class without weight": Case(
            classifier(n_estimators=2, class_weight={"high": 0, "rare": 3}), X, rare, weight
        ),
    }


CASES = make_cases()


@pytest.mark.parametrize("name", CASES)
def test_held_out_rows_do_not_depend_on_the_ranks(name: str) -> None:
    case = CASES[name]
    cuts = [0, 1, 7_000, 7_001, 20_480, 50_000]
    for found in fit_on_ranks(case, cuts, [2, 0, 1, 1, 0, 2, 0], 3):
        assert_same_model(found, case.local)
        choice = found.fit_report_.get("round_choice")
        assert choice == case.local.fit_report_.get("round_choice")


@pytest.mark.parametrize("name", ["auto, a rare class", "auto, target encoding"])
def test_a_search_that_resumes_has_the_same_bytes(name: str) -> None:
    case, shards = CASES[name], list[Shard]()
    fit_on_ranks(case, [], [0], 1, shards=shards)
    assert shards[0].checkpoint is not None
    search = shards[0].checkpoint.state["search"]
    for stages in ({"search": search}, shards[0].checkpoint.state):
        for found in fit_on_ranks(case, [9_000], [1, 0], 2, checkpoint=Checkpoint(1, stages)):
            assert_same_model(found, case.local)
