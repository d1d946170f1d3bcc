"""Tree-path-dependent Shapley values equal those of LightGBM, for its own trees."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np

from stagewise._native import Columns, Workers
from stagewise.model.ensemble import Ensemble
from stagewise.trees.tree import NODE_ARRAYS, Tree


def tree_of(root: dict[str, Any]) -> Tree:
    """Read a tree of LightGBM's dump; numeric features without missing values only."""
    nodes: list[dict[str, Any]] = []

    def add(node: dict[str, Any]) -> int:
        place = len(nodes)
        inner = "split_feature" in node
        nodes.append(
            {
                "feature": node["split_feature"] if inner else -1,
                "threshold": node["threshold"] if inner else 0.0,
                "missing_left": 0,
                "left": -1,
                "right": -1,
                "value": node["internal_value" if inner else "leaf_value"],
                "gain": 0.0,
                "cover": node["internal_count" if inner else "leaf_count"],
            }
        )
        if inner:
            nodes[place]["left"] = add(node["left_child"])
            nodes[place]["right"] = add(node["right_child"])
        return place

    add(root)
    return Tree(
        **{name: np.array([n[name] for n in nodes], kind) for name, kind in NODE_ARRAYS.items()}
    )


def test_shapley_values_equal_lightgbms():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + rng.normal(size=3000) / 10
    data = lightgbm.Dataset(X, y)
    model = lightgbm.train({"num_leaves": 31, "verbosity": -1, "min_data_in_leaf": 5}, data, 20)
    trees = [tree_of(t["tree_structure"]) for t in model.dump_model()["tree_info"]]
    ensemble = Ensemble(8, np.zeros(1), trees)
    theirs = model.predict(X, pred_contrib=True)
    for table_bytes in (2**23, 0):
        shap = ensemble.shap(
            Workers(2),
            0,
            background=None,
            interactions=False,
            most_bytes=2**28,
            table_bytes=table_bytes,
        )
        ours = np.zeros((3000, 8))
        shap.add(Workers(2), Columns(X), 0, 3000, ours.reshape(-1))
        np.testing.assert_allclose(ours, theirs[:, :-1], atol=1e-10)
        np.testing.assert_allclose(shap.base(), theirs[0, -1:], atol=1e-10)
