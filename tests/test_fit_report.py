"""docs/fit-report.md has all keys of `fit_report_`; drawn features and rounds are the true ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stagewise import (
    AdaBoostClassifier,
    AutoRegressor,
    BaggingClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    FeatureSampling,
    GradientBoostingRegressor,
    LinearRegression,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseLinearRegressor,
    StepwiseRegressor,
    read_batches,
)

PAGE = Path(__file__).parents[1] / "docs" / "fit-report.md"
ESTIMATORS = (
    AdaBoostClassifier(n_estimators=2),
    AutoRegressor(quality=3),
    BaggingClassifier(n_estimators=2),
    DecisionTreeRegressor(),
    GradientBoostingRegressor(),
    GradientBoostingRegressor(n_estimators=2, categorical_features=[0], category_encoding="target"),
    LinearRegression(),
    RandomForestRegressor(n_estimators=2),
    StagewiseLinearRegressor(n_estimators=2),
    StepwiseRegressor(),
)


def test_the_page_has_exactly_the_keys_of_all_reports():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    found = {key for estimator in ESTIMATORS for key in estimator.fit(X, y).fit_report_}
    rows = read_batches(pa.table({"x": X[:, 0], "y": y}), target="y")
    found |= RandomForestRegressor(n_estimators=2).fit(rows).fit_report_.keys()
    documented = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), flags=re.MULTILINE))
    assert found == documented


# ---- features and rounds ---------------------------------------------------------------------

FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)


def one_strong_feature(n: int = 40, p: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """Return a table in which a node is split by the first feature whenever it is drawn."""
    X = np.random.default_rng(0).normal(size=(n, p))
    X[:, 0] = np.repeat([0.0, 1.0], n // 2)
    return X, np.repeat([0, 1], n // 2)


def roots(model) -> np.ndarray:
    return np.array([tree.feature[0] for tree in model.model_.ensemble.trees])


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize(
    ("max_features", "number", "words"),
    [
        ("sqrt", 3, "√p features per node"),
        ("log2", 3, "log₂ p features per node"),
        ("third", 3, "p/3 features per node"),
        (1, 1, "1 feature per node"),
        (0.7, 6, "0.7 of the features per node"),
        (None, 9, "splits"),
    ],
)
def test_a_forest_reports_the_features_that_its_nodes_draw(kind, max_features, number, words):
    """The best feature is drawn for k of p roots, if k features are drawn."""
    X, y = one_strong_feature()
    forest = kind(n_estimators=2000, max_depth=1, bootstrap=False, max_features=max_features)
    forest.fit(X, y)
    report = forest.fit_report_
    assert report["max_features"] == number
    assert np.mean(roots(forest) == 0) == pytest.approx(number / 9, abs=0.045)
    assert words in forest.recipe()
    assert ("per node" in forest.recipe()) == (number < 9)
    assert report["rounds_run"] == report["rounds_kept"] == forest.n_iter_ == 2000
    assert "average of 2000 trees" in forest.recipe()


@pytest.mark.parametrize("kind", FORESTS)
def test_the_default_of_a_forest_is_reported_as_a_number(kind):
    X, y = one_strong_feature()
    forest = kind(n_estimators=3).fit(X, y)
    drawn = 9 if kind is ExtraTreesRegressor else 3
    assert forest.fit_report_["max_features"] == drawn
    assert ("per node" in forest.recipe()) == (drawn < 9)


def test_a_forest_that_stops_early_reports_the_trees_that_it_has():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    forest = RandomForestClassifier(n_estimators=900, early_stopping=True, n_iter_no_change=5)
    report = forest.fit(X, y).fit_report_
    assert report["rounds_kept"] == len(forest.model_.ensemble.trees) < 900
    assert report["rounds_run"] == report["rounds_kept"] + 5


def used_by(tree, depth: int | None = None) -> set[int]:
    inner = tree.feature >= 0
    return set(tree.feature[inner if depth is None else inner & (tree.depths == depth)].tolist())


SAMPLES = [
    ({"per_tree": 3}, "(best-first, 3 features per tree,", 3),
    ({"per_level": "third"}, "(best-first, p/3 features per level,", 3),
    ({"per_node": "sqrt"}, "(best-first, √p features per node,", 3),
    ({"per_tree": 6, "per_level": 0.5}, "6 features per tree, 0.5 of these per level,", 3),
    (
        {"per_tree": 8, "per_level": 0.5, "per_node": 0.5},
        "8 features per tree, 0.5 of these per level, 0.5 of these per node,",
        2,
    ),
    ({"per_tree": 1.0, "per_node": 0.5}, "(best-first, 0.5 of the features per node,", 5),
]


@pytest.mark.parametrize(("draws", "words", "per_node"), SAMPLES)
def test_a_recipe_states_the_features_of_a_tree_a_level_and_a_node(draws, words, per_node):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 9))
    y = np.sin(3 * X).sum(axis=1)
    drawn = FeatureSampling(**draws)
    size = {"max_leaf_nodes": 32, "min_samples_leaf": 2}  # some levels use all of their features
    model = GradientBoostingRegressor(n_estimators=60, max_features=drawn, **size).fit(X, y)
    assert words in model.recipe()
    assert model.fit_report_["max_features"] == per_node
    trees = model.model_.ensemble.trees
    assert set().union(*map(used_by, trees)) == set(range(9))
    whole = draws.get("per_tree", 9)
    whole = 9 if isinstance(whole, float) else whole
    assert max(len(used_by(tree)) for tree in trees) <= whole
    if "per_level" in draws:
        level = {"third": 3, 0.5: whole // 2}[draws["per_level"]]
        widths = [len(used_by(tree, depth)) for tree in trees for depth in range(5)]
        assert max(widths) == level
