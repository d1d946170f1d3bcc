"""The categories of a categorical column: its distinct values, and the code of each.

A category is a value, a number or a text, never a code of the caller. Categories are sorted by
value (numbers in increasing order, then texts by code point), and the code of a category is its
position. So neither the order of the rows nor the order of a pandas category type matters. This
module must not import tables or models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = [
    "Categories",
    "Category",
    "Kind",
    "category_sort_key",
    "normalize_category",
    "number_from_text",
]

Category = int | float | str
"""As `normalize_category` returns it: no bool, no NaN, and whole numbers of 64 bits as int."""

Kind = Literal["nothing", "whole numbers", "numbers", "text", "numbers and text"]


def normalize_category(value: bool | int | float | str) -> Category:
    """Return the representation that all equal values share.

    Numbers are compared as numbers: 1, 1.0 and True are one category, and so are 0.0 and -0.0. The
    text "1" is another category.

    Examples
    --------
    >>> [normalize_category(value) for value in (True, 2.0, 0.5, "2")]
    [1, 2, 0.5, '2']
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and not (value.is_integer() and -(2.0**63) <= value < 2.0**64):
        return float(value)
    return int(value)


def category_sort_key(category: Category) -> tuple[bool, Category]:
    """Return the sort key of a category: numbers by value, then texts by code point."""
    return isinstance(category, str), category


def number_from_text(text: str) -> int | float | None:
    """Return the number whose usual spelling a text is, or None.

    The usual spelling is the one that Python and the data frame libraries write: "7", "7.0",
    "0.5", "1e+20"; not "07", "+7" or "7.00", which look like identifiers.
    """
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        if str(number) == text and number == number:
            category = normalize_category(number)
            assert not isinstance(category, str)
            return category
    return None


@dataclass(frozen=True)
class Categories:
    """The categories of one column, in the order of their codes 0, 1, …, L - 1.

    Parameters
    ----------
    values : tuple of int, float and str
        The distinct categories, sorted by `category_sort_key`.
    """

    values: tuple[Category, ...]

    @classmethod
    def of(cls, values: Iterable[bool | int | float | str]) -> Categories:
        """Return the categories of values, which may be repeated and in any order."""
        return cls.from_distinct(set(map(normalize_category, values)))

    @classmethod
    def from_distinct(cls, values: Collection[Category]) -> Categories:
        """Return the categories of distinct values that `normalize_category` has returned."""
        numbers = [value for value in values if not isinstance(value, str)]
        texts = [value for value in values if isinstance(value, str)]
        return cls((*sorted(numbers), *sorted(texts)))

    def __len__(self) -> int:
        return len(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Categories, (self.values,)  # without the cached properties

    @cached_property
    def unknown_reported(self) -> Event:
        """Set after a warning about unknown categories: one is enough for a column of a model."""
        return Event()

    @cached_property
    def kind(self) -> Kind:
        """The kind of values that the categories are."""
        if not self.values:
            return "nothing"
        # Texts are sorted behind numbers, so the first and the last value suffice.
        if isinstance(self.values[0], str):
            return "text"
        if isinstance(self.values[-1], str):
            return "numbers and text"
        return "whole numbers" if all(type(v) is int for v in self.values) else "numbers"

    def encode(self, values: Sequence[Category]) -> npt.NDArray[np.float64]:
        """Return the code of each value; NaN for an unknown category.

        A number and the text that spells it are different categories. But if all categories are
        numbers, the texts "7" and "7.0" are read as the category 7; and if all are texts, the
        number 7 is read as the category "7" or "7.0", provided that only one of them exists.
        """
        places = list(map(self.codes.get, values))
        if None in places:
            places = [
                self._code_of_other_kind(value) if place is None else place
                for value, place in zip(values, places, strict=True)
            ]
        return np.array(places, dtype=np.float64)  # None becomes NaN

    def _code_of_other_kind(self, value: Category) -> int | None:
        """Return the code of a value of the other kind, text or number; None if unknown."""
        if isinstance(value, str) and self.kind in ("numbers", "whole numbers"):
            meant = number_from_text(value)
            return None if meant is None else self.codes.get(meant)
        if not isinstance(value, str) and self.kind == "text":
            return self._spelled.get(value)
        return None

    @cached_property
    def codes(self) -> dict[Category, int]:
        """The code of each category."""
        return {category: number for number, category in enumerate(self.values)}

    @cached_property
    def _spelled(self) -> dict[int | float, int]:
        """The codes of texts by the numbers that they spell, without ambiguous numbers."""
        places: dict[int | float, int] = {}
        twice: set[int | float] = set()
        for place, category in enumerate(self.values):
            number = number_from_text(category) if isinstance(category, str) else None
            if number is not None and number in places:
                twice.add(number)
            elif number is not None:
                places[number] = place
        return {number: place for number, place in places.items() if number not in twice}
