"""The rules of a tree, and the same rules for the native core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stagewise._native import TreeRules

__all__ = ["HistogramTree", "feature_share", "features_per_node", "native_rules"]

Vector = npt.NDArray[np.float64]
Times = npt.NDArray[np.float32]


SHARES = ("max_features_per_tree", "max_features_per_level", "max_features")
"""Each draws from the columns that the one before has drawn."""

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
    min_samples_split : float
        The least sum of weights of a node that is split; 2: any two rows.
    min_hessian : float
        The least sum of hessians of a leaf.
    l1, l2, min_gain, max_step : float
        α, λ, γ of the regularised objective, and the largest absolute leaf value (0: no limit).
    criterion : {"misclassification", "gini", "entropy"}
        The purity of a node of a classification tree, with class weights W_k and their sum W:
        max W_k, Σ W_k² / W or Σ W_k log W_k - W log W; see `votes` of `stagewise.boosting.steps`.
        The gain of a split is W times the decrease of the impurity (Breiman et al. 1984, section
        4.3). Other trees are split by the loss. Forests and single trees, which are grown from a
        target, also have "absolute_error", regression trees of medians, and "poisson".
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
    min_samples_split: float = 2.0
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
            value = getattr(self, name)
            if type(value) is not tuple or value:
                object.__setattr__(self, name, _tuples(value))


class BinnedTable(Protocol):
    """The codes of rows; `Bins` is one."""

    @property
    def n_features(self) -> int:
        """The number of features."""

    def bin_below(self, feature: int, threshold: float) -> int:
        """Return the last bin of a feature that is not above a threshold."""


def native_rules(
    tree: HistogramTree, table: BinnedTable, *, hessian_bound: float, hessian_is_weight: bool
) -> TreeRules:
    """Return the rules of a tree for the native core."""
    rules = {
        **vars(tree),
        "max_leaves": tree.max_leaf_nodes or 0,
        "max_depth": tree.max_depth or 0,
        "min_samples_leaf": tree.min_samples_leaf if tree.min_samples_leaf > 1 else ANY_ROW,
        "min_samples_split": tree.min_samples_split if tree.min_samples_split > 2 else 0.0,
        **_native_shares(tree, table.n_features),
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


def _native_shares(tree: HistogramTree, n_columns: int) -> dict[str, float]:
    """Return the fractions for the native core: of a tree, of its level, of a node of the level."""
    shares, n = {}, n_columns
    for name in SHARES:
        max_features = getattr(tree, name)
        if isinstance(max_features, float):
            shares[name] = max_features
        else:
            wanted = round(feature_share(max_features, n_columns) * n_columns)
            shares[name] = 1.0 if max_features is None else min(wanted, n) / n
        n = _rounded(shares[name] * n)
    return shares


def _rounded(n: float) -> int:
    """Return a number of columns as the native core rounds it."""
    return max(1, int(n + 0.5))


def features_per_node(tree: HistogramTree, n_columns: int) -> int:
    """Return the number of columns that are drawn for a node.

    A node draws from the columns of its level, and a level from those of its tree.
    """
    n = n_columns
    for share in _native_shares(tree, n_columns).values():
        n = _rounded(share * n)
    return n


def _tuples(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value
