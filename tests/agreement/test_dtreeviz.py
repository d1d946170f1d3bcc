"""The package dtreeviz draws exported trees, with the rows that scikit-learn's trees have."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris

from stagewise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    export_dtreeviz,
)


@pytest.fixture
def dtreeviz() -> Iterator[Any]:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of dtreeviz itself
        yield pytest.importorskip("dtreeviz")
    plt.close("all")


def nodes(shadow: Any) -> list[tuple[Any, ...]]:
    """Return the rows of all nodes, by their place in the tree."""
    found: list[tuple[Any, ...]] = []

    def walk(node: Any, place: str) -> None:
        found.append((place, sorted(node.samples()), np.round(node.criterion(), 9)))
        if not node.isleaf():
            walk(node.left, place + "l")
            walk(node.right, place + "r")

    walk(shadow.root, "")
    return found


def test_the_nodes_of_a_classification_are_those_of_scikit_learn(dtreeviz: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X = X[:, [2]]  # one column: the same splits
    labels = np.array(["a", "b", "c"])[y]
    ours = DecisionTreeClassifier(max_depth=2).fit(X, labels)
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=2).fit(X, y)
    shadow = export_dtreeviz(ours, X, labels, target_name="kind")
    known = dtreeviz.model(theirs, X, y, None, ["x0"], "kind", ["a", "b", "c"])
    assert nodes(shadow) == nodes(known.shadow_tree)
    drawing = dtreeviz.model(shadow, X, y)
    assert all(f"leaf{leaf.id}" in drawing.view().dot for leaf in shadow.leaves)
    assert "x0" in drawing.explain_prediction_path(X[60])
    drawing.ctree_leaf_distributions()
    drawing.leaf_sizes()
    assert [shadow.predict(row) for row in X[::9]] == [
        list("abc").index(label) for label in ours.predict(X[::9])
    ]


def test_the_nodes_of_a_regression_are_those_of_scikit_learn(dtreeviz: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X[:, [2]]
    ours = DecisionTreeRegressor(max_depth=2).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=2).fit(X, y)
    shadow = export_dtreeviz(ours, X, y)
    known = dtreeviz.model(theirs, X, y, None, ["x0"], "y").shadow_tree
    for one, two in zip(nodes(shadow), nodes(known), strict=True):
        assert one[:2] == two[:2]
        np.testing.assert_allclose(one[2], two[2], rtol=1e-6)
    np.testing.assert_allclose([shadow.predict(row) for row in X[::50]], ours.predict(X[::50]))
    dtreeviz.model(shadow, X, y).rtree_leaf_distributions()


def test_a_tree_of_a_forest_is_drawn(dtreeviz: Any) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(n_estimators=2, max_depth=2).fit(X, y)
    shadow = export_dtreeviz(forest[1], X, y)
    assert "node0" in dtreeviz.model(shadow, X, y).view().dot


def test_models_that_dtreeviz_cannot_draw_are_refused(dtreeviz: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match="exports a single tree, and GradientBoostingRegressor has"):
        export_dtreeviz(GradientBoostingRegressor(n_estimators=2).fit(X, y), X, y)
    kinds = pd.DataFrame({"kind": pd.Categorical(list("uv") * 221)})
    with pytest.raises(ValueError, match=r"categorical features\. Use stagewise.export_svg"):
        export_dtreeviz(DecisionTreeRegressor(max_depth=1).fit(kinds, y), kinds, y)
    missing = np.where(X > 0.1, np.nan, X)
    with pytest.raises(ValueError, match="X has missing values"):
        export_dtreeviz(DecisionTreeRegressor(max_depth=2).fit(missing, y), missing, y)
