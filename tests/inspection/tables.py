"""Tables with numbers, missing values and categories, and models of every kind on them."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
from sklearn.base import clone

from stagewise import (
    AdaBoostClassifier,
    Dart,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

__all__ = ["MODELS", "fitted", "mixed", "targets"]


@functools.cache
def mixed(n=400, seed=0):
    """Return a frame with two numbers, one of them with missing values, a category, and noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "c": pd.Categorical(rng.choice(list("uvwxyz"), n)),
            "d": rng.integers(0, 5, n).astype(float),
        }
    )
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    return X


def targets(X, seed=1):
    """Return a number, two classes, three classes and two numbers."""
    rng = np.random.default_rng(seed)
    f = X.a * X.b.fillna(0) + 2 * (X.c == "u") + X.a + rng.normal(size=len(X)) / 4
    f = f.to_numpy()
    return {
        "number": f,
        "two": np.where(f > 0.4, "yes", "no"),
        "three": np.select([f < -0.3, f < 0.9], ["lo", "mid"], "hi"),
        "pair": np.column_stack([f, X.d.to_numpy() - f / 2]),
    }


FEW = {"n_estimators": 8, "random_state": 0}
MODELS = {
    "a number": (GradientBoostingRegressor(**FEW), "number"),
    "two classes": (GradientBoostingClassifier(**FEW), "two"),
    "three classes": (GradientBoostingClassifier(**FEW), "three"),
    "vector leaves": (GradientBoostingClassifier(leaves="vector", **FEW), "three"),
    "two targets": (GradientBoostingRegressor(**FEW), "pair"),
    "two targets, vector leaves": (
        GradientBoostingRegressor(leaves="vector", **FEW),
        "pair",
    ),
    "dropout": (GradientBoostingRegressor(dropout=Dart(rate=0.3), **FEW), "number"),
    "AdaBoost of two": (AdaBoostClassifier(**FEW), "two"),
    "AdaBoost of three": (AdaBoostClassifier(algorithm="real", max_depth=2, **FEW), "three"),
    "LogitBoost": (LogitBoostClassifier(**FEW), "three"),
    "a forest": (RandomForestRegressor(**FEW), "number"),
    "a forest of classes": (RandomForestClassifier(**FEW), "three"),
    "extra trees": (ExtraTreesRegressor(**FEW), "number"),
}


@functools.cache
def fitted(name):
    """Return a model by its name, fitted to `mixed`."""
    estimator, target = MODELS[name]
    X = mixed()
    return clone(estimator).fit(X, targets(X)[target])
