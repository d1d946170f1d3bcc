"""One tree of a fitted model as plain data.

Everything is in terms of the input table: columns by name, categories and classes by value,
thresholds and predictions in the units of the table. Other modules decide how a tree is displayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data import Features
from stagewise.data.categories.categories import Category
from stagewise.data.reading.datetimes import TemporalType
from stagewise.data.reading.wide_integers import threshold_as_integer
from stagewise.estimators.bases.model_access import is_average, named_scores
from stagewise.inspection.fitted_model import FittedModel
from stagewise.model.model import Model
from stagewise.trees.tree import Tree
from stagewise.validation.messages import short_repr

__all__ = [
    "NodeFacts",
    "Split",
    "TreeFacts",
    "Units",
    "fitted_trees",
    "node_split",
    "tree_facts",
    "value_units",
]

Side = Literal["left", "right", "both"]
ValueKind = Literal["shares", "numbers", "additions"]
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """The split of an inner node: rows for which its condition is true go left.

    Attributes
    ----------
    name : str
        The name of the column; of a derived column a text made of its sources.
    threshold : float, int or None
        Numeric column: rows with a value of at most this go left. None for a categorical column.
    left, right : tuple of categories, or None
        Categorical column: the categories that go left, and those that go right.
    missing : {"left", "right", "both"}
        The child that gets rows with a missing value.
    temporal_type : {"date", "duration", "time of day"}, or None
        The temporal type of the threshold, if it is in nanoseconds.
    """

    name: str
    threshold: float | int | None
    left: tuple[Category, ...] | None
    right: tuple[Category, ...] | None
    missing: Side
    temporal_type: TemporalType | None = None


@dataclass(frozen=True)
class NodeFacts:
    """One node of a tree.

    Attributes
    ----------
    number, parent, left, right : int
        The numbers of the node (as returned by `apply`), its parent and its children; -1: none.
    depth : int
        The number of splits between the root and the node.
    split : Split or None
        The split; None for a leaf.
    weight : float
        The sum of the weights of the training rows in it.
    value : tuple of float
        The prediction of the node as a leaf, one number per name; see `TreeFacts.value_kind`.
    gain : float
        The gain of its split, as the tree stores it; 0 for a leaf.
    line : bool
        Whether the leaf has a linear model; `value` is then its constant.
    statistics : mapping
        Further numbers of the node by name, such as its impurity; see `ShownStatistics`.
    """

    number: int
    parent: int
    left: int
    right: int
    depth: int
    split: Split | None
    weight: float
    value: tuple[float, ...]
    gain: float
    line: bool = False
    statistics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TreeFacts:
    """One tree.

    Attributes
    ----------
    nodes : tuple of NodeFacts
        Ordered by number; the root is the first.
    value_kind : {"shares", "numbers", "additions"}
        What values mean: class probabilities, predictions, or increments of the score.
    names : tuple of str
        The class or target of each value; one empty name if there is only one value.
    """

    nodes: tuple[NodeFacts, ...]
    value_kind: ValueKind
    names: tuple[str, ...]

    @property
    def gain_name(self) -> str:
        """The name of gains: "gain" of boosted trees, "decrease" of trees of an impurity."""
        return "gain" if self.value_kind == "additions" else "decrease"

    def share(self, node: NodeFacts) -> float:
        """Return the share of the training rows that reach a node."""
        whole = self.nodes[0].weight
        return node.weight / whole if whole > 0 else 0.0

    def ordered(self) -> list[NodeFacts]:
        """Return the nodes in pre-order: a node, its left subtree, its right subtree."""
        order, stack = [], [0]
        while stack:
            node = self.nodes[stack.pop()]
            order.append(node)
            if node.split is not None:
                stack += [node.right, node.left]
        return order


@dataclass(frozen=True, eq=False)
class Units:
    """Conversion of node values to the units of the data: ``offset + scale * (times * value)``.

    Attributes
    ----------
    value_kind, names
        As of `TreeFacts`.
    times : int
        The number of trees if they are averaged (each holds its share); 1 if they are summed.
    offset, scale : float64 array
        One number for each name. If nodes have a single value, all names are computed from it.
    """

    value_kind: ValueKind
    names: tuple[str, ...]
    times: int
    offset: Vector
    scale: Vector

    def of(self, value: Vector) -> Vector:
        """Convert node values of shape (n_nodes, n_values)."""
        return self.offset + self.scale * (self.times * value)


def tree_facts(estimator: Any, tree: int = 0) -> TreeFacts:
    """Return one tree of a fitted estimator as plain data.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with trees.
    tree : int, default=0
        The index of the tree; negative values count from the end.

    Raises
    ------
    TypeError
        If the estimator has no trees.
    IndexError
        If there is no tree with this index.
    """
    fitted = fitted_trees(estimator)
    known = fitted.model
    trees = known.ensemble.trees
    if isinstance(tree, bool) or not isinstance(tree, (int, np.integer)):
        raise TypeError(
            f"tree must be the index of a tree, a whole number; got {short_repr(tree)}."
        )
    if not -len(trees) <= tree < len(trees):
        raise IndexError(
            f"tree={tree} is out of range: the model has {len(trees)} trees"
            f"{' (all training rows had the same class)' if not trees else ''}."
        )
    place = int(tree) % len(trees)
    units = value_units(estimator, known, place)
    value = units.of(trees[place].value.reshape(len(trees[place].feature), -1))
    nodes = _nodes(trees[place], known.features, value, both=fitted.has_fractional_rows)
    return TreeFacts(nodes, units.value_kind, units.names)


def fitted_trees(estimator: Any) -> FittedModel:
    """Return a fitted estimator whose model has trees, or raise."""
    fitted = FittedModel.of(estimator, "Tree export", of_trees=True, of_targets=True)
    fitted.check_leaves("Tree export")
    return fitted


def value_units(estimator: Any, known: Model, place: int) -> Units:
    """Return the units of the node values of the tree with this index."""
    ensemble = known.ensemble
    classes = None if known.classes is None else tuple(map(str, known.classes.tolist()))
    offset, scale = np.atleast_1d(known.offset), np.atleast_1d(known.scale)
    if is_average(estimator):
        times = len(ensemble.trees)
        if classes is None:
            n = ensemble.n_outputs
            if known.class_targets is not None:
                return Units("numbers", known.class_outputs, times, np.zeros(n), np.ones(n))
            names = known.targets or (("",) if n == 1 else tuple(f"y{k}" for k in range(n)))
            return Units("numbers", names, times, offset, scale)
        if ensemble.outputs_per_tree == 1:  # the value is P(second class) - P(first class)
            return Units("shares", classes, times, np.full(2, 0.5), np.array([-0.5, 0.5]))
        return Units("shares", classes, times, np.zeros(len(classes)), np.ones(len(classes)))
    outputs = classes if classes is not None and len(classes) > 2 else known.targets
    names = outputs or _score_names(estimator, known) or tuple(map(str, range(ensemble.n_outputs)))
    if ensemble.n_outputs == 1:
        names = ("",)
    elif ensemble.outputs_per_tree == 1:
        names = (names[place % ensemble.n_outputs],)
    if len(scale) > 1 and ensemble.outputs_per_tree == 1:
        scale = scale[[place % ensemble.n_outputs]]
    return Units("additions", names, 1, np.zeros(len(names)), np.broadcast_to(scale, len(names)))


def _score_names(estimator: Any, known: Model) -> tuple[str, ...]:
    """Return the names of scores that are not those of targets; empty: they have none."""
    loss = named_scores(estimator)
    return known.target_names if loss is None else loss.output_names


def _nodes(
    tree: Tree, features: Features, value: npt.NDArray[np.float64], *, both: bool
) -> tuple[NodeFacts, ...]:
    n = len(tree.feature)
    parent, depth = np.full(n, -1), tree.depths
    for node in np.flatnonzero(tree.feature >= 0):
        for child in (tree.left[node], tree.right[node]):
            parent[child] = node
    lines = (
        frozenset() if tree.linear_leaves is None else frozenset(tree.linear_leaves.node.tolist())
    )
    return tuple(
        NodeFacts(
            number,
            int(parent[number]),
            int(tree.left[number]),
            int(tree.right[number]),
            int(depth[number]),
            None if tree.feature[number] < 0 else node_split(tree, number, features, both=both),
            float(tree.cover[number]),
            tuple(value[number].tolist()),
            float(tree.gain[number]),
            number in lines,
        )
        for number in range(n)
    )


def node_split(tree: Tree, node: int, features: Features, *, both: bool) -> Split:
    """Return the split of an inner node; with `both`, missing values go to both children."""
    column, threshold = int(tree.feature[node]), float(tree.threshold[node])
    missing: Side = "both" if both else "left" if tree.missing_left[node] else "right"
    name = features.column_name(column)
    if column >= features.n:
        return Split(name, threshold, None, None, missing)
    feature = features[column]
    if feature.categories is not None:
        known = len(feature.categories)  # 0 if all training values were missing
        goes = (
            tree.category_sets.goes_left(node, known)
            if tree.category_sets is not None and known
            else ()
        )
        sides = tuple(
            tuple(v for v, g in zip(feature.categories.values, goes, strict=False) if g == side)
            for side in (True, False)
        )
        return Split(name, None, sides[0], sides[1], missing)
    cut = threshold if feature.cuts is None else threshold_as_integer(threshold, feature.cuts)
    return Split(name, cut, None, None, missing, feature.temporal_type)
