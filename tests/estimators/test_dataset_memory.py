"""Datasets whose fits need rows in memory: they are read if they fit, otherwise refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import stagewise
from estimators.test_dataset_training import FEATURES, TABLE, assert_same, classifier, regressor
from stagewise import (
    AdaBoostClassifier,
    AutoRegressor,
    BaggingRegressor,
    Dart,
    LinearRegression,
    RandomForestRegressor,
    StepwiseRegressor,
)
from stagewise.datasets import Dataset

IN_MEMORY: dict[str, tuple[Any, str]] = {
    "loss='absolute_error'": (regressor(loss="absolute_error"), "number"),
    "grow_policy='symmetric'": (regressor(grow_policy="symmetric", max_depth=3), "number"),
    "leaves='linear'": (regressor(leaves="linear"), "number"),
    "split other than 'histogram'": (regressor(split="exact"), "number"),
    "dropout": (regressor(dropout=Dart()), "number"),
    "the method": (regressor(response="gradient"), "number"),
    "oob_score=True": (regressor(oob_score=True, subsample=0.5), "number"),
    "early_stopping=True with at most": (regressor(early_stopping=True), "number"),
    "RandomForestRegressor": (RandomForestRegressor(n_estimators=2), "number"),
    "the method (votes)": (AdaBoostClassifier(n_estimators=2), "two"),
    "n_estimators='auto' with at most": (
        classifier(n_estimators="auto", learning_rate=0.5, n_iter_no_change=2),
        "three",
    ),
}


def numeric(model: Any) -> bool:
    return not hasattr(model, "categorical_features") or "colour" not in str(
        model.categorical_features
    )


@pytest.mark.parametrize("what", IN_MEMORY)
def test_what_needs_rows_in_memory_is_trained_in_memory_if_they_fit(what: str) -> None:
    model, target = IN_MEMORY[what]
    columns = ["a", "c", "few"] if numeric(model) else FEATURES
    dataset = stagewise.read_batches(TABLE, target=target, weight="times", columns=columns)
    expected = clone(model).fit(
        TABLE.select(columns), TABLE.column(target).to_numpy(), TABLE.column("times").to_numpy()
    )
    assert clone(model).fit(dataset).fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("what", IN_MEMORY)
def test_what_needs_rows_in_memory_is_refused_by_name_if_they_do_not_fit(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dataset, "limit", lambda self: 500_000)
    model, target = IN_MEMORY[what]
    columns = ["a", "c", "few"] if numeric(model) else FEATURES
    dataset = stagewise.read_batches(TABLE, target=target, columns=columns)
    with pytest.raises(
        ValueError, match=r"needs all rows in memory: about .*B for 9,000 rows"
    ) as e:
        clone(model).fit(dataset)
    assert str(e.value).startswith(what.split(" (", maxsplit=1)[0])


def test_many_categories_are_target_encoded_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = pa.array([f"shop {i % 60}" for i in range(TABLE.num_rows)])
    table = TABLE.append_column("shop", shop)
    columns = ["a", "shop"]
    dataset = stagewise.read_batches(table, target="number", columns=columns)
    model = regressor(categorical_features=["shop"])
    expected = clone(model).fit(table.select(columns), table["number"].to_numpy())
    assert clone(model).fit(dataset).fingerprint() == expected.fingerprint()
    assert expected.fit_report_["category_encoding"] == "target"
    monkeypatch.setattr(Dataset, "limit", lambda self: 500_000)
    monkeypatch.setattr(Dataset, "reading_bytes", lambda self: 0)
    with pytest.raises(ValueError, match="target encoding with at most"):
        model.fit(dataset)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        StepwiseRegressor(),
        BaggingRegressor(n_estimators=2),
        AutoRegressor(quality=1),
    ],
)
def test_other_estimators_are_fitted_to_datasets(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, columns = TABLE.slice(0, 500), ["a", "c"]
    dataset = stagewise.read_batches(table, target="number", weight="times", columns=columns)
    X, y, weight = table.select(columns), table["number"].to_numpy(), table["times"].to_numpy()
    expected = clone(model).fit(X, y, weight).predict(X)
    assert clone(model).fit(dataset).predict(X).tolist() == expected.tolist()
    with pytest.raises(TypeError, match="its own target, so y cannot be passed"):
        model.fit(dataset, y)
    monkeypatch.setattr(Dataset, "limit", lambda self: 1000)
    with pytest.raises(ValueError, match=f"{type(model).__name__} needs all rows in memory"):
        model.fit(dataset)


def test_symmetric_trees_of_automatic_rounds_are_refused_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Dataset, "limit", lambda self: 1_000_000)
    monkeypatch.setattr(Dataset, "reading_bytes", lambda self: 0)
    dataset = stagewise.read_batches(TABLE, target="number", columns=["a", "c"])
    model = stagewise.GradientBoostingRegressor(learning_rate=0.5, n_iter_no_change=2)
    with pytest.raises(ValueError, match="set grow_policy='best_first'"):
        model.fit(dataset, X_val=dataset)
    model.set_params(grow_policy="best_first").fit(dataset, X_val=dataset)


def test_validation_rows_are_read_too() -> None:
    dataset, held = (
        stagewise.read_batches(part, target="number", weight="weight", columns=FEATURES)
        for part in (TABLE.slice(0, 6000), TABLE.slice(6000))
    )
    model = regressor(loss="huber", n_estimators=20)
    parts = [
        (p.select(FEATURES), p.column("number").to_numpy(), p.column("weight").to_numpy())
        for p in (TABLE.slice(0, 6000), TABLE.slice(6000))
    ]
    (X, y, w), (X_val, y_val, w_val) = parts
    expected = clone(model).fit(X, y, w, X_val=X_val, y_val=y_val, sample_weight_val=w_val)
    assert_same(model.fit(dataset, X_val=held), expected)


def test_a_model_can_be_continued_with_a_dataset() -> None:
    dataset = stagewise.read_batches(TABLE, target="number", columns=FEATURES)
    model = regressor(warm_start=True, n_estimators=3, learning_rate=0.1).fit(dataset)
    model.set_params(n_estimators=6).fit(dataset)
    expected = regressor(n_estimators=6, learning_rate=0.1).fit(dataset)
    assert model.fingerprint() == expected.fingerprint()


def test_a_random_state_is_drawn_once() -> None:
    dataset = stagewise.read_batches(TABLE, target="number", columns=["a", "c"])
    models = [
        RandomForestRegressor(n_estimators=2, random_state=np.random.RandomState(3))
        for _ in range(2)
    ]
    expected = models[0].fit(TABLE.select(["a", "c"]), TABLE["number"].to_numpy())
    assert models[1].fit(dataset).fingerprint() == expected.fingerprint()


def test_y_is_refused_by_name() -> None:
    dataset = stagewise.read_batches(TABLE, target="number", columns=["a"])
    with pytest.raises(TypeError, match="its own target, so y cannot be passed"):
        LinearRegression().fit(dataset, y="number")
