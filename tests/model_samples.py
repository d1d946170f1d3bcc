"""Handmade models: random valid trees, without any fitting.

Tests of files and of kernels need models of every shape, quickly and independently of how trees are
grown. This file must not import anything that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import Categories
from stagewise.data.feature import Feature
from stagewise.data.features import Features
from stagewise.data.reading.missing_values import MissingValues
from stagewise.linear.least_squares import LeastSquares
from stagewise.model.ensemble import Ensemble
from stagewise.model.file.least_squares import linear_ensemble
from stagewise.model.model import Model
from stagewise.trees.linear_leaves import LinearLeaves
from stagewise.trees.tree import CategorySets, Tree

ESTIMATOR: dict[str, Any] = {
    "class": "GradientBoostingRegressor",
    "params": {
        "learning_rate": 0.1,
        "max_depth": None,
        "n_estimators": 3,
        "grow_policy": "best_first",
    },
}


SENTINELS = (-(2**63), -999, 2**63 - 1, 2**63, 2**64 - 1, -999.9, 1e20)


def random_tree(rng: np.random.Generator, n_features: int, n_splits: int) -> Tree:
    n_nodes = 2 * n_splits + 1
    feature = np.full(n_nodes, -1, dtype=np.int32)
    left = np.full(n_nodes, -1, dtype=np.int32)
    right = np.full(n_nodes, -1, dtype=np.int32)
    leaves = [0]
    for split in range(n_splits):
        node = leaves.pop(int(rng.integers(len(leaves))))
        feature[node] = rng.integers(n_features)
        left[node], right[node] = 2 * split + 1, 2 * split + 2
        leaves += [2 * split + 1, 2 * split + 2]
    inner = feature >= 0
    return Tree(
        feature=feature,
        threshold=np.where(inner, rng.normal(size=n_nodes), 0.0),
        missing_left=(inner & (rng.random(n_nodes) < 0.5)).astype(np.uint8),
        left=left,
        right=right,
        value=rng.normal(size=n_nodes),
        gain=np.where(inner, rng.exponential(size=n_nodes), 0.0),
        cover=rng.exponential(size=n_nodes),
    )


def symmetric_tree(
    rng: np.random.Generator,
    X: npt.NDArray[np.float64],
    categories: Sequence[int],
    depth: int,
    whole: float,
    sides: bool = False,
    late: bool = False,
) -> Tree:
    """Return a tree with one test for each depth; a node is split with the probability `whole`.

    sides: every node has its own side of missing values. late: a node that is not split at a depth
    may be split at a later one.
    """
    feature, threshold, missing_left, left, right, level = [-1], [0.0], [0], [-1], [-1], [0]
    nodes = [0]
    for d in range(depth):
        tested, flag = int(rng.integers(X.shape[1])), int(rng.integers(2))
        cut = float(np.nan_to_num(rng.choice(X[:, tested])))
        split = [node for node in nodes if rng.random() < whole]
        nodes = [node for node in nodes if node not in split] if late else []
        for node in split:
            feature[node], level[node] = tested, d
            missing_left[node] = int(rng.integers(2)) if sides else flag
            threshold[node] = 0.0 if categories[tested] else cut
            left[node], right[node] = len(feature), len(feature) + 1
            nodes += [left[node], right[node]]
            for column, empty in (
                (feature, -1),
                (threshold, 0.0),
                (missing_left, 0),
                (left, -1),
                (right, -1),
                (level, d + 1),
            ):
                column += [empty, empty]  # type: ignore[list-item]
    tree = Tree(
        feature=np.array(feature, dtype=np.int32),
        threshold=np.array(threshold),
        missing_left=np.array(missing_left, dtype=np.uint8),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        value=rng.normal(size=len(feature)),
        gain=np.zeros(len(feature)),
        cover=np.ones(len(feature)),
    )
    return _with_equal_sets(tree, np.array(level), categories, rng)


def _with_equal_sets(
    tree: Tree, level: npt.NDArray[np.int64], categories: Sequence[int], rng: np.random.Generator
) -> Tree:
    """Return the tree with the same random set of categories in all nodes of a depth."""
    start = np.full(len(tree.feature), -1, dtype=np.int32)
    words: list[np.uint64] = []
    own: dict[int, list[np.uint64]] = {}
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        n_categories = categories[tree.feature[node]]
        if not n_categories:
            continue
        if level[node] not in own:
            left = rng.random(n_categories // 64 * 64 + 64) < 0.5
            left[n_categories + 1 :] = False
            packed = np.packbits(left, bitorder="little").view("<u8").astype(np.uint64)
            own[level[node]] = packed.tolist()
        start[node] = len(words)
        words += own[level[node]]
    sets = CategorySets(start, np.array(words, dtype=np.uint64)) if words else None
    return replace(tree, category_sets=sets)


def with_sets(tree: Tree, categories: Sequence[int], rng: np.random.Generator) -> Tree:
    """Return the tree with random category sets at splits on categorical features."""
    start = np.full(len(tree.feature), -1, dtype=np.int32)
    words: list[np.uint64] = []
    for node in rng.permutation(np.flatnonzero(tree.feature >= 0)):  # in any order
        n_categories = categories[tree.feature[node]]
        if n_categories:
            start[node] = len(words)
            left = rng.random(n_categories // 64 * 64 + 64) < 0.5
            left[n_categories + 1 :] = False
            words += np.packbits(left, bitorder="little").view("<u8").astype(np.uint64).tolist()
    threshold = np.where(start >= 0, 0.0, tree.threshold)
    sets = CategorySets(start, np.array(words, dtype=np.uint64)) if words else None
    return replace(tree, threshold=threshold, category_sets=sets)


def with_linear_leaves(tree: Tree, n_features: int, rng: np.random.Generator) -> Tree:
    """Return the tree with random linear models in about half of its leaves."""
    leaves = np.flatnonzero(tree.feature < 0)
    node = leaves[rng.random(len(leaves)) < 0.5].astype(np.int64)
    if not len(node):
        return tree
    features = [np.flatnonzero(rng.random(n_features) < 0.6) for _ in node]
    features = [f if len(f) else np.array([0]) for f in features]
    start = np.cumsum([0, *map(len, features)], dtype=np.uint64)
    terms, n = int(start[-1]), len(node)
    lines = LinearLeaves(
        node,
        start,
        np.concatenate(features).astype(np.int32),
        rng.normal(size=terms),
        rng.normal(size=terms),
        rng.normal(size=n),
        -rng.exponential(size=n),
        rng.exponential(size=n),
        rng.integers(0, 2, n).astype(np.uint8),
        np.where(rng.random(n) < 0.5, 2.0**-36, 0.0),
    )
    return replace(tree, linear_leaves=lines)


def make_model(
    *,
    classes: npt.NDArray[Any] | None = None,
    features: Sequence[Feature] | None = None,
    missing_values: Sequence[int | float] = (),
    n_rounds: int = 3,
    n_splits: int = 4,
    seed: int = 0,
    n_targets: int = 1,
    targets: tuple[str, ...] | None = None,
    vectors: bool = False,
    lines: bool = False,
) -> Model:
    rng = np.random.default_rng(seed)
    kept = Features(
        features or [Feature(None, "real", None) for _ in range(3)],
        MissingValues.of(missing_values),
    )
    n_outputs = n_targets if classes is None else 1 if len(classes) <= 2 else len(classes)
    n_trees = n_rounds * (1 if vectors else n_outputs)
    trees = [random_tree(rng, len(kept), n_splits) for _ in range(n_trees)]
    if vectors:
        trees = [t.with_values(rng.normal(size=(len(t.feature), n_outputs))) for t in trees]
    categories = kept.n_categories_per_feature()
    trees = [with_sets(tree, categories, rng) for tree in trees] if any(categories) else trees
    trees = [with_linear_leaves(tree, len(kept), rng) for tree in trees] if lines else trees
    return Model(
        task="regression" if classes is None else "classification",
        loss="squared_error" if classes is None else "log_loss",
        features=kept,
        ensemble=Ensemble(
            len(kept), rng.normal(size=n_outputs), trees, categories, n_outputs if vectors else 1
        ),
        offset=rng.normal(size=n_targets) if n_targets > 1 else 12.5 if classes is None else 0.0,
        scale=rng.exponential(size=n_targets) if n_targets > 1 else 4.0 if classes is None else 1.0,
        classes=classes,
        train_loss=np.sort(rng.random(n_rounds))[::-1].copy(),
        valid_loss=np.empty(0) if classes is None else rng.random(n_rounds),
        targets=targets,
    )


def make_linear(
    columns: Sequence[int] = (0, 2, 3), *, intercept: bool = True, seed: int = 0
) -> Model:
    """Return a linear model with coefficients for some columns of a design."""
    rng = np.random.default_rng(seed)
    features = Features(
        [
            Feature("a", "real", None),
            Feature("city", "categorical", None, Categories.of(["Bonn", "Oslo", "Rome"])),
            Feature("größe", "real", None),
        ]
    )
    k = len(columns)
    root = rng.normal(size=(k + intercept, k + intercept))
    fit = LeastSquares(
        columns=np.array(columns, dtype=np.uint32),
        intercept=intercept,
        target_mean=12.5 if intercept else 0.0,
        slope=rng.normal(size=k),
        centre=rng.normal(size=k) if intercept else np.zeros(k),
        size=np.ldexp(1.0, rng.integers(-3, 9, k)),
        covariance=root @ root.T,
        weight=40.0,
        rank=k + intercept,
        rss=3.0,
        tss=7.0,
        centred=intercept,
        scale=4.0,
    )
    fit = replace(fit, covariance=(fit.covariance + fit.covariance.T) / 2)
    return Model(
        task="regression",
        loss="squared_error",
        features=features,
        ensemble=linear_ensemble(features, fit),
        offset=fit.target_mean,
        scale=fit.scale,
        classes=None,
        train_loss=np.empty(0),
        valid_loss=np.empty(0),
        least_squares=fit,
    )


def wide_features() -> list[Feature]:
    return [
        Feature("größe", "real", None),
        Feature("身長", "wide_integer", np.array([-(2**62), -1, 0, 2**60], dtype=np.int64)),
        Feature('🌲 [id] <"{}:', "wide_integer", np.array([1, 2**63, 2**64 - 1], dtype=np.uint64)),
        Feature("", "real", None),
    ]


def datetime_features() -> list[Feature]:
    days = np.array([-(10**17), 0, 1_584_792_000 * 10**9], dtype=np.int64)
    return [
        Feature("day", "wide_integer", days, temporal_type="date"),
        Feature("number", "real"),
        Feature("lasts", "real", temporal_type="duration"),
        Feature("at", "real", temporal_type="time of day"),
    ]


def categorical_features() -> list[Feature]:
    mixed = Categories.of([-7, 0.5, 2**64 - 1, "", "größe"])
    return [
        Feature("mixed", "categorical", None, mixed),
        Feature("real", "real", None),
        Feature("never seen", "categorical", None, Categories(())),
        Feature("text", "categorical", None, Categories.of(["a", "b"])),
    ]


def objects(*labels: object) -> npt.NDArray[np.object_]:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def sample_models() -> dict[str, Model]:
    """Return one model of every kind that differs in a file."""
    return {
        "regression": make_model(),
        "wide": make_model(features=wide_features(), seed=1),
        "base only": make_model(n_rounds=0, seed=2),
        "stumps of one leaf": make_model(n_splits=0, seed=3),
        "binary": make_model(classes=np.array([False, True]), seed=4),
        "multiclass": make_model(classes=np.array([-1, 0, 7], dtype=np.int64), seed=5),
        "text labels": make_model(classes=np.array(["früh", "spät", "nie 🌒"]), seed=6),
        "object labels": make_model(classes=objects("a", 2, True), seed=7),
        "missing values": make_model(missing_values=SENTINELS, seed=9),
        "categorical": make_model(features=categorical_features(), seed=10),
        "datetimes": make_model(features=datetime_features(), seed=16),
        "many categories": make_model(
            features=[Feature(None, "categorical", None, Categories.of(range(150)))], seed=11
        ),
        "several targets": make_model(n_targets=3, seed=12),
        "vectors": make_model(n_targets=2, targets=("größe", "身長"), vectors=True, seed=13),
        "vectors of classes": make_model(classes=np.array([-1, 0, 7]), vectors=True, seed=14),
        "class targets": replace(
            make_model(n_targets=5, targets=("a", "b"), vectors=True, seed=16),
            task="classification",
            offset=0.0,
            scale=1.0,
            class_targets=(np.array([-1, 0, 7]), np.array(["früh", "nie 🌒"])),
        ),
        "no vectors yet": make_model(n_targets=2, vectors=True, n_rounds=0, seed=15),
        "linear leaves": make_model(lines=True, seed=12),
        "linear leaves of classes": make_model(
            classes=np.array(["a", "b", "c"]), features=wide_features(), lines=True, seed=13
        ),
        "linear model": make_linear(),
        "linear model without an intercept": make_linear(intercept=False, seed=1),
        "linear model of nothing": make_linear(()),
        "named": make_model(
            classes=np.array([0.5, 1.5]), features=wide_features(), n_splits=9, seed=8
        ),
    }
