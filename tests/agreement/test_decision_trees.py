"""Single trees equal scikit-learn's where the result is unique: on data without ties."""

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
    """Return many noisy rows for few leaves: no two splits have the same gain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)  # scikit-learn converts to float32
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * (X[:, 0] > 0) + rng.normal(size=n)
    return X, {"number": y, "two": y > 0.3, "classes": np.digitize(y, [-1, 0.2, 1.5])}[what]


def pair(what: str, own: dict[str, Any], peers: dict[str, Any], **params: Any) -> tuple[Any, Any]:
    """Return our tree and theirs with the same parameters, plus some of each library."""
    alpha = params.pop("alpha", None)
    if alpha is not None:
        own = {**own, "pruning": "cost_complexity", "ccp_alpha": alpha}
        bits = np.log(2) if params["criterion"] == "entropy" else 1.0  # theirs is in bits
        peers = {**peers, "ccp_alpha": alpha / bits}
    kinds = (DecisionTreeRegressor, peer.DecisionTreeRegressor)
    if what != "number":
        kinds = (DecisionTreeClassifier, peer.DecisionTreeClassifier)
    return kinds[0](**params, **own), kinds[1](**params, **peers, random_state=0)


def assert_same(ours: Any, theirs: Any) -> None:
    """Compare both trees node by node: the same splits, the same shares of the weights."""
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
    """Return the minimum leaf size for us and for them, and weights.

    scikit-learn counts rows in a leaf, we sum weights, so with weights neither limits leaves.
    """
    if not weighted:
        return {"min_samples_leaf": leaf}, {"min_samples_leaf": leaf}, None
    return {"min_samples_leaf": 1}, {}, np.random.default_rng(leaf).uniform(0.5, 3, N)


@BOTH
@WEIGHTED
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [{"max_depth": 3}, {"max_leaf_nodes": 8}])
def test_trees_equal_those_of_scikit_learn(
    what: str, criterion: str, weighted: bool, seed: int, size: dict[str, int]
) -> None:
    if criterion == "absolute_error":
        weighted = True  # without weights, rows on both sides of a median often cost the same
    X, y = rows(what, seed)
    own, peers, weight = limits(weighted, 40 + seed)
    ours, theirs = pair(what, own, peers, criterion=criterion, **size)
    ours.fit(X, y, weight)
    theirs.fit(X, y, weight)
    assert_same(ours, theirs)
    method = "predict" if what == "number" else "predict_proba"
    np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), atol=1e-7)


@pytest.mark.parametrize(("what", "criterion"), [c for c in CRITERIA if c[1] != "absolute_error"])
@WEIGHTED
def test_pruning_paths_equal_those_of_scikit_learn(
    what: str, criterion: str, weighted: bool
) -> None:
    X, y = rows(what, 7)
    own, peers, weight = limits(weighted, 31)
    params = {"criterion": criterion, "max_depth": 3 if weighted else 4}
    ours, theirs = pair(what, own, peers, **params)
    a = ours.cost_complexity_pruning_path(X, y, weight)
    b = theirs.cost_complexity_pruning_path(X, y, weight)
    unit = np.log(2) if criterion == "entropy" else 1.0
    last = np.append(np.diff(b.ccp_alphas) > 1e-12, True)  # scikit-learn lists ties one by one
    np.testing.assert_allclose(a.alphas, unit * b.ccp_alphas[last], atol=1e-8)
    np.testing.assert_allclose(a.impurities, unit * b.impurities[last], atol=1e-8)
    for alpha in (a.alphas[1:] * a.alphas[:-1]) ** 0.5:
        small = pair(what, own, peers, **params, alpha=alpha)
        assert_same(*(m.fit(X, y, weight) for m in small))


@pytest.mark.parametrize("seed", range(5))
def test_tied_splits_have_the_same_gain_in_both_libraries(seed: int) -> None:
    X, y = rows("number", seed)
    ours, theirs = pair("number", {}, {}, criterion="absolute_error", max_depth=1)
    costs = [np.abs(m.fit(X, y).predict(X) - y).sum() for m in (ours, theirs)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-12)
