"""Unknown categories: values of a categorical column that no training row had.

They get a code that depends on `handle_unknown`. A column of a model causes one warning, and an
error in every call; all columns of a call are reported together, after every column has been read.
This module must not learn categories.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import Categories, Kind, category_sort_key
from stagewise.data.categories.factor import Factor
from stagewise.errors import UnknownCategoryWarning
from stagewise.validation.messages import (
    column_label,
    short_repr,
    warn_caller,
    warnings_are_collected,
)

__all__ = ["NO_ROWS", "HandleUnknown", "UnknownCategories"]

HandleUnknown = Literal["missing", "error", "prior"]

NO_ROWS: npt.NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
"""For `UnknownCategories`: all rows are training rows, so no category is unknown."""

CATEGORIES_SHOWN = 5

OTHER_KINDS: Mapping[Kind, tuple[Kind, ...]] = MappingProxyType(
    {
        "text": ("numbers", "whole numbers"),
        "numbers": ("text",),
        "whole numbers": ("text", "numbers"),
    }
)
"""For each kind of categories, the kinds of unknown values that suggest a wrong column type."""

MANY = 0.5
"""The share of the values of a column from which unknown categories are probably a mistake."""

OTHER_RULES = "set handle_unknown='missing' or 'prior' to predict such rows all the same"
"""The advice for unknown categories, besides correcting them."""


class UnknownCategories:
    """The unknown categories of one table.

    Parameters
    ----------
    rule : {"missing", "error", "prior"}
        "missing": they are missing values; "error": they are an error; "prior": they get the code
        L, which no category has.
    rows : uint32 array, or None
        The rows that are searched; None: all.

    Attributes
    ----------
    rows_per_column : Counter
        The number of rows with an unknown category, by the position of the column.
    """

    def __init__(
        self, rule: HandleUnknown = "missing", rows: npt.NDArray[np.uint32] | None = None
    ) -> None:
        self.rule = rule
        self._rows = rows
        self._found: dict[int, str] = {}
        self._categories: dict[int, Categories] = {}
        self._many: set[int] = set()
        self.rows_per_column: Counter[int] = Counter()

    def code(self, n_categories: int) -> float:
        """Return the code of an unknown category of a column with `n_categories` categories."""
        return float(n_categories) if self.rule == "prior" else math.nan

    def record(
        self, position: int, factor: Factor, new: npt.NDArray[np.bool_], categories: Categories
    ) -> None:
        """Record the unknown categories of a column; `new` marks them among the values."""
        counts = factor.count_rows(self._rows)
        rows = np.where(new, counts, 0)
        if not rows.any():
            return
        if rows.sum() >= MANY * counts.sum():
            self._many.add(position)
        values = sorted(
            (factor.values[code] for code in np.flatnonzero(rows)), key=category_sort_key
        )
        self.rows_per_column[position] = int(rows.sum())
        listed = ", ".join(map(short_repr, values[:CATEGORIES_SHOWN]))
        more = (
            f" and {len(values) - CATEGORIES_SHOWN} more" if len(values) > CATEGORIES_SHOWN else ""
        )
        n_rows = len(factor.codes) if self._rows is None else len(self._rows)
        self._categories[position] = categories
        self._found[position] = (
            f"has unknown categories in {int(rows.sum())} of {n_rows} rows: {listed}{more}"
            + _other_kind(Categories.from_distinct(values), categories)
        )

    def refuse(self, names: Sequence[str] | None, remedy: str = OTHER_RULES) -> None:
        """Raise ValueError if the rule is "error" and there are unknown categories."""
        if self.rule == "error" and self._found:
            raise ValueError(f"{self._sentence(names)}. Correct these values, or {remedy}.")

    def warn(self, names: Sequence[str] | None) -> None:
        """Warn if the rule is "missing" and there are unknown categories.

        A column that has caused a warning of the same model before causes no other one, which a
        service that predicts row by row would repeat. Warnings that are collected, such as those of
        the batches of a dataset, are complete, and count as none.
        """
        collected = warnings_are_collected()
        found = self._categories.items()
        new = {k: own for k, own in found if collected or not own.unknown_reported.is_set()}
        if self.rule != "missing" or not new:
            return
        warn_caller(
            f"{self._sentence(names, new.keys())}. They are treated as missing values; "
            "handle_unknown='error' raises an error instead, and 'prior' treats them as "
            "categories without rows.",
            UnknownCategoryWarning,
        )
        if not collected:
            for categories in new.values():
                categories.unknown_reported.set()

    def warn_if_many(self, names: Sequence[str] | None, of: str) -> None:
        """Warn if the rule is "missing" and half of the values of a column are unknown.

        Evaluation rows may have some unknown categories; many are probably another format.
        """
        if self.rule == "missing" and self._many:
            warn_caller(
                f"In {of}, {self._sentence(names, self._many)}. They are treated as missing "
                "values, so these rows measure another model. Do the categories have the format "
                "of the training rows?",
                UnknownCategoryWarning,
            )

    def _sentence(self, names: Sequence[str] | None, chosen: Set[int] | None = None) -> str:
        return "; ".join(
            f"{column_label(names, position)} {what}"
            for position, what in self._found.items()
            if chosen is None or position in chosen
        )


def _other_kind(new: Categories, categories: Categories) -> str:
    """Return a remark if the new values are of a kind that no known category is."""
    if new.kind not in OTHER_KINDS.get(categories.kind, ()):
        return ""
    listed = ", ".join(map(short_repr, categories.values[:CATEGORIES_SHOWN]))
    more = ", …" if len(categories) > CATEGORIES_SHOWN else ""
    return f". They are {new.kind}, but its categories are {categories.kind} ({listed}{more})"
