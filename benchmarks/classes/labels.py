"""Several labels: shared trees, and one tree or model per label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ordinal import RATE, ROUNDS, THREADS, WAIT
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import hamming_loss, log_loss, roc_auc_score
from tables import divide, table, timed

from stagewise import GradientBoostingClassifier

__all__ = ["report"]

Rows = list[tuple[pd.DataFrame, np.ndarray]]
Fitted = tuple[Callable[[pd.DataFrame], np.ndarray], float]


def tables(folder: Path) -> dict[str, tuple[pd.DataFrame, np.ndarray]]:
    """Return a synthetic table, and a real one: the two kinds of loans of customers."""
    X, Y = make_multilabel_classification(
        10_000, 40, n_classes=10, n_labels=3, random_state=0, allow_unlabeled=True
    )
    found = {"synthetic": (pd.DataFrame(X), Y)}
    frame = pd.read_parquet(folder / "bank_marketing.parquet")
    names = ["housing", "loan"]
    own = frame.drop(columns=names)
    for column in own.columns:
        if not pd.api.types.is_numeric_dtype(own[column]):
            own[column] = own[column].astype("category")
    truth = np.column_stack([(frame[c].astype(str) == "yes").to_numpy() for c in names])
    found["bank_marketing"] = (own, truth.astype(int))
    return found


def stagewise(rows: Rows, leaves: str) -> Fitted:
    (X, Y), (X_val, Y_val), _ = rows
    model = GradientBoostingClassifier(
        n_estimators=ROUNDS,
        learning_rate=RATE,
        n_iter_no_change=WAIT,
        leaves=leaves,
        n_jobs=THREADS,
    )
    model, seconds = timed(lambda: model.fit(X, Y, X_val=X_val, y_val=Y_val))
    return lambda frame: np.column_stack([p[:, 1] for p in model.predict_proba(frame)]), seconds


def lightgbm(rows: Rows, _: str) -> Fitted:
    import lightgbm as lgb

    (X, Y), (X_val, Y_val), _test = rows
    params = {"objective": "binary", "learning_rate": RATE, "verbose": -1, "num_threads": THREADS}

    def fit() -> list[Any]:
        stop = [lgb.early_stopping(WAIT, verbose=False)]
        return [
            lgb.train(
                params,
                lgb.Dataset(X, Y[:, k]),
                ROUNDS,
                [lgb.Dataset(X_val, Y_val[:, k])],
                callbacks=stop,
            )
            for k in range(Y.shape[1])
        ]

    models, seconds = timed(fit)
    return lambda frame: np.column_stack([m.predict(frame) for m in models]), seconds


def xgboost(rows: Rows, strategy: str) -> Fitted:
    import xgboost as xgb

    (X, Y), (X_val, Y_val), _ = rows
    model = xgb.XGBClassifier(
        n_estimators=ROUNDS,
        learning_rate=RATE,
        early_stopping_rounds=WAIT,
        multi_strategy=strategy,
        tree_method="hist",
        enable_categorical=True,
        n_jobs=THREADS,
    )
    _, seconds = timed(lambda: model.fit(X, Y, eval_set=[(X_val, Y_val)], verbose=False))
    return model.predict_proba, seconds


def catboost(rows: Rows, _: str) -> Fitted:
    from catboost import CatBoost, Pool

    def pool(X: pd.DataFrame, Y: np.ndarray | None) -> Any:
        text = X.copy()
        names = [c for c in X.columns if isinstance(X[c].dtype, pd.CategoricalDtype)]
        for column in names:
            text[column] = text[column].astype(str)
        return Pool(text, Y, cat_features=names)

    (X, Y), (X_val, Y_val), _test = rows
    model = CatBoost(
        {
            "loss_function": "MultiLogloss",
            "learning_rate": RATE,
            "iterations": ROUNDS,
            "thread_count": THREADS,
            "verbose": False,
            "allow_writing_files": False,
        }
    )
    _, seconds = timed(
        lambda: model.fit(pool(X, Y), eval_set=pool(X_val, Y_val), early_stopping_rounds=WAIT)
    )
    return lambda frame: np.asarray(model.predict(pool(frame, None), "Probability")), seconds


MODELS: dict[str, tuple[Callable[..., Fitted], str]] = {
    "Stagewise, shared trees": (stagewise, "vector"),
    "Stagewise, one tree per label": (stagewise, "constant"),
    "LightGBM, one model per label": (lightgbm, ""),
    "XGBoost, one tree per label": (xgboost, "one_output_per_tree"),
    "XGBoost, shared trees": (xgboost, "multi_output_tree"),
    "CatBoost MultiLogloss": (catboost, ""),
}


def report(folder: Path, seeds: int) -> list[str]:
    """Return the tables of all models."""
    rows = []
    for name, (frame, Y) in tables(folder).items():
        for model, (fit, kind) in MODELS.items():
            values = []
            for seed in range(seeds):
                parts = divide(frame, Y, seed)
                X_test, truth = parts[-1]
                try:
                    predict, seconds = fit(parts, kind)
                except Exception as error:
                    print(f"{model} on {name}: {type(error).__name__}: {error}", flush=True)
                    break
                p = np.clip(predict(X_test), 1e-15, 1 - 1e-15)
                losses = [log_loss(truth[:, k], p[:, k]) for k in range(truth.shape[1])]
                hits = (p > 0.5) == truth
                values.append(
                    [
                        np.mean(losses),
                        hamming_loss(truth, p > 0.5),
                        hits.all(axis=1).mean(),
                        roc_auc_score(truth, p, average="macro"),
                        seconds,
                    ]
                )
            names = ["log loss", "hamming loss", "subset accuracy", "macro AUC"]
            means = np.mean(values, axis=0) if values else None
            rows.append(
                {
                    "table": name,
                    "labels": Y.shape[1],
                    "model": model,
                    **{
                        own: "failed" if means is None else f"{means[i]:.4f}"
                        for i, own in enumerate(names)
                    },
                    "seconds": "" if means is None else f"{means[-1]:.2f}",
                }
            )
            print(rows[-1], flush=True)
    return ["## Several labels", "", *table(rows, list(rows[0]))]
