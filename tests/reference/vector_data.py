"""Tables and gradients for vector trees, and the comparison of a tree with that of brute force.

Gradients are multiples of a power of two, and few: packed as integers they are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference import vector_tree
from reference.core import Growth, bin_categories
from reference.tree import Rules, leaf_of
from stagewise._native import Workers
from stagewise.trees.tree import Tree

__all__ = ["Data", "assert_same"]


class Data:
    """Numbers with missing values, columns of few values that share codes, and categories."""

    def __init__(
        self,
        seed: int = 0,
        n: int = 90,
        outputs: int = 3,
        weights: str = "none",
        n_categories: int = 0,
        curved: bool = False,
    ) -> None:
        rng = np.random.default_rng([seed, 9])
        self.k = outputs
        self.X = rng.integers(0, 12, (n, 3)) / 2
        self.X[:, 1] = self.X[:, 1] > 2
        self.n_categories = (0, 0, 0)
        if n_categories:
            self.X[:, 2] = rng.integers(0, n_categories, n)
            self.n_categories = (0, 0, n_categories)
        signal = np.stack([np.sin(self.X[:, k % 3] * (k + 1)) for k in range(outputs)], axis=1)
        noisy = signal + 0.3 * rng.normal(size=(n, outputs))
        self.g = np.rint(noisy * 1024) / 1024
        self.h = rng.integers(1, 9, (n, outputs)) / 8 if curved else np.ones((n, outputs))
        self.X[rng.random(self.X.shape) < 0.1] = np.nan
        self.weight = {
            "none": None,
            "whole": rng.integers(0, 4, n).astype(float),
            "fractional": rng.integers(1, 24, n) / 8,
        }[weights]

    def growth(
        self, rules: Rules, workers: Workers | None = None, outputs: int | None = None, **more: Any
    ) -> Growth:
        workers = workers or Workers(1)
        bins, self.cuts = bin_categories(workers, self.X, self.n_categories)
        k = self.k if outputs is None else outputs
        return Growth(workers, bins, self.weight, rules, outputs=k, **more)

    def grow(self, rules: Rules, workers: Workers | None = None, **more: Any) -> Tree:
        return self.growth(rules, workers, **more).grow_vectors(self.g, self.h)


def assert_same(data: Data, tree: Tree, expected: list[vector_tree.VectorNode]) -> None:
    assert [int(f) for f in tree.feature] == [
        n.feature if n.children != (-1, -1) else -1 for n in expected
    ]
    np.testing.assert_array_equal(tree.left, [n.children[0] for n in expected])
    np.testing.assert_allclose(tree.value, [n.value for n in expected], rtol=1e-6, atol=1e-7)
    leaves = [leaf_of(tree, row, data.n_categories) for row in data.X]
    for number, node in enumerate(expected):
        if node.children == (-1, -1):
            reached = np.array(leaves)[node.rows] == number
            assert reached.all()
            continue
        assert tree.gain[number] == pytest.approx(node.gain, rel=1e-6)
        if node.missing_left is not None:
            assert tree.missing_left[number] == node.missing_left
