"""The candidates of a node: the best one is the split of the tree; structure scores."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from stagewise import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LogitBoostClassifier,
    RandomForestRegressor,
)
from stagewise.inspection import show_split, structure_score

mpl.use("Agg")
BOOSTED = {"n_estimators": 4, "max_leaf_nodes": 6, "min_samples_leaf": 5, "max_features": None}


def table(n: int = 300, n_categories: int = 12) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    code = rng.integers(0, n_categories, n)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 9, n).astype(float),
            "c": pd.Categorical.from_codes(code, [f"c{k}" for k in range(n_categories)]),
            "few": pd.Categorical(rng.choice(["u", "v", "w"], n)),
        }
    )
    y = 20 * X["a"] + 30 * np.sin(code) + 15 * (X["few"] == "v") + rng.normal(size=n)
    X.loc[rng.random(n) < 0.15, "a"] = np.nan
    y = y.fillna(7.0).to_numpy()
    return X, y, np.digitize(y, np.quantile(y, [0.3, 0.7]))


def check(model, X, y, tree=0, weight=None):
    """The chosen split of every inner node is the best allowed one, and has its gain."""
    own, n = model.model_.ensemble.trees[tree], 0
    for node in np.flatnonzero(own.feature >= 0).tolist():
        found = show_split(model, X, y, tree, node, weight)
        assert found.chosen is not None
        best = found.gain[0]
        assert found.gain[found.chosen] == pytest.approx(best, rel=1e-4)
        row = found.table()[found.chosen]
        assert row["chosen"]
        assert row["allowed"]
        assert found.gain[found.chosen] > 0
        n += 1
    assert n > 1
    return own


@pytest.mark.parametrize("split", ["exact", "histogram"])
@pytest.mark.parametrize("response", ["newton", "gradient"])
def test_the_split_of_a_boosted_tree_is_the_best_candidate(split, response):
    X, y, _ = table()
    model = GradientBoostingRegressor(split=split, response=response, **BOOSTED).fit(X, y)
    for tree in (0, 3):
        own = check(model, X, y, tree)
        found = show_split(model, X, y, tree)
        unit = model.model_.gain_unit
        assert found.gain[found.chosen] == pytest.approx(own.gain[0] * unit, rel=1e-4)


@pytest.mark.parametrize("split", ["exact", "histogram"])
@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_the_split_of_a_tree_of_classes_is_the_best_candidate(split, leaves):
    if (split, leaves) == ("exact", "vector"):
        pytest.skip("vector leaves are grown from histograms")
    X, _, y = table()
    model = GradientBoostingClassifier(split=split, leaves=leaves, **BOOSTED).fit(X, y)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    other = GradientBoostingClassifier(split=split, leaves=leaves, **BOOSTED).fit(X, y, weight)
    last = len(model.model_.ensemble.trees) - 1
    for tree in (0, last):
        check(model, X, y, tree)
        check(other, X, y, tree, weight)


@pytest.mark.parametrize("split", ["exact", "histogram"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_split_of_a_single_tree_has_the_largest_decrease(split, criterion, n_classes):
    X, _, y = table()
    y = np.minimum(y, n_classes - 1)
    model = DecisionTreeClassifier(split=split, criterion=criterion, max_leaf_nodes=6).fit(X, y)
    own = check(model, X, y)
    found = show_split(model, X, y)
    assert found.gain[found.chosen] == pytest.approx(own.gain[0], rel=1e-6)


def test_the_decrease_of_a_regression_tree_is_that_of_the_sum_of_squares():
    X, y, _ = table()
    check(DecisionTreeRegressor(max_leaf_nodes=6).fit(X, y), X, y)
    X = X[["a", "b"]]  # of many categories, a gain by chance is subtracted
    model = DecisionTreeRegressor(max_leaf_nodes=6).fit(X, y)
    check(model, X, y)
    found = show_split(model, X, y)
    left = model.decision_path(X).toarray()[:, model.model_.ensemble.trees[0].left[0]].astype(bool)
    squares = [((part - part.mean()) ** 2).sum() for part in (y, y[left], y[~left])]
    assert found.gain[found.chosen] == pytest.approx(squares[0] - squares[1] - squares[2])
    assert found.totals["impurity"] == pytest.approx(np.var(y))


def test_forests_without_drawing_and_other_recipes_have_the_best_candidate():
    X, y, classes = table()
    X = X[["a", "b"]].fillna(0.0)
    forest = RandomForestRegressor(
        n_estimators=2, bootstrap=False, max_features=None, max_leaf_nodes=5
    )
    check(forest.fit(X, y), X, y, 1)
    check(AdaBoostClassifier(n_estimators=3, max_depth=2).fit(X, classes), X, classes, 2)
    logit = LogitBoostClassifier(n_estimators=3, max_depth=2).fit(X, classes > 0)
    check(logit, X, classes > 0, 2)
    absolute = GradientBoostingRegressor(loss="absolute_error", **BOOSTED).fit(X, y)
    check(absolute, X, y, 2)


def test_the_gain_is_the_formula():
    """G, H and the gain of every candidate by sums over masks, with λ = 2."""
    X, y, _ = table()
    X = X[["b"]]
    model = GradientBoostingRegressor(l2_regularization=2.0, **BOOSTED).fit(X, y)
    before = np.full(len(y), y.mean())
    found = show_split(model, X, y)
    g = before - y
    assert found.totals["H"] == len(y)
    for row in found.table():
        left = X["b"].to_numpy() <= row["threshold"]
        sums = [(g[s].sum(), s.sum()) for s in (left, ~left, np.ones(len(y), bool))]
        score = [G**2 / (H + 2.0) for G, H in sums]
        assert row["G_L"] == pytest.approx(sums[0][0], rel=1e-5)
        assert row["H_R"] == sums[1][1]
        assert row["gain"] == pytest.approx(0.5 * (score[0] + score[1] - score[2]), rel=1e-5)


def test_plots_and_texts():
    X, y, _ = table()
    model = GradientBoostingRegressor(**BOOSTED).fit(X, y)
    found = show_split(model, X, y)
    ax = found.plot(top=2)
    assert len(ax.get_legend().get_texts()) == 2
    assert len(found.table(top=3)) == 3
    assert found.condition(found.chosen).split()[0] in X.columns
    leaf = int(np.flatnonzero(model.model_.ensemble.trees[0].feature < 0)[0])
    assert show_split(model, X, y, node=leaf).chosen is None


def test_what_cannot_be_computed_is_an_error():
    X, y, classes = table()
    model = DecisionTreeRegressor(criterion="absolute_error", max_leaf_nodes=4).fit(X, y)
    with pytest.raises(InvalidParameterError, match="absolute_error"):
        show_split(model, X, y)
    dart = GradientBoostingRegressor(dropout="dart", **BOOSTED).fit(X, y)
    with pytest.raises(InvalidParameterError, match="dropout"):
        show_split(dart, X, y)
    tree = DecisionTreeClassifier(max_leaf_nodes=4).fit(X, classes)
    with pytest.raises(InvalidParameterError, match="fitted to gradients"):
        structure_score(tree, X, classes)
    with pytest.raises(ValueError, match="has the classes"):
        show_split(tree, X, np.minimum(classes, 1))
    with pytest.raises(InvalidParameterError, match="node must be"):
        show_split(tree, X, classes, node=99)


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_the_structure_score_is_the_formula(unit):
    X, y, _ = table()
    y = unit * y
    gamma = 7.0 * unit**2
    model = GradientBoostingRegressor(l2_regularization=3.0, min_gain=gamma, **BOOSTED).fit(X, y)
    for tree, before in enumerate([np.full(len(y), y.mean()), *model.staged_predict(X)][:3]):
        leaf = model.apply(X)[:, tree]
        own = structure_score(model, X, y, tree)
        g = before - y
        G = np.array([g[leaf == j].sum() for j in np.unique(leaf)])
        H = np.array([(leaf == j).sum() for j in np.unique(leaf)])
        assert own.score == pytest.approx(
            -0.5 * (G**2 / (H + 3.0)).sum() + gamma * len(G), rel=1e-5
        )
        np.testing.assert_array_equal(own.regions, np.unique(leaf))
        np.testing.assert_allclose(own.value[:, 0], -G / (H + 3.0), rtol=1e-4, atol=1e-6 * unit)
        other = own.value[:, 0] + 0.5 * unit
        expected = (G * other + 0.5 * (H + 3.0) * other**2).sum() + gamma * len(G)
        assert own.objective(other) == pytest.approx(expected, rel=1e-4)
        assert own.objective(other) > own.score
        assert sum(row["score"] for row in own.table()) == pytest.approx(own.score)


def test_a_split_lowers_the_score_of_a_partition_by_its_gain_minus_gamma():
    X, y, _ = table()
    model = GradientBoostingRegressor(min_gain=5.0, **BOOSTED).fit(X[["b"]], y)
    found = show_split(model, X[["b"]], y)
    one = np.zeros(len(y), dtype=int)
    two = (X["b"].to_numpy() > found.table(top=1)[0]["threshold"]).astype(int)
    before, after = (
        structure_score(model, X[["b"]], y, partition=part).score for part in (one, two)
    )
    assert before - after == pytest.approx(found.gain[0] - 5.0)
    with pytest.raises(InvalidParameterError, match="partition"):
        structure_score(model, X[["b"]], y, partition=one[:5])
