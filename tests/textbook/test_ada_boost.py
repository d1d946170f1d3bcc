"""AdaBoost as in its papers, with a brute-force classification tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reference import class_tree
from reference.tree import Rules, leaf_of
from stagewise import AdaBoostClassifier
from stagewise.datasets import make_nested_spheres

Vector = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

ROUNDS = 12


def make_table(seed: int, n_classes: int, n: int = 150) -> tuple[Vector, Codes]:
    """Return few distinct values, so that each has its own bin; some are missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 10, (n, 3)) / 4
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 1) + rng.normal(size=n) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.argsort(np.argsort(y)) * n_classes // n


class Classifier:
    """A tree that predicts the most frequent class of each leaf, or the shares of all."""

    def __init__(
        self, X: Vector, codes: Codes, w: Vector, rules: Rules, criterion: str, n_classes: int
    ) -> None:
        values = [np.unique(x[~np.isnan(x)]) for x in X.T]
        cuts = [(v[1:] + v[:-1]) / 2 for v in values]
        # Integers cannot represent thirds: gains that differ by rounding are ties in both.
        tree = class_tree.grow(X, codes, w, None, cuts, rules, criterion, n_classes)
        self.leaf = np.array([leaf_of(tree, row) for row in X])
        self.weights = {
            j: np.bincount(codes[self.leaf == j], w[self.leaf == j], minlength=n_classes)
            for j in np.unique(self.leaf)
        }

    def predict(self) -> Codes:
        return np.array([self.weights[j].argmax() for j in self.leaf])

    def shares(self) -> Vector:
        return np.array([self.weights[j] / self.weights[j].sum() for j in self.leaf])


def ada_boost_m1(X: Vector, y: Vector, rules: Rules, criterion: str) -> Vector:
    """Elements of Statistical Learning, Algorithm 10.1, for y = ±1; returns Σ α G."""
    n = len(y)
    w, total = np.full(n, 1 / n), np.zeros(n)
    for _ in range(ROUNDS):
        G = 2 * Classifier(X, (y > 0).astype(int), w, rules, criterion, 2).predict() - 1
        err = w[y != G].sum() / w.sum()
        alpha = np.log((1 - err) / err)
        w = w * np.exp(alpha * (y != G))
        total += alpha * G
    return total


def by_edges(X: Vector, y: Vector, rules: Rules, criterion: str) -> Vector:
    """The same by the edge γ = Σ w y G: α = ½ ln((1+γ)/(1-γ)), weights divided by 1 ± γ."""
    n = len(y)
    w, total = np.full(n, 1 / n), np.zeros(n)
    for _ in range(ROUNDS):
        G = 2 * Classifier(X, (y > 0).astype(int), w, rules, criterion, 2).predict() - 1
        edge = (w * y * G).sum()
        w = np.where(y == G, w / (1 + edge), w / (1 - edge))  # they still sum to 1
        total += 0.5 * np.log((1 + edge) / (1 - edge)) * G
    return total


def samme(X: Vector, codes: Codes, K: int, rules: Rules, criterion: str) -> Vector:
    """Zhu, Zou, Rosset & Hastie (2009), Algorithm 2; returns Σ α [T(x) = k]."""
    n = len(codes)
    w, total = np.full(n, 1 / n), np.zeros((n, K))
    for _ in range(ROUNDS):
        T = Classifier(X, codes, w, rules, criterion, K).predict()
        err = w[codes != T].sum() / w.sum()
        alpha = np.log((1 - err) / err) + np.log(K - 1)
        w = w * np.exp(alpha * (codes != T))
        w /= w.sum()
        total[np.arange(n), T] += alpha
    return total


def samme_r(X: Vector, codes: Codes, K: int, rules: Rules, criterion: str) -> Vector:
    """The same paper's Algorithm 4, shares no smaller than e^-8; returns Σ h_k."""
    n = len(codes)
    Y = np.where(codes[:, np.newaxis] == np.arange(K), 1.0, -1 / (K - 1))
    w, total = np.full(n, 1 / n), np.zeros((n, K))
    for _ in range(ROUNDS):
        p = np.maximum(Classifier(X, codes, w, rules, criterion, K).shares(), np.exp(-8))
        h = (K - 1) * (np.log(p) - np.log(p).mean(axis=1, keepdims=True))
        w = w * np.exp(-(K - 1) / K * (Y * np.log(p)).sum(axis=1))
        w /= w.sum()
        total += h
    return total


RULES = {
    "stumps": (Rules(max_depth=1), {"max_depth": 1}),
    "trees": (
        Rules(max_leaves=5, min_samples_leaf=6),
        {"max_depth": None, "max_leaf_nodes": 5, "min_samples_leaf": 6},
    ),
}


@pytest.mark.parametrize("criterion", ["misclassification", "gini"])
@pytest.mark.parametrize("size", RULES)
def test_discrete_equals_ada_boost_m1_in_both_forms(size: str, criterion: str) -> None:
    X, codes = make_table(0, 2)
    y = 2.0 * codes - 1
    rules, own = RULES[size]
    settings: dict[str, Any] = {"n_estimators": ROUNDS, "criterion": criterion, **own}
    F = AdaBoostClassifier(**settings).fit(X, codes).decision_function(X)
    book = ada_boost_m1(X, y, rules, criterion)
    np.testing.assert_allclose(2 * F, book, atol=1e-4)
    np.testing.assert_allclose(F, by_edges(X, y, rules, criterion), atol=1e-4)


@pytest.mark.parametrize("criterion", ["misclassification", "gini"])
@pytest.mark.parametrize("size", RULES)
def test_discrete_of_many_classes_equals_samme(size: str, criterion: str) -> None:
    X, codes = make_table(1, 4)
    rules, own = RULES[size]
    settings: dict[str, Any] = {"n_estimators": ROUNDS, "criterion": criterion, **own}
    model = AdaBoostClassifier(**settings).fit(X, codes)
    votes = samme(X, codes, 4, rules, criterion)
    # f = β g, β = (K-1)²/K α, g = 1 for the class and -1/(K-1) for the others; the votes centred.
    centred = votes - votes.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(X), 3 * centred, atol=1e-3)
    # Equal votes may differ by rounding.
    clear = np.sort(votes, axis=1)[:, -1] - np.sort(votes, axis=1)[:, -2] > 1e-3
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(model.predict(X)[clear], votes.argmax(axis=1)[clear])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", RULES)
def test_real_leaves_are_log_odds(size: str, n_classes: int) -> None:
    X, codes = make_table(2, n_classes)
    rules, own = RULES[size]
    settings: dict[str, Any] = {"n_estimators": ROUNDS, "algorithm": "real", "criterion": "gini"}
    model = AdaBoostClassifier(**settings, **own).fit(X, codes)
    F = samme_r(X, codes, n_classes, rules, "gini")
    ours = model.decision_function(X)
    np.testing.assert_allclose(ours, F[:, 1] if n_classes == 2 else F, atol=1e-3)
    p = np.exp(F / (n_classes - 1))
    np.testing.assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True), atol=1e-4)


def test_tiny_weights_of_rows_keep_their_digits():
    """After many rounds all weights are below 2**-100; only their ratios matter."""
    X, y = make_nested_spheres(300)
    model = AdaBoostClassifier(
        n_estimators=500, max_leaf_nodes=16, max_depth=None, criterion="gini"
    ).fit(X, y)
    assert model.n_iter_ == 500
    assert model.train_loss_[-1] < 2.0**-100
    scores = np.array([np.zeros(len(y)), *model.staged_decision_function(X)])
    s = 2 * y - 1
    for m in (100, 300, 499):
        margin = s * scores[m]
        weight = np.exp(margin.min() - margin)
        vote = np.sign(scores[m + 1] - scores[m])
        err = weight[vote != s].sum() / weight.sum()
        alpha = np.log((1 - err) / err)
        np.testing.assert_allclose(model.estimator_weights_[m], alpha, rtol=1e-4)


def test_tiny_weights_of_many_classes_do_not_end_the_fit():
    X, _ = make_nested_spheres(300)
    y = np.digitize((X**2).sum(axis=1), [8.0, 11.0])
    model = AdaBoostClassifier(
        n_estimators=900, max_leaf_nodes=24, max_depth=None, criterion="gini"
    ).fit(X, y)
    assert model.n_iter_ == 900
    assert model.train_loss_[-1] < 2.0**-90
    assert (model.estimator_weights_ > 0.5).all()
