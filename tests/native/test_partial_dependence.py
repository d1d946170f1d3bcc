"""Partial dependence on one or two numeric columns equals Friedman's recursion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_samples import random_tree
from reference.inspection import expectation
from stagewise._native import node_means
from stagewise.inspection.dependence.traversal import Traversal
from stagewise.model.ensemble import Ensemble

pytestmark = pytest.mark.native


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 6, 30]),
    st.sampled_from([1, 3]),
    st.booleans(),
    st.sampled_from([(0,), (2,), (0, 1), (2, 0)]),
)
def test_partial_dependence_equals_friedmans_recursion(
    seed: int, splits: int, outputs: int, vectors: bool, known: tuple[int, ...]
) -> None:
    rng, vectors = np.random.default_rng(seed), vectors and outputs > 1
    trees = [random_tree(rng, 3, splits) for _ in range(3 if vectors else 3 * outputs)]
    if vectors:
        shape = (len(trees[0].feature), outputs)
        trees = [replace(tree, value=rng.normal(size=shape)) for tree in trees]
    width = outputs if vectors else 1
    ensemble = Ensemble(3, rng.normal(size=outputs), trees, outputs_per_tree=width)
    thresholds = np.concatenate([tree.threshold for tree in trees])
    rows = {}
    for j in known:
        rows[j] = rng.choice(np.append(thresholds, [-np.inf, np.inf, np.nan, 0.3]), 8)
    found = Traversal(ensemble).score(rows)
    for i in range(8):
        slow = expectation(ensemble, {j: x[i] for j, x in rows.items()})
        np.testing.assert_allclose(found[i], slow, rtol=1e-9, atol=1e-12)


def test_invalid_child_indices_are_refused() -> None:
    flat = Ensemble(3, np.zeros(1), [random_tree(np.random.default_rng(0), 3, 4)]).flat()
    for child in (0, 9, -1):
        left = flat["left"].copy()
        left[0] = child
        with pytest.raises(ValueError, match="a node's child is out of range"):
            node_means(
                flat["tree_start"],
                flat["feature"],
                left,
                flat["right"],
                flat["value"],
                flat["cover"],
                1,
            )
