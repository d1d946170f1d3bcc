"""Write the model files of one format version: ``python write.py FOLDER [KIND ...]``.

Run it once, with the release that writes a new format version, as README.md describes. Existing
files are never overwritten.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import stagewise
from stagewise.data import Features
from stagewise.data.crosses import Cross

N_ROWS = 120
N_PREDICTED = 12


def make_table() -> pd.DataFrame:
    """Return a table with a column of every type; some values are missing."""
    rng = np.random.default_rng(7)
    cities = np.array(["Bonn", "Kyōto", "Oslo", "Rome", "Zürich", "Accra"], dtype=object)
    x = rng.normal(size=N_ROWS).round(3)
    city = cities[rng.integers(0, 6, N_ROWS)]
    x[::11], city[::13] = np.nan, None
    return pd.DataFrame(
        {
            "x": x,
            "größe": rng.integers(0, 50, N_ROWS) / 4,
            "id": 2**60 + rng.integers(0, 900, N_ROWS),
            "sentinel": np.where(rng.random(N_ROWS) < 0.2, -999, rng.integers(0, 9, N_ROWS)),
            "city": city,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, N_ROWS), "D"),
        }
    )


TABLE = make_table()
NUMBERS = ["x", "größe", "id"]
FULL = TABLE[["größe", "sentinel", "city"]].fillna("Bonn")
SIZE = TABLE["größe"] + TABLE["x"].fillna(-1.0) + (TABLE["id"] - 2**60) / 300
Y = (SIZE + TABLE["city"].isin(["Oslo", "Rome"]) * 3).to_numpy()
CLASSES = np.array(["früh", "mittags", "spät"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
SMALL = {"n_estimators": 3, "max_leaf_nodes": 5, "min_samples_leaf": 5, "learning_rate": 0.3}
FOREST = {"n_estimators": 3, "max_depth": 3, "min_samples_leaf": 5}


def boosted(columns: list[str], **params: Any) -> Any:
    model = stagewise.GradientBoostingRegressor(**SMALL, **params)
    return model.fit(TABLE[columns], Y), TABLE[columns], "predict"


def classifier(columns: list[str], **params: Any) -> Any:
    model = stagewise.GradientBoostingClassifier(**SMALL, **params)
    return model.fit(TABLE[columns], CLASSES), TABLE[columns], "decision_function"


def other(name: str, X: pd.DataFrame, y: Any, method: str, **params: Any) -> Any:
    return getattr(stagewise, name)(**params).fit(X, y), X, method


TARGETS = pd.DataFrame({"a": Y, "b": -2 * Y + TABLE["größe"]})
NUMERIC = TABLE[["x", "größe"]]


def crossed() -> Any:
    """Return a model that computes the columns which its trees were fitted to."""
    X, y = NUMERIC, Y * NUMERIC["x"].fillna(1.0)
    crosses = [Cross("difference", (0, 1)), Cross("ratio", (0, 1)), Cross("product", (1, 0))]
    a, b = X["x"], X["größe"]
    with_columns = X.assign(difference=a - b, ratio=(a / b).where(b != 0), product=a * b)
    plain = stagewise.GradientBoostingRegressor(**SMALL).fit(with_columns, y)
    features = Features(plain.model_.features[:2], crosses=crosses)
    model = replace(plain.model_, features=features)
    return plain._from_model(model, plain.get_params(), {}), X, "predict"


def with_exposure() -> Any:
    """Return a model of counts with a column as exposure."""
    X = NUMERIC.assign(years=np.linspace(0.1, 2.0, N_ROWS))
    model = stagewise.GradientBoostingRegressor(loss="poisson", **SMALL)
    return model.fit(X, np.rint(Y - Y.min()), exposure="years"), X, "predict"


CLASS_TARGETS = pd.DataFrame({"late": CLASSES == "spät", "tall": np.where(Y > 0, "ja", "nein")})

KINDS: dict[str, Callable[[], Any]] = {
    "regressor": lambda: boosted(NUMBERS),
    "huber": lambda: boosted(NUMBERS, loss="huber"),
    "classifier": lambda: classifier(NUMBERS),
    "datetimes": lambda: boosted(["x", "day"]),
    "missing_values": lambda: boosted(["x", "sentinel"], missing_values=-999),
    "ada_boost": lambda: other(
        "AdaBoostClassifier", NUMERIC, CLASSES != "spät", "decision_function", n_estimators=3
    ),
    "categories": lambda: boosted(["x", "city"], categorical_features=["city"]),
    "classifier_categories": lambda: classifier(["x", "city"], categorical_features=["city"]),
    "target_encodings": lambda: boosted(
        ["x", "city"], categorical_features=["city"], category_encoding="target"
    ),
    "linear_leaves": lambda: boosted(["x", "größe"], leaves="linear"),
    "targets": lambda: other(
        "GradientBoostingRegressor", NUMERIC, TARGETS, "predict", leaves="vector", **SMALL
    ),
    "forest": lambda: other("RandomForestRegressor", NUMERIC, Y, "predict", **FOREST),
    "forest_classifier": lambda: other(
        "RandomForestClassifier", NUMERIC, CLASSES, "predict_proba", **FOREST
    ),
    "class_targets": lambda: other(
        "RandomForestClassifier", NUMERIC, CLASS_TARGETS, "predict_proba", **FOREST
    ),
    "decision_tree": lambda: other(
        "DecisionTreeClassifier", NUMERIC, CLASSES, "predict_proba", max_depth=3
    ),
    "linear_model": lambda: other(
        "LinearRegression", FULL, Y, "predict", categorical_features=["city"]
    ),
    "crosses": crossed,
    "exposure": with_exposure,
    "stagewise_linear": lambda: other(
        "StagewiseLinearRegressor", FULL[["größe", "sentinel"]], Y, "predict", n_estimators=30
    ),
}


def cells(column: pd.Series) -> list[Any]:
    """Return the values of a column as JSON types."""
    if column.dtype.kind == "M":
        return [str(cell) for cell in column]
    return [None if pd.isna(cell) else cell for cell in column.tolist()]


def write(folder: Path, kind: str) -> None:
    """Write a model and its predictions."""
    model, X, method = KINDS[kind]()
    rows = X.iloc[:N_PREDICTED]
    predictions = np.asarray(getattr(model, method)(rows))
    expected = {
        "fingerprint": model.model_.fingerprint(),
        "columns": {name: cells(rows[name]) for name in rows},
        "dtypes": {name: str(rows[name].dtype) for name in rows},
        "method": method,
        "shape": list(predictions.shape),
        "predictions": [float(p).hex() for p in predictions.ravel()],
    }
    model.save(folder / f"{kind}.stgw")
    text = json.dumps(expected, ensure_ascii=False, indent=1)
    (folder / f"{kind}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for kind in sys.argv[2:] or KINDS:
        if not (folder / f"{kind}.stgw").exists():
            write(folder, kind)
