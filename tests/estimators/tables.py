"""Tables for training, the same on every machine, and the fits that are tested on them.

Every value comes from a 64-bit integer hash of its position, so it depends on no random generator,
logarithm or processor. Values are multiples of 1/4096 below 4096, which float32 and float64
represent exactly.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from stagewise import (
    AdaBoostClassifier,
    Dart,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    FeatureSampling,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
    LogitBoostClassifier,
    OrderedTargetEncoding,
    RandomForestClassifier,
    RandomForestRegressor,
    SplitSearch,
)

__all__ = ["CASES", "Table", "fit_case", "hashed", "make_table", "overfit", "quick"]


def hashed(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Return integers below 2**24, each a hash of its position and the seed (SplitMix64)."""
    x = np.arange(rows * columns, dtype=np.uint64).reshape(rows, columns)
    x = (x + np.uint64(1 + 1_000_003 * seed)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(40)).astype(np.int64)


@dataclass(frozen=True)
class Table:
    """Features and targets of several kinds."""

    X: np.ndarray
    number: np.ndarray
    numbers: np.ndarray
    two: np.ndarray
    many: np.ndarray


def make_table(rows: int, columns: int = 5, seed: int = 0, *, missing: bool = True) -> Table:
    """Return a table whose first three columns determine the targets.

    Column 1 has few distinct values, and one value in sixteen is missing.
    """
    cells = hashed(rows, columns, seed)
    noise = hashed(rows, 3, seed + 1)
    signal = cells[:, 0] // 4096 + 300 * (cells[:, 1] % 7) + noise[:, 0] % 500
    if columns > 2:
        signal = signal + np.where(cells[:, 2] > 2**23, cells[:, 0] // 8192, 0)
    X = cells / 4096.0
    X[:, 1] = cells[:, 1] % 7
    if missing:
        X[hashed(rows, columns, seed + 2) % 16 == 0] = np.nan
    two = (signal + noise[:, 1] % 2000 > 4000).astype(np.int64)
    many = (signal // 1200 + (noise[:, 2] % 4 == 0)) % 5
    other = cells[:, 0] // 2048 + 100 * (noise[:, 1] % 9) + 7000
    numbers = np.column_stack([signal + 1, other, 12000 + signal - other // 2]).astype(np.float64)
    return Table(X, signal.astype(np.float64), numbers, two, many)


AS_IT_COMES: Mapping[str, Any] = MappingProxyType({"max_features": "auto"})
"""Feature sampling is off in the other cases unless they set it."""

CASES: Mapping[str, tuple[type, str, dict[str, Any]]] = MappingProxyType(
    {
        "squared error": (GradientBoostingRegressor, "number", {}),
        "absolute error": (GradientBoostingRegressor, "number", {"loss": "absolute_error"}),
        "two classes": (GradientBoostingClassifier, "two", {}),
        "five classes": (GradientBoostingClassifier, "many", {}),
        "rows and columns drawn": (
            GradientBoostingRegressor,
            "number",
            {
                "subsample": 0.6,
                "max_features": FeatureSampling(per_tree=0.8, per_level=0.8, per_node=0.7),
            },
        ),
        "early stopping": (
            GradientBoostingClassifier,
            "many",
            {"early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.9, "subsample": 0.5},
        ),
        "many bins, level by level": (
            GradientBoostingRegressor,
            "number",
            {"max_bins": 1000, "grow_policy": "depth_wise", "max_depth": 4, "max_leaf_nodes": None},
        ),
        "gradient response": (GradientBoostingClassifier, "many", {"response": "gradient"}),
        "bootstrap, absolute error": (
            GradientBoostingRegressor,
            "number",
            {"sampling": "bootstrap", "loss": "absolute_error"},
        ),
        "largest gradients": (GradientBoostingClassifier, "many", {"sampling": "goss"}),
        "minimal variance": (
            GradientBoostingClassifier,
            "two",
            {"sampling": "mvs", "subsample": 0.4},
        ),
        "dropout": (GradientBoostingRegressor, "number", {"dropout": Dart(rate=0.5, skip=0.2)}),
        "every value": (GradientBoostingClassifier, "two", {"split": "exact"}),
        "proposed values": (
            GradientBoostingRegressor,
            "number",
            {
                "split": SplitSearch(method="approx", proposal="local", sketch_eps=0.05),
                "subsample": 0.7,
            },
        ),
        "symmetric": (GradientBoostingClassifier, "many", {"grow_policy": "symmetric"}),
        "statistics of levels": (
            GradientBoostingClassifier,
            "many",
            {
                "categorical_features": [1, 3],
                "category_encoding": OrderedTargetEncoding(n_orderings=2),
            },
        ),
        "categories": (
            GradientBoostingClassifier,
            "two",
            {"categorical_features": [1], "path_smoothing": 5.0},
        ),
        "constrained": (
            GradientBoostingRegressor,
            "number",
            {
                "monotonic_cst": {0: 1, 2: -1},
                "interaction_cst": [[0, 1], [1, 2]],
                "loss": "huber",
                "feature_penalty": {3: 5.0},
            },
        ),
        "random thresholds": (
            GradientBoostingRegressor,
            "number",
            {
                "split": SplitSearch(
                    random_thresholds=True, forced_splits={"feature": 0, "threshold": 1000.0}
                ),
                "max_features": FeatureSampling(per_node=0.6, weights=[1, 2, 3, 1, 1]),
            },
        ),
        "several targets": (GradientBoostingRegressor, "numbers", {"loss": "huber"}),
        "vectors of targets": (
            GradientBoostingRegressor,
            "numbers",
            {"leaves": "vector", "subsample": 0.7, "dropout": Dart(rate=0.3)},
        ),
        "vectors of classes": (
            GradientBoostingClassifier,
            "many",
            {"leaves": "vector", "categorical_features": [1], "sampling": "goss"},
        ),
        "linear leaves": (GradientBoostingRegressor, "number", {"leaves": "linear"}),
        "linear leaves of classes": (
            GradientBoostingClassifier,
            "many",
            {"leaves": LinearLeaves(l2=2.0), "subsample": 0.7, "categorical_features": [1]},
        ),
        "linear leaves, quantile, dropout": (
            GradientBoostingRegressor,
            "number",
            {
                "leaves": "linear",
                "loss": "quantile",
                "quantile": 0.7,
                "dropout": Dart(rate=0.5, skip=0.2),
                "monotonic_cst": {0: 1},
            },
        ),
        "a number, as it comes": (GradientBoostingRegressor, "number", AS_IT_COMES),
        "classes, as it comes": (
            GradientBoostingClassifier,
            "many",
            {**AS_IT_COMES, "n_estimators": 120, "max_leaf_nodes": 4},
        ),
        "AdaBoost": (AdaBoostClassifier, "two", {}),
        "AdaBoost of five classes": (
            AdaBoostClassifier,
            "many",
            {"criterion": "gini", "max_depth": 4, "subsample": 0.7},
        ),
        "real AdaBoost": (
            AdaBoostClassifier,
            "many",
            {"algorithm": "real", "criterion": "gini", "max_depth": 3},
        ),
        "AdaBoost by entropy": (
            AdaBoostClassifier,
            "many",
            {"criterion": "entropy", "max_depth": 4},
        ),
        "gentle AdaBoost": (GentleBoostClassifier, "many", {"max_depth": 3}),
        "LogitBoost": (LogitBoostClassifier, "two", {"max_depth": 3}),
        "a forest of numbers": (RandomForestRegressor, "number", {"min_samples_leaf": 3}),
        "a forest of two classes": (RandomForestClassifier, "two", {}),
        "a forest of five classes by entropy": (
            RandomForestClassifier,
            "many",
            {"criterion": "entropy", "split": "exact", "max_leaf_nodes": 500},
        ),
        "extra trees of five classes": (ExtraTreesClassifier, "many", {"max_depth": 12}),
        "extra trees by absolute error": (
            ExtraTreesRegressor,
            "number",
            {"criterion": "absolute_error", "max_leaf_nodes": 30, "bootstrap": True},
        ),
        "one tree of classes": (
            DecisionTreeClassifier,
            "many",
            {
                "criterion": "entropy",
                "pruning": "cost_complexity",
                "ccp_alpha": 0.0005,
                "missing_strategy": "probability",
                "min_samples_leaf": 20,
            },
        ),
        "one tree of numbers": (
            DecisionTreeRegressor,
            "number",
            {"pruning": "early_stopping", "missing_strategy": "mean", "split": "histogram"},
        ),
    }
)


def all_columns(kind: type) -> dict[str, Any]:
    """Return the parameters with which every node of boosted trees uses all features."""
    parameter = inspect.signature(kind).parameters.get("max_features")
    return {"max_features": 1.0} if parameter is not None and parameter.default == "auto" else {}


def fit_case(name: str, table: Table, *, X: Any = None, **params: Any) -> Any:
    """Fit one of the cases, on X in another form if one is given."""
    kind, target, own = CASES[name]
    few = {"n_estimators": 6} if "n_estimators" in kind().get_params() else {}
    estimator = kind(**{**few, **all_columns(kind), **own, **params})
    return estimator.fit(table.X if X is None else X, getattr(table, target))


def quick(kind: type, **params: Any) -> Any:
    """Return an estimator that is quick to fit and splits small tables."""
    return kind(**{"n_estimators": 8, "min_samples_leaf": 5, "max_leaf_nodes": 8, **params})


def overfit(kind: type, **params: Any) -> Any:
    """Return an estimator that overfits after a few rounds."""
    return quick(kind, **{"n_estimators": 80, "learning_rate": 0.8, **params})
