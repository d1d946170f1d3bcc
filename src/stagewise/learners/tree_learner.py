"""The default learner: a tree grown on binned rows by the native core.

`TreeLearner` binds the rules of a `HistogramTree` to the bins of a fit and returns a `BoundTree`,
which grows a tree from gradients in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import (
    Bins,
    Columns,
    Gradients,
    Grower,
    GrownTree,
    LeafModels,
    VectorGradients,
    Workers,
)
from stagewise.learners.histogram_tree import HistogramTree, native_rules
from stagewise.trees.linear_leaves import LinearLeafSlopes, LinearLeaves
from stagewise.trees.tree import CategorySets, Tree

__all__ = ["BoundTree", "GrownTerm", "NodeSums", "TreeLearner", "tree_of", "version_of"]

Vector = npt.NDArray[np.float64]
Times = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TreeLearner:
    """The learner that grows trees by the rules of a `HistogramTree`.

    With several rules, the rounds use them in turn: such trees differ more, and their sum has less
    variance. All rules have the same features, constraints and units. With a `location`, only the
    trees of this output have monotone constraints.
    """

    rules: tuple[HistogramTree, ...]
    location: int | None = None

    def start(
        self,
        workers: Workers,
        tables: Sequence[Bins],
        weight: Vector | None,
        classes: npt.NDArray[np.int32] | None,
        *,
        hessian_bound: float,
        hessian_is_weight: bool,
        outputs: int = 0,
        terms_per_round: int = 1,
    ) -> BoundTree:
        """Return the learner bound to the rows of a fit.

        With `classes` it grows classification trees, otherwise regression trees: with one output,
        or with `outputs` > 0 with that many outputs and vector leaves. If there are several tables
        of the rows, the trees use them in turn. `hessian_bound` and `hessian_is_weight` make sums
        of hessians cheaper.
        """
        n_classes = 0 if classes is None else max(2, int(classes.max()) + 1)

        def growers(tree: HistogramTree) -> list[Grower]:
            rules = native_rules(
                tree, tables[0], hessian_bound=hessian_bound, hessian_is_weight=hessian_is_weight
            )
            return [Grower(workers, t, weight, rules, classes, n_classes, outputs) for t in tables]

        monotone = any(self.rules[0].monotone)
        made = {tree: growers(tree) for tree in dict.fromkeys(self.rules)}
        free = self.rules
        if self.location is not None and monotone:
            free = tuple(replace(tree, monotone=()) for tree in self.rules)
            made |= {tree: growers(tree) for tree in dict.fromkeys(free)}
        return BoundTree(
            workers,
            [made[tree] for tree in self.rules],
            tables[0].n_rows,
            terms_per_round,
            monotone=monotone,
            location=self.location,
            free=[made[tree] for tree in free],
        )


def version_of(number: int, versions: int) -> int:
    """Return the table that a tree uses: in turn, shifted so that no output keeps one table."""
    return (number + number // versions) % versions


def tree_of(grown: GrownTree) -> Tree:
    """Return a tree that the native core has grown."""
    start, bits = grown.category_sets()
    tree = Tree(*grown.arrays(), CategorySets(start, bits) if len(bits) else None)
    return tree if grown.outputs == 1 else tree.with_values(tree.value.reshape(-1, grown.outputs))


@dataclass(slots=True)
class GrownTerm:
    """A tree that was just grown; a step may still change its leaf values."""

    grown: GrownTree
    tree: Tree

    @property
    def part(self) -> Tree:
        """The part of the term that the model keeps."""
        return self.tree

    @property
    def value(self) -> Vector:
        """The values of the nodes, one for each output."""
        return self.tree.value

    def with_values(self, value: Vector) -> GrownTerm:
        """Return the same tree with other node values and without linear leaves."""
        return GrownTerm(self.grown, self.tree.with_values(value))

    def with_linear_leaves(self, leaves: LinearLeaves) -> GrownTerm:
        """Return the same tree with linear models in some of its leaves."""
        return GrownTerm(self.grown, replace(self.tree, linear_leaves=leaves))


@dataclass(frozen=True)
class NodeSums:
    """Sums over the rows of every node, weights included.

    Attributes
    ----------
    gradient : float64 array of shape (n_nodes, n_classes), or (n_nodes, 1) without classes
    hessian : float64 array of shape (n_nodes,)
    leaves : integer array
        The numbers of the nodes that are leaves.
    majority : integer array of shape (n_nodes,)
        With classes: the class with the largest weight.
    """

    gradient: npt.NDArray[np.float64]
    hessian: Vector
    leaves: npt.NDArray[Any]
    majority: npt.NDArray[Any]


class BoundTree:
    """A `TreeLearner` bound to the rows of one fit: it grows the trees.

    Parameters
    ----------
    workers : Workers
        The threads.
    growers : sequence of sequences of Grower
        The native growers: for each `HistogramTree`, one for each table of the rows.
    n_rows : int
        The number of rows.
    terms_per_round : int
        The number of trees of a round.
    monotone : bool
        Whether there are monotone constraints.
    location : int or None
        The only output whose trees have them; None: all.
    free : sequence of sequences of Grower
        The growers of the trees of other outputs.
    """

    def __init__(
        self,
        workers: Workers,
        growers: Sequence[Sequence[Grower]],
        n_rows: int,
        terms_per_round: int = 1,
        *,
        monotone: bool,
        location: int | None = None,
        free: Sequence[Sequence[Grower]] = (),
    ) -> None:
        self._workers = workers
        self._location, self._free = location, free
        self._growers = growers
        self._grower = growers[0][0]  # of the last tree
        self._n_rows = n_rows
        self._terms_per_round = terms_per_round
        self._monotone = monotone

    @property
    def growers(self) -> tuple[Sequence[Sequence[Grower]], Sequence[Sequence[Grower]], int]:
        """The native growers, those of other outputs than the location (empty: the same), and it.

        For each rule, there is one for each table of the rows.
        """
        if self._location is None or self._terms_per_round == 1:
            return self._growers, (), 0
        return self._growers, self._free, self._location

    def grow(
        self,
        gradients: Gradients | VectorGradients,
        bag: npt.NDArray[np.uint32] | None,
        seed: int,
        number: int,
    ) -> GrownTerm:
        """Fit the next tree to the gradients of the rows in the bag (None: all rows)."""
        round_number, output = divmod(number, self._terms_per_round)
        constrained = self._location is None or output == self._location
        growers = self._growers if constrained or self._terms_per_round == 1 else self._free
        of_tables = growers[round_number % len(growers)]
        self._grower = of_tables[version_of(number, len(of_tables))]
        grown = self._grower.grow(gradients, bag, seed, number)
        return GrownTerm(grown, tree_of(grown))

    def leaf_quantiles(
        self, value: Vector, residual: Vector, q: float, times: Times | None
    ) -> Vector:
        """Return node values of the last tree: of each leaf, the q-quantile of its residuals.

        `value` has the values of the other nodes. `times` is how often each row counts, besides
        its weight; None: once.
        """
        return self._with_leaves(value, self._grower.leaf_quantiles(residual, q, times))

    def leaf_huber_means(
        self, value: Vector, residual: Vector, width: float, times: Times | None
    ) -> Vector:
        """Return the same with the Huber step of each leaf: from the median, within ±width."""
        return self._with_leaves(value, self._grower.leaf_huber_means(residual, width, times))

    def _with_leaves(self, value: Vector, leaves: Vector) -> Vector:
        changed = value.copy()
        changed[self._grower.leaf_nodes()] = leaves
        return changed

    def enforce_monotone(self, value: Vector) -> Vector:
        """Return node values of the last tree, changed where leaves would break a constraint."""
        leaves = self._grower.leaf_nodes()
        changed = value.copy()
        changed[leaves] = self._grower.enforce_monotone(value[leaves])
        return changed

    def monotone_bounds(self, value: Vector) -> tuple[Vector, Vector] | None:
        """Return the bounds of linear leaves by node; None without monotone constraints."""
        if not self._monotone:
            return None
        leaves = self._grower.leaf_nodes()
        low, high = np.full(len(value), -np.inf), np.full(len(value), np.inf)
        low[leaves], high[leaves] = self._grower.monotone_bounds(value[leaves])
        return low, high

    def fit_linear_leaves(
        self, term: GrownTerm, source: Columns, derivatives: Gradients, l2: float, bound: float
    ) -> LinearLeafSlopes:
        """Return slopes for the leaves of the last tree, fitted to these derivatives.

        `source` has the training rows before they were encoded; `bound` is an upper bound of the
        hessian of a row of weight 1, or 0 if there is none.
        """
        return LinearLeafSlopes(
            *self._grower.fit_linear_leaves(term.grown, source, derivatives, l2, bound)
        )

    def node_sums(self, term: GrownTerm, derivatives: Gradients) -> NodeSums:
        """Return the sums of these derivatives over the rows that the last tree was grown on."""
        of_leaves = self._grower.leaf_sums(derivatives)
        tree, leaves = term.tree, self._grower.leaf_nodes()
        gradient = np.zeros((len(tree.feature), len(of_leaves[0]) // len(leaves)))
        hessian = np.zeros(len(tree.feature))
        gradient[leaves] = of_leaves[0].reshape(len(leaves), -1)
        hessian[leaves] = of_leaves[1]
        for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # children come after their parent
            pair = [tree.left[node], tree.right[node]]
            gradient[node] = gradient[pair].sum(axis=0)
            hessian[node] = hessian[pair].sum()
        return NodeSums(gradient, hessian, leaves, gradient.argmax(axis=1))

    def nodes_of_rows(self, term: GrownTerm) -> npt.NDArray[np.intp]:
        """Return the number of the leaf of the last tree that each training row is in."""
        numbers = np.zeros(term.tree.value.shape)
        numbers.reshape(len(numbers), -1)[:, 0] = np.arange(len(numbers))
        out = np.zeros((self._n_rows, *term.tree.value.shape[1:]), order="F")
        self._grower.add_scores(term.grown, numbers.reshape(-1), out.T.reshape(-1))
        return out.reshape(self._n_rows, -1, order="F")[:, 0].astype(np.intp)

    def predictions(self, term: GrownTerm, source: Any) -> Vector:
        """Return the predictions of the last tree, with its values, for the training rows."""
        out = np.zeros(self._n_rows)
        self.add(term, source, out)
        return out

    def add(self, term: GrownTerm, source: Any, score: Vector) -> None:
        """Add the last tree's values to the training scores, of one output or of all."""
        value, score = term.tree.value.reshape(-1), score.T.reshape(-1)
        self._grower.add_scores(term.grown, value, score, *_leaf_models(term.tree, source))

    def add_to_other_rows(
        self, term: GrownTerm, table: Bins | Columns, source: Any, score: Vector
    ) -> None:
        """Add a tree's values to the scores of other rows, which are binned or not."""
        value, score = term.tree.value.reshape(-1), score.T.reshape(-1)
        models, columns = _leaf_models(term.tree, source)
        if isinstance(table, Columns):
            table.add_tree(self._workers, term.grown, value, score, models)
        else:
            table.add_tree(self._workers, term.grown, value, score, models, columns)


def _leaf_models(tree: Tree, source: Any) -> tuple[LeafModels | None, Columns | None]:
    """Return the linear models of the leaves and the columns that they use, if there are any."""
    if tree.linear_leaves is None:
        return None, None
    return tree.linear_leaves.native(len(tree.feature), source.n_features), source
