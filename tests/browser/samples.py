"""Models of every kind that can be exported, and difficult rows."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import clone

from stagewise import (
    AdaBoostClassifier,
    Dart,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseRegressor,
)
from stagewise.data.crosses import OPERATIONS, Cross
from stagewise.data.features import Features
from stagewise.inspection.fitted_model import FittedModel
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss

__all__ = ["SAMPLES", "Doubled", "Rooted", "cells", "fitted", "hard_rows", "table", "target"]


def table(n=400, seed=0):
    """Numbers, also missing and infinite ones, categories, few and many, and wide integers."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "few": pd.Categorical(rng.choice(["u", "v", "w", "x y", 'z"'], n)),
            "many": pd.Categorical(
                np.where(np.arange(n) < 90, np.arange(n), rng.integers(0, 90, n))
            ),
            "id": 2**60 + rng.integers(0, 40, n),
        }
    )
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    X.loc[rng.random(n) < 0.05, "a"] = np.inf
    X.loc[rng.random(n) < 0.05, "a"] = -np.inf
    X.loc[rng.random(n) < 0.1, "few"] = None
    return X


def hard_rows(n=40, seed=7):
    """Rows with values that no training row has."""
    X = table(n, seed)
    X["few"] = X["few"].astype(object)
    X.loc[::7, "few"] = "never"
    X["many"] = X["many"].astype(object)
    X.loc[::9, "many"] = 1000
    X.loc[::11, "many"] = None
    return X


def target(kind):
    X = table()
    rng = np.random.default_rng(1)
    a = X.a.clip(-3, 3).fillna(0.5)
    f = a * X.b + (X.few == "u") * 2 + X.many.astype(int) % 7 / 3 + (X.id % 5) / 4
    f = (f + rng.normal(size=len(X)) / 4).to_numpy()
    return {
        "number": f * 100 + 1000,
        "count": np.round(np.exp(f / 3)),
        "share": np.round(1 / (1 + np.exp(-f)), 1),
        "amount": np.exp(f / 3),
        "two": np.where(f > 1.5, "yes", "no"),
        "three": np.select([f < 1, f < 2], [3, 7], 11),
        "pair": np.column_stack([f, 50 - 3 * X.b]),
        "one": np.full(len(f), "always"),
        "constant": np.full(len(f), 3.5),
    }[kind]


class Doubled(Loss):
    """Squared error of half the target: its link is linear."""

    def loss(self, y, score):
        return (y - 2 * score - 1) ** 2

    def derivatives(self, y, score):
        return -4 * (y - 2 * score - 1), np.full_like(score, 8.0)

    def mean(self, score):
        return 2 * score + 1


class Rooted(Loss):
    """A loss whose link is not supported by the page."""

    def loss(self, y, score):
        return (np.cbrt(y) - score) ** 2

    def derivatives(self, y, score):
        return -2 * (np.cbrt(y) - score), np.full_like(score, 2.0)

    def mean(self, score):
        return score**3


class Crossed(GradientBoostingRegressor):
    """A model that computes the differences, ratios and products which its trees were fitted to."""

    def fit(self, X, y):
        crosses = [Cross(operation, (0, 1)) for operation in OPERATIONS]
        a, b = X["a"], X["b"]
        columns = pd.DataFrame({"difference": a - b, "ratio": a / b, "product": a * b})
        super().fit(X.join(columns.where(np.isfinite(columns))), y)
        known = self.model_.features
        own = Features(known[: X.shape[1]], known.missing_values, known.target_encodings, crosses)
        self.model_ = replace(self.model_, features=own)
        self._adopt(self.model_)
        return self


Regressor = functools.partial(GradientBoostingRegressor, n_estimators=6, max_leaf_nodes=8)
Classifier = functools.partial(GradientBoostingClassifier, n_estimators=4, max_leaf_nodes=6)
LINES = {"leaves": "linear", "min_samples_leaf": 10}
SETS = {"category_encoding": "sets"}
PRIOR = {"handle_unknown": "prior"}
FEW = {"n_estimators": 5, "max_leaf_nodes": 12}

SAMPLES = {
    "a number": (Regressor(**SETS), "number"),
    "unknown categories": (Regressor(**SETS, **PRIOR), "number"),
    "target encoding": (Regressor(category_encoding="target", n_estimators=12), "number"),
    "target encoding, unknown categories": (
        Regressor(category_encoding="target", **PRIOR),
        "number",
    ),
    "target encoding of classes": (Classifier(category_encoding="target", **PRIOR), "three"),
    "crosses": (Crossed(n_estimators=12, **SETS), "number"),
    "crosses and target encoding": (Crossed(category_encoding="target", n_estimators=12), "number"),
    "two classes": (Classifier(), "two"),
    "three classes": (Classifier(), "three"),
    "exponential, two": (Classifier(loss="exponential"), "two"),
    "exponential, three": (Classifier(loss="exponential"), "three"),
    "squares of two classes": (Classifier(loss="squared_error", learning_rate=1.0), "two"),
    "squares of three classes": (Classifier(loss="squared_error", learning_rate=1.0), "three"),
    "vector leaves": (Classifier(leaves="vector"), "three"),
    "two targets": (Regressor(), "pair"),
    "two targets, vector leaves": (Regressor(leaves="vector"), "pair"),
    "poisson": (Regressor(loss="poisson"), "count"),
    "gamma": (Regressor(loss="gamma"), "amount"),
    "tweedie": (Regressor(loss="tweedie"), "count"),
    "shares": (Regressor(loss="cross_entropy"), "share"),
    "squared log error": (Regressor(loss="squared_log_error"), "count"),
    "huber": (Regressor(loss="huber"), "number"),
    "quantile": (Regressor(loss="quantile", quantile=0.8), "number"),
    "symmetric": (Regressor(grow_policy="symmetric", max_depth=3, max_leaf_nodes=None), "number"),
    "lines": (Regressor(**LINES), "number"),
    "monotone linear leaves with dropout": (
        Regressor(**LINES, dropout=Dart(rate=0.3), monotonic_cst={"b": 1}),
        "number",
    ),
    "linear leaves of classes": (Classifier(**LINES), "three"),
    "a loss with an affine link": (Regressor(loss=Doubled()), "amount"),
    "a forest": (RandomForestRegressor(**FEW), "number"),
    "a forest of two classes": (RandomForestClassifier(**FEW), "two"),
    "extra trees": (ExtraTreesClassifier(**FEW), "three"),
    "a tree": (DecisionTreeRegressor(max_leaf_nodes=12, missing_strategy="mean"), "number"),
    "fractional rows": (
        DecisionTreeRegressor(max_leaf_nodes=20, missing_strategy="probability"),
        "number",
    ),
    "fractional rows, classes": (
        DecisionTreeClassifier(max_leaf_nodes=20, missing_strategy="probability", **PRIOR),
        "three",
    ),
    "a pruned tree": (
        DecisionTreeClassifier(pruning="cost_complexity", ccp_alpha=0.005),
        "three",
    ),
    "a custom learner": (
        StagewiseRegressor(learner=HistogramTree(max_leaf_nodes=6), n_estimators=4),
        "number",
    ),
    "AdaBoost": (AdaBoostClassifier(n_estimators=6), "two"),
    "AdaBoost of three": (AdaBoostClassifier(n_estimators=6, algorithm="real"), "three"),
    "GentleBoost": (GentleBoostClassifier(n_estimators=6), "two"),
    "LogitBoost": (LogitBoostClassifier(n_estimators=6), "three"),
    "one class": (Classifier(), "one"),
    "a constant": (Regressor(), "constant"),
}


ONLY = {"a tree": ["b", "few", "many", "id"]}
"""The columns of models that do not take all: infinite cells have no mean."""


@functools.cache
def fitted(name):
    estimator, kind = SAMPLES[name]
    X = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a single class warns
        return clone(estimator).fit(X[ONLY.get(name, list(X))], target(kind))


@functools.cache
def cells(name):
    """Return the difficult rows as the model reads them, one array for each feature."""
    model = fitted(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown categories warn
        return FittedModel.of(model, "cells").columns(hard_rows())
