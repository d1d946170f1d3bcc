"""Facts about trees in words: numbers, sides of questions, what a node says.

The one idea: the same words wherever a tree is shown. Must not know where they are put.
"""

from __future__ import annotations

from collections.abc import Sequence

from stagewise.data.categories.levels import Level
from stagewise.data.reading.moments import Moment, short_words
from stagewise.export.tree_facts import NodeFacts, Question, TreeFacts
from stagewise.validation.rules import Number

__all__ = [
    "DIGITS",
    "cell_words",
    "levels_words",
    "number_words",
    "says_words",
    "side_words",
    "weight_words",
]

DIGITS = Number(1, 17, whole=True)
"""How many digits of a number can be shown."""
LEVELS_SHOWN = 6


def number_words(number: float, digits: int = 4) -> str:
    """Return a number with so many digits that count; whole numbers as they are."""
    if isinstance(number, int) or (abs(number) < 1e15 and number == int(number)):
        return str(int(number))
    return f"{number:.{digits}g}"


def cell_words(number: float, moment: Moment | None, digits: int = 4) -> str:
    """Return a number of a column, or the moment that it stands for."""
    if moment is None:
        return number_words(number, digits)
    return short_words(number, moment, digits)


def levels_words(levels: Sequence[Level], most: int = LEVELS_SHOWN) -> str:
    """Return a list of levels, of long ones the beginning."""
    listed = [str(level) for level in levels[:most]]
    more = len(levels) - len(listed)
    return ", ".join(listed) + (f", … ({more} more)" if more > 0 else "")


def side_words(question: Question, *, left: bool, digits: int = 4, missing: bool = True) -> str:
    """Return what is true of the rows that go to one side, perhaps with those that are missing."""
    if question.threshold is not None:
        sign = "<=" if left else ">"
        words = f"{question.name} {sign} {cell_words(question.threshold, question.moment, digits)}"
    else:
        assert question.left is not None
        assert question.right is not None
        own, other = (question.left, question.right) if left else (question.right, question.left)
        short, sign = (own, "in") if len(own) <= len(other) else (other, "not in")
        words = f"{question.name} {sign} {{{levels_words(short)}}}"
    here = missing and question.missing == ("left" if left else "right")
    return f"{words} or missing" if here else words


def says_words(facts: TreeFacts, node: NodeFacts, digits: int = 4) -> str:
    """Return what a node says."""
    if facts.says == "shares":
        best = max(range(len(node.value)), key=lambda k: node.value[k])
        return f"{facts.names[best]} {100 * node.value[best]:.3g} %"
    sign = "+" if facts.says == "additions" else ""
    said = [f"{'+' if sign and v >= 0 else ''}{number_words(v, digits)}" for v in node.value]
    named = (f"{name} {v}".strip() for name, v in zip(facts.names, said, strict=True))
    return ", ".join(named) + (" and a line" if node.line else "")


def weight_words(facts: TreeFacts, node: NodeFacts) -> str:
    """Return how many training rows a node has, and which share of all."""
    return f"n {number_words(node.weight, 5)}, {100 * facts.share(node):.3g} %"
