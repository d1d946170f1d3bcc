"""Small scenarios for every part of the native core; each returns a value that must not change."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import stagewise as sw
from stagewise import inspection
from stagewise._native import Workers

__all__ = ["SCENARIOS", "SHORT"]

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 4))
X[RNG.random((N, 4)) < 0.05] = np.nan
Y = np.nan_to_num(X[:, 0]) + RNG.normal(size=N)
TWO = (Y > 0).astype(int)
THREE = TWO + (np.nan_to_num(X[:, 1]) > 0.5)
MANY = np.column_stack([Y, -Y + RNG.normal(size=N)])
CELLS = sparse.csr_matrix(np.where(np.nan_to_num(X) > 0, np.nan_to_num(X), 0.0))
FRAME = pd.DataFrame(
    {
        "a": pd.Categorical.from_codes(RNG.integers(0, 30, N), [f"a{i}" for i in range(30)]),
        "b": pd.Categorical.from_codes(RNG.integers(0, 5, N), [f"b{i}" for i in range(5)]),
        "x": X[:, 0],
    }
)
FEW = {"n_estimators": 2, "n_jobs": 2, "max_leaf_nodes": 6, "min_samples_leaf": 5}

Scenario = Callable[[], Any]
SCENARIOS: dict[str, Scenario] = {}


def fit(name: str, model: Any, table: Any, target: Any, **more: Any) -> None:
    """Add a scenario that fits."""
    SCENARIOS[f"fit, {name}"] = lambda: model().fit(table, target, **more).fingerprint()


def boosting(**params: Any) -> Callable[[], Any]:
    """Return a function that creates a boosted regressor."""
    return lambda: sw.GradientBoostingRegressor(**{**FEW, **params})


def classifier(**params: Any) -> Callable[[], Any]:
    """Return a function that creates a boosted classifier."""
    return lambda: sw.GradientBoostingClassifier(**{**FEW, **params})


fit("boosting", boosting(), X, Y)
fit("weights", boosting(), X, Y, sample_weight=RNG.random(N))
fit("many bins", boosting(max_bins=1000), RNG.normal(size=(N * 2, 2)), RNG.normal(size=N * 2))
fit("exact", boosting(split="exact"), X, Y)
fit(
    "global proposal",
    boosting(split=sw.SplitSearch(method="approx", proposal="global", sketch_eps=0.1)),
    X,
    Y,
)
fit(
    "local proposal",
    boosting(split=sw.SplitSearch(method="approx", proposal="local", sketch_eps=0.1)),
    X,
    Y,
)
fit("depth-wise", boosting(grow_policy="depth_wise"), X, Y)
fit("symmetric", boosting(grow_policy="symmetric", max_depth=3, max_leaf_nodes=None), X, Y)
fit("absolute error", boosting(loss="absolute_error"), X, Y)
fit("huber", boosting(loss="huber"), X, Y)
fit("linear leaves", boosting(leaves="linear"), X, Y)
fit("vector leaves", boosting(leaves="vector"), X, MANY)
fit("symmetric vector leaves", boosting(leaves="vector", grow_policy="symmetric"), X, MANY)
fit("sparse", boosting(), CELLS, Y)
fit("target encoding", boosting(category_encoding="target"), FRAME, Y)
fit("category sets", boosting(category_encoding="sets"), FRAME, Y)
fit("monotone", boosting(monotonic_cst=[1, 0, -1, 0]), X, Y)
fit("interaction groups", boosting(interaction_cst=[[0, 1], [2, 3]]), X, Y)
fit("dropout", boosting(dropout=sw.Dart(rate=0.5, skip=0.0)), X, Y)
fit("goss", boosting(sampling="goss"), X, Y)
fit("mvs", boosting(sampling="mvs", subsample=0.5), X, Y)
fit("bags", boosting(subsample=0.5, max_features=0.5, oob_score=True), X, Y)
fit("early stopping", boosting(early_stopping=True), X, Y)
fit("two classes", classifier(), X, TWO)
fit("three classes", classifier(), X, THREE)
fit("adaboost", lambda: sw.AdaBoostClassifier(n_estimators=2, n_jobs=2), X, TWO)

for criterion in ("squared_error", "absolute_error"):
    for split in ("exact", "histogram"):
        tree = {"criterion": criterion, "split": split, "n_jobs": 2, "max_leaf_nodes": 6}
        fit(f"tree, {criterion}, {split}", lambda t=tree: sw.DecisionTreeRegressor(**t), X, Y)
        fit(
            f"forest, {criterion}, {split}",
            lambda t=tree: sw.RandomForestRegressor(n_estimators=3, **t),
            X,
            Y,
        )
for criterion in ("gini", "entropy", "misclassification"):
    tree = {"criterion": criterion, "n_jobs": 2, "max_leaf_nodes": 6}
    fit(f"tree, {criterion}", lambda t=tree: sw.DecisionTreeClassifier(**t), X, THREE)
    fit(
        f"forest, {criterion}",
        lambda t=tree: sw.RandomForestClassifier(n_estimators=3, **t),
        X,
        THREE,
    )
fit("extra trees", lambda: sw.ExtraTreesRegressor(n_estimators=3, n_jobs=2), X[:60], Y[:60])
fit("tree of categories", lambda: sw.DecisionTreeRegressor(n_jobs=2), FRAME, Y)
fit("pruned", lambda: sw.DecisionTreeRegressor(pruning="reduced_error"), X, Y)
fit("linear", sw.LinearRegression, np.nan_to_num(X), Y)
fit("stepwise", sw.StepwiseRegressor, np.nan_to_num(X), Y)
fit("stagewise linear", sw.StagewiseLinearRegressor, np.nan_to_num(X), Y)

BOOSTED = sw.GradientBoostingRegressor(**FEW).fit(X, Y)
LINEAR_LEAVES = sw.GradientBoostingRegressor(leaves="linear", **FEW).fit(X, Y)
CATEGORY_SETS = sw.GradientBoostingRegressor(category_encoding="sets", **FEW).fit(FRAME, Y)
TARGET_ENCODING = sw.GradientBoostingRegressor(category_encoding="target", **FEW).fit(FRAME, Y)
SPARSE = sw.GradientBoostingRegressor(**FEW).fit(CELLS, Y)
FOREST = sw.RandomForestRegressor(n_estimators=3, n_jobs=2).fit(X, Y)
CLASSES = sw.GradientBoostingClassifier(**FEW).fit(X, THREE)


def add_scenario(name: str, work: Callable[[], Any]) -> None:
    """Add a scenario that uses a fitted model."""
    SCENARIOS[name] = lambda: [np.asarray(part).tobytes() for part in np.atleast_1d(work())]


def reloaded() -> Any:
    """Save a model, load it, and predict."""
    with tempfile.TemporaryDirectory() as folder:
        FOREST.save(Path(folder) / "model")
        return sw.load(Path(folder) / "model").predict(X)


LARGE = np.tile(X, (40, 1))
add_scenario("predict, boosting", lambda: BOOSTED.predict(LARGE))
add_scenario("predict, forest", lambda: FOREST.predict(LARGE))
add_scenario("predict, linear leaves", lambda: LINEAR_LEAVES.predict(LARGE))
add_scenario("predict, category sets", lambda: CATEGORY_SETS.predict(FRAME))
add_scenario("predict, target encoding", lambda: TARGET_ENCODING.predict(FRAME))
add_scenario("predict, sparse", lambda: SPARSE.predict(CELLS))
add_scenario("predict_proba", lambda: CLASSES.predict_proba(LARGE))
add_scenario("staged predict", lambda: list(BOOSTED.staged_predict(X)))
add_scenario("apply", lambda: FOREST.apply(X))
add_scenario("save and load", reloaded)
for name, model, table in (
    ("boosting", BOOSTED, X[:40]),
    ("forest", FOREST, X[:20]),
    ("category sets", CATEGORY_SETS, FRAME[:40]),
    ("classes", CLASSES, X[:40]),
):
    for pairs in (False, True):
        add_scenario(
            f"shap, {name}, {'pairs' if pairs else 'features'}",
            lambda m=model, t=table, p=pairs: inspection.shap_values(m, t, interactions=p).values,
        )
    add_scenario(
        f"shap, {name}, interventional",
        lambda m=model, t=table: (
            inspection.shap_values(m, t[:10], kind="interventional", background=t[:10]).values
        ),
    )
add_scenario(
    "shap, linear leaves",
    lambda: (
        inspection.shap_values(
            LINEAR_LEAVES, X[:10], kind="interventional", background=X[:10]
        ).values
    ),
)
add_scenario(
    "partial dependence", lambda: inspection.partial_dependence(BOOSTED, None, [0, 1]).mean
)
add_scenario(
    "partial dependence, rows", lambda: inspection.partial_dependence(BOOSTED, X, [0]).mean
)
add_scenario("accumulated effects", lambda: inspection.accumulated_effects(BOOSTED, X, [0]).effect)
SCENARIOS["interactions"] = lambda: repr(inspection.interactions(BOOSTED, X[:50]).table())
add_scenario(
    "permutation importance",
    lambda: inspection.permutation_importance(BOOSTED, X, Y, n_repeats=2).value,
)
add_scenario("workers", lambda: Workers(4).threads)

SHORT = (
    "workers",
    "fit, boosting",
    "fit, target encoding",
    "fit, tree, absolute_error, exact",
    "partial dependence",
)
