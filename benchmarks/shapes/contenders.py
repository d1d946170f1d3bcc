"""The libraries of the benchmark of shapes: each returns a fitted model and its prediction.

All have the same trees, leaves, learning rate, bins and rows per leaf; the regularisation is the
default of each library.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from shapes import Rows, Shape

__all__ = ["CONTENDERS", "THREADS", "loaded"]

THREADS = 2
RATE, BINS, MIN_ROWS = 0.1, 255, 20

Predict = Callable[[Any], np.ndarray]
Fit = Callable[[Shape, Rows], Predict]


def _predict(model: Any, shape: Shape) -> Predict:
    if shape.task == "regression":
        return model.predict
    return model.predict_proba


def ours(shape: Shape, rows: Rows) -> Predict:
    """Fit Stagewise."""
    import stagewise

    kind = "Regressor" if shape.task == "regression" else "Classifier"
    if "forest" in shape.kind or shape.kind == "extra_trees":
        name = "ExtraTrees" if shape.kind == "extra_trees" else "RandomForest"
        own = getattr(stagewise, name + kind)(
            n_estimators=shape.trees, n_jobs=THREADS, random_state=0
        )
        return _predict(own.fit(rows.X, rows.y), shape)
    tree: dict[str, Any] = {"max_leaf_nodes": shape.leaves}
    if shape.symmetric:
        tree = {"grow_policy": "symmetric", "max_depth": 6, "max_leaf_nodes": None}
    model = getattr(stagewise, "GradientBoosting" + kind)(
        **({"loss": shape.loss} if shape.loss else {}),
        n_estimators=shape.trees,
        learning_rate=RATE,
        max_features=1.0
        if shape.columns == 1.0
        else stagewise.FeatureSampling(per_tree=shape.columns),
        min_samples_leaf=MIN_ROWS,
        max_bins=BINS,
        subsample=shape.subsample,
        categorical_features=list(range(shape.categories)) or None,
        early_stopping=False,
        n_jobs=THREADS,
        random_state=0,
        **tree,
    )
    return _predict(model.fit(rows.X, rows.y, sample_weight=rows.weight), shape)


def lightgbm(**more: Any) -> Fit:
    """Return a fit of LightGBM."""

    def fit(shape: Shape, rows: Rows) -> Predict:
        import lightgbm as lgb

        kind = lgb.LGBMRegressor if shape.task == "regression" else lgb.LGBMClassifier
        model = kind(
            n_estimators=shape.trees,
            learning_rate=RATE,
            num_leaves=shape.leaves,
            max_bin=BINS,
            min_child_samples=MIN_ROWS,
            subsample=shape.subsample,
            subsample_freq=int(shape.subsample < 1),
            colsample_bytree=shape.columns,
            objective="regression_l1" if shape.loss == "absolute_error" else None,
            n_jobs=THREADS,
            random_state=0,
            verbose=-1,
            **more,
        )
        codes = list(range(shape.categories)) or "auto"
        model.fit(rows.X, rows.y, sample_weight=rows.weight, categorical_feature=codes)
        return _predict(model, shape)

    return fit


def xgboost(shape: Shape, rows: Rows) -> Predict:
    """Fit XGBoost's hist."""
    import xgboost as xgb

    kind = xgb.XGBRegressor if shape.task == "regression" else xgb.XGBClassifier
    X = rows.X
    if shape.categories:
        import pandas as pd

        X = pd.DataFrame(X.astype(np.int32)).astype("category")
    model = kind(
        n_estimators=shape.trees,
        learning_rate=RATE,
        max_leaves=shape.leaves,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        max_bin=BINS,
        subsample=shape.subsample,
        colsample_bytree=shape.columns,
        enable_categorical=bool(shape.categories),
        n_jobs=THREADS,
        random_state=0,
        **({"objective": "reg:absoluteerror"} if shape.loss else {}),
    )
    model.fit(X, rows.y, sample_weight=rows.weight)
    predict = _predict(model, shape)
    if not shape.categories:
        return predict
    return lambda other: predict(pd.DataFrame(other.astype(np.int32)).astype("category"))


def hgb(shape: Shape, rows: Rows) -> Predict:
    """Fit scikit-learn's HistGradientBoosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    of_numbers = shape.task == "regression"
    kind = HistGradientBoostingRegressor if of_numbers else HistGradientBoostingClassifier
    if shape.categories:
        raise ValueError("more than 255 categories")
    model = kind(
        max_iter=shape.trees,
        learning_rate=RATE,
        max_leaf_nodes=shape.leaves,
        max_bins=BINS,
        min_samples_leaf=MIN_ROWS,
        early_stopping=False,
        random_state=0,
        **({"loss": shape.loss} if shape.loss else {}),
    )
    return _predict(model.fit(rows.X, rows.y, sample_weight=rows.weight), shape)


def catboost(shape: Shape, rows: Rows) -> Predict:
    """Fit CatBoost's symmetric trees, for predictions."""
    from catboost import CatBoostClassifier

    depth = max(5, round(np.log2(shape.leaves)))
    model = CatBoostClassifier(
        iterations=shape.trees,
        learning_rate=RATE,
        depth=depth,
        thread_count=THREADS,
        random_seed=0,
        allow_writing_files=False,
        logging_level="Silent",
    )
    model.fit(rows.X, rows.y)
    return lambda X: model.predict_proba(X, thread_count=THREADS)


def scikit_forest(shape: Shape, rows: Rows) -> Predict:
    """Fit a forest of scikit-learn."""
    import sklearn.ensemble as ensembles

    kind = "Regressor" if shape.task == "regression" else "Classifier"
    name = "ExtraTrees" if shape.kind == "extra_trees" else "RandomForest"
    model = getattr(ensembles, name + kind)(shape.trees, n_jobs=THREADS, random_state=0)
    return _predict(model.fit(rows.X, rows.y), shape)


def loaded(predict: Predict) -> Predict:
    """Return the predictions of the same model, as it is after a pickle was read."""
    if not hasattr(predict, "__self__"):
        raise ValueError("only methods of models can be loaded")
    return getattr(pickle.loads(pickle.dumps(predict.__self__)), predict.__name__)


CONTENDERS: Mapping[str, Fit] = {
    "stagewise": ours,
    "lightgbm": lightgbm(),
    "lightgbm-quantised": lightgbm(use_quantized_grad=True),
    "xgboost": xgboost,
    "hgb": hgb,
    "catboost": catboost,
    "scikit-learn": scikit_forest,
}
