"""The leaves of a tree as rules.

The one idea: a path asks about a feature several times, but what it says of it is one interval, or
one set of levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from stagewise.data.categories.levels import Level
from stagewise.data.reading.moments import Moment
from stagewise.export.formatting import DIGITS, cell_words, levels_words
from stagewise.export.tree_facts import NodeFacts, TreeFacts, tree_facts
from stagewise.inspection.fitted_model import checked

__all__ = ["Condition", "Rule", "leaf_rules", "rules"]


@dataclass(frozen=True)
class Condition:
    """What is true of one column in a leaf.

    Attributes
    ----------
    name : str
        The column.
    above, at_most : float or int
        Of numbers: above < x <= at_most; perhaps infinite.
    levels : tuple of levels, or None
        Of a category: which it may be.
    missing : bool
        Whether rows whose cell is missing come here, perhaps among other leaves.
    moment : {"date", "duration", "time of day"}, or None
        What its numbers stand for, if these are nanoseconds.
    """

    name: str
    above: float | int = -math.inf
    at_most: float | int = math.inf
    levels: tuple[Level, ...] | None = None
    missing: bool = True
    moment: Moment | None = None

    def words(self, digits: int = 4) -> str:
        """Return the condition as a person would write it."""
        low, high = (cell_words(x, self.moment, digits) for x in (self.above, self.at_most))
        if self.levels is not None:
            words = f"{self.name} in {{{levels_words(self.levels)}}}"
        elif self.above == -math.inf:
            words = f"{self.name} <= {high}"
        elif self.at_most == math.inf:
            words = f"{self.name} > {low}"
        else:
            words = f"{low} < {self.name} <= {high}"
        return f"({words} or missing)" if self.missing else words


@dataclass(frozen=True)
class Rule:
    """A leaf, and what is true of the rows in it.

    Attributes
    ----------
    leaf : NodeFacts
        The leaf.
    conditions : tuple of Condition
        All of which hold, one for each column asked about; in the order of the questions.
    """

    leaf: NodeFacts
    conditions: tuple[Condition, ...]

    def words(self, digits: int = 4) -> str:
        """Return the conditions, joined."""
        return " and ".join(c.words(digits) for c in self.conditions) or "all rows"


def leaf_rules(facts: TreeFacts) -> list[Rule]:
    """Return a rule for each leaf, in the order in which one reads a tree."""
    known: dict[int, dict[str, Condition]] = {0: {}}
    found = []
    for node in facts.ordered():
        if node.question is None:
            found.append(Rule(node, tuple(known[node.number].values())))
            continue
        for child, left in ((node.left, True), (node.right, False)):
            own = known[node.number]
            before = own.get(node.question.name, Condition(node.question.name))
            known[child] = {**own, before.name: _narrowed(before, node, left=left)}
    return found


def _narrowed(before: Condition, node: NodeFacts, *, left: bool) -> Condition:
    question = node.question
    assert question is not None
    missing = before.missing and question.missing in ("both", "left" if left else "right")
    if question.threshold is None:
        assert question.left is not None
        assert question.right is not None
        side = question.left if left else question.right
        levels = side if before.levels is None else tuple(v for v in before.levels if v in side)
        return Condition(before.name, levels=levels, missing=missing)
    above = before.above if left else max(before.above, question.threshold)
    at_most = min(before.at_most, question.threshold) if left else before.at_most
    return Condition(before.name, above, at_most, missing=missing, moment=question.moment)


def rules(model: Any, tree: int = 0, *, digits: int = 4) -> list[dict[str, Any]]:
    """Return a tree as a table: a row for each leaf.

    ``pandas.DataFrame(rules(model))`` and ``polars.DataFrame(rules(model))`` make a frame of it.

    Parameters
    ----------
    model : estimator
        Fitted: a single tree, a forest, a boosted model.
    tree : int, default=0
        Which of its trees.
    digits : int, default=4
        How many digits of thresholds to show.

    Returns
    -------
    list of dict
        ``leaf`` (its number, as `apply` says it), ``rule`` (the conditions in words), ``weight``
        (the sum of the weights of its training rows), ``share`` (of all rows); of classes
        ``class``, and ``p(…)`` for each; else ``value``, or one of ``value(…)`` for each output.
        With linear leaves also ``line``: whether the leaf says a line, of which ``value`` is the
        constant.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier, rules
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> table = rules(DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y))
    >>> table[0]["rule"], table[0]["p(0)"]
    ('petal length (cm) <= 2.45', 1.0)
    """
    digits = checked("digits", DIGITS, digits)
    facts = tree_facts(model, tree)
    lines = any(node.line for node in facts.nodes)
    table = []
    for rule in leaf_rules(facts):
        node = rule.leaf
        row: dict[str, Any] = {
            "leaf": node.number,
            "rule": rule.words(digits),
            "weight": node.weight,
            "share": facts.share(node),
        }
        if facts.says == "shares":
            row["class"] = facts.names[max(range(len(node.value)), key=node.value.__getitem__)]
        what = "p" if facts.says == "shares" else "value"
        for name, value in zip(facts.names, node.value, strict=True):
            row[f"{what}({name})" if name else what] = value
        if lines:
            row["line"] = node.line
        table.append(row)
    return table
