"""Shapley values of the core equal the definition, by tables and walks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_samples import random_tree, with_linear_leaves, with_sets
from reference import shap as reference
from stagewise._native import Columns, Workers, supported_isas
from stagewise.inspection.shap.values import _complete
from stagewise.model.ensemble import Ensemble
from stagewise.trees.linear_leaves import LinearLeaves
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]

WAYS = (2**23, 3000, 0)
"""Bytes of tables: for all trees, for the smallest ones, for none."""


def sample(
    seed: int,
    features: int,
    splits: int,
    outputs: int,
    *,
    vectors: bool = False,
    lines: bool = False,
    rounds: int = 2,
) -> tuple[Ensemble, Vector, Sequence[int]]:
    """Return random trees, rows of all kinds of values, and the numbers of categories."""
    rng = np.random.default_rng(seed)
    n_categories = [int(rng.choice([0, 0, 3, 70])) for _ in range(features)]
    trees = []
    for _ in range(rounds if vectors else rounds * outputs):
        tree = with_sets(random_tree(rng, features, splits), n_categories, rng)
        if vectors:
            tree = replace(tree, value=rng.normal(size=(len(tree.feature), outputs)))
        trees.append(with_linear_leaves(tree, features, rng) if lines else tree)
    X = rng.normal(size=(7, features))
    for j, n in enumerate(n_categories):
        if n:
            X[:, j] = rng.integers(0, n + 2, 7)  # some are unknown
    X[rng.random(X.shape) < 0.15] = np.nan
    X[rng.random(X.shape) < 0.05] = np.inf
    width = outputs if vectors else 1
    return Ensemble(features, np.zeros(outputs), trees, n_categories, width), X, n_categories


def attributions_of(
    ensemble: Ensemble,
    X: Vector,
    background: Vector | None = None,
    *,
    interactions: bool = False,
    table_bytes: int = 2**23,
    most_bytes: int = 2**28,
    workers: Workers | None = None,
) -> tuple[Vector, Vector]:
    p, k = ensemble.n_features, ensemble.n_outputs
    out = np.zeros((len(X), *((p, p) if interactions else (p,)), k))
    base, first = np.zeros(k), 0
    workers = workers or Workers(1)
    while first < len(ensemble.trees):
        shap = ensemble.shap(
            workers,
            first,
            background=None if background is None else Columns(background),
            interactions=interactions,
            most_bytes=most_bytes,
            table_bytes=table_bytes,
        )
        shap.add(workers, Columns(X), 0, len(X), out.reshape(-1))
        base += shap.base()
        first = shap.last
    if interactions:
        _complete(out)
    return out, base


def game(
    trees: Sequence[Tree], x: Vector, background: Vector | None, k: int, n_categories: Sequence[int]
) -> reference.Game:
    if background is None:
        return reference.path_game(trees, x, k, n_categories)
    return reference.interventional_game(trees, x, background, k, n_categories)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([0, 1, 5, 14]),
    st.sampled_from([1, 3]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(WAYS),
    st.sampled_from(supported_isas()),
)
def test_shapley_values_equal_the_definition(
    seed: int,
    features: int,
    splits: int,
    outputs: int,
    vectors: bool,
    interventional: bool,
    interactions: bool,
    table_bytes: int,
    isa: str,
) -> None:
    ensemble, X, n_categories = sample(
        seed, features, splits, outputs, vectors=vectors and outputs > 1
    )
    rows, background = X[:3], X[3:] if interventional else None
    found, base = attributions_of(
        ensemble,
        rows,
        background,
        interactions=interactions,
        table_bytes=table_bytes,
        workers=Workers(1, isa),
    )
    for i, x in enumerate(rows):
        played = game(ensemble.trees, x, background, outputs, n_categories)
        define = reference.interactions if interactions else reference.shapley
        np.testing.assert_allclose(found[i], define(played, features), rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(base, played(frozenset()), rtol=1e-10, atol=1e-11)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([3, 30]),
    st.sampled_from([0, 30, 63, 400]),
    st.booleans(),
    st.sampled_from(WAYS),
)
def test_shapley_values_sum_to_the_score(
    seed: int, features: int, splits: int, interventional: bool, table_bytes: int
) -> None:
    ensemble, X, _ = sample(seed, features, splits, 2, vectors=False)
    found, base = attributions_of(
        ensemble, X, X[:4] if interventional else None, table_bytes=table_bytes
    )
    score = ensemble.score(Columns(X), Workers(1))
    np.testing.assert_allclose(base + found.sum(axis=1), score, rtol=1e-10, atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 3, 5]),
    st.sampled_from([0, 1, 5, 14]),
    st.booleans(),
)
def test_shapley_values_of_linear_leaves_equal_the_definition(
    seed: int, features: int, splits: int, interactions: bool
) -> None:
    # Most of these linear leaves are clipped somewhere, and some values are missing or infinite.
    ensemble, X, n_categories = sample(seed, features, splits, 2, lines=True, rounds=1)
    found, base = attributions_of(ensemble, X[:2], X[2:4], interactions=interactions)
    for i in range(2):
        played = game(ensemble.trees, X[i], X[2:4], 2, n_categories)
        define = reference.interactions if interactions else reference.shapley
        # Some linear leaves are rounded to multiples of 2**-36.
        np.testing.assert_allclose(found[i], define(played, features), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(base, played(frozenset()), rtol=1e-9, atol=1e-9)


def wide_linear_leaf(terms: int, low: float, high: float) -> Ensemble:
    """Return the sum of many features, clipped to bounds."""
    tree = random_tree(np.random.default_rng(0), terms, 0)
    one = np.ones(1)
    lines = LinearLeaves(
        node=np.zeros(1, np.int64),
        start=np.array([0, terms], np.uint64),
        feature=np.arange(terms, dtype=np.int32),
        slope=np.ones(terms),
        centre=np.zeros(terms),
        intercept=0 * one,
        low=low * one,
        high=high * one,
        beyond=np.zeros(1, np.uint8),
        grain=0 * one,
    )
    return Ensemble(terms, np.zeros(1), [replace(tree, linear_leaves=lines)])


def test_a_linear_leaf_of_many_terms_is_evaluated_if_possible() -> None:
    x, z = np.ones((1, 40)), np.zeros((1, 40))
    whole = attributions_of(wide_linear_leaf(40, -1.0, 41.0), x, z)[0]
    np.testing.assert_allclose(whole, np.ones((1, 40, 1)))
    # A feature that enters when the sum is at its bound adds nothing; all are symmetric.
    first = np.concatenate([[[40.0]], np.ones((1, 39))], axis=1)
    cut = attributions_of(wide_linear_leaf(40, -1.0, 39.0), first, z)[0]
    np.testing.assert_allclose(cut.sum(), 39.0)
    np.testing.assert_allclose(cut[0, 1:], cut[0, 1, 0])
    with pytest.raises(OverflowError, match="more than 16384 ways"):
        attributions_of(wide_linear_leaf(40, -1.0, 20.0), x, z)


@pytest.mark.parametrize("interventional", [False, True])
@pytest.mark.parametrize("interactions", [False, True])
def test_tables_and_walks_agree(interventional: bool, interactions: bool) -> None:
    ensemble, X, _ = sample(3, 12, 40, 2, vectors=False)
    background = X[:5] if interventional else None
    ways = [
        attributions_of(ensemble, X, background, interactions=interactions, table_bytes=n)[0]
        for n in WAYS
    ]
    np.testing.assert_allclose(ways[1], ways[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ways[2], ways[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("table_bytes", WAYS)
@pytest.mark.parametrize("interventional", [False, True])
@pytest.mark.parametrize("interactions", [False, True])
def test_results_do_not_depend_on_threads_blocks_or_memory(
    interventional: bool, interactions: bool, table_bytes: int
) -> None:
    ensemble, X, _ = sample(5, 6, 30, 3, vectors=False, rounds=3)
    many = np.tile(X, (400, 1))
    background = X[:5] if interventional else None
    kind = {"interactions": interactions, "table_bytes": table_bytes}
    plain, base = attributions_of(ensemble, many, background, **kind)  # type: ignore[arg-type]
    for threads in (2, 3):
        for isa in supported_isas():
            other, other_base = attributions_of(
                ensemble,
                many,
                background,
                workers=Workers(threads, isa),
                most_bytes=1,  # one tree at a time
                **kind,  # type: ignore[arg-type]
            )
            assert other.tobytes() == plain.tobytes()
            np.testing.assert_allclose(other_base, base, rtol=1e-12)
    few = attributions_of(ensemble, X, background, **kind)[0]  # type: ignore[arg-type]
    assert few.tobytes() == plain[:7].tobytes() == plain[-7:].tobytes()


def test_a_path_of_many_features_is_walked() -> None:
    # A chain: every node tests another feature, and its right child continues.
    n = 70
    rng = np.random.default_rng(0)
    feature = np.full(2 * n + 1, -1, dtype=np.int32)
    left, right = feature.copy(), feature.copy()
    feature[0 : 2 * n : 2] = np.arange(n)
    left[0 : 2 * n : 2] = np.arange(1, 2 * n, 2)
    right[0 : 2 * n : 2] = np.arange(2, 2 * n + 1, 2)
    zeros = np.zeros(2 * n + 1)
    tree = Tree(
        feature=feature,
        threshold=zeros,
        missing_left=zeros.astype(np.uint8),
        left=left,
        right=right,
        value=rng.normal(size=2 * n + 1),
        gain=zeros,
        cover=1 + rng.random(2 * n + 1),
    )
    ensemble = Ensemble(n, np.zeros(1), [tree])
    X = rng.normal(size=(50, n)) + 1
    for background in (None, X[:9]):
        shap = ensemble.shap(
            Workers(1),
            0,
            background=None if background is None else Columns(background),
            interactions=False,
            most_bytes=1,
        )
        assert shap.n_walked == 1
        found, base = attributions_of(ensemble, X, background)
        score = ensemble.score(Columns(X), Workers(1))
        np.testing.assert_allclose(base + found.sum(axis=1), score, rtol=1e-9, atol=1e-10)
        pairs, _ = attributions_of(ensemble, X, background, interactions=True)
        np.testing.assert_allclose(pairs.sum(axis=2), found, rtol=1e-8, atol=1e-10)


def test_a_feature_with_very_many_thresholds() -> None:
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 1, 40_000)  # more thresholds than 16-bit codes
    ensemble = Ensemble(1, np.zeros(1), [tree])
    X = rng.normal(size=(40, 1))
    found, base = attributions_of(ensemble, X)
    score = ensemble.score(Columns(X), Workers(1))
    np.testing.assert_allclose(base + found[:, 0], score, rtol=1e-9, atol=1e-9)


def test_invalid_calls_are_refused() -> None:
    ensemble, X, _ = sample(0, 3, 5, 1, vectors=False)
    workers = Workers(1)
    shap = ensemble.shap(workers, 0, background=None, interactions=False, most_bytes=2**20)
    with pytest.raises(ValueError, match="wrong shape"):
        shap.add(workers, Columns(X), 0, 7, np.zeros(3))
    with pytest.raises(ValueError, match="wrong shape"):
        shap.add(workers, Columns(X[:, :2]), 0, 7, np.zeros(21))
    with pytest.raises(ValueError, match="no such tree"):
        ensemble.shap(workers, 2, background=None, interactions=False, most_bytes=2**20)
    with pytest.raises(ValueError, match="background"):
        ensemble.shap(workers, 0, background=Columns(X[:0]), interactions=False, most_bytes=2**20)
