"""How each library is given a table with categories, as its own documentation says.

One idea: two ways to compare. "as it comes": no parameter but the seed and the threads. "stopped":
up to 2000 rounds with each library's own learning rate, and a fifth of the training rows to say
when to stop, the same for all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

ROUNDS = 2000
PATIENCE = 50
Rows = tuple[pd.DataFrame, np.ndarray]


def stagewise(task: str, train: Rows, valid: Rows | None, threads: int, **more: Any) -> Any:
    lib: Any = import_module("stagewise")
    kind = "Regressor" if task == "regression" else "Classifier"
    stop = {} if valid is None else {"n_estimators": ROUNDS, "n_iter_no_change": PATIENCE}
    model = getattr(lib, "GradientBoosting" + kind)(n_jobs=threads, **stop, **more)
    held = {} if valid is None else {"X_val": valid[0], "y_val": valid[1]}
    return model.fit(*train, **held)


def lightgbm(task: str, train: Rows, valid: Rows | None, threads: int) -> Any:
    lib: Any = import_module("lightgbm")
    kind = lib.LGBMRegressor if task == "regression" else lib.LGBMClassifier
    stop = {} if valid is None else {"n_estimators": ROUNDS}
    model = kind(n_jobs=threads, verbosity=-1, **stop)
    if valid is None:
        return model.fit(*train)
    return model.fit(
        *train, eval_set=[valid], callbacks=[lib.early_stopping(PATIENCE, verbose=False)]
    )


def catboost(task: str, train: Rows, valid: Rows | None, threads: int) -> Any:
    lib: Any = import_module("catboost")
    kind = lib.CatBoostRegressor if task == "regression" else lib.CatBoostClassifier
    stop = {} if valid is None else {"iterations": ROUNDS, "early_stopping_rounds": PATIENCE}
    model = kind(thread_count=threads, allow_writing_files=False, logging_level="Silent", **stop)
    cats = [c for c in train[0].columns if train[0][c].dtype == "category"]

    def text(rows: Rows) -> Any:
        X = rows[0].copy()
        for c in cats:
            X[c] = X[c].astype(object).where(X[c].notna(), "missing").astype(str)
        return lib.Pool(X, rows[1], cat_features=cats)

    return _Text(model.fit(text(train), eval_set=None if valid is None else text(valid)), text)


class _Text:
    """CatBoost, which wants its categories as text at predict, too."""

    def __init__(self, model: Any, text: Any) -> None:
        self.model, self.text = model, text

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self.text((X, None)))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self.text((X, None)))


def scikit_learn(task: str, train: Rows, valid: Rows | None, threads: int) -> Any:
    """Return scikit-learn's HistGradientBoosting; it has at most 255 levels, others share one."""
    lib: Any = import_module("sklearn.ensemble")
    kind = "Regressor" if task == "regression" else "Classifier"
    levels = {}
    for c in train[0].columns:
        if train[0][c].dtype == "category":
            levels[c] = train[0][c].value_counts().index[:250].tolist()

    def few(X: pd.DataFrame) -> pd.DataFrame:
        X = X.copy()
        for c, kept in levels.items():
            X[c] = pd.Categorical(X[c], categories=kept)
        return X

    stop: dict[str, Any] = {"early_stopping": False}
    if valid is not None:
        stop = {"max_iter": ROUNDS, "n_iter_no_change": PATIENCE, "early_stopping": True}
    model = getattr(lib, "HistGradientBoosting" + kind)(categorical_features="from_dtype", **stop)
    held = {} if valid is None else {"X_val": few(valid[0]), "y_val": valid[1]}
    return _Few(model.fit(few(train[0]), train[1], **held), few)


class _Few:
    def __init__(self, model: Any, few: Any) -> None:
        self.model, self.few = model, few

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self.few(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self.few(X))


LIBRARIES = {
    "stagewise": stagewise,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "scikit-learn": scikit_learn,
}
