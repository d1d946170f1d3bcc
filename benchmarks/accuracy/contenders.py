"""The models that are compared: one function for each, from training rows to a fitted model.

Each library gets the table as its own documentation recommends: categorical columns are declared.
A default is a model without any parameter but threads and verbosity. "td" are the tuned defaults of
"Better by default" (Holzmüller, Grinsztajn & Steinwart 2024): 1000 rounds at most, and the best
round on a fifth of the training rows. "q3" to "q5" are automatic models. FLAML searches over
boosted trees of other libraries for as long as "q4" took.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "CONTENDERS",
    "TUNED",
    "Job",
    "catboost_pool",
    "is_ready",
    "load_library",
    "package_of",
    "tuned_file",
]

HERE = Path(__file__).parent
TUNED = "catboost-tuned"
EQUAL_TIME = "stagewise-q4"
"""The contender whose time the search of FLAML gets."""
TD_ROUNDS, TD_PATIENCE, TD_FRACTION = 1000, 300, 0.2


@dataclass(frozen=True)
class Job:
    """One fit: the task, the training rows, the threads and the seed."""

    table: str
    split: int
    task: str
    X: pd.DataFrame
    y: np.ndarray
    threads: int
    seed: int

    @property
    def categorical(self) -> list[str]:
        """The names of the categorical columns."""
        return [c for c in self.X.columns if self.X[c].dtype == "category"]

    def hold_out(self) -> tuple[tuple[pd.DataFrame, np.ndarray], tuple[pd.DataFrame, np.ndarray]]:
        """Return four fifths of the rows, and one fifth with the same class shares."""
        order = np.random.default_rng(self.seed).permutation(len(self.y))
        if self.task != "regression":
            order = order[np.argsort(self.y[order], kind="stable")]
        held = np.zeros(len(order), dtype=bool)
        held[:: round(1 / TD_FRACTION)] = True
        kept, other = order[~held], order[held]
        return (self.X.iloc[kept], self.y[kept]), (self.X.iloc[other], self.y[other])


Fit = Callable[[Job], Any]


class _Converted:
    """A model that gets its rows converted at predict, as at fit."""

    def __init__(self, model: Any, convert: Callable[[pd.DataFrame], Any]) -> None:
        self.model, self.convert = model, convert

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self.convert(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self.convert(X))


def stagewise(method: str = "GradientBoosting", **parameters: Any) -> Fit:
    def fit(job: Job) -> Any:
        lib: Any = import_module("stagewise")
        kind = "Regressor" if job.task == "regression" else "Classifier"
        model = getattr(lib, method + kind)(n_jobs=job.threads, **parameters)
        return model.fit(job.X, job.y)

    return fit


def catboost_pool(job: Job, X: pd.DataFrame, y: np.ndarray | None = None) -> Any:
    """Return rows as CatBoost reads them: categories are text, and missing is a category."""
    lib: Any = import_module("catboost")
    text = X.copy()
    for c in job.categorical:
        text[c] = text[c].astype(object).where(text[c].notna(), "missing").astype(str)
    return lib.Pool(text, y, cat_features=job.categorical)


def catboost(parameters: Callable[[Job], Mapping[str, Any]] = lambda _: {}) -> Fit:
    def fit(job: Job) -> Any:
        lib: Any = import_module("catboost")
        pool = partial(catboost_pool, job)
        kind = lib.CatBoostRegressor if job.task == "regression" else lib.CatBoostClassifier
        settings = {"allow_writing_files": False, "logging_level": "Silent"}
        model = kind(thread_count=job.threads, **settings, **parameters(job))
        return _Converted(model.fit(pool(job.X, job.y)), pool)

    return fit


def lightgbm(parameters: Mapping[str, Mapping[str, Any]] | None = None) -> Fit:
    def fit(job: Job) -> Any:
        lib: Any = import_module("lightgbm")
        kind = lib.LGBMRegressor if job.task == "regression" else lib.LGBMClassifier
        if parameters is None:
            return kind(n_jobs=job.threads, verbosity=-1).fit(job.X, job.y)
        train, held = job.hold_out()
        own = parameters["regression" if job.task == "regression" else "classes"]
        model = kind(n_jobs=job.threads, verbosity=-1, n_estimators=TD_ROUNDS, **own)
        stop = lib.early_stopping(TD_PATIENCE, verbose=False)
        return model.fit(*train, eval_set=[held], callbacks=[stop])

    return fit


def xgboost(parameters: Mapping[str, Mapping[str, Any]] | None = None) -> Fit:
    def fit(job: Job) -> Any:
        lib: Any = import_module("xgboost")
        kind = lib.XGBRegressor if job.task == "regression" else lib.XGBClassifier
        known = {c: job.X[c].cat.categories for c in job.categorical}

        def convert(X: pd.DataFrame) -> pd.DataFrame:
            X = X.copy()
            for c, categories in known.items():
                X[c] = pd.Categorical(X[c], categories=categories)
            return X

        settings: dict[str, Any] = {"n_jobs": job.threads, "enable_categorical": True}
        if parameters is None:
            return _Converted(kind(**settings).fit(convert(job.X), job.y), convert)
        (X, y), (X_val, y_val) = job.hold_out()
        own = parameters["regression" if job.task == "regression" else "classes"]
        rounds = {"n_estimators": TD_ROUNDS, "early_stopping_rounds": TD_PATIENCE}
        model = kind(**settings, **rounds, **own)
        fitted = model.fit(convert(X), y, eval_set=[(convert(X_val), y_val)], verbose=False)
        return _Converted(fitted, convert)

    return fit


def scikit_learn(job: Job) -> Any:
    """Fit HistGradientBoosting. It has at most 255 categories; the rarer ones are missing."""
    lib: Any = import_module("sklearn.ensemble")
    kind = "Regressor" if job.task == "regression" else "Classifier"
    known = {c: job.X[c].value_counts().index[:250].tolist() for c in job.categorical}

    def convert(X: pd.DataFrame) -> pd.DataFrame:
        X = X.copy()
        for c, categories in known.items():
            X[c] = pd.Categorical(X[c], categories=categories)
        return X

    model = getattr(lib, "HistGradientBoosting" + kind)(categorical_features="from_dtype")
    limits: Any = import_module("threadpoolctl")
    with limits.threadpool_limits(job.threads):
        return _Converted(model.fit(convert(job.X), job.y), convert)


def flaml(job: Job) -> Any:
    """Fit FLAML's search over boosted trees in the time that quality 4 took on the same rows."""
    lib: Any = import_module("flaml")
    seconds = _seconds_of_quality_4(job.table, job.split)
    assert seconds is not None
    model = lib.AutoML()
    model.fit(
        X_train=job.X,
        y_train=job.y,
        task="regression" if job.task == "regression" else "classification",
        metric="rmse" if job.task == "regression" else "log_loss",
        estimator_list=["lgbm", "xgboost", "catboost"],
        time_budget=max(1.0, seconds),
        n_jobs=job.threads,
        seed=job.seed,
        verbose=0,
    )
    return model


def package_of(contender: str) -> str:
    """Return the package of a contender, whose name may have a suffix."""
    return contender if contender == "scikit-learn" else contender.split("-", maxsplit=1)[0]


MODULES = {"scikit-learn": "sklearn.ensemble"}


def load_library(contender: str) -> None:
    """Import the library of a contender, so that the time of a fit does not include it."""
    package = package_of(contender)
    import_module(MODULES.get(package, package))


def _seconds_of_quality_4(table: str, split: int) -> float | None:
    path = HERE / "results" / f"{EQUAL_TIME}.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    figure = known.get(f"{table}/{split}")
    return None if figure is None else float(figure["fit_seconds"])


def is_ready(contender: str, table: str, split: int) -> bool:
    """Return whether what a contender needs has been measured: trials, or the time of another."""
    if contender == TUNED:
        return tuned_file(table, split).exists()
    return contender != "flaml" or _seconds_of_quality_4(table, split) is not None


def tuned_file(table: str, split: int) -> Path:
    """Return the file with the parameters that the trials of CatBoost found."""
    return HERE / "results" / "catboost_tuned" / f"{table}-{split}.json"


def _tuned(job: Job) -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads(tuned_file(job.table, job.split).read_text())
    return found["parameters"]


LIGHTGBM_TD = {
    "classes": {"learning_rate": 0.04, "num_leaves": 50, "min_child_samples": 40,
                "min_child_weight": 1e-7, "subsample": 0.75, "subsample_freq": 1},
    "regression": {"learning_rate": 0.05, "num_leaves": 100, "min_child_samples": 3,
                   "min_child_weight": 1e-7, "subsample": 0.7, "subsample_freq": 1},
}  # fmt: skip
XGBOOST_TD = {
    "classes": {"learning_rate": 0.08, "max_depth": 6, "min_child_weight": 5e-6, "reg_lambda": 0,
                "colsample_bylevel": 0.9, "subsample": 0.65, "max_bin": 256},
    "regression": {"learning_rate": 0.05, "max_depth": 9, "min_child_weight": 2, "reg_lambda": 0,
                   "subsample": 0.7, "max_bin": 256},
}  # fmt: skip

CONTENDERS: Mapping[str, Fit] = MappingProxyType(
    {
        "stagewise": stagewise(),
        "stagewise-plain": stagewise(n_estimators=100),
        **{f"stagewise-q{q}": stagewise("Auto", quality=q) for q in (3, 4, 5)},
        "catboost": catboost(),
        "lightgbm": lightgbm(),
        "xgboost": xgboost(),
        "scikit-learn": scikit_learn,
        "lightgbm-td": lightgbm(LIGHTGBM_TD),
        "xgboost-td": xgboost(XGBOOST_TD),
        "flaml": flaml,
        TUNED: catboost(_tuned),
    }
)
