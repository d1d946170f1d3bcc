"""The leaves of a tree as decision rules.

A path may test a feature several times; its conditions are merged into one interval, or into one
set of categories.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from stagewise.data.categories.categories import Category
from stagewise.data.reading.datetimes import TemporalType
from stagewise.display import Lines
from stagewise.export.formatting import DIGITS, format_categories, format_value
from stagewise.export.node_statistics import ShownStatistics
from stagewise.export.tree_facts import NodeFacts, TreeFacts
from stagewise.inspection.fitted_model import check_argument

__all__ = ["Condition", "Rule", "leaf_rules", "rules"]


@dataclass(frozen=True)
class Condition:
    """The merged condition of one column on the path to a leaf.

    Attributes
    ----------
    name : str
        The column.
    above, at_most : float or int
        Numeric column: above < x <= at_most; a missing bound is infinite.
    categories : tuple of categories, or None
        Categorical column: the categories that reach the leaf.
    missing : bool
        Whether rows with a missing value can reach the leaf.
    temporal_type : {"date", "duration", "time of day"}, or None
        The temporal type of the bounds, if they are in nanoseconds.
    """

    name: str
    above: float | int = -math.inf
    at_most: float | int = math.inf
    categories: tuple[Category, ...] | None = None
    missing: bool = True
    temporal_type: TemporalType | None = None

    def text(self, digits: int = 4) -> str:
        """Return the condition as text."""
        low, high = (
            format_value(x, self.temporal_type, digits) for x in (self.above, self.at_most)
        )
        if self.categories is not None:
            text = f"{self.name} in {{{format_categories(self.categories)}}}"
        elif self.above == -math.inf:
            text = f"{self.name} <= {high}"
        elif self.at_most == math.inf:
            text = f"{self.name} > {low}"
        else:
            text = f"{low} < {self.name} <= {high}"
        return f"({text} or missing)" if self.missing else text


@dataclass(frozen=True)
class Rule:
    """A leaf and the conditions of the path to it.

    Attributes
    ----------
    leaf : NodeFacts
        The leaf.
    conditions : tuple of Condition
        One for each tested column, in the order of the first test; all of them hold.
    """

    leaf: NodeFacts
    conditions: tuple[Condition, ...]

    def text(self, digits: int = 4) -> str:
        """Return the conditions, joined by "and"."""
        return " and ".join(c.text(digits) for c in self.conditions) or "all rows"


def leaf_rules(facts: TreeFacts) -> list[Rule]:
    """Return a rule for each leaf, in pre-order."""
    known: dict[int, dict[str, Condition]] = {0: {}}
    found = []
    for node in facts.ordered():
        if node.split is None:
            found.append(Rule(node, tuple(known[node.number].values())))
            continue
        for child, left in ((node.left, True), (node.right, False)):
            own = known[node.number]
            before = own.get(node.split.name, Condition(node.split.name))
            known[child] = {**own, before.name: _narrowed(before, node, left=left)}
    return found


def _narrowed(before: Condition, node: NodeFacts, *, left: bool) -> Condition:
    split = node.split
    assert split is not None
    missing = before.missing and split.missing in ("both", "left" if left else "right")
    if split.threshold is None:
        assert split.left is not None
        assert split.right is not None
        side = split.left if left else split.right
        kept = before.categories
        kept = side if kept is None else tuple(v for v in kept if v in side)
        return Condition(before.name, categories=kept, missing=missing)
    above = before.above if left else max(before.above, split.threshold)
    at_most = min(before.at_most, split.threshold) if left else before.at_most
    return Condition(
        before.name, above, at_most, missing=missing, temporal_type=split.temporal_type
    )


def _gains_above(facts: TreeFacts, leaf: NodeFacts) -> list[float]:
    """Return the gains of the splits on the path to a leaf, from the root."""
    found, number = [], leaf.parent
    while number >= 0:
        node = facts.nodes[number]
        found.append(node.statistics[facts.gain_name])
        number = node.parent
    return found[::-1]


def rules(
    estimator: Any,
    tree: int = 0,
    *,
    digits: int = 4,
    show_gain: bool = False,
    show_impurity: bool = False,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
) -> list[dict[str, Any]]:
    """Return the leaves of a tree as a table of rules, one row per leaf.

    ``pandas.DataFrame(rules(estimator))`` turns it into a data frame; so does polars.

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest or boosted model.
    tree : int, default=0
        The index of the tree; negative values count from the end.
    digits : int, default=4
        The number of significant digits of thresholds.
    show_gain : bool, default=False
        Whether rules have the gains of the splits on their path, from the root, as the search of
        the tree has computed them: ``gain`` of boosted trees, in the units of the loss
        (``docs/conventions.md``), and ``decrease`` of single trees and forests,
        W i - W_L i_L - W_R i_R with impurity i.
    show_impurity : bool, default=False
        Whether leaves have their impurity, by the criterion of the tree. Classification trees and
        forests store what is needed; regression trees and AdaBoost need X and y. Trees that are
        fitted to gradients, or to medians, have none.
    X, y : array-like or data frame, and array-like; default=None
        The training rows. With them leaves also have the sums ``G`` and ``H`` of the gradients and
        hessians at the scores before the round of the tree, or the ``impurity`` of these rows. The
        bags of a forest are not drawn again.
    sample_weight : array-like or None, default=None
        The weights of the fit, beside X and y.

    Returns
    -------
    list of dict
        A notebook and `repr` show the first rules. ``leaf`` (its number, as returned by `apply`),
        ``rule`` (the conditions as text), ``weight`` (the sum of the weights of its training rows)
        and ``share`` (of the weight of all rows).
        Classification: ``class`` and ``p(…)`` for each class; otherwise ``value``, or ``value(…)``
        for each output. With linear leaves also ``line``: whether the leaf has a linear model, of
        which ``value`` is the constant. By the options above ``gain`` or ``decrease`` (a list),
        ``impurity``, ``G`` and ``H``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier, rules
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> table = rules(DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y))
    >>> table[0]["rule"], table[0]["p(0)"]
    ('petal length (cm) <= 2.45', 1.0)
    """
    digits = check_argument("digits", DIGITS, digits)
    shown = ShownStatistics("rules", show_gain, show_impurity, X, y, sample_weight)
    facts = shown.facts(estimator, tree)
    lines = any(node.line for node in facts.nodes)
    table = []
    for rule in leaf_rules(facts):
        node = rule.leaf
        row: dict[str, Any] = {
            "leaf": node.number,
            "rule": rule.text(digits),
            "weight": node.weight,
            "share": facts.share(node),
        }
        if facts.value_kind == "shares":
            row["class"] = facts.names[max(range(len(node.value)), key=node.value.__getitem__)]
        what = "p" if facts.value_kind == "shares" else "value"
        for name, value in zip(facts.names, node.value, strict=True):
            row[f"{what}({name})" if name else what] = value
        if lines:
            row["line"] = node.line
        if show_gain:
            row[facts.gain_name] = _gains_above(facts, node)
        row |= node.statistics
        table.append(row)
    return Lines(table)
