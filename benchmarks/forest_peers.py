"""The forests of other libraries, all with the same settings: fully grown trees.

There are 100 trees, each on a bootstrap sample or 63 % of the rows, with √p columns per node for
classes and p/3 for numbers, and leaves of one row. All other settings are the library's defaults.
"""

# ruff: noqa: D102  (each method is documented once, in Peer)

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from library import OPENMP, Peer, Work, estimator_predict

BOOTSTRAP = 0.632  # share of distinct rows in a bootstrap sample
FOREST: Mapping[str, Mapping[str, Any]] = {"forest": {}}
SQUARES: Mapping[str, Any] = {"squared_error": {}}


def columns(X: np.ndarray, work: Work) -> int:
    """Return how many columns a node may use."""
    return round(X.shape[1] ** 0.5 if work.n_classes else X.shape[1] / 3)


class ScikitForest(Peer):
    """scikit-learn's random forest."""

    name = "scikit-learn-forest"
    package = "scikit-learn"
    kinds = frozenset({"fit", "memory"})
    ways = FOREST
    losses = SQUARES

    def __init__(self) -> None:
        self.lib: Any = import_module("sklearn.ensemble")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        kind = "Classifier" if work.n_classes else "Regressor"
        model = getattr(self.lib, "RandomForest" + kind)(
            n_estimators=work.trees,
            max_features=columns(X, work),
            random_state=work.seed,
            n_jobs=work.threads,
        )
        return model.fit(X, y)

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return estimator_predict(model, X, work)


class YggdrasilForest(Peer):
    """Yggdrasil Decision Forests."""

    name = "ydf"
    package = "ydf"
    kinds = frozenset({"fit"})
    ways = FOREST
    losses = SQUARES

    def __init__(self) -> None:
        self.lib: Any = import_module("ydf")

    def feed(self, X: np.ndarray, work: Work) -> Any:
        return {f"f{k}": np.ascontiguousarray(X[:, k]) for k in range(X.shape[1])}

    def fit(self, X: Any, y: np.ndarray, work: Work) -> Any:
        task = self.lib.Task.CLASSIFICATION if work.n_classes else self.lib.Task.REGRESSION
        wide = np.empty((0, len(X)))
        learner = self.lib.RandomForestLearner(
            label="y",
            task=task,
            num_trees=work.trees,
            max_depth=-1,
            min_examples=1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_candidate_attributes=columns(wide, work),
            num_threads=work.threads,
            random_seed=work.seed,
        )
        return learner.train({**X, "y": y}, verbose=0)

    def predict(self, model: Any, X: Any, work: Work) -> np.ndarray:
        return np.asarray(model.predict(self.feed(X, work) if isinstance(X, np.ndarray) else X))


class LightForest(Peer):
    """LightGBM with boosting="rf"; it requires a limit of leaves, and 4,096 are enough here."""

    name = "lightgbm-forest"
    package = "lightgbm"
    policies = OPENMP
    kinds = frozenset({"fit"})
    ways = FOREST
    losses = SQUARES

    def __init__(self) -> None:
        self.lib: Any = import_module("lightgbm")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        params = {
            "objective": {"binary": "binary", "classes": "multiclass"}.get(work.task, "regression"),
            "num_class": work.n_classes if work.task == "classes" else 1,
            "boosting": "rf",
            "num_leaves": 4096,
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "bagging_fraction": BOOTSTRAP,
            "bagging_freq": 1,
            "feature_fraction_bynode": columns(X, work) / X.shape[1],
            "num_threads": work.threads,
            "seed": work.seed,
            "verbosity": -1,
        }
        return self.lib.train(params, self.lib.Dataset(X, label=y), num_boost_round=work.trees)

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return np.asarray(model.predict(X))


class XForest(Peer):
    """XGBoost with num_parallel_tree; trees of depth 20, beyond which it takes minutes."""

    name = "xgboost-forest"
    package = "xgboost"
    policies = OPENMP
    kinds = frozenset({"fit"})
    ways = FOREST
    losses = SQUARES

    def __init__(self) -> None:
        self.lib: Any = import_module("xgboost")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        params = {
            "objective": {"binary": "binary:logistic", "classes": "multi:softprob"}.get(
                work.task, "reg:squarederror"
            ),
            **({"num_class": work.n_classes} if work.task == "classes" else {}),
            "tree_method": "hist",
            "num_parallel_tree": work.trees,
            "eta": 1.0,
            "max_depth": 20,
            "lambda": 1e-5,
            "min_child_weight": 0.0,
            "subsample": BOOTSTRAP,
            "colsample_bynode": columns(X, work) / X.shape[1],
            "nthread": work.threads,
            "seed": work.seed,
        }
        data = self.lib.QuantileDMatrix(X, label=y, nthread=work.threads)
        return self.lib.train(params, data, num_boost_round=1)

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return np.asarray(model.inplace_predict(X))


FORESTS: tuple[type[Peer], ...] = (ScikitForest, YggdrasilForest, LightForest, XForest)
