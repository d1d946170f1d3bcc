"""Ordered classes: log loss, ranked probability score and quadratic weighted kappa of test rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tables import divide, table, timed

from stagewise import GradientBoostingClassifier
from stagewise.metrics import METRICS

__all__ = ["report"]

ROUNDS, RATE, WAIT, THREADS = 1000, 0.1, 30, 1


class Ordinal(NamedTuple):
    """A table with ordered classes; `order` None: numbers."""

    target: str
    order: list[str] | None = None
    limits: tuple[int, int] | None = None


TABLES = {
    "wine_quality": Ordinal("quality"),
    "car_evaluation": Ordinal("class", ["unacc", "acc", "good", "vgood"]),
    "nursery": Ordinal("class", ["not_recom", "recommend", "very_recom", "priority", "spec_prior"]),
    "abalone": Ordinal("Rings", limits=(5, 15)),
    "insteval_ratings": Ordinal("y"),
    "esl_marketing": Ordinal("Income"),
}
Rows = list[tuple[pd.DataFrame, np.ndarray]]
Fitted = tuple[Callable[[pd.DataFrame], np.ndarray], float]


def read(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray, int]:
    """Return the features, the codes of the classes in order, and their number."""
    own, frame = TABLES[name], pd.read_parquet(folder / f"{name}.parquet")
    frame = frame[frame[own.target].notna()]
    y = frame.pop(own.target)
    if own.limits is not None:
        y = y.clip(*own.limits)
    order = own.order or sorted(y.astype(int).unique().tolist())
    known = y.astype(str if own.order else int)
    codes = pd.Categorical(known, categories=order, ordered=True).codes
    keep = codes >= 0
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].astype("category")
    return frame[keep].reset_index(drop=True), codes[keep].astype(int), len(order)


def stagewise(rows: Rows, k: int, loss: str) -> Fitted:
    (X, y), (X_val, y_val), _ = rows
    model = GradientBoostingClassifier(
        loss=loss, n_estimators=ROUNDS, learning_rate=RATE, n_iter_no_change=WAIT, n_jobs=THREADS
    )
    model, seconds = timed(lambda: model.fit(X, y, X_val=X_val, y_val=y_val))
    return lambda frame: spread(model.predict_proba(frame), model.classes_, k), seconds


def lightgbm(rows: Rows, k: int, objective: str) -> Fitted:
    import lightgbm as lgb

    (X, y), (X_val, y_val), _ = rows
    given = {"num_class": k} if objective == "multiclass" else {}
    params = {"objective": objective, "learning_rate": RATE, "verbose": -1, "num_threads": THREADS}
    train, held = lgb.Dataset(X, y), lgb.Dataset(X_val, y_val)
    stop = [lgb.early_stopping(WAIT, verbose=False)]
    model, seconds = timed(
        lambda: lgb.train({**params, **given}, train, ROUNDS, [held], callbacks=stop)
    )
    return lambda frame: as_proba(model.predict(frame), k), seconds


def xgboost(rows: Rows, k: int, objective: str) -> Fitted:
    import xgboost as xgb

    data = [xgb.DMatrix(X, y, enable_categorical=True) for X, y in rows[:2]]
    given = {"num_class": k} if objective == "multi:softprob" else {}
    params = {"objective": objective, "eta": RATE, "nthread": THREADS, **given}
    model, seconds = timed(
        lambda: xgb.train(
            params,
            data[0],
            ROUNDS,
            [(data[1], "valid")],
            early_stopping_rounds=WAIT,
            verbose_eval=False,
        )
    )

    def predict(frame: pd.DataFrame) -> np.ndarray:
        best = (0, model.best_iteration + 1)
        found = model.predict(xgb.DMatrix(frame, enable_categorical=True), iteration_range=best)
        return as_proba(found, k)

    return predict, seconds


def catboost(rows: Rows, k: int, objective: str) -> Fitted:
    from catboost import CatBoost, Pool

    def pool(X: pd.DataFrame, y: np.ndarray | None) -> Any:
        text = X.copy()
        names = [c for c in X.columns if isinstance(X[c].dtype, pd.CategoricalDtype)]
        for column in names:
            text[column] = text[column].astype(str)
        return Pool(text, y, cat_features=names)

    (X, y), (X_val, y_val), _ = rows
    given = {"classes_count": k} if objective == "MultiClass" else {}
    model = CatBoost(
        {
            "loss_function": objective,
            "learning_rate": RATE,
            "iterations": ROUNDS,
            "thread_count": THREADS,
            "verbose": False,
            "allow_writing_files": False,
            **given,
        }
    )
    _, seconds = timed(
        lambda: model.fit(pool(X, y), eval_set=pool(X_val, y_val), early_stopping_rounds=WAIT)
    )
    kind = "Probability" if given else "RawFormulaVal"
    return lambda frame: as_proba(model.predict(pool(frame, None), kind), k), seconds


def spread(proba: np.ndarray, classes: np.ndarray, k: int) -> np.ndarray:
    """Return probabilities of all classes, of which the training rows may lack some."""
    whole = np.zeros((len(proba), k))
    whole[:, classes] = proba
    return whole


def as_proba(found: np.ndarray, k: int) -> np.ndarray:
    """Return probabilities; a number becomes the class that it is rounded to."""
    found = np.asarray(found)
    if found.ndim == 2:
        return found
    return np.eye(k)[np.clip(np.rint(found), 0, k - 1).astype(int)]


MODELS: dict[str, tuple[Callable[..., Fitted], str]] = {
    "Stagewise cumulative_logit": (stagewise, "cumulative_logit"),
    "Stagewise log_loss": (stagewise, "log_loss"),
    "LightGBM multiclass": (lightgbm, "multiclass"),
    "XGBoost multi:softprob": (xgboost, "multi:softprob"),
    "CatBoost MultiClass": (catboost, "MultiClass"),
    "LightGBM regression, rounded": (lightgbm, "regression"),
    "XGBoost regression, rounded": (xgboost, "reg:squarederror"),
    "CatBoost regression, rounded": (catboost, "RMSE"),
}
SCORES = ("log_loss", "ranked_probability_score", "quadratic_kappa", "rank_mae")


def report(folder: Path, seeds: int) -> list[str]:
    """Return the tables of all models."""
    rows = []
    for name in TABLES:
        frame, y, k = read(folder, name)
        found: dict[str, list[list[float]]] = {model: [] for model in MODELS}
        for seed in range(seeds):
            parts = divide(frame, y, seed)
            X_test, y_test = parts[-1]
            for model, (fit, loss) in MODELS.items():
                predict, seconds = fit(parts, k, loss)
                proba = predict(X_test)
                own = [METRICS[score].value(y_test, proba, None) for score in SCORES]
                found[model].append([*own, seconds])
        for model, values in found.items():
            means = np.mean(values, axis=0)
            rounded = "rounded" in model
            rows.append(
                {
                    "table": name,
                    "rows": len(y),
                    "classes": k,
                    "model": model,
                    **{
                        score: "" if rounded and score == "log_loss" else f"{value:.4f}"
                        for score, value in zip(SCORES, means, strict=False)
                    },
                    "seconds": f"{means[-1]:.2f}",
                }
            )
            print(rows[-1], flush=True)
    columns = ["table", "rows", "classes", "model", *SCORES, "seconds"]
    return [
        "## Ordered classes",
        "",
        (
            f"Means of {seeds} divisions of the rows. The rounded regressions have a class and no "
            "probabilities: their ranked probability score is that of a probability of 1."
        ),
        "",
        *table(rows, columns),
    ]
