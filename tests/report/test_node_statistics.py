"""Gains, impurities, G and H of the nodes of shown trees, against sums over masks of rows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import sklearn.tree

import stagewise
from stagewise import (
    AdaBoostClassifier,
    AutoRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    RandomForestClassifier,
    RandomForestRegressor,
    export_svg,
    export_text,
    rules,
)
from stagewise.export.node_statistics import ShownStatistics

RECT = "{http://www.w3.org/2000/svg}rect"
BOOSTED = {"n_estimators": 3, "max_leaf_nodes": 6, "max_features": None, "l2_regularization": 2.0}


def table(n: int = 240, unit: float = 1.0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    y = 3 * X["a"] + X["b"] * (X["c"] > 0) + rng.normal(size=n) / 2
    return X, unit * (y.to_numpy() + 10), np.digitize(y, [-1.5, 1.5])


def nodes_of(model, tree=0, **options):
    return ShownStatistics("test", **options).facts(model, tree).nodes


def rows_in(model, X, tree, node):
    """Return which rows reach a node, by walking up from their leaves."""
    own = model.model_.ensemble.trees[tree]
    leaf = model.apply(X).reshape(len(X), -1)[:, tree]
    below, stack = set(), [node]
    while stack:
        number = stack.pop()
        below.add(number)
        if own.feature[number] >= 0:
            stack += [int(own.left[number]), int(own.right[number])]
    return np.isin(leaf, list(below))


IMPURITY = {
    "gini": lambda y: 1 - sum(np.mean(y == k) ** 2 for k in np.unique(y)),
    "entropy": lambda y: -sum(np.mean(y == k) * np.log(np.mean(y == k)) for k in np.unique(y)),
    "misclassification": lambda y: 1 - max(np.mean(y == k) for k in np.unique(y)),
    "squared_error": np.var,
    "absolute_error": lambda y: np.mean(np.abs(y - np.median(y))),
}


def check_decreases(model, X, y, criterion, tree=0):
    """The shown decrease of a split is W i - W_L i_L - W_R i_R of the rows of its node."""
    cost, n = IMPURITY[criterion], 0
    for node in nodes_of(model, tree, show_gain=True):
        if node.split is None:
            assert not node.statistics
            continue
        whole, *sides = (
            y[rows_in(model, X, tree, number)] for number in (node.number, node.left, node.right)
        )
        expected = len(whole) * cost(whole) - sum(len(side) * cost(side) for side in sides)
        assert node.statistics["decrease"] == pytest.approx(expected, rel=1e-5, abs=1e-9)
        n += 1
    assert n > 2


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_impurities_and_decreases_of_classes_are_those_of_the_rows(criterion, n_classes):
    X, _, y = table()
    y = np.minimum(y, n_classes - 1)
    model = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=7).fit(X, y)
    check_decreases(model, X, y, criterion)
    stored, from_rows = nodes_of(model, show_impurity=True), nodes_of(model, X=X, y=y)
    for node, other in zip(stored, from_rows, strict=True):
        expected = IMPURITY[criterion](y[rows_in(model, X, 0, node.number)])
        assert node.statistics["impurity"] == pytest.approx(expected, abs=1e-9)
        assert other.statistics["impurity"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("unit", [1.0, 1000.0])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_decreases_of_regression_trees_are_in_units_of_the_target(criterion, unit):
    X, y, _ = table(unit=unit)
    model = DecisionTreeRegressor(criterion=criterion, max_leaf_nodes=7).fit(X, y)
    check_decreases(model, X, y, criterion)
    if criterion == "squared_error":
        for node in nodes_of(model, X=X, y=y):
            rows = rows_in(model, X, 0, node.number)
            assert node.statistics["impurity"] == pytest.approx(np.var(y[rows]), rel=1e-9)


def test_decreases_of_a_forest_are_those_of_each_tree():
    X, y, classes = table()
    whole = {"n_estimators": 3, "bootstrap": False, "max_leaf_nodes": 6, "max_features": 2}
    forest = RandomForestRegressor(**whole).fit(X, y)
    check_decreases(forest, X, y, "squared_error", 2)
    forest = RandomForestClassifier(**whole).fit(X, classes)
    check_decreases(forest, X, classes, "gini", 1)
    for node in nodes_of(forest, 1, show_impurity=True):
        expected = IMPURITY["gini"](classes[rows_in(forest, X, 1, node.number)])
        assert node.statistics["impurity"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_impurities_agree_with_scikit_learn(criterion, n_classes):
    X, _, y = table(500)
    y = np.minimum(y, n_classes - 1)
    ours = DecisionTreeClassifier(criterion=criterion, max_depth=3).fit(X, y)
    theirs = sklearn.tree.DecisionTreeClassifier(criterion=criterion, max_depth=3).fit(X, y).tree_
    unit = np.log(2) if criterion == "entropy" else 1.0  # its logarithms have the base 2
    facts = ShownStatistics("test", show_impurity=True).facts(ours, 0)
    ordered = facts.ordered()  # both in pre-order
    assert len(ordered) == theirs.node_count
    for number, node in enumerate(ordered):
        if node.split is not None:
            assert node.split.name == X.columns[theirs.feature[number]]
            assert node.split.threshold == pytest.approx(theirs.threshold[number], rel=1e-6)
        assert node.weight == theirs.n_node_samples[number]
        expected = unit * theirs.impurity[number]
        assert node.statistics["impurity"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_gain_is_the_formula_of_the_shown_sums(unit):
    """G and H by masks at the scores before the round, and the gain by them, with λ = 2."""
    X, y, _ = table(unit=unit)
    model = GradientBoostingRegressor(**BOOSTED).fit(X, y)
    before = [np.full(len(y), y.mean()), *model.staged_predict(X)]
    for tree in (0, 2):
        nodes = nodes_of(model, tree, show_gain=True, X=X, y=y)
        for node in nodes:
            rows = rows_in(model, X, tree, node.number)
            gradient = (before[tree] - y)[rows].sum()
            assert node.statistics["H"] == rows.sum()
            assert node.statistics["G"] == pytest.approx(gradient, rel=1e-5, abs=1e-4 * unit)
            if node.split is not None:
                score = [
                    nodes[k].statistics["G"] ** 2 / (nodes[k].statistics["H"] + 2.0)
                    for k in (node.left, node.right, node.number)
                ]
                expected = 0.5 * (score[0] + score[1] - score[2])
                assert node.statistics["gain"] == pytest.approx(expected, rel=1e-4)


def test_a_negative_index_shows_the_sums_of_the_same_tree():
    X, y, _ = table()
    model = GradientBoostingRegressor(**BOOSTED).fit(X, y)
    options = {"show_gain": True, "X": X, "y": y}
    assert export_text(model, -1, **options) == export_text(model, 2, **options)
    assert export_text(model, -1, **options) != export_text(model, 0, **options)


def test_vector_leaves_show_a_sum_for_every_class():
    X, _, y = table()
    model = GradientBoostingClassifier(leaves="vector", **BOOSTED).fit(X, y)
    root = nodes_of(model, X=X, y=y)[0].statistics
    assert len(root["G"]) == len(root["H"]) == 3
    assert re.search(r"; G \(\S+, \S+, \S+\), H \(", export_text(model, X=X, y=y))


def test_ada_boost_shows_the_impurity_of_reweighted_rows():
    X, _, y = table()
    y = (y > 0).astype(int)
    model = AdaBoostClassifier(n_estimators=2, max_depth=2).fit(X, y)
    first, second = (nodes_of(model, tree, X=X, y=y)[0].statistics["impurity"] for tree in (0, 1))
    assert first == pytest.approx(1 - max(y.mean(), 1 - y.mean()))
    assert second != pytest.approx(first)
    with pytest.raises(InvalidParameterError, match="Pass X and y"):
        export_text(model, show_impurity=True)


def test_weights_count_in_the_sums():
    X, y, _ = table()
    weight = np.arange(len(y)) % 3
    model = DecisionTreeRegressor(max_leaf_nodes=4).fit(X, y, weight)
    root = nodes_of(model, X=X, y=y, sample_weight=weight)[0].statistics
    assert root["impurity"] == pytest.approx(np.var(np.repeat(y, weight)))


def test_text_shows_statistics_only_if_requested():
    X, y, classes = table()
    tree = DecisionTreeClassifier(max_leaf_nodes=4).fit(X, classes)
    plain = export_text(tree)
    assert not re.search("decrease|impurity|gain", plain)
    shown = export_text(tree, show_gain=True, show_impurity=True)
    assert re.sub(r"; [^)]*\)", ")", shown) == plain
    assert shown.count("decrease") == 3
    assert shown.count("impurity") == 7
    boosted = GradientBoostingRegressor(**BOOSTED).fit(X, y)
    assert export_text(boosted, show_gain=True).count("gain") == 5
    assert export_text(boosted, X=X, y=y).count(", H ") == 11


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_rules_have_the_gains_of_their_path():
    X, y, classes = table()
    tree = DecisionTreeClassifier(max_leaf_nodes=5).fit(X, classes)
    facts = {node.number: node for node in nodes_of(tree, show_gain=True, show_impurity=True)}
    for row in rules(tree, show_gain=True, show_impurity=True):
        node, path = facts[row["leaf"]], []
        assert row["impurity"] == node.statistics["impurity"]
        while node.parent >= 0:
            node = facts[node.parent]
            path.insert(0, node.statistics["decrease"])
        assert row["decrease"] == path
    assert "decrease" not in rules(tree)[0]
    boosted = rules(GradientBoostingRegressor(**BOOSTED).fit(X, y), show_gain=True, X=X, y=y)
    assert set(boosted[0]) >= {"gain", "G", "H"}
    with pytest.warns(UserWarning, match="No tree has a split"):
        one = DecisionTreeRegressor(max_depth=1, min_samples_leaf=200).fit(X, y)
    assert rules(one, show_gain=True)[0]["decrease"] == []


def test_an_svg_has_a_line_for_the_statistics():
    X, _, y = table()
    tree = DecisionTreeClassifier(max_leaf_nodes=6).fit(X, y)
    plain, shown = export_svg(tree), export_svg(tree, show_gain=True, show_impurity=True)
    assert "impurity" not in plain
    texts = [e.text or "" for e in ET.fromstring(shown).iter("{http://www.w3.org/2000/svg}text")]
    assert sum("impurity" in text for text in texts) == 11
    assert sum("decrease" in text for text in texts) == 5
    root = ET.fromstring(shown)
    boxes = [r for r in root.iter(RECT) if r.get("class") == "box"]
    for box in boxes:
        top, bottom = float(box.get("y")), float(box.get("y")) + float(box.get("height"))
        inside = [r for r in root.iter(RECT) if r.get("height") == "4" and r.get("x")]
        assert any(top < float(bar.get("y")) < bottom - 4 for bar in inside)
        same = [b for b in boxes if b is not box and b.get("x") == box.get("x")]
        assert all(abs(float(b.get("y")) - top) >= bottom - top for b in same)


def test_a_loaded_model_shows_the_same_statistics(tmp_path):
    X, y, classes = table()
    for model in (
        DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=4).fit(X, classes),
        DecisionTreeRegressor(max_leaf_nodes=4).fit(X, y),
    ):
        model.save(tmp_path / "model.stgw")
        again = stagewise.load(tmp_path / "model.stgw")
        options = {"show_gain": True, "show_impurity": model.model_.classes is not None}
        assert export_text(again, **options) == export_text(model, **options)


def test_requests_without_the_needed_rows_are_errors():
    X, y, classes = table()
    tree = DecisionTreeRegressor(max_leaf_nodes=4).fit(X, y)
    boosted = GradientBoostingRegressor(**BOOSTED).fit(X, y)
    for call in (export_text, export_svg, rules):
        name = call.__name__
        with pytest.raises(InvalidParameterError, match=f"{name}: show_impurity=True needs the tr"):
            call(tree, show_impurity=True)
        with pytest.raises(InvalidParameterError, match=f"{name}: X was passed without y"):
            call(tree, X=X)
        with pytest.raises(InvalidParameterError, match=f"{name}: sample_weight was passed"):
            call(tree, sample_weight=np.ones(len(y)))
        with pytest.raises(InvalidParameterError, match="show_gain must be"):
            call(tree, show_gain="yes")
    with pytest.raises(InvalidParameterError, match="are fitted to gradients"):
        export_text(boosted, show_impurity=True, X=X, y=y)
    medians = DecisionTreeRegressor(criterion="absolute_error", max_leaf_nodes=4).fit(X, y)
    with pytest.raises(InvalidParameterError, match="absolute_error"):
        export_text(medians, X=X, y=y)
    auto = AutoRegressor(quality=1).fit(X, y)
    assert "gain" in export_text(auto, show_gain=True)
    with pytest.raises(TypeError, match="sum of models"):
        export_text(auto, X=X, y=y)
    with pytest.raises(ValueError, match="has the classes"):
        export_text(DecisionTreeClassifier().fit(X, classes), X=X, y=classes > 0)
