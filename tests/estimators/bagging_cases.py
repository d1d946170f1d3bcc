"""Cases of bagging estimators: ways to draw and combine, and small boosted base estimators."""

from __future__ import annotations

from typing import Any

import pytest

from stagewise import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

__all__ = ["ALL_WAYS", "BOTH", "SMALL_TREES", "WAYS", "boosted", "target"]

SMALL_TREES = {"n_estimators": 5, "max_leaf_nodes": 6, "min_samples_leaf": 3}
WAYS = {
    "bootstrap": {"n_estimators": 6, "oob_score": True},
    "weighted": {"n_estimators": 6, "combine": "weighted"},
    "a share of rows and columns": {
        "n_estimators": 6,
        "sampling": "uniform",
        "max_samples": 0.6,
        "max_features": 0.6,
    },
    "folds": {"sampling": "folds", "cv": 4},
    "stopped": {"n_estimators": 60, "early_stopping": True, "n_iter_no_change": 4},
}
ALL_WAYS = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
BOTH = pytest.mark.parametrize("kind", [BaggingRegressor, BaggingClassifier])


def target(kind: type, table: Any) -> Any:
    """Return the target that this kind of bagging estimator predicts."""
    return table.number if kind is BaggingRegressor else table.many


def boosted(kind: type) -> Any:
    """Return a small boosted base estimator."""
    of = GradientBoostingRegressor if kind is BaggingRegressor else GradientBoostingClassifier
    return of(**SMALL_TREES)
