"""The kinds of rules for parameters.

A rule is called with a value. It returns the value as a plain Python type, or raises ValueError
with a description of the allowed values; the caller adds the name of the parameter.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = [
    "Number",
    "OneOf",
    "OrAuto",
    "Rule",
    "categorical",
    "class_order",
    "column_name",
    "feature_count",
    "flag",
    "folds",
    "least_rows",
    "least_split",
    "metric",
    "missing_values",
    "quantiles",
    "row_count",
    "seed",
    "start",
    "stopping",
    "verbosity",
]

Rule = Callable[[Any], Any]
"""Returns the value to use, or raises ValueError with the allowed values."""

MOST_FOLDS = 20
"""The largest number of folds of `early_stopping`; a larger number is probably a wait in rounds."""


@dataclass(frozen=True)
class Number:
    """A number in an interval, or None with `or_none`.

    `foreign` has numbers of other libraries, the libraries, and what they are here.
    """

    low: float
    high: float = math.inf
    whole: bool = False
    open_low: bool = False
    open_high: bool = False
    or_none: bool = False
    foreign: tuple[tuple[float, str, str], ...] = ()

    def __call__(self, value: Any) -> Any:
        """Return the number, or raise ValueError with the allowed values."""
        if value is None and self.or_none:
            return None
        if not self._fits(value):
            raise ValueError(self._allowed() + self._theirs(value))
        return int(value) if self.whole else float(value)

    def _fits(self, value: Any) -> bool:
        is_plain = type(value) is float or type(value) is int  # most are, and ABCs are slow
        if not is_plain and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
            return False
        try:
            number = float(value)
        except OverflowError:  # an integer or a fraction beyond the range of float
            return False
        if not math.isfinite(number) or (self.whole and number != int(number)):
            return False
        above = number > self.low if self.open_low else number >= self.low
        return above and (number < self.high if self.open_high else number <= self.high)

    def _theirs(self, value: Any) -> str:
        """Return what a number of another library is here, in brackets; empty: it is none."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return ""
        found = [(whose, ours) for number, whose, ours in self.foreign if value == number]
        return "".join(f" ({value} of {whose} is {ours} here)" for whose, ours in found)

    def _allowed(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        low = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        limit = f"{self.high:,.0f}" if self.whole else f"{self.high:g}"
        high = f" and {'below' if self.open_high else 'at most'} {limit}"
        none = ", or None" if self.or_none else ""
        return f"{kind} {low}{high if self.high < math.inf else ''}{none}"


FRACTION = Number(0.0, 1.0, open_low=True, open_high=True)


def quantiles(value: Any) -> Any:
    """Return a number between 0 and 1, several that increase, or None."""
    if value is None:
        return None
    if not isinstance(value, str) and np.ndim(value) == 1:
        try:
            found = tuple(FRACTION(level) for level in value)
        except ValueError:
            raise ValueError("numbers between 0 and 1, both excluded") from None
        if len(found) < 2:
            raise ValueError("one number for one quantile, or a list of at least two")
        if any(low >= high for low, high in pairwise(found)):
            raise ValueError("a number, or a list of numbers that increase, each once")
        return found
    try:
        return FRACTION(value)
    except ValueError:
        raise ValueError(
            "a number above 0 and below 1, a list of such numbers that increase, or None"
        ) from None


@dataclass(frozen=True)
class OneOf:
    """One of some values, compared by identity, or strings by equality.

    `foreign` has values of other libraries in lower case, the libraries, and our values.
    """

    choices: tuple[Any, ...]
    foreign: tuple[tuple[str, str, str], ...] = ()

    def __call__(self, value: Any) -> Any:
        """Return the value, or raise ValueError with the allowed values."""
        if not any(value is c or (isinstance(value, str) and value == c) for c in self.choices):
            known = [
                f" ({value!r} of {libraries} is {ours!r} here)"
                for theirs, libraries, ours in self.foreign
                if isinstance(value, str) and value.lower() == theirs
            ]
            raise ValueError("one of " + ", ".join(map(repr, self.choices)) + "".join(known))
        return value


def column_name(value: Any) -> Any:
    """Return the name or the number of a column, or None; otherwise raise ValueError."""
    if value is None or isinstance(value, str):
        return value
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < 0:
        raise ValueError("the name of a feature, its number from 0, or None")
    return int(value)


def flag(value: Any) -> bool:
    """Return True or False, or raise ValueError with the allowed values."""
    # Parameter grids have booleans of numpy.
    if type(value).__name__ not in ("bool", "bool_"):
        raise ValueError("True or False")
    return bool(value)


def verbosity(value: Any) -> int:
    """Return 0, 1 or 2; False and True are 0 and 1."""
    if type(value).__name__ in ("bool", "bool_"):
        return int(value)
    try:
        return int(Number(0, 2, whole=True)(value))
    except ValueError as error:
        number = isinstance(value, numbers.Real)
        theirs = " (-1 of LightGBM, no output, is verbose=0 here)" if number and value < 0 else ""
        if number and value > 2:
            theirs = (
                " (a line every so many rounds, as in CatBoost and LightGBM, is verbose=1 here)"
            )
        raise ValueError(f"{error}, or True or False{theirs}") from None


def least_rows(value: Any) -> float:
    """Return the least number of rows in a leaf, as a sum of weights."""
    try:
        return float(Number(1.0, 2.0**53)(value))
    except ValueError:
        raise ValueError(
            "a number of rows, at least 1 (with sample_weight: a sum of weights); for a tenth of "
            "the rows, pass len(X) // 10"
        ) from None


def least_split(value: Any) -> float:
    """Return the least number of rows of a node that is split, as a sum of weights."""
    try:
        return float(Number(2.0, 2.0**53)(value))
    except ValueError:
        raise ValueError(
            "a number of rows, at least 2 (with sample_weight: a sum of weights); for a tenth of "
            "the rows, pass len(X) // 10"
        ) from None


def row_count(value: Any) -> int | float:
    """Return a number of rows or a fraction of them; None: all of them."""
    if value is None:
        return 1.0
    try:
        if isinstance(value, (float, np.floating)):
            return float(Number(0.0, 1.0, open_low=True)(value))
        return int(Number(1, whole=True)(value))
    except ValueError:
        raise ValueError(
            "a whole number of rows, or a fraction above 0.0 and at most 1.0"
        ) from None


def feature_count(value: Any) -> Any:
    """Return "sqrt", "log2", "third", None, a number of features or a fraction of them."""
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2", "third")):
        return value
    try:
        if isinstance(value, (float, np.floating)):
            return Number(0.0, 1.0, open_low=True)(value)
        return Number(1, whole=True)(value)
    except ValueError:
        raise ValueError(
            "'sqrt', 'log2', 'third', None, a whole number of features, or a fraction above 0.0 "
            "and at most 1.0"
        ) from None


def gains(value: Any) -> Any:
    """Return "exponential", "linear", or the gains of the relevance 0, 1, 2, … as a tuple."""
    if isinstance(value, str) and value in ("exponential", "linear"):
        return value
    try:
        given = np.asarray([] if isinstance(value, str) else value, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    fits = given.ndim == 1 and len(given) > 1 and np.isfinite(given).all() and (given >= 0).all()
    if not fits:
        raise ValueError(
            "'exponential', 'linear', or the gains of the relevance 0, 1, 2, ...: finite numbers "
            "that are not negative"
        )
    return tuple(given.tolist())


def stopping(value: Any) -> Any:
    """Return "auto", True, False, "cv", a number of folds, a splitter or a list of folds."""
    if isinstance(value, str) and value in ("auto", "cv"):
        return value
    try:
        return flag(value)
    except ValueError:
        pass
    if isinstance(value, (int, np.integer)) and value > MOST_FOLDS:
        raise ValueError(
            f"at most {MOST_FOLDS} as a number of folds (to stop after {value} rounds without "
            f"improvement, set early_stopping=True, n_iter_no_change={value})"
        )
    try:
        return folds(value)
    except ValueError as error:
        raise ValueError(f"'auto', True, False, 'cv', {error}") from None


def start(value: Any) -> Any:
    """Return "mean", "zero", an estimator, or F before the first round as a tuple of numbers."""
    if isinstance(value, str) and value in ("mean", "zero"):
        return value
    if hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type):
        return value
    try:
        numbers_given = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        numbers_given = np.array([np.nan])
    fits = numbers_given.ndim == 1 and len(numbers_given) and np.isfinite(numbers_given).all()
    if isinstance(value, (bool, str)) or not fits:
        raise ValueError("'mean', 'zero', a number, a number for each score, or an estimator")
    return tuple(numbers_given.tolist())


def class_order(value: Any) -> Any:
    """Return None, or labels from the lowest to the highest as a tuple."""
    if value is None:
        return None
    labels = value.tolist() if hasattr(value, "tolist") else value
    known = isinstance(labels, (list, tuple)) and len(labels) > 1
    if not known or not all(isinstance(label, (str, bool, int, float)) for label in labels):
        raise ValueError("None, or a list of the labels from the lowest to the highest")
    return tuple(labels)


def metric(value: Any) -> Any:
    """Return None, the name of a metric, a function, an object with a function, or several."""
    several = isinstance(value, (list, tuple))
    values = value if several else [] if value is None else [value]
    known = all(
        isinstance(each, str)
        or hasattr(each, "function")
        or (callable(each) and not isinstance(each, type))
        for each in values
    )
    if known and (len(values) or not several):
        return value
    raise ValueError(
        "None, the name of a metric, a scorer, a function (y, prediction, weight), a Metric, or a "
        "list of these"
    )


def folds(value: Any) -> Any:
    """Return a number of folds, a splitter, or a list of folds."""
    whole = isinstance(value, (int, float, np.integer, np.floating)) and value == value // 1
    if type(value) is not bool and whole and value >= 2:
        return int(value)
    if hasattr(value, "split") and not isinstance(value, (str, type)):
        return value
    pairs = value if isinstance(value, (list, tuple)) else []
    if pairs and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        return value
    raise ValueError(
        "a whole number of folds, at least 2, a scikit-learn splitter, or a list of pairs of "
        "indices"
    )


def seed(value: Any) -> Any:
    """Return None, a RandomState, or a seed below 2**64, as the native core takes."""
    if value is None or isinstance(value, np.random.RandomState):
        return value
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not 0 <= int(value) < 2**64:
        raise ValueError("None, a numpy RandomState, or a whole number from 0 to 2**64 - 1")
    return int(value)


def missing_values(value: Any) -> tuple[int | float, ...]:
    """Return the numbers that mark missing values as a tuple."""
    if value is None:
        return ()
    found = [_plain_number(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
    plain = tuple(number for number in found if number is not None)
    if not found or len(plain) < len(found):
        raise ValueError(
            "None, a finite number, or a list of finite numbers, whole ones of at most 64 bits "
            "(NaN is always missing)"
        )
    return plain


def categorical(value: Any) -> Any:
    """Return "from_dtype", "text", None, or a tuple of names, of positions or of booleans."""
    if value is None or (isinstance(value, str) and value in ("from_dtype", "text")):
        return value
    items = value.tolist() if hasattr(value, "tolist") else value  # also an index of pandas
    if isinstance(items, (list, tuple)):
        plain = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
        if any({type(item) for item in plain} <= {kind} for kind in (str, int, bool)):
            return plain
    raise ValueError(
        "'from_dtype', 'text', None, or a list: of column names, of positions counted from 0, or "
        "of one boolean for each column"
    )


def _plain_number(value: Any) -> int | float | None:
    """Return an int or float, or None for a value that a model file cannot store."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value) if -(2**63) <= int(value) < 2**64 else None
    if isinstance(value, (float, np.floating)) and math.isfinite(value):
        return float(value)
    return None


@dataclass(frozen=True)
class OrAuto:
    """The values that another rule allows, or "auto"."""

    rule: Rule

    def __call__(self, value: Any) -> Any:
        """Return the value to use, or raise ValueError with the allowed values."""
        if isinstance(value, str) and value == "auto":
            return value
        try:
            return self.rule(value)
        except ValueError as error:
            raise ValueError(f"'auto' or {error}") from None
