"""The default learner: a tree grown on binned rows by the native core.

`HistogramTree` has the rules of a tree. `TreeLearner` binds them to the bins of a fit and returns a
`BoundTree`, which grows a tree from gradients in every round.
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
    TreeRules,
    VectorGradients,
    Workers,
)
from stagewise.trees.linear_leaves import LinearLeafSlopes, LinearLeaves
from stagewise.trees.tree import CategorySets, Tree

__all__ = [
    "BoundTree",
    "GrownTerm",
    "HistogramTree",
    "NodeSums",
    "TreeLearner",
    "feature_share",
    "features_per_node",
    "native_rules",
    "tree_of",
]

Vector = npt.NDArray[np.float64]
Times = npt.NDArray[np.float32]


SHARES = ("max_features", "max_features_per_tree", "max_features_per_level")

ANY_ROW = 2.0**-10
"""The least weight of a leaf with min_samples_leaf=1: one row, unless its weight is almost 0."""


@dataclass(frozen=True)
class HistogramTree:
    """The rules of a tree; Chen & Guestrin (2016), eqs. 5 to 7, for gain and leaf value.

    Parameters
    ----------
    max_leaf_nodes, max_depth : int or None
        The largest number of leaves, and the largest depth; None: no limit.
    min_samples_leaf : float
        The least sum of weights of a leaf, computed exactly; 1: one row is enough (`ANY_ROW`).
    min_hessian : float
        The least sum of hessians of a leaf.
    l1, l2, min_gain, max_step : float
        α, λ, γ of the regularised objective, and the largest absolute leaf value (0: no limit).
    criterion : {"misclassification", "gini", "entropy"}
        The purity of a node of a classification tree, with class weights W_k and their sum W:
        max W_k, Σ W_k² / W or Σ W_k log W_k - W log W; see `votes` of `stagewise.boosting.steps`.
        The gain of a split is W times the decrease of the impurity (Breiman et al. 1984, section
        4.3). Other trees are split by the loss. Forests and single trees, which are grown from a
        target, also have "absolute_error": regression trees of medians.
    grow_policy : {"best_first", "depth_wise", "symmetric"}
        Split the leaf with the largest gain next; or all leaves of one depth before those of the
        next; or all leaves of one depth by the same split, the one with the largest sum of gains.
    max_features_per_tree, max_features_per_level, max_features : float, int, str or None
        The features that are drawn for a tree, among these for each depth of it, and among these
        for each node: a fraction (float), a number (int), "sqrt", "log2", "third", or None for all.
    grow_until_pure : bool
        If no feature drawn for a node splits it, draw others until one does or none is left; and
        round targets so that equal targets stay equal.
    one_vs_rest : int
        If a categorical feature has at most this many categories in a node, each is tried against
        the rest. More categories are sorted by g / (h + category_smoothing), and a split cuts this
        order.
    category_smoothing, category_l2 : float
        The smoothing of that order, and the number that is added to λ in the gain of such a split.
    category_chance : float
        This many times the gain that L categories have by chance is subtracted from the gain of
        such a split: φ/2 · max(0, 2/π (L - 1) - 6) with φ = Σg² / Σh of the tree. Of L means that
        differ by chance, 2/π of the squares lie between the best two halves; a numeric feature
        gains about 6 by chance.
    path_smoothing : float
        s of the penalty ½ s (w - u)² that shrinks a value w towards the value u of the parent.
    random_thresholds : bool
        Draw one threshold for each feature and node, between the smallest and the largest value
        there, and take the best of these (Geurts, Ernst & Wehenkel 2006).
    monotone : tuple of int
        For each feature 1 if F must not decrease in it, -1 if F must not increase, otherwise 0;
        empty: all 0.
    interaction_groups, max_interaction_order
        Groups of features that may occur together on a path from the root to a leaf, and the
        largest number of different features on a path; empty and 0: no limit.
    feature_penalty : tuple of float
        For each feature the number that is subtracted from the gain of its splits as long as no
        tree has used the feature; empty: 0.
    used_features : tuple of int
        The features that are used by the trees of an earlier fit that is continued.
    feature_weights : tuple of float
        Features are drawn with probabilities proportional to these weights, without replacement;
        empty: equal weights.
    proposal, sketch_eps
        If every value has a code of its own, the candidate thresholds: "all", or those where the
        sum of hessians passes multiples of ε times the sum of the tree ("global") or of the node
        ("local"). Only `split="approx"` of `GradientBoostingRegressor` and
        `GradientBoostingClassifier` sets them; a tree that is a learner is grown on bins.
    forced_splits : tuple of (feature, threshold, left, right)
        The first splits of every tree: that of the root, and after it those that `left` and `right`
        (-1: none) refer to by their position. A threshold becomes the nearest cut between bins.
    """

    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: float = 20.0
    min_hessian: float = 1e-3
    l1: float = 0.0
    l2: float = 1.0
    min_gain: float = 0.0
    max_step: float = 0.0
    criterion: str = "misclassification"
    grow_policy: str = "best_first"
    max_features_per_tree: float | int | str | None = None
    max_features_per_level: float | int | str | None = None
    max_features: float | int | str | None = None
    grow_until_pure: bool = False
    one_vs_rest: int = 4
    category_smoothing: float = 10.0
    category_l2: float = 10.0
    category_chance: float = 1.0
    path_smoothing: float = 0.0
    random_thresholds: bool = False
    monotone: tuple[int, ...] = ()
    interaction_groups: tuple[tuple[int, ...], ...] = ()
    max_interaction_order: int = 0
    feature_penalty: tuple[float, ...] = ()
    used_features: tuple[int, ...] = ()
    feature_weights: tuple[float, ...] = ()
    proposal: str = "all"
    sketch_eps: float = 0.0
    forced_splits: tuple[tuple[int, float, int, int], ...] = ()

    def __post_init__(self) -> None:
        # Model files have lists, users perhaps arrays.
        for name in (
            "monotone",
            "interaction_groups",
            "feature_penalty",
            "used_features",
            "feature_weights",
            "forced_splits",
        ):
            object.__setattr__(self, name, _tuples(getattr(self, name)))


@dataclass(frozen=True)
class TreeLearner:
    """The learner that grows trees by the rules of a `HistogramTree`."""

    rules: HistogramTree

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
    ) -> BoundTree:
        """Return the learner bound to the rows of a fit.

        With `classes` it grows classification trees, otherwise regression trees: with one output,
        or with `outputs` > 0 with that many outputs and vector leaves. If there are several tables
        of the rows, the trees use them in turn. `hessian_bound` and `hessian_is_weight` make sums
        of hessians cheaper.
        """
        table = tables[0]
        rules = native_rules(
            self.rules, table, hessian_bound=hessian_bound, hessian_is_weight=hessian_is_weight
        )
        n_classes = 0 if classes is None else max(2, int(classes.max()) + 1)
        growers = [Grower(workers, t, weight, rules, classes, n_classes, outputs) for t in tables]
        return BoundTree(workers, growers, table.n_rows, monotone=any(self.rules.monotone))


def native_rules(
    tree: HistogramTree, table: Bins, *, hessian_bound: float, hessian_is_weight: bool
) -> TreeRules:
    """Return the rules of a tree for the native core."""
    rules = {
        **vars(tree),
        "max_leaves": tree.max_leaf_nodes or 0,
        "max_depth": tree.max_depth or 0,
        "min_samples_leaf": tree.min_samples_leaf if tree.min_samples_leaf > 1 else ANY_ROW,
        **{name: _native_share(getattr(tree, name), table.n_features) for name in SHARES},
        "forced_splits": [
            (f, table.bin_below(f, t), *sides) for f, t, *sides in tree.forced_splits
        ],
        "hessian_bound": hessian_bound,
        "hessian_is_weight": hessian_is_weight,
    }
    del rules["max_leaf_nodes"]
    return TreeRules(rules)


def feature_share(max_features: Any, n_features: int) -> float:
    """Return `max_features` as a fraction of the features.

    Parameters
    ----------
    max_features : {"sqrt", "log2", "third"}, int, float or None
        Checked; None: all features.
    n_features : int
        The number of features.
    """
    if max_features is None:
        return 1.0
    if isinstance(max_features, float):
        wanted = max(1, round(max_features * n_features))
    elif isinstance(max_features, int):
        wanted = min(max_features, n_features)
    else:
        wanted = {
            "sqrt": round(n_features**0.5),
            "log2": round(np.log2(n_features)),
            "third": round(n_features / 3),
        }[max_features]
    return max(1, int(wanted)) / n_features


def _native_share(max_features: Any, n_features: int) -> float:
    """Return the fraction for the native core, which rounds fractions itself."""
    if isinstance(max_features, float):
        return max_features
    return feature_share(max_features, n_features)


def features_per_node(tree: HistogramTree, n_columns: int) -> int:
    """Return the number of columns that are drawn for a node.

    A node draws from the columns of its level, and a level from those of its tree.
    """
    n = n_columns
    for name in ("max_features_per_tree", "max_features_per_level", "max_features"):
        share = _native_share(getattr(tree, name), n_columns)
        n = min(n, max(1, int(share * n + 0.5)))  # as the native core rounds
    return n


def version_of(number: int, versions: int) -> int:
    """Return the table that a tree uses: in turn, shifted so that no output keeps one table."""
    return (number + number // versions) % versions


def _tuples(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value


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
    growers : sequence of Grower
        The native growers, one for each table of the rows.
    n_rows : int
        The number of rows.
    monotone : bool
        Whether there are monotone constraints.
    """

    def __init__(
        self, workers: Workers, growers: Sequence[Grower], n_rows: int, *, monotone: bool
    ) -> None:
        self._workers = workers
        self._growers = growers
        self._grower = growers[0]  # of the last tree
        self._n_rows = n_rows
        self._monotone = monotone

    def grow(
        self,
        gradients: Gradients | VectorGradients,
        bag: npt.NDArray[np.uint32] | None,
        seed: int,
        number: int,
    ) -> GrownTerm:
        """Fit the next tree to the gradients of the rows in the bag (None: all rows)."""
        self._grower = self._growers[version_of(number, len(self._growers))]
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
