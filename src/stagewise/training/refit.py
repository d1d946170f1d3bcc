"""New leaf values for the trees of a model, from other rows; the splits stay.

A boosted model is refitted round by round, at the scores of the refitted rounds before; the trees
of a forest do not depend on each other. This module must not grow trees or read tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers, weighted_quantile
from stagewise.boosting import responses
from stagewise.boosting.recipe import Recipe
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import BoundLoss, Loss
from stagewise.losses.scores import repeat_score, squeeze_outputs
from stagewise.model.ensemble import Ensemble
from stagewise.model.tree_list import TreeList
from stagewise.trees.tree import Tree

__all__ = ["FitRounds", "RefitRows", "refit_average", "refit_sum"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

LEAF_BYTES = 2**26
"""The memory for the leaves of rows in several rounds; they are found for one round at least."""


@dataclass(frozen=True, eq=False)
class RefitRows:
    """The rows of a refit.

    Attributes
    ----------
    y : array
        The targets, in the units of the loss.
    weight : float64 array
        The weights.
    columns : Columns or SparseColumns
        The features.
    offset : float64 array of shape (n_rows, n_outputs), or None
        Scores of the rows that the model does not fit; None: they are 0, or part of the targets.
    n_classes : int
        The number of classes of the model, of which y has codes; 0: y has numbers.
    """

    y: npt.NDArray[Any]
    weight: Vector
    columns: Any
    offset: Matrix | None = None
    n_classes: int = 0

    def leaves(
        self, ensemble: Ensemble, workers: Workers
    ) -> Iterator[tuple[Tree, npt.NDArray[np.int32]]]:
        """Yield every tree with the leaf of each row."""
        block = max(1, LEAF_BYTES // (4 * len(self.y) * ensemble.trees_per_round))
        for first in range(0, ensemble.n_rounds, block):
            part = ensemble.select_rounds(range(first, min(first + block, ensemble.n_rounds)))
            out = np.empty((len(self.y), len(part.trees)), dtype=np.int32)
            part.forest.leaves(workers, self.columns, out.reshape(-1))
            yield from zip(part.trees, out.T, strict=True)


@dataclass(frozen=True)
class FitRounds:
    """How the rounds of one fit get their leaf values; warm_start appends those of another fit.

    Attributes
    ----------
    n_rounds : int
        The number of rounds.
    recipe : Recipe
        The response, the step and the learning rate; without dropout and correction.
    rules : tuple of HistogramTree
        The rules of the trees, which rounds use in turn, in the units of the scores.
    max_step : float
        The largest quantile of residuals that a leaf may have; 0: no limit.
    """

    n_rounds: int
    recipe: Recipe
    rules: tuple[HistogramTree, ...]
    max_step: float


def refit_sum(
    ensemble: Ensemble,
    rows: RefitRows,
    loss: Loss,
    fits: Sequence[FitRounds],
    decay: float,
    workers: Workers,
) -> tuple[Ensemble, list[float]]:
    """Return a boosted ensemble with new values, and the loss of the rows after every round.

        v_j = decay · v_j + (1 - decay) · ν · w_j

    w_j is the value that the recipe gives leaf j for these rows, at the scores after the rounds
    before, and ν the learning rate of the round. The best constant is averaged in the same way,
    unless the recipe sets it. A leaf that no row reaches keeps its value.

    Parameters
    ----------
    ensemble : Ensemble
        The model.
    rows : RefitRows
        The rows.
    loss : Loss
        The loss, in the units of the scores.
    fits : sequence of FitRounds
        The rounds of the first fit, and those of the fits that continued it.
    decay : float
        The share of the old values.
    workers : Workers
        The threads.
    """
    base = ensemble.base
    if fits[0].recipe.start is None:
        base = decay * base + (1.0 - decay) * _best_constant(loss, rows, base)
    start = repeat_score(base, len(rows.y))
    score = np.asfortranarray(start if rows.offset is None else start + rows.offset)
    bound = loss.bind(workers, rows.y, rows.weight)
    bound.evaluate(score)
    total = float(rows.weight.sum())
    trees, losses = [], []
    joint = ensemble.outputs_per_tree > 1
    given = rows.leaves(ensemble, workers)
    for m, fit in enumerate(own for own in fits for _ in range(own.n_rounds)):
        step = _Step(
            rows, loss, bound, fit.recipe, fit.rules[m % len(fit.rules)], fit.max_step, score
        )
        for turn in range(ensemble.trees_per_round):
            tree, leaf = next(given)
            outputs = range(ensemble.n_outputs) if joint else [turn]
            found = np.stack([step.values(tree, leaf, k) for k in outputs], axis=1)
            tree = _averaged(tree, leaf, fit.recipe.learning_rate * found, decay, rows.weight)
            score[:, outputs] += tree.value.reshape(len(tree.feature), -1)[leaf]
            trees.append(tree)
        losses.append(bound.evaluate(score) / total)
    return replace(ensemble, base=base, trees=TreeList(trees)), losses


def _best_constant(loss: Loss, rows: RefitRows, base: Vector) -> Vector:
    """Return the best constant of the rows; a class without rows keeps its probability.

    Its best constant would be infinite. It counts as a row without an offset instead, whose weight
    gives it the probability that it has by `base`, the constant of the model.
    """
    y, weight, offset = rows.y, rows.weight, rows.offset
    classes = np.arange(rows.n_classes)
    absent = np.setdiff1d(classes, y[weight > 0]) if rows.n_classes else classes
    if len(absent):
        share = loss.mean(squeeze_outputs(base[np.newaxis]))[0, absent]
        own = weight.sum() * share / max(1.0 - share.sum(), share.min())
        y, weight = np.append(y, absent.astype(y.dtype)), np.append(weight, own)
        if offset is not None:
            offset = np.vstack([offset, np.zeros((len(absent), offset.shape[1]))])
    return loss.checked_best_constant(y, weight, offset)


def refit_average(
    ensemble: Ensemble, rows: RefitRows, loss: Loss, decay: float, workers: Workers
) -> Ensemble:
    """Return a forest whose leaves have the means (or medians) of these rows.

    Parameters
    ----------
    ensemble, rows, decay, workers
        As of `refit_sum`.
    loss : Loss
        Squared or absolute error; of classes, of their indicator variables.
    """
    trees = []
    for tree, leaf in rows.leaves(ensemble, workers):
        found = []
        for k in range(ensemble.n_outputs):
            target = np.asarray(loss.target(rows.y, k), dtype=np.float64)
            if loss.leaf_quantile is not None:
                found.append(_quantiles(tree, leaf, target, rows.weight, loss.leaf_quantile))
                continue
            sums = _node_sums(tree, leaf, rows.weight * target)
            weights = _node_sums(tree, leaf, rows.weight)
            found.append(np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0))
        shares = np.stack(found, axis=1) / len(ensemble.trees)
        trees.append(_averaged(tree, leaf, shares, decay, rows.weight))
    return replace(ensemble, trees=TreeList(trees))


@dataclass(frozen=True, eq=False)
class _Step:
    """The values of trees for some rows, at the scores before a round."""

    rows: RefitRows
    loss: Loss
    bound: BoundLoss
    recipe: Recipe
    rules: HistogramTree
    max_step: float
    score: Matrix

    def values(self, tree: Tree, leaf: npt.NDArray[np.int32], output: int) -> Vector:
        """Return the value of every node for one output, before shrinkage."""
        loss, rules = self.loss, self.rules
        pairs = self.bound.gradients(output).pairs().astype(np.float64).reshape(-1, 2)
        gradient, hessian = (_node_sums(tree, leaf, self.rows.weight * p) for p in pairs.T)
        if loss.leaf_quantile is not None:
            return self._residuals(tree, leaf, output, _newton(tree, gradient, hessian, rules))
        if self.recipe.response is responses.newton:
            return _newton(tree, gradient, hessian, rules)
        found = loss.region_optimum(gradient, hessian)
        return np.clip(found, -rules.max_step, rules.max_step) if rules.max_step > 0 else found

    def _residuals(
        self, tree: Tree, leaf: npt.NDArray[np.int32], output: int, value: Vector
    ) -> Vector:
        """Return the node values with the quantiles, or Huber means, of residuals in leaves."""
        loss, y = self.loss, self.rows.y
        residual = np.asarray(loss.target(y, output) - self.score[:, output])
        own, width = loss.residual_weight(y, output), self.bound.delta_of(output)
        weight = self.rows.weight if own is None else self.rows.weight * own
        assert loss.leaf_quantile is not None
        found = _quantiles(tree, leaf, residual, weight, loss.leaf_quantile)
        if width is not None:
            rest = np.clip(residual - found[leaf], -width, width)
            sums, total = (_node_sums(tree, leaf, w) for w in (weight * rest, weight))
            found = found + np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
        limit = self.max_step or np.inf
        return np.where(tree.feature < 0, np.clip(found, -limit, limit), value)


def _newton(tree: Tree, gradient: Vector, hessian: Vector, rules: HistogramTree) -> Vector:
    """Return -T(G - s u) / (H + λ + s), with u the value of the parent; 0 where H + λ is 0."""
    value, smoothing = np.zeros(len(gradient)), rules.path_smoothing
    limit = rules.max_step or np.inf
    parent = np.full(len(gradient), -1)
    inner = np.flatnonzero(tree.feature >= 0)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    for node in range(len(gradient)):  # children come after their parent
        s = smoothing if node else 0.0
        g = gradient[node] - (s * value[parent[node]] if s else 0.0)
        below = hessian[node] + rules.l2 + s
        if below > 0:
            found = -np.sign(g) * max(abs(g) - rules.l1, 0.0) / below
            value[node] = np.clip(found, -limit, limit)
    return value


def _node_sums(tree: Tree, leaf: npt.NDArray[np.int32], values: Vector) -> Vector:
    """Return the sums of values over the rows of every node."""
    sums = np.zeros(len(tree.feature))
    np.add.at(sums, leaf, values)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums


def _quantiles(
    tree: Tree, leaf: npt.NDArray[np.int32], values: Vector, weight: Vector, q: float
) -> Vector:
    """Return the weighted quantile of the rows of every node; 0 of a node without rows."""
    kept = np.flatnonzero(weight > 0)
    order = kept[np.argsort(leaf[kept], kind="stable")]
    bounds = np.searchsorted(leaf[order], np.arange(len(tree.feature) + 1))
    members = [order[bounds[node] : bounds[node + 1]] for node in range(len(tree.feature))]
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        members[node] = np.concatenate([members[tree.left[node]], members[tree.right[node]]])
    return np.array(
        [weighted_quantile(values[r], weight[r], q) if len(r) else 0.0 for r in members]
    )


def _averaged(
    tree: Tree, leaf: npt.NDArray[np.int32], found: Matrix, decay: float, weight: Vector
) -> Tree:
    """Return a tree whose nodes have averages of their values and those that were found."""
    if decay == 1.0:
        return tree
    old = tree.value.reshape(len(tree.feature), -1)
    reached = _node_sums(tree, leaf, weight) > 0
    value = np.where(reached[:, np.newaxis], decay * old + (1.0 - decay) * found, old)
    return tree.with_values(value.reshape(tree.value.shape))
