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
from stagewise.data.levels import Level
from stagewise.data.messages import shown
from stagewise.inspection.fitted import Fitted
from stagewise.learners.tree import Tree
from stagewise.model.model import Model

__all__ = ["NodeFacts", "Question", "TreeFacts", "tree_facts"]

Side = Literal["left", "right", "both"]


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
    """

    name: str
    threshold: float | int | None
    left: tuple[Level, ...] | None
    right: tuple[Level, ...] | None
    missing: Side


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
    says: Literal["shares", "numbers", "additions"]
    names: tuple[str, ...]

    def share(self, node: NodeFacts) -> float:
        """Return the share of the training rows that reach a node."""
        return node.weight / self.nodes[0].weight

    def ordered(self) -> list[NodeFacts]:
        """Return the nodes as one reads them: a node, what is left of it, what is right of it."""
        order, stack = [], [0]
        while stack:
            node = self.nodes[stack.pop()]
            order.append(node)
            if node.question is not None:
                stack += [node.right, node.left]
        return order


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
        raise TypeError(f"tree must be the number of a tree; got {shown(tree)}.")
    if not -len(trees) <= tree < len(trees):
        raise IndexError(
            f"tree={tree}, but the model has {len(trees)} trees"
            f"{' (all rows were of one class)' if not trees else ''}."
        )
    place = int(tree) % len(trees)
    says, names, value = _values(model, known, place)
    nodes = _nodes(trees[place], known.features, value, both=fitted.both_ways)
    return TreeFacts(nodes, says, names)


def _values(
    model: Any, known: Model, place: int
) -> tuple[Literal["shares", "numbers", "additions"], tuple[str, ...], npt.NDArray[np.float64]]:
    """Return what values are, what they are about, and the values of all nodes."""
    ensemble = known.ensemble
    tree = ensemble.trees[place]
    value = tree.value.reshape(len(tree.feature), -1)
    classes = None if known.classes is None else tuple(map(str, known.classes.tolist()))
    if model.averages:
        value = value * len(ensemble.trees)
        if classes is None:
            return "numbers", ("",), known.offset + known.scale * value
        shares = value if value.shape[1] > 1 else np.hstack([1 - value, 1 + value]) / 2
        return "shares", classes, shares
    outputs = classes if classes is not None and len(classes) > 2 else known.targets
    names = outputs or tuple(map(str, range(ensemble.n_outputs)))
    if ensemble.n_outputs == 1:
        names = ("",)
    elif ensemble.outputs_per_tree == 1:
        names = (names[place % ensemble.n_outputs],)
    scale = np.atleast_1d(known.scale)
    if len(scale) > 1 and ensemble.outputs_per_tree == 1:
        scale = scale[[place % ensemble.n_outputs]]
    return "additions", names, value * scale


def _nodes(
    tree: Tree, features: Features, value: npt.NDArray[np.float64], *, both: bool
) -> tuple[NodeFacts, ...]:
    n = len(tree.feature)
    parent, depth = np.full(n, -1), np.zeros(n, dtype=np.int64)
    for node in np.flatnonzero(tree.feature >= 0):
        for child in (tree.left[node], tree.right[node]):
            parent[child], depth[child] = node, depth[node] + 1
    lines = frozenset() if tree.lines is None else frozenset(tree.lines.node.tolist())
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
    if column >= features.n:
        sources = " and ".join(_name(features, f) for f in features.sources[column])
        return Question(f"what {sources} says", threshold, None, None, missing)
    feature, name = features[column], _name(features, column)
    if feature.levels is not None:
        assert tree.sets is not None
        goes = tree.sets.left(node, len(feature.levels))
        sides = tuple(
            tuple(v for v, g in zip(feature.levels.values, goes, strict=False) if g == side)
            for side in (True, False)
        )
        return Question(name, None, sides[0], sides[1], missing)
    if feature.cuts is not None:  # trees see the number of cuts below a wide integer
        return Question(name, int(feature.cuts[int(threshold)]), None, None, missing)
    return Question(name, threshold, None, None, missing)


def _name(features: Features, place: int) -> str:
    names = features.names
    return f"x{place}" if names is None else names[place]
