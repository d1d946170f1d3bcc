"""The native core with the same functions and arguments as the references.

There is one function per algorithm, with the arguments of the slow version, so that a test can call
both. This module computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.binning import find_category_bins, find_cuts
from reference.tree import Rules
from stagewise._native import (
    Bins,
    Columns,
    Forest,
    Gradients,
    Grower,
    GrownTree,
    TreeRules,
    VectorGradients,
    Workers,
    learn_cuts,
)
from stagewise.learners.tree_learner import tree_of
from stagewise.model.ensemble import Ensemble
from stagewise.trees.tree import NODE_ARRAYS, Tree

__all__ = [
    "ALL_ROWS",
    "Growth",
    "bin_categories",
    "bin_table",
    "cuts_of",
    "forest_of",
    "rules_of",
    "same_trees",
]

Vector = npt.NDArray[np.float64]

ALL_ROWS = 1_000_000
"""As a limit of few rows: every node is searched without a histogram."""


def columns_of(X: Any) -> list[npt.NDArray[Any]]:
    return list(X) if isinstance(X, list) else list(np.asarray(X).T)


def cuts_of(
    workers: Workers, X: Any, weight: Vector | None = None, max_bins: int = 255
) -> list[Vector]:
    """Return the cuts of the native core."""
    return learn_cuts(workers, Columns(X), weight, max_bins, 100_000, 0)


def bin_table(
    workers: Workers, X: Any, weight: Vector | None = None, max_bins: int = 255
) -> tuple[Bins, list[Vector]]:
    """Return the bin codes of a table by the cuts of the slow reference, which reads all rows."""
    cuts = [find_cuts(column, weight, max_bins) for column in columns_of(X)]
    return Bins(workers, Columns(X), cuts), cuts


def bin_categories(
    workers: Workers, X: Any, n_categories: Sequence[int], max_bins: int = 255
) -> tuple[Bins, list[npt.NDArray[Any]]]:
    """Return bins where the features with a number of categories above 0 are categorical."""
    codings: list[npt.NDArray[Any]] = [
        find_category_bins(column, n, max(1, max_bins - 1))
        if n
        else find_cuts(column, None, max_bins)
        for column, n in zip(columns_of(X), n_categories, strict=True)
    ]
    return Bins(workers, Columns(X), codings), codings


def rules_of(rules: Rules, **more: Any) -> TreeRules:
    named = {name: value for name, value in vars(rules).items() if name != "depth_wise"}
    growth = "depth_wise" if rules.depth_wise else "best_first"
    return TreeRules({**named, "grow_policy": growth, **more})


class Growth:
    """Grows trees on one table, from gradients of rows of weight 1."""

    def __init__(
        self,
        workers: Workers,
        bins: Bins,
        weight: Vector | None,
        rules: Rules,
        *,
        few_rows: int | None = None,
        classes: npt.NDArray[np.int32] | None = None,
        n_classes: int = 0,
        outputs: int = 0,
        target: Vector | None = None,
        **more: Any,
    ) -> None:
        self.workers, self.bins, self.weight = workers, bins, weight
        made = rules_of(rules, **more)
        self.grower = Grower(workers, bins, weight, made, classes, n_classes, outputs, target)
        if few_rows is not None:
            self.grower.set_few_rows(few_rows)
        self.grown: GrownTree

    def grow(
        self,
        gradient: Vector,
        hessian: Vector,
        bag: npt.NDArray[np.uint32] | None = None,
        seed: int = 0,
        number: int = 0,
    ) -> Tree:
        gradients = Gradients(self.bins.n_rows)
        gradients.assign(self.workers, gradient, hessian, self.weight)
        return self.from_gradients(gradients, bag, seed, number)

    def grow_vectors(
        self,
        gradient: Vector,
        hessian: Vector,
        bag: npt.NDArray[np.uint32] | None = None,
        seed: int = 0,
        number: int = 0,
    ) -> Tree:
        """Grow a vector tree from a column of gradients for each output."""
        vectors = VectorGradients(self.bins.n_rows, gradient.shape[1])
        for k in range(gradient.shape[1]):
            one = Gradients(self.bins.n_rows)
            columns = (np.ascontiguousarray(a[:, k]) for a in (gradient, hessian))
            one.assign(self.workers, *columns, self.weight)
            vectors.take(k, one)
        self.grown = self.grower.grow(vectors, bag, seed, number)
        tree = tree_of(self.grown)
        return tree.with_values(tree.value.reshape(-1, gradient.shape[1]))

    def grow_medians(
        self, bag: npt.NDArray[np.uint32] | None = None, seed: int = 0, number: int = 0
    ) -> Tree:
        self.grown = self.grower.grow_medians(bag, seed, number)
        return tree_of(self.grown)

    def from_gradients(
        self,
        gradients: Gradients,
        bag: npt.NDArray[np.uint32] | None = None,
        seed: int = 0,
        number: int = 0,
    ) -> Tree:
        self.grown = self.grower.grow(gradients, bag, seed, number)
        return tree_of(self.grown)


def forest_of(
    trees: Sequence[Tree],
    n_features: int,
    n_outputs: int = 1,
    n_categories: Sequence[int] = (),
    outputs_per_tree: int = 1,
    scored: int = 513,
) -> Forest:
    """Return a forest that has scored so many rows: after 512, it does not walk small trees."""
    base = np.zeros(n_outputs)
    forest = Ensemble(n_features, base, list(trees), n_categories, outputs_per_tree).forest
    columns, scores = Columns(np.zeros((scored, n_features))), np.zeros(scored * n_outputs)
    forest.add_scores(Workers(1), columns, 0, 0, scores)
    return forest


def same_trees(a: Tree, b: Tree) -> bool:
    """Return whether two trees are equal to the bit."""
    if (a.category_sets is None) != (b.category_sets is None):
        return False
    if a.category_sets is not None and b.category_sets is not None:
        pairs = (
            (a.category_sets.start, b.category_sets.start),
            (a.category_sets.bits, b.category_sets.bits),
        )
        if any(x.tobytes() != y.tobytes() for x, y in pairs):
            return False
    return all(getattr(a, n).tobytes() == getattr(b, n).tobytes() for n in NODE_ARRAYS)
