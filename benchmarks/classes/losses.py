"""Single losses of classes: focal, Brier, hinge and one against the rest, against the peers' own.

No peer has the Brier score as an objective: LightGBM gets it as a function of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from labels import Rows
from ordinal import RATE, ROUNDS, THREADS, WAIT
from sklearn.metrics import log_loss
from tables import divide, table, timed

from stagewise import GradientBoostingClassifier

__all__ = ["report"]

GAMMA = 2.0
TABLES = ("adult", "phoneme", "mammography", "magic_telescope")
SEVERAL = ("dry_bean", "segment")


def read(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the features and the codes of the classes."""
    import json

    about = json.loads((folder / "index.json").read_text())[name]
    frame = pd.read_parquet(folder / f"{name}.parquet").dropna(subset=[about["targets"][0]])
    codes = pd.factorize(frame[about["targets"][0]], sort=True)[0]
    X = frame.drop(columns=[*about["targets"], *about["ignore"]])
    for column in X:
        if not pd.api.types.is_numeric_dtype(X[column]):
            X[column] = X[column].astype("category")
    return X, codes


def stagewise(rows: Rows, loss: str) -> tuple[Any, float]:
    (X, y), (X_val, y_val), (X_test, _) = rows
    model = GradientBoostingClassifier(
        loss=loss, n_estimators=ROUNDS, learning_rate=RATE, n_iter_no_change=WAIT, n_jobs=THREADS
    )
    _, seconds = timed(lambda: model.fit(X, y, X_val=X_val, y_val=y_val))
    return model.predict_proba(X_test), seconds


def lightgbm(rows: Rows, objective: str) -> tuple[Any, float]:
    import lightgbm as lgb

    (X, y), (X_val, y_val), (X_test, _) = rows
    own = {"learning_rate": RATE, "n_estimators": ROUNDS, "n_jobs": THREADS, "verbose": -1}
    stop = [lgb.early_stopping(WAIT, verbose=False)]
    if objective == "brier":
        own |= {"objective": brier_derivatives, "metric": "None"}
        given = {"eval_metric": brier_metric}
    else:
        own |= {"objective": objective}
        given = {}
    model = lgb.LGBMClassifier(**own)
    _, seconds = timed(lambda: model.fit(X, y, eval_set=[(X_val, y_val)], callbacks=stop, **given))
    if objective == "brier":
        p = 1.0 / (1.0 + np.exp(-model.predict(X_test, raw_score=True)))
        return np.column_stack([1.0 - p, p]), seconds
    return model.predict_proba(X_test), seconds


def brier_derivatives(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return those of (p - y)², with the hessian of `stagewise.losses.Brier`."""
    p = 1.0 / (1.0 + np.exp(-score))
    gradient = 2.0 * (p - y) * p * (1.0 - p)
    second = 2.0 * p * (1.0 - p) * (p * (1.0 - p) + (p - y) * (1.0 - 2.0 * p))
    return gradient, np.maximum(second, 0.5 * np.abs(gradient))


def brier_metric(y: np.ndarray, score: np.ndarray) -> tuple[str, float, bool]:
    return "brier", float(np.mean((1.0 / (1.0 + np.exp(-score)) - y) ** 2)), False


def xgboost(rows: Rows, objective: str) -> tuple[Any, float]:
    import xgboost as xgb

    (X, y), (X_val, y_val), (X_test, _) = rows
    model = xgb.XGBClassifier(
        objective=objective,
        n_estimators=ROUNDS,
        learning_rate=RATE,
        early_stopping_rounds=WAIT,
        enable_categorical=True,
        n_jobs=THREADS,
    )
    _, seconds = timed(lambda: model.fit(X, y, eval_set=[(X_val, y_val)], verbose=False))
    if objective == "binary:hinge":
        return None, seconds, (model.predict(X_test) > 0.5).astype(int)
    return model.predict_proba(X_test), seconds


def catboost(rows: Rows, objective: str) -> tuple[Any, float]:
    from catboost import CatBoostClassifier

    def as_text(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.astype(dict.fromkeys(text, str))

    (X, y), (X_val, y_val), (X_test, _) = rows
    text = [c for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)]
    model = CatBoostClassifier(
        loss_function=objective,
        learning_rate=RATE,
        iterations=ROUNDS,
        thread_count=THREADS,
        cat_features=text,
        verbose=False,
        allow_writing_files=False,
    )
    held = as_text(X_val), y_val
    _, seconds = timed(lambda: model.fit(as_text(X), y, eval_set=held, early_stopping_rounds=WAIT))
    score = model.predict(as_text(X_test), prediction_type="RawFormulaVal")
    if score.ndim == 1:
        p = 1.0 / (1.0 + np.exp(-score))
        return np.column_stack([1.0 - p, p]), seconds
    return model.predict_proba(as_text(X_test)), seconds


Fit = Callable[..., Any]
BINARY: dict[str, tuple[Fit, str]] = {
    "Stagewise log_loss": (stagewise, "log_loss"),
    "Stagewise focal": (stagewise, "focal"),
    "Stagewise brier": (stagewise, "brier"),
    "Stagewise hinge": (stagewise, "hinge"),
    "LightGBM binary": (lightgbm, "binary"),
    "LightGBM, Brier as a function": (lightgbm, "brier"),
    "XGBoost binary:hinge": (xgboost, "binary:hinge"),
    "CatBoost Focal": (catboost, f"Focal:focal_alpha=0.5;focal_gamma={GAMMA:g}"),
}
OF_SEVERAL: dict[str, tuple[Fit, str]] = {
    "Stagewise log_loss": (stagewise, "log_loss"),
    "Stagewise one_vs_rest": (stagewise, "one_vs_rest"),
    "Stagewise brier": (stagewise, "brier"),
    "Stagewise focal": (stagewise, "focal"),
    "Stagewise hinge": (stagewise, "hinge"),
    "LightGBM multiclassova": (lightgbm, "multiclassova"),
    "CatBoost MultiClassOneVsAll": (catboost, "MultiClassOneVsAll"),
}


def report(folder: Path, seeds: int) -> list[str]:
    """Return the table of all losses."""
    rows = []
    for names, models in ((TABLES, BINARY), (SEVERAL, OF_SEVERAL)):
        for name in names:
            frame, y = read(folder, name)
            for model, (fit, objective) in models.items():
                values = []
                for seed in range(seeds):
                    parts = divide(frame, y, seed)
                    found, seconds, *labels = fit(parts, objective)
                    values.append([*_scores(parts[-1][1], found, labels), seconds])
                rows.append(_row(name, len(np.unique(y)), model, np.mean(values, axis=0)))
                print(rows[-1], flush=True)
    intro = (
        f"Means of {seeds} division{'s' if seeds > 1 else ''} of the rows. Focal losses have γ = "
        f"{GAMMA:g}. Every Stagewise model has probabilities by the link of its loss; those of "
        "CatBoost's focal loss are the logistic function of its scores, and XGBoost's hinge loss "
        "has classes only. Brier score: the mean of Σ (p - [y])², of two classes half of it."
    )
    return ["## Losses of classes", "", intro, "", *table(rows, list(rows[0]))]


def _scores(y: np.ndarray, p: np.ndarray | None, labels: list[np.ndarray]) -> list[float]:
    """Return the log loss, the Brier score and the share of wrong classes."""
    if p is None:
        return [np.nan, np.nan, float(np.mean(labels[0] != y))]
    p = np.clip(p / p.sum(axis=1, keepdims=True), 1e-15, 1.0)
    indicators = y[:, None] == np.arange(p.shape[1])
    brier = ((p - indicators) ** 2).sum(axis=1).mean() / (2 if p.shape[1] == 2 else 1)
    return [log_loss(y, p), float(brier), float(np.mean(p.argmax(axis=1) != y))]


def _row(name: str, classes: int, model: str, means: np.ndarray) -> dict[str, Any]:
    cells = ["" if np.isnan(value) else f"{value:.4f}" for value in means[:-1]]
    own = dict(zip(("log loss", "Brier score", "errors"), cells, strict=True))
    return {"table": name, "classes": classes, "model": model, **own, "seconds": f"{means[-1]:.2f}"}
