"""Every public estimator with small settings, so that one test can run for all of them.

The list comes from the package, so a new estimator is tested automatically; differences between
estimators (labels or numbers, NaN or not, a validation set or not) are read from their tags and
signatures.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

import stagewise
from stagewise.learners.histogram_tree import HistogramTree

__all__ = [
    "EVERY",
    "PUBLIC",
    "classifies",
    "has",
    "is_bagging",
    "is_linear",
    "labelled",
    "passes_on",
    "predictions",
    "reads_no_validation_rows",
    "side_target",
    "small",
]

PUBLIC: tuple[type, ...] = tuple(
    kind
    for kind in (getattr(stagewise, name) for name in stagewise.__all__)
    if isinstance(kind, type)
    and issubclass(kind, BaseEstimator)
    and hasattr(kind, "fit")
    # Targets of other estimators are neither numbers nor labels.
    and get_tags(kind()).estimator_type in ("classifier", "regressor")
)
"""Rankers need queries besides X and y; tests/estimators/test_ranker.py is about them."""
EVERY = pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)

SMALL: dict[str, Any] = {
    "n_estimators": 12,
    "learning_rate": 0.7,
    "min_samples_leaf": 1,
    "max_features": 1.0,
    "n_jobs": 1,
    "quality": 1,
}
"""Few rounds, leaves of one row, all columns; parameters that an estimator lacks are left out."""


def has(kind: type, parameter: str) -> bool:
    """Return whether an estimator has a parameter."""
    return parameter in inspect.signature(kind).parameters


def passes_on(kind: type, parameter: str) -> bool:
    """Return whether an estimator, or its base estimator, has a parameter."""
    return has(kind, parameter) or (is_bagging(kind) and has(base_estimator_of(kind), parameter))


def is_bagging(kind: type) -> bool:
    """Return whether an estimator fits base estimators that read X themselves."""
    return hasattr(kind, "_default_estimator")


def base_estimator_of(kind: type) -> type:
    """Return the default base estimator of a bagging estimator."""
    return type(kind()._default_estimator())


def reads_no_validation_rows(kind: type) -> bool:
    """Return whether `fit` of an estimator has no X_val."""
    median = kind is stagewise.AdaBoostRegressor
    return is_bagging(kind) or has(kind, "quality") or is_linear(kind) or median


def classifies(kind: type) -> bool:
    """Return whether an estimator predicts labels."""
    return is_classifier(kind())


def is_linear(kind: type) -> bool:
    """Return whether an estimator multiplies values, so that they must be present and finite."""
    return not get_tags(kind()).input_tags.allow_nan


def small(kind: type, **params: Any) -> Any:
    """Return an estimator that is quick to fit and can separate single rows.

    Parameters that only the base estimators have are passed to them.
    """
    own = {name: value for name, value in SMALL.items() if has(kind, name)}
    if is_linear(kind):
        own |= {name: value for name, value in {"n_estimators": 300}.items() if name in own}
        own.pop("learning_rate", None)
    if has(kind, "learner"):
        own["learner"] = HistogramTree(min_samples_leaf=1)
    inner = {name: value for name, value in params.items() if not has(kind, name)}
    if inner and is_bagging(kind):
        own["estimator"] = kind()._default_estimator().set_params(**inner)
        params = {name: value for name, value in params.items() if name not in inner}
    return kind(**{**own, **params})


def predictions(model: Any, X: Any) -> np.ndarray:
    """Return the predictions of a model: probabilities if it has them."""
    return np.asarray(model.predict_proba(X) if is_classifier(model) else model.predict(X))


def labelled(kind: type, table: Any) -> np.ndarray:
    """Return the target of a table for this kind of estimator."""
    return np.asarray(table.two if classifies(kind) else table.number)


def side_target(kind: type, side: np.ndarray) -> np.ndarray:
    """Return 0 and 1 as labels or as numbers."""
    return side.astype(np.int64 if classifies(kind) else np.float64)
