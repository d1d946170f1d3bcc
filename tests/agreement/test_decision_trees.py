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


N = 1500


def rows(what: str, seed: int, n: int = N) -> tuple[Any, Any]:
    """Many noisy rows for few leaves: no two splits gain the same."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)  # which is what they make of it
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * (X[:, 0] > 0) + rng.normal(size=n)
    return X, {"number": y, "two": y > 0.3, "classes": np.digitize(y, [-1, 0.2, 1.5])}[what]


def pair(what: str, own: dict[str, Any], peers: dict[str, Any], **params: Any) -> tuple[Any, Any]:
    """Return our tree and theirs with the same parameters, and some of each its own."""
    alpha = params.pop("alpha", None)
    if alpha is not None:
        own = {**own, "pruning": "cost_complexity", "ccp_alpha": alpha}
        bits = np.log(2) if params["criterion"] == "entropy" else 1.0  # they count in bits
        peers = {**peers, "ccp_alpha": alpha / bits}
    kinds = (DecisionTreeRegressor, peer.DecisionTreeRegressor)
    if what != "number":
        kinds = (DecisionTreeClassifier, peer.DecisionTreeClassifier)
    return kinds[0](**params, **own), kinds[1](**params, **peers, random_state=0)


def assert_same(ours: Any, theirs: Any) -> None:
    """Walk both trees at once: the same questions, the same shares of the weights."""
    mine, other = ours.model_.ensemble.trees[0], theirs.tree_
    share = mine.cover / mine.cover[0]
    expected = other.weighted_n_node_samples / other.weighted_n_node_samples[0]
    stack = [(0, 0)]
    count = 0
    while stack:
        a, b = stack.pop()
        count += 1
        assert share[a] == pytest.approx(expected[b], rel=1e-6)
        if other.children_left[b] < 0:
            assert mine.feature[a] == -1
            continue
        assert mine.feature[a] == other.feature[b]
        assert mine.threshold[a] == pytest.approx(other.threshold[b], rel=1e-12)
        stack += [(mine.left[a], other.children_left[b]), (mine.right[a], other.children_right[b])]
    assert count == len(mine.feature)


def limits(weighted: bool, leaf: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Return how small leaves may be for us and for them, and weights.

    They count rows in a leaf, we add up weights, so with weights neither limits leaves.
    """
    if not weighted:
        return {"min_samples_leaf": leaf}, {"min_samples_leaf": leaf}, None
    return {"min_samples_leaf": 1}, {}, np.random.default_rng(leaf).uniform(0.5, 3, N)


@BOTH
@WEIGHTED
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [{"max_depth": 3}, {"max_leaf_nodes": 8}])
def test_trees_are_the_same(
    what: str, criterion: str, weighted: bool, seed: int, size: dict[str, int]
) -> None:
    if criterion == "absolute_error":
        weighted = True  # without, rows on both sides of a median often cost the same
    X, y = rows(what, seed)
    own, peers, weight = limits(weighted, 40 + seed)
    ours, theirs = pair(what, own, peers, criterion=criterion, **size)
    ours.fit(X, y, weight)
    theirs.fit(X, y, weight)
    assert_same(ours, theirs)
    said = "predict" if what == "number" else "predict_proba"
    np.testing.assert_allclose(getattr(ours, said)(X), getattr(theirs, said)(X), atol=1e-7)


@pytest.mark.parametrize(("what", "criterion"), [c for c in CRITERIA if c[1] != "absolute_error"])
@WEIGHTED
def test_pruning_paths_are_the_same(what: str, criterion: str, weighted: bool) -> None:
    X, y = rows(what, 7)
    own, peers, weight = limits(weighted, 31)
    params = {"criterion": criterion, "max_depth": 3 if weighted else 4}
    ours, theirs = pair(what, own, peers, **params)
    a = ours.cost_complexity_pruning_path(X, y, weight)
    b = theirs.cost_complexity_pruning_path(X, y, weight)
    unit = np.log(2) if criterion == "entropy" else 1.0
    last = np.append(np.diff(b.ccp_alphas) > 1e-12, True)  # they list ties one by one
    np.testing.assert_allclose(a.alphas, unit * b.ccp_alphas[last], atol=1e-8)
    np.testing.assert_allclose(a.impurities, unit * b.impurities[last], atol=1e-8)
    for alpha in (a.alphas[1:] * a.alphas[:-1]) ** 0.5:
        small = pair(what, own, peers, **params, alpha=alpha)
        assert_same(*(m.fit(X, y, weight) for m in small))


@pytest.mark.parametrize("seed", range(5))
def test_of_equally_good_splits_each_takes_one(seed: int) -> None:
    X, y = rows("number", seed)
    ours, theirs = pair("number", {}, {}, criterion="absolute_error", max_depth=1)
    costs = [np.abs(m.fit(X, y).predict(X) - y).sum() for m in (ours, theirs)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-12)
