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

__all__ = ["Kind", "Level", "Levels", "by_value", "plain_level", "spelled_number"]

Level = int | float | str
"""As `plain_level` gives it: no truth values, no whole floats that 64 bits hold, no NaN."""

Kind = Literal["nothing", "whole numbers", "numbers", "text", "numbers and text"]


def plain_level(value: bool | int | float | str) -> Level:
    """Give a value the one form that all equal values have.

    Numbers are equal as numbers: 1, 1.0 and True are one level, and 0.0 and -0.0. The text "1" is
    another.

    Examples
    --------
    >>> plain_level(True), plain_level(2.0), plain_level(0.5), plain_level("2")
    (1, 2, 0.5, '2')
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and not (value.is_integer() and -(2.0**63) <= value < 2.0**64):
        return float(value)
    return int(value)


def by_value(level: Level) -> tuple[bool, Level]:
    """Sort levels: numbers as numbers, then texts by code point."""
    return isinstance(level, str), level


def spelled_number(text: str) -> int | float | None:
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
            level = plain_level(number)
            assert not isinstance(level, str)
            return level
    return None


@dataclass(frozen=True)
class Levels:
    """The levels of one column, in the order of their numbers 0, 1, …, L - 1.

    Parameters
    ----------
    values : tuple of int, float and str
        Each once, sorted by `by_value`.
    """

    values: tuple[Level, ...]

    @classmethod
    def of(cls, values: Iterable[bool | int | float | str]) -> Levels:
        """Take values in any order, however often."""
        return cls.of_plain(set(map(plain_level, values)))

    @classmethod
    def of_plain(cls, values: Collection[Level]) -> Levels:
        """Take values that are different from one another, and as `plain_level` gives them."""
        numbers = [value for value in values if not isinstance(value, str)]
        texts = [value for value in values if isinstance(value, str)]
        return cls((*sorted(numbers), *sorted(texts)))

    def __len__(self) -> int:
        return len(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Levels, (self.values,)  # what is looked up in them is made anew

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

    def numbers_of(self, values: Sequence[Level]) -> npt.NDArray[np.float64]:
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

    def _meant(self, value: Level) -> int | None:
        """Give the number of the level that a value of the other kind can only mean."""
        if isinstance(value, str) and self.kind in ("numbers", "whole numbers"):
            meant = spelled_number(value)
            return None if meant is None else self._places.get(meant)
        if not isinstance(value, str) and self.kind == "text":
            return self._spelled.get(value)
        return None

    @cached_property
    def _places(self) -> dict[Level, int]:
        return {level: number for number, level in enumerate(self.values)}

    @cached_property
    def _spelled(self) -> dict[int | float, int]:
        """The numbers that texts are the spelling of, but for those that two of them spell."""
        places: dict[int | float, int] = {}
        twice: set[int | float] = set()
        for place, level in enumerate(self.values):
            number = spelled_number(level) if isinstance(level, str) else None
            if number is not None and number in places:
                twice.add(number)
            elif number is not None:
                places[number] = place
        return {number: place for number, place in places.items() if number not in twice}
