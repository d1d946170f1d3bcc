"""Formats parts of trees as text: numbers, conditions, node values.

`export_text`, `export_svg` and `rules` all use these functions, so a tree reads the same
everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from stagewise.data.categories.categories import Category
from stagewise.data.reading.datetimes import TemporalType, format_datetime_short
from stagewise.export.tree_facts import NodeFacts, Split, TreeFacts
from stagewise.validation.rules import Number

__all__ = [
    "DIGITS",
    "format_categories",
    "format_condition",
    "format_node_value",
    "format_number",
    "format_statistics",
    "format_value",
    "format_weight",
]

DIGITS = Number(1, 17, whole=True)
"""The number of significant digits of a displayed number."""
CATEGORIES_SHOWN = 6


def format_number(number: float, digits: int = 4) -> str:
    """Format a number with this many significant digits; whole numbers in full."""
    if isinstance(number, int) or (abs(number) < 1e15 and number == int(number)):
        return str(int(number))
    return f"{number:.{digits}g}"


def format_value(number: float, temporal_type: TemporalType | None, digits: int = 4) -> str:
    """Format a value of a column: a number, a date, a duration or a time of day."""
    if temporal_type is None:
        return format_number(number, digits)
    return format_datetime_short(number, temporal_type, digits)


def format_categories(categories: Sequence[Category], most: int = CATEGORIES_SHOWN) -> str:
    """Format a list of categories; a long list is cut."""
    listed = [str(category) for category in categories[:most]]
    more = len(categories) - len(listed)
    return ", ".join(listed) + (f", … ({more} more)" if more > 0 else "")


def format_condition(split: Split, *, left: bool, digits: int = 4, missing: bool = True) -> str:
    """Format the condition of one side of a split, with "or missing" where that applies."""
    if split.threshold is not None:
        sign = "<=" if left else ">"
        words = f"{split.name} {sign} {format_value(split.threshold, split.temporal_type, digits)}"
    else:
        assert split.left is not None
        assert split.right is not None
        own, other = (split.left, split.right) if left else (split.right, split.left)
        short, sign = (own, "in") if len(own) <= len(other) else (other, "not in")
        words = f"{split.name} {sign} {{{format_categories(short)}}}"
    here = missing and split.missing == ("left" if left else "right")
    return f"{words} or missing" if here else words


def format_node_value(facts: TreeFacts, node: NodeFacts, digits: int = 4) -> str:
    """Format the value of a node."""
    if facts.value_kind == "shares":
        best = max(range(len(node.value)), key=lambda k: node.value[k])
        return f"{facts.names[best]} {100 * node.value[best]:.3g} %"
    sign = "+" if facts.value_kind == "additions" else ""
    values = [f"{'+' if sign and v >= 0 else ''}{format_number(v, digits)}" for v in node.value]
    named = (f"{name} {v}".strip() for name, v in zip(facts.names, values, strict=True))
    return ", ".join(named) + (" plus a linear model" if node.line else "")


def format_statistics(node: NodeFacts, digits: int = 4) -> str:
    """Format the statistics of a node, such as "decrease 50, impurity 0.6667"; empty: none."""
    return ", ".join(
        f"{name} {_format_numbers(value, digits)}" for name, value in node.statistics.items()
    )


def _format_numbers(value: float | tuple[float, ...], digits: int) -> str:
    if not isinstance(value, tuple):
        return format_number(value, digits)
    return f"({', '.join(format_number(v, digits) for v in value)})"


def format_weight(facts: TreeFacts, node: NodeFacts) -> str:
    """Format the weight of the training rows of a node and their share of all rows."""
    return f"n {format_number(node.weight, 5)}, {100 * facts.share(node):.3g} %"
