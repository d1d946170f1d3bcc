"""The domains of targets of a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.losses.formula.curvature import Sign
from stagewise.losses.formula.expression import (
    Expression,
    add,
    call,
    multiply,
    number,
    power,
    symbol,
)

__all__ = ["DOMAINS", "Domain"]

Vector = npt.NDArray[np.float64]
Y = symbol("y")


@dataclass(frozen=True)
class Domain:
    """The values that a target may have.

    Attributes
    ----------
    words : str
        The values in words.
    contains : callable
        Returns which of some numbers are in the domain.
    values : tuple of float
        Targets at which a formula is checked; of two classes, both.
    sign : {"+", "?"}
        The sign of y.
    of_classes : bool
        Whether y are two classes.
    """

    words: str
    contains: Callable[[Vector], npt.NDArray[np.bool_]]
    values: tuple[float, ...]
    sign: Sign = "?"
    of_classes: bool = False

    def check(self, y: npt.NDArray[Any]) -> None:
        """Raise ValueError at the first target that is outside; classes have been read."""
        if self.of_classes:
            return
        wrong = ~self.contains(np.asarray(y, dtype=np.float64))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"The formula is for targets that are {self.words}, but y is {y[row]:g} at row "
                f"{row} (the first of {int(wrong.sum())} such rows). Remove these rows, or use "
                "another loss."
            )

    def coded(self, y: npt.NDArray[Any]) -> Vector:
        """Return targets as the formula has them; class codes 0 and 1 become both values."""
        own = np.ascontiguousarray(y, dtype=np.float64)
        return np.where(own > 0.0, *self.values[::-1]) if self.of_classes else own

    def simplified(self, a: Expression) -> Expression:
        """Return an expression with y² = 1 for y = ±1, and y² = y for y = 0 or 1."""
        if not self.of_classes:
            return a
        kind = a[0]
        if kind == "sum":
            return add(number(a[1]), *(multiply(number(c), self.simplified(t)) for t, c in a[2]))
        if kind == "call":
            return call(a[1], *map(self.simplified, a[2]))
        if kind != "product":
            return a
        parts = []
        for base, exponent in a[2]:
            whole = exponent == round(exponent) and exponent > 1.0
            if base == Y and whole:
                left = exponent % 2 if self.values[0] < 0.0 else 1.0
                parts.append(power(Y, left))
            else:
                parts.append(power(self.simplified(base), exponent))
        return multiply(number(a[1]), *parts)


DOMAINS: Mapping[str, Domain] = MappingProxyType(
    {
        "real": Domain("numbers", np.isfinite, (-3.0, -0.7, 0.0, 0.4, 1.0, 5.0)),
        "positive": Domain("above 0", lambda y: y > 0.0, (0.1, 0.6, 1.0, 4.0, 20.0), "+"),
        "non_negative": Domain("0 or more", lambda y: y >= 0.0, (0.0, 0.3, 1.0, 4.0, 20.0), "+"),
        "count": Domain(
            "whole numbers, 0 or more",
            lambda y: (y >= 0.0) & (y == np.rint(y)),
            (0.0, 1.0, 2.0, 5.0, 20.0),
            "+",
        ),
        "0/1": Domain("0 or 1", lambda y: (y == 0.0) | (y == 1.0), (0.0, 1.0), "+", True),
        "±1": Domain("-1 or 1", lambda y: np.abs(y) == 1.0, (-1.0, 1.0), "?", True),
    }
)
