"""Single trees are scikit-learn's where both define the result: on data without ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import tree as peer

from stagewise import DecisionTreeClassifier, DecisionTreeRegressor

CRITERIA = [
    ("classes", "gini"),
    ("classes", "entropy"),
    ("two", "gini"),
    ("two", "entropy"),
    ("number", "squared_error"),
    ("number", "absolute_error"),
]
BOTH = pytest.mark.parametrize(("what", "criterion"), CRITERIA)
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])


def rows(what: str, seed: int, n: int = 250) -> tuple[Any, Any]:
    """Wide, noisy classes and few leaves: no two splits gain the same."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * (X[:, 0] > 0) + rng.normal(size=n)
    return X, {"number": y, "two": y > 0.3, "classes": np.digitize(y, [-1, 0.2, 1.5])}[what]


def pair(what: str, **params: Any) -> tuple[Any, Any]:
    name = "DecisionTreeRegressor" if what == "number" else "DecisionTreeClassifier"
    ours = {"alpha": params.pop("alpha"), "pruning": "cost_complexity"} if "alpha" in params else {}
    theirs = {"ccp_alpha": ours["alpha"]} if ours else {}
    if params.get("criterion") == "entropy" and ours:
        theirs["ccp_alpha"] /= np.log(2)  # they count in bits
    kinds = {"DecisionTreeRegressor": DecisionTreeRegressor,
             "DecisionTreeClassifier": DecisionTreeClassifier}  # fmt: skip
    return (
        kinds[name](**params, **ours),
        getattr(peer, name)(**params, **theirs, random_state=0),
    )


def assert_same(ours: Any, theirs: Any) -> None:
    """Walk both trees at once: the same questions, the same weights, the same answers."""
    mine, other = ours.model_.ensemble.trees[0], theirs.tree_
    stack = [(0, 0)]
    count = 0
    while stack:
        a, b = stack.pop()
        count += 1
        assert mine.cover[a] == pytest.approx(other.weighted_n_node_samples[b])
        if other.children_left[b] < 0:
            assert mine.feature[a] == -1
            continue
        assert mine.feature[a] == other.feature[b]
        assert mine.threshold[a] == pytest.approx(other.threshold[b], rel=1e-12)
        stack += [(mine.left[a], other.children_left[b]), (mine.right[a], other.children_right[b])]
    assert count == len(mine.feature)


@BOTH
@WEIGHTED
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "size",
    [{"max_depth": 3, "min_samples_leaf": 10}, {"max_leaf_nodes": 8, "min_samples_leaf": 12}],
)
def test_trees_are_the_same(
    what: str, criterion: str, weighted: bool, seed: int, size: dict[str, int]
) -> None:
    X, y = rows(what, seed)
    # They count rows in a leaf, we add up weights; with weights leaves are limited otherwise.
    weight = np.random.default_rng(seed).integers(1, 4, len(y)) if weighted else None
    size = {k: v for k, v in size.items() if not (weighted and k == "min_samples_leaf")}
    size = {"max_leaf_nodes": 4} if weighted and "max_leaf_nodes" in size else size
    ours, theirs = pair(what, criterion=criterion, **size)
    ours.fit(X, y, weight)
    theirs.fit(X, y, weight)
    assert_same(ours, theirs)
    said = "predict" if what == "number" else "predict_proba"
    np.testing.assert_allclose(getattr(ours, said)(X), getattr(theirs, said)(X), atol=1e-12)


@pytest.mark.parametrize(("what", "criterion"), [c for c in CRITERIA if c[1] != "absolute_error"])
@WEIGHTED
def test_pruning_paths_are_the_same(what: str, criterion: str, weighted: bool) -> None:
    X, y = rows(what, 7)
    weight = np.random.default_rng(7).integers(1, 4, len(y)) if weighted else None
    params = {"criterion": criterion, "max_depth": 4 if weighted else 3}
    if not weighted:
        params["min_samples_leaf"] = 5
    ours, theirs = pair(what, **params)
    a = ours.cost_complexity_pruning_path(X, y, weight)
    b = theirs.cost_complexity_pruning_path(X, y, weight)
    unit = np.log(2) if criterion == "entropy" else 1.0
    last = np.append(np.diff(b.ccp_alphas) > 1e-12, True)  # they list ties one by one
    np.testing.assert_allclose(a.alphas, unit * b.ccp_alphas[last], atol=1e-10)
    np.testing.assert_allclose(a.impurities, unit * b.impurities[last], atol=1e-10)
    for alpha in (a.alphas[1:] * a.alphas[:-1]) ** 0.5:
        ours, theirs = pair(what, **params, alpha=alpha)
        assert_same(ours.fit(X, y, weight), theirs.fit(X, y, weight))
