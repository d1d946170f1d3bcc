"""Categories of a categorical column, value by value, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Key = tuple[int, Any]


def key_of(cell: Any) -> Key | None:
    """A number as (0, exact value), a text as (1, text), a missing value as None."""
    if cell is None or cell != cell:
        return None
    if isinstance(cell, str):
        return 1, cell
    return 0, cell if math.isinf(cell) else Fraction(cell)


def slow_categories(cells: Sequence[Any], weights: Sequence[float]) -> list[Key]:
    categories: list[Key] = []
    for cell, weight in zip(cells, weights, strict=True):
        key = key_of(cell)
        if weight > 0 and key is not None and key not in categories:
            categories.append(key)
    return sorted(categories)


def spellings(number: Any) -> set[str]:
    """Return the usual spellings of a number."""
    is_whole = not math.isinf(number) and number.denominator == 1
    whole = {str(int(number))} if is_whole else set()
    double = float(number)
    return whole | ({str(double)} if double == number else set())


def slow_number(categories: Sequence[Key], cell: Any) -> float | None:
    """Return the code of a category; NaN for a missing value, None for an unknown category."""
    key = key_of(cell)
    if key is None:
        return math.nan
    if key in categories:
        return float(categories.index(key))
    kinds = {kind for kind, _ in categories}
    if kinds == {0} and key[0] == 1:
        meant = [category for category in categories if key[1] in spellings(category[1])]
    elif kinds == {1} and key[0] == 0:
        meant = [category for category in categories if category[1] in spellings(key[1])]
    else:
        meant = []
    return float(categories.index(meant[0])) if len(meant) == 1 else None
