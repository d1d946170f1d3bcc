"""Target encodings of datasets: those of the same rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import stagewise
from estimators.test_dataset_training import assert_same
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.datasets.dataset import Dataset
from stagewise.options import OrderedTargetEncoding

N = 52_000
FEATURES = ["city", "shop", "a"]


def make_table() -> pa.Table:
    """Return a table in which the target depends on a combination of two categories."""
    rng = np.random.default_rng(5)
    city, shop, a = rng.integers(0, 90, N), rng.integers(0, 9, N), rng.normal(size=N)
    signal = rng.normal(size=(90, 9))[city, shop] + a + rng.normal(size=N)
    cities = np.array([f"city {i}" for i in range(90)], dtype=object)
    weight = np.round(3 * rng.random(N), 2)
    weight[rng.random(N) < 0.05] = 0.0
    return pa.table(
        {
            "city": pa.array(cities[city], mask=rng.random(N) < 0.03),
            "shop": np.array([f"shop {i}" for i in range(9)])[shop],
            "a": a,
            "number": signal,
            "three": np.select([signal > 1, signal < -1], ["high", "low"], "middle"),
            "weight": weight,
        }
    )


TABLE = make_table()
FAST: dict[str, Any] = {
    "learning_rate": 0.5,
    "n_iter_no_change": 3,
    "early_stopping": False,
    "max_leaf_nodes": 8,
    "categorical_features": "text",
    "n_jobs": 2,
}
REGRESSOR = GradientBoostingRegressor(**FAST)
CLASSIFIER = GradientBoostingClassifier(**FAST)
CASES: dict[str, tuple[Any, str, str | None]] = {
    "numbers": (clone(REGRESSOR).set_params(n_estimators=5), "number", None),
    "numbers, weights": (clone(REGRESSOR).set_params(n_estimators=5), "number", "weight"),
    "every category": (
        clone(REGRESSOR).set_params(n_estimators=5, category_encoding="target"),
        "number",
        None,
    ),
    "three classes": (clone(CLASSIFIER).set_params(n_estimators=3), "three", None),
    "auto": (REGRESSOR, "number", None),
    "auto, weights": (REGRESSOR, "number", "weight"),
    "auto, three classes": (CLASSIFIER, "three", None),
    "early stopping": (
        clone(CLASSIFIER).set_params(n_estimators=30, early_stopping=True),
        "three",
        "weight",
    ),
}


def in_memory(model: Any, target: str, weight: str | None, **validation: Any) -> Any:
    return clone(model).fit(
        TABLE.select(FEATURES),
        TABLE[target].to_numpy(),
        None if weight is None else TABLE[weight].to_numpy(),
        **validation,
    )


@pytest.mark.parametrize("case", CASES)
def test_target_encodings_of_a_dataset_are_those_of_the_table(case: str) -> None:
    model, target, weight = CASES[case]
    expected = in_memory(model, target, weight)
    assert len(expected.model_.features.target_encodings) >= 2
    for size in (N, 9_973):
        dataset = stagewise.read_batches(
            TABLE.to_batches(max_chunksize=size), target=target, weight=weight, columns=FEATURES
        )
        found = clone(model).fit(dataset)
        assert_same(found, expected)
        for fact in ("round_choice", "stop_reason", "category_encoding"):
            assert found.fit_report_.get(fact) == expected.fit_report_.get(fact)


def test_validation_rows_are_encoded_by_all_training_rows() -> None:
    held = TABLE.slice(0, 4000)
    cities = held["city"].to_pylist()
    cities[7] = "a city that no training row has"
    held = held.set_column(0, "city", pa.array(cities))
    model = clone(REGRESSOR).set_params(n_estimators=40)
    validation = {"X_val": held.select(FEATURES), "y_val": held["number"].to_numpy()}
    expected = in_memory(model, "number", None, **validation)
    train, valid = (
        stagewise.read_batches(table, target="number", columns=FEATURES) for table in (TABLE, held)
    )
    found = clone(model).fit(train, X_val=valid)
    assert found.fit_report_["unknown_category_counts"] == {"city": 1}
    assert_same(found, expected)
    assert found.model_.valid_loss.tobytes() == expected.model_.valid_loss.tobytes()


def test_rows_before_a_row_encode_it_if_there_are_few() -> None:
    """Up to 50,000 rows are encoded in a random order, more by cross fitting."""
    few = TABLE.slice(0, 50_000)
    model = clone(REGRESSOR).set_params(n_estimators=3, category_encoding="target")
    expected = clone(model).fit(few.select(FEATURES), few["number"].to_numpy())
    dataset = stagewise.read_batches(few, target="number", columns=FEATURES)
    assert_same(model.fit(dataset), expected)


NEEDS: dict[str, tuple[Any, int, int]] = {
    "target encoding with at most 50,000 rows": (REGRESSOR, 50_000, 500_000),
    "target encoding with several orders": (
        clone(REGRESSOR).set_params(category_encoding=OrderedTargetEncoding(n_orderings=2)),
        N,
        500_000,
    ),
    "target encoding of at least [0-9,]+ categories and combinations": (REGRESSOR, N, 400_000),
}


@pytest.mark.parametrize("what", NEEDS)
def test_what_needs_memory_is_named(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, n, limit = NEEDS[what]
    dataset = stagewise.read_batches(TABLE.slice(0, n), target="number", columns=FEATURES)
    monkeypatch.setattr(Dataset, "limit", lambda self: limit)
    monkeypatch.setattr(Dataset, "reading_bytes", lambda self: -(10**9))
    with pytest.raises(ValueError, match=f"^{what}.* needs all rows in memory") as error:
        clone(model).set_params(n_estimators=2).fit(dataset)
    assert "set category_encoding='sets'" in str(error.value)
