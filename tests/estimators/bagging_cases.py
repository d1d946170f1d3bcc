"""Committees to try: ways to draw and combine, and small boosted members."""

from __future__ import annotations

from typing import Any

import pytest

from stagewise import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

__all__ = ["ALL_WAYS", "BOTH", "SMALL_TREES", "WAYS", "answers", "boosted", "target"]

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
    """Return what this kind of committee predicts."""
    return table.number if kind is BaggingRegressor else table.many


def answers(model: Any, X: Any) -> Any:
    """Return what a committee says of rows: probabilities, if it has any."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def boosted(kind: type) -> Any:
    """Return a member of this library that is fitted in a moment."""
    of = GradientBoostingRegressor if kind is BaggingRegressor else GradientBoostingClassifier
    return of(**SMALL_TREES)
