"""The levels of a categorical column: which values there are, and the number of each.

The one idea: a level is a value, a number or a text, never a code. Levels are numbered by their
values (numbers rising, then texts by code point), so neither the order of the rows nor that of a
category type's own list can matter. This file must not know tables or models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
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
"""As `normalize_category` gives it: no truth values, no whole floats that 64 bits hold, no NaN."""

Kind = Literal["nothing", "whole numbers", "numbers", "text", "numbers and text"]


def normalize_category(value: bool | int | float | str) -> Category:
    """Give a value the one form that all equal values have.

    Numbers are equal as numbers: 1, 1.0 and True are one level, and 0.0 and -0.0. The text "1" is
    another.

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
    """Sort levels: numbers as numbers, then texts by code point."""
    return isinstance(category, str), category


def number_from_text(text: str) -> int | float | None:
    """Give the number that a text is the usual spelling of, or None.

    Usual is what Python and every frame library write: "7", "7.0", "0.5", "1e+20"; not "07", "+7"
    or "7.00", which look like codes.
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
    """The levels of one column, in the order of their numbers 0, 1, …, L - 1.

    Parameters
    ----------
    values : tuple of int, float and str
        Each once, sorted by `by_value`.
    """

    values: tuple[Category, ...]

    @classmethod
    def of(cls, values: Iterable[bool | int | float | str]) -> Categories:
        """Take values in any order, however often."""
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
        return Categories, (self.values,)  # what is looked up in them is made anew

    @cached_property
    def kind(self) -> Kind:
        """What the levels are."""
        if not self.values:
            return "nothing"
        # Sorted, so the ends say whether there is text.
        if isinstance(self.values[0], str):
            return "text"
        if isinstance(self.values[-1], str):
            return "numbers and text"
        return "whole numbers" if all(type(v) is int for v in self.values) else "numbers"

    def encode(self, values: Sequence[Category]) -> npt.NDArray[np.float64]:
        """Give the number of each value, NaN for one that is no level.

        A number is not the text that spells it. But where all levels are of one kind, nothing
        else can be meant by a value of the other kind: then "7" and "7.0" are the level 7, and 7
        is the level "7" or "7.0", if just one of the two is a level.
        """
        places = list(map(self._places.get, values))
        if None in places:
            places = [
                self._meant(value) if place is None else place
                for value, place in zip(values, places, strict=True)
            ]
        return np.array(places, dtype=np.float64)  # None becomes NaN

    def _meant(self, value: Category) -> int | None:
        """Give the number of the level that a value of the other kind can only mean."""
        if isinstance(value, str) and self.kind in ("numbers", "whole numbers"):
            meant = number_from_text(value)
            return None if meant is None else self._places.get(meant)
        if not isinstance(value, str) and self.kind == "text":
            return self._spelled.get(value)
        return None

    @cached_property
    def _places(self) -> dict[Category, int]:
        return {category: number for number, category in enumerate(self.values)}

    @cached_property
    def _spelled(self) -> dict[int | float, int]:
        """The numbers that texts are the spelling of, but for those that two of them spell."""
        places: dict[int | float, int] = {}
        twice: set[int | float] = set()
        for place, category in enumerate(self.values):
            number = number_from_text(category) if isinstance(category, str) else None
            if number is not None and number in places:
                twice.add(number)
            elif number is not None:
                places[number] = place
        return {number: place for number, place in places.items() if number not in twice}
