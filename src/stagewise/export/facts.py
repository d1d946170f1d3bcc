"""One tree of a fitted model, as facts that need no model to be read.

The one idea: everything is in the words of the data: columns by name, levels and classes by value,
thresholds and predictions in the units of the table. How facts look is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data import Features
from stagewise.data.categories.categories import Category
from stagewise.data.reading.datetimes import TemporalType
from stagewise.data.reading.wide_integers import threshold_as_integer
from stagewise.estimators.scores import is_average
from stagewise.inspection.fitted import Fitted
from stagewise.model.model import Model
from stagewise.trees.tree import Tree
from stagewise.validation.messages import short_repr

__all__ = ["NodeFacts", "Question", "TreeFacts", "Units", "column_name", "tree_facts", "units_of"]

Side = Literal["left", "right", "both"]
Says = Literal["shares", "numbers", "additions"]
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """What an inner node asks: rows of which it is true go left.

    Attributes
    ----------
    name : str
        The column, or what is derived from columns.
    threshold : float, int or None
        Of a number: whether it is at most this.
    left, right : tuple of levels, or None
        Of a category: which levels go left, and which right.
    missing : {"left", "right", "both"}
        Where rows go whose cell is missing.
    moment : {"date", "duration", "time of day"}, or None
        What the threshold stands for, if it is in nanoseconds.
    """

    name: str
    threshold: float | int | None
    left: tuple[Category, ...] | None
    right: tuple[Category, ...] | None
    missing: Side
    moment: TemporalType | None = None


@dataclass(frozen=True)
class NodeFacts:
    """A node.

    Attributes
    ----------
    number, parent, left, right : int
        Its number in the tree, as `apply` says it, and those around it; -1: there is none.
    depth : int
        How many questions were asked before.
    question : Question or None
        None: it is a leaf.
    weight : float
        The sum of the weights of the training rows in it.
    value : tuple of float
        What it says, or would say as a leaf; see `TreeFacts.says`.
    gain : float
        What its split gained.
    line : bool
        Whether it says a line, of which `value` is the constant.
    """

    number: int
    parent: int
    left: int
    right: int
    depth: int
    question: Question | None
    weight: float
    value: tuple[float, ...]
    gain: float
    line: bool = False


@dataclass(frozen=True)
class TreeFacts:
    """A tree.

    Attributes
    ----------
    nodes : tuple of NodeFacts
        By their numbers; the root is the first.
    says : {"shares", "numbers", "additions"}
        What values are: shares of the classes, predictions, or what is added to scores.
    names : tuple of str
        What each value is about: a class, a target; one empty name where there is but one.
    """

    nodes: tuple[NodeFacts, ...]
    says: Says
    names: tuple[str, ...]

    def share(self, node: NodeFacts) -> float:
        """Return the share of the training rows that reach a node."""
        whole = self.nodes[0].weight
        return node.weight / whole if whole > 0 else 0.0

    def ordered(self) -> list[NodeFacts]:
        """Return the nodes as one reads them: a node, what is left of it, what is right of it."""
        order, stack = [], [0]
        while stack:
            node = self.nodes[stack.pop()]
            order.append(node)
            if node.question is not None:
                stack += [node.right, node.left]
        return order


@dataclass(frozen=True, eq=False)
class Units:
    """How the values of a tree's nodes are told: ``offset + scale * (times * value)``.

    Attributes
    ----------
    says, names
        As of `TreeFacts`.
    times : int
        How many trees are averaged, each of which adds a part; 1: trees are added up.
    offset, scale : float64 array
        One number for each name; where a node has but one value, all are made of that.
    """

    says: Says
    names: tuple[str, ...]
    times: int
    offset: Vector
    scale: Vector

    def of(self, value: Vector) -> Vector:
        """Return the values of nodes, shape (n_nodes, n_values), as they are told."""
        return self.offset + self.scale * (self.times * value)


def tree_facts(model: Any, tree: int = 0) -> TreeFacts:
    """Read one tree of a fitted estimator.

    Parameters
    ----------
    model : estimator
        Fitted, with trees.
    tree : int, default=0
        Which of them; negative numbers count from the end.

    Raises
    ------
    TypeError
        If the model is not one of trees.
    IndexError
        If it has no such tree.
    """
    fitted = Fitted.of(model, "This report")
    fitted.check_leaves("This report")
    known = fitted.model
    trees = known.ensemble.trees
    if isinstance(tree, bool) or not isinstance(tree, (int, np.integer)):
        raise TypeError(f"tree must be the number of a tree; got {short_repr(tree)}.")
    if not -len(trees) <= tree < len(trees):
        raise IndexError(
            f"tree={tree}, but the model has {len(trees)} trees"
            f"{' (all rows were of one class)' if not trees else ''}."
        )
    place = int(tree) % len(trees)
    units = units_of(model, known, place)
    value = units.of(trees[place].value.reshape(len(trees[place].feature), -1))
    nodes = _nodes(trees[place], known.features, value, both=fitted.both_ways)
    return TreeFacts(nodes, units.says, units.names)


def units_of(model: Any, known: Model, place: int) -> Units:
    """Return how the values of a tree are told, given its place among the trees."""
    ensemble = known.ensemble
    classes = None if known.classes is None else tuple(map(str, known.classes.tolist()))
    offset, scale = np.atleast_1d(known.offset), np.atleast_1d(known.scale)
    if is_average(model):
        times = len(ensemble.trees)
        if classes is None:
            return Units("numbers", ("",), times, offset, scale)
        if ensemble.outputs_per_tree == 1:  # the share of the second class less that of the first
            return Units("shares", classes, times, np.full(2, 0.5), np.array([-0.5, 0.5]))
        return Units("shares", classes, times, np.zeros(len(classes)), np.ones(len(classes)))
    outputs = classes if classes is not None and len(classes) > 2 else known.targets
    names = outputs or tuple(map(str, range(ensemble.n_outputs)))
    if ensemble.n_outputs == 1:
        names = ("",)
    elif ensemble.outputs_per_tree == 1:
        names = (names[place % ensemble.n_outputs],)
    if len(scale) > 1 and ensemble.outputs_per_tree == 1:
        scale = scale[[place % ensemble.n_outputs]]
    return Units("additions", names, 1, np.zeros(len(names)), np.broadcast_to(scale, len(names)))


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
            None if tree.feature[number] < 0 else _question(tree, number, features, both=both),
            float(tree.cover[number]),
            tuple(value[number].tolist()),
            float(tree.gain[number]),
            number in lines,
        )
        for number in range(n)
    )


def _question(tree: Tree, node: int, features: Features, *, both: bool) -> Question:
    column, threshold = int(tree.feature[node]), float(tree.threshold[node])
    missing: Side = "both" if both else "left" if tree.missing_left[node] else "right"
    name = column_name(features, column)
    if column >= features.n:
        return Question(name, threshold, None, None, missing)
    feature = features[column]
    if feature.categories is not None:
        known = len(feature.categories)  # without levels, only missing values were seen
        goes = (
            tree.category_sets.goes_left(node, known)
            if tree.category_sets is not None and known
            else ()
        )
        sides = tuple(
            tuple(v for v, g in zip(feature.categories.values, goes, strict=False) if g == side)
            for side in (True, False)
        )
        return Question(name, None, sides[0], sides[1], missing)
    asked = threshold if feature.cuts is None else threshold_as_integer(threshold, feature.cuts)
    return Question(name, asked, None, None, missing, feature.temporal_type)


def column_name(features: Features, column: int) -> str:
    """Return what a column that trees ask about is called: a feature, or what levels say."""
    if column >= features.n:
        sources = (column_name(features, place) for place in features.sources[column])
        return f"what {' and '.join(sources)} says"
    names = features.names
    return f"x{column}" if names is None else names[column]
