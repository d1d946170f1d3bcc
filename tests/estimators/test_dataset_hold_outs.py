"""Rows of datasets that a fit holds out, and weights of classes: as of a table in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import stagewise
from estimators.test_dataset_training import assert_same
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor

N = 56_000
FEATURES = ["a", "b", "colour"]


def make_table() -> pa.Table:
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, N))
    colour = rng.choice(["red", "green", "blue"], N)
    signal = a + b * (colour == "red") + rng.normal(size=N)
    rare = np.where(np.arange(N) < 40, "rare", np.where(signal > 0, "high", "low"))
    weight = np.round(3 * rng.random(N), 2)
    weight[rng.random(N) < 0.05] = 0.0
    return pa.table(
        {
            "a": a,
            "b": np.where(rng.random(N) < 0.1, np.nan, b),
            "colour": colour,
            "number": signal,
            "count": rng.poisson(np.exp(0.3 * a)),
            "two": signal > 0,
            "rare": rng.permutation(rare),
            "weight": weight,
        }
    )


TABLE = make_table()
FAST: dict[str, Any] = {
    "learning_rate": 0.5,
    "n_iter_no_change": 3,
    "max_leaf_nodes": 8,
    "categorical_features": ["colour"],
    "n_jobs": 2,
}
REGRESSOR = GradientBoostingRegressor(**FAST)
CLASSIFIER = GradientBoostingClassifier(**FAST)
CASES: dict[str, tuple[Any, str, str | None]] = {
    "auto, numbers": (REGRESSOR, "number", None),
    "auto, numbers, weights": (REGRESSOR, "number", "weight"),
    "auto, counts": (clone(REGRESSOR).set_params(loss="poisson"), "count", None),
    "auto, sampled": (clone(REGRESSOR).set_params(subsample=0.5), "number", "weight"),
    "auto, rounds without drawn rows": (
        clone(REGRESSOR).set_params(subsample=1e-5, min_samples_leaf=1),
        "number",
        None,
    ),
    "auto, two classes": (CLASSIFIER, "two", "weight"),
    "auto, a rare class": (CLASSIFIER, "rare", None),
    "early stopping, numbers": (
        clone(REGRESSOR).set_params(early_stopping=True, n_estimators=60),
        "number",
        "weight",
    ),
    "early stopping, a rare class": (
        clone(CLASSIFIER).set_params(early_stopping=True, n_estimators=40, validation_fraction=0.3),
        "rare",
        None,
    ),
    "early stopping, auto": (clone(CLASSIFIER).set_params(early_stopping=True), "two", None),
    "balanced classes": (
        clone(CLASSIFIER).set_params(class_weight="balanced", n_estimators=4, early_stopping=False),
        "rare",
        "weight",
    ),
    "a class without weight": (
        clone(CLASSIFIER).set_params(
            class_weight={"low": 0, "rare": 2}, n_estimators=4, early_stopping=False
        ),
        "rare",
        None,
    ),
    "auto, balanced": (clone(CLASSIFIER).set_params(class_weight="balanced"), "two", None),
}


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_held_out_rows_of_a_dataset_are_those_of_the_table(case: str) -> None:
    model, target, weight = CASES[case]
    dataset = stagewise.read_batches(TABLE, target=target, weight=weight, columns=FEATURES)
    expected = clone(model).fit(
        TABLE.select(FEATURES),
        TABLE.column(target).to_numpy(zero_copy_only=False),
        None if weight is None else TABLE.column(weight).to_numpy(),
    )
    found = clone(model).fit(dataset)
    assert_same(found, expected)
    for fact in ("round_choice", "stop_reason", "learning_rate", "unknown_category_counts"):
        assert found.fit_report_.get(fact) == expected.fit_report_.get(fact)


def test_unknown_categories_of_held_out_rows_are_counted() -> None:
    colours = TABLE.column("colour").to_numpy(zero_copy_only=False).copy()
    colours[::4000] = [f"only {i}" for i in range(len(colours[::4000]))]
    table = TABLE.set_column(2, "colour", pa.array(colours))
    model = clone(REGRESSOR).set_params(
        early_stopping=True, n_estimators=3, validation_fraction=0.5
    )
    expected = clone(model).fit(table.select(FEATURES), table.column("number").to_numpy())
    found = model.fit(stagewise.read_batches(table, target="number", columns=FEATURES))
    assert_same(found, expected)
    counts = found.fit_report_["unknown_category_counts"]
    assert counts == expected.fit_report_["unknown_category_counts"]
    assert counts["colour"] > 0
