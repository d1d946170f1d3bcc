"""Linear leaves: predictions by every method, and fits equal to the slow reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_samples import random_tree, with_linear_leaves
from reference import tree as reference
from reference.core import bin_table, forest_of, rules_of
from reference.linear_leaves import fit_linear_leaf, path_features
from reference.tree import Rules, leaf_of
from stagewise._native import Columns, Gradients, Grower, LeafModels, Workers, supported_isas
from stagewise.learners.tree_learner import tree_of
from stagewise.trees.linear_leaves import LinearLeafSlopes

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]


def odd_table(rng: np.random.Generator, n: int, features: int) -> Vector:
    X = rng.normal(size=(n, features))
    for share, value in ((0.1, np.nan), (0.03, np.inf), (0.03, -np.inf), (0.02, 1e308)):
        X[rng.random(X.shape) < share] = value
    return X


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 31, 33, 300]),
    st.sampled_from([1, 3]),
    st.sampled_from([0, 3, 31, 32, 63, 64, 90]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from(supported_isas()),
)
def test_predictions_of_a_forest_equal_the_documented_formula(
    seed: int, n: int, outputs: int, splits: int, dtype: type, isa: str
) -> None:
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        X = odd_table(rng, n, 4).astype(dtype)
    trees = [random_tree(rng, 4, int(rng.integers(splits + 1))) for _ in range(2 * outputs)]
    trees = [
        with_linear_leaves(tree, 4, rng)
        for tree in [*trees, *[random_tree(rng, 4, splits)] * outputs]
    ]
    start = rng.normal(size=n * outputs)
    expected = start.copy().reshape(n, outputs)
    for t, tree in enumerate(trees):
        expected[:, t % outputs] += reference.predict(tree, X.astype(np.float64))
    forest = forest_of(trees, 4, outputs)
    for threads in (1, 3):
        found = start.copy()
        forest.add_scores(Workers(threads, isa), Columns(X), 0, len(trees), found)
        np.testing.assert_array_equal(found.reshape(n, outputs), expected)
    found = start.copy()
    forest.add_rows(X.astype(np.float64), 0, len(trees), found)
    np.testing.assert_array_equal(found.reshape(n, outputs), expected)


class Fitted:
    """A tree grown on a table, and its linear leaves."""

    def __init__(
        self,
        X: npt.NDArray[Any],
        g: Vector,
        h: Vector,
        weight: Vector | None = None,
        *,
        bag: npt.NDArray[np.uint32] | None = None,
        isa: str = "",
        threads: int = 1,
        l2: float = 0.1,
        bound: float = 0.0,
        leaves: int = 6,
        monotone: list[int] | None = None,
    ) -> None:
        self.workers = Workers(threads, isa)
        self.columns = Columns(X)
        bins, _ = bin_table(self.workers, X, weight)
        rules = rules_of(Rules(max_leaves=leaves, min_samples_leaf=3.0), monotone=monotone or [])
        self.grower = Grower(self.workers, bins, weight, rules)
        pairs = Gradients(len(X))
        pairs.assign(self.workers, g, h, weight)
        self.grown = self.grower.grow(pairs, bag, 0, 0)
        self.tree = tree_of(self.grown)
        pairs.assign(self.workers, g, h, weight)
        self.lines = LinearLeafSlopes(
            *self.grower.fit_linear_leaves(self.grown, self.columns, pairs, l2, bound)
        )

    def complete(self) -> LeafModels:
        n = len(self.lines.node)
        lines = self.lines.with_intercepts(self.lines.newton, np.full(n, -2.0), np.full(n, 2.0))
        self.tree = replace(self.tree, linear_leaves=lines)
        return lines.native(len(self.tree.feature), self.columns.n_features)


def regression(seed: int, n: int) -> tuple[Vector, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 1e5, 0.0, -7.0]
    X[:, 3] = np.round(X[:, 3])
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    g = np.sin(z[:, 0]) + z[:, 1] * (z[:, 2] > 0) + z[:, 3] + rng.normal(size=n) / 3
    h = rng.uniform(0.25, 1.0, size=n)
    X[rng.random(X.shape) < 0.03] = np.nan
    X[rng.random(X.shape) < 0.01] = np.inf
    # As stored in the core.
    return X, g.astype(np.float32).astype(float), h.astype(np.float32).astype(float)


@pytest.mark.parametrize("monotone", [None, [1, 0, 0, -1]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.1, 30.0])
@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_linear_leaves_equal_least_squares(monotone, weighted, l2, bound):
    X, g, h = regression(1, 1500)
    weight = np.random.default_rng(2).integers(1, 4, len(X)).astype(float) if weighted else None
    fit = Fitted(X, g, h, weight, l2=l2, bound=bound, monotone=monotone)
    w = np.ones(len(X)) if weight is None else weight
    leaf = np.array([leaf_of(fit.tree, row) for row in X])
    found, lines = {}, fit.lines
    for i, node in enumerate(lines.node.tolist()):
        terms = slice(int(lines.start[i]), int(lines.start[i + 1]))
        found[node] = (i, terms)
    assert found
    for node in np.flatnonzero(fit.tree.feature < 0).tolist():
        rows, features = leaf == node, path_features(fit.tree, node, set(range(4)))
        direction = np.array([(monotone or [0] * 4)[f] for f in features])
        own = (X[rows][:, features], (w * g)[rows], (w * h)[rows], w[rows])
        expected = fit_linear_leaf(*own, l2, bound, direction)
        assert (node in found) == (expected is not None)
        if expected is None:
            continue
        i, terms = found[node]
        kept = np.flatnonzero(expected.slope)
        assert lines.feature[terms].tolist() == [features[j] for j in kept]
        np.testing.assert_allclose(lines.slope[terms], expected.slope[kept], rtol=1e-9)
        np.testing.assert_allclose(lines.centre[terms], expected.centre[kept], rtol=1e-12)
        np.testing.assert_allclose(lines.spread[i], expected.spread, rtol=1e-9)
        assert bool(lines.complete[i]) == expected.complete.all()
        sums = [(w * d)[rows][expected.complete].sum() for d in (g, h)]
        np.testing.assert_allclose([lines.gradient[i], lines.hessian[i]], sums, rtol=1e-9)
        # The tree's own λ is 0 here, and there is no path smoothing.
        if monotone is None:
            np.testing.assert_allclose(lines.newton[i], -sums[0] / sums[1], rtol=1e-9)


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("order", ["C", "F"])
def test_threads_instructions_and_memory_change_no_bit(isa, order):
    X, g, h = regression(3, 20_000)
    plain = Fitted(X, g, h, leaves=40)
    for threads in (1, 2, 3):
        other = Fitted(np.asarray(X, order=order), g, h, leaves=40, isa=isa, threads=threads)
        for name in LinearLeafSlopes.__slots__:
            a, b = getattr(plain.lines, name), getattr(other.lines, name)
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("bagged", [False, True])
@pytest.mark.parametrize("form", [np.float64, np.float32])
def test_training_scores_equal_those_of_a_walk(isa, bagged, form):
    X, g, h = regression(4, 900)
    X = X.astype(form)
    bag = np.arange(0, 900, 2, dtype=np.uint32) if bagged else None
    fit = Fitted(X, g, h, bag=bag, isa=isa, threads=2)
    lines, value = fit.complete(), fit.tree.value
    expected = reference.predict(fit.tree, X.astype(np.float64))
    score = np.zeros(900)
    fit.grower.add_scores(fit.grown, value, score, lines, fit.columns)
    np.testing.assert_array_equal(score, expected)
    score = np.zeros(900)
    fit.columns.add_tree(fit.workers, fit.grown, value, score, lines)
    np.testing.assert_array_equal(score, expected)
    bins, _ = bin_table(fit.workers, X)
    score = np.zeros(900)
    bins.add_tree(fit.workers, fit.grown, value, score, lines, fit.columns)
    np.testing.assert_array_equal(score, expected)
    rows = np.arange(899, -1, -3, dtype=np.uint32)
    chosen, score = fit.columns.take(rows), np.zeros(300)
    chosen.add_tree(fit.workers, fit.grown, value, score, lines)
    np.testing.assert_array_equal(score, expected[rows])
    score = np.zeros(300)
    chosen.contiguous(fit.workers).add_tree(fit.workers, fit.grown, value, score, lines)
    np.testing.assert_array_equal(score, expected[rows])


def test_linear_leaves_of_other_trees_or_rows_are_refused():
    X, g, h = regression(5, 300)
    fit = Fitted(X, g, h)
    lines, score = fit.complete(), np.zeros(300)
    arrays = fit.tree.linear_leaves.arrays()
    with pytest.raises(ValueError, match="linear leaves need the values"):
        fit.grower.add_scores(fit.grown, fit.tree.value, score, lines, None)
    with pytest.raises(ValueError, match="other rows"):
        fit.grower.add_scores(fit.grown, fit.tree.value, score, lines, Columns(X[:-1]))
    other = LeafModels(**arrays, n_nodes=1000, n_features=4)
    with pytest.raises(ValueError, match="another tree"):
        fit.grower.add_scores(fit.grown, fit.tree.value, score, other, fit.columns)
    for name, wrong, words in (
        ("node", arrays["node"] + 1000, "node out of range"),
        ("node", arrays["node"][::-1].copy(), "node out of range"),
        ("feature", arrays["feature"] + 4, "feature out of range"),
        ("start", arrays["start"][:-1], "do not cover"),
        ("slope", arrays["slope"][:-1], "one slope"),
        ("low", arrays["low"][:-1], "bound and grain"),
    ):
        with pytest.raises(ValueError, match=words):
            LeafModels(**{**arrays, name: wrong}, n_nodes=len(fit.tree.feature), n_features=4)
