"""Prints a tree as text."""

from __future__ import annotations

from typing import Any

from stagewise.display import Text
from stagewise.export.formatting import (
    DIGITS,
    format_condition,
    format_node_value,
    format_statistics,
    format_weight,
)
from stagewise.export.node_statistics import ShownStatistics
from stagewise.export.tree_facts import NodeFacts, TreeFacts
from stagewise.inspection.fitted_model import check_argument
from stagewise.validation.rules import Number

__all__ = ["export_text"]


def export_text(
    estimator: Any,
    tree: int = 0,
    *,
    max_depth: int | None = None,
    digits: int = 4,
    show_gain: bool = False,
    show_impurity: bool = False,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
) -> Text:
    """Return a tree as text, one line per node.

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest or boosted model.
    tree : int, default=0
        The index of the tree; negative values count from the end.
    max_depth : int or None, default=None
        The greatest depth to show; None: the whole tree.
    digits : int, default=4
        The number of significant digits.
    show_gain : bool, default=False
        Whether inner nodes have the gain of their split, as the search of the tree has computed it:
        ``gain`` of boosted trees, in the units of the loss (``docs/conventions.md``), and
        ``decrease`` of single trees and forests, W i - W_L i_L - W_R i_R with impurity i.
    show_impurity : bool, default=False
        Whether nodes have their impurity, by the criterion of the tree. Classification trees and
        forests store what is needed; regression trees and AdaBoost need X and y. Trees that are
        fitted to gradients, or to medians, have none.
    X, y : array-like or data frame, and array-like; default=None
        The training rows. With them nodes also have the sums ``G`` and ``H`` of the gradients and
        hessians at the scores before the round of the tree, or the ``impurity`` of these rows. The
        bags of a forest are not drawn again.
    sample_weight : array-like or None, default=None
        The weights of the fit, beside X and y.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier, export_text
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y)
    >>> print(export_text(tree))
    all rows: 0 33.3 % (n 150, 100 %)
    ├─ petal length (cm) <= 2.45: 0 100 % (n 50, 33.3 %)
    └─ petal length (cm) > 2.45 or missing: 1 50 % (n 100, 66.7 %)
       ├─ petal width (cm) <= 1.75 or missing: 1 90.7 % (n 54, 36 %)
       └─ petal width (cm) > 1.75: 2 97.8 % (n 46, 30.7 %)
    >>> print(export_text(tree, max_depth=1, show_gain=True, digits=3))
    all rows: 0 33.3 % (n 150, 100 %; decrease 50)
    ├─ petal length (cm) <= 2.45: 0 100 % (n 50, 33.3 %)
    └─ petal length (cm) > 2.45 or missing: 1 50 % (n 100, 66.7 %; decrease 39) … 2 leaves
    """
    depth = check_argument("max_depth", Number(1, whole=True, or_none=True), max_depth)
    digits = check_argument("digits", DIGITS, digits)
    shown = ShownStatistics("export_text", show_gain, show_impurity, X, y, sample_weight)
    facts = shown.facts(estimator, tree)
    lines, prefix = [], {0: ""}
    for node in facts.ordered():
        if depth is not None and node.depth > depth:
            continue
        branch, words = "", "all rows"
        if node.parent >= 0:
            parent = facts.nodes[node.parent]
            assert parent.split is not None
            is_left = parent.left == node.number
            above = prefix[parent.number]
            branch = above + ("├─ " if is_left else "└─ ")
            prefix[node.number] = above + ("│  " if is_left else "   ")
            words = format_condition(parent.split, left=is_left, digits=digits)
        end = ""
        if depth is not None and node.depth == depth and node.split is not None:
            end = f" … {leaves_below(facts, node)} leaves"
        value = format_node_value(facts, node, digits)
        rows = "; ".join(
            filter(None, [format_weight(facts, node), format_statistics(node, digits)])
        )
        lines.append(f"{branch}{words}: {value} ({rows}){end}")
    return Text("\n".join(lines))


def leaves_below(facts: TreeFacts, node: NodeFacts) -> int:
    """Return the number of leaves below a node."""
    count, stack = 0, [node]
    while stack:
        top = stack.pop()
        if top.split is None:
            count += 1
        else:
            stack += [facts.nodes[top.left], facts.nodes[top.right]]
    return count
