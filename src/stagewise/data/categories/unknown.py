"""What becomes of values that are no level of a categorical column.

The one idea: a rule turns them into a number for the core, and what was found is told once, for
all columns together, when every column has been read. This file must not know how levels are
found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import Categories, Kind, category_sort_key
from stagewise.data.categories.factor import Factor
from stagewise.errors import UnknownCategoryWarning
from stagewise.validation.messages import column_label, short_repr, warn_caller

__all__ = ["NO_ROWS", "HandleUnknown", "UnknownCategories"]

HandleUnknown = Literal["missing", "error", "prior"]

NO_ROWS: npt.NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
"""For `Unseen`: every row is a training row, and holds no value that is new."""

CATEGORIES_SHOWN = 5

OTHER_KINDS: Mapping[Kind, tuple[Kind, ...]] = MappingProxyType(
    {
        "text": ("numbers", "whole numbers"),
        "numbers": ("text",),
        "whole numbers": ("text", "numbers"),
    }
)
"""What a column holds that is probably another one than that whose levels were of some kind."""

OTHER_RULES = "set on_unseen='missing' or 'prior' to predict such rows all the same"
"""What to do about such values, besides correcting them."""


class UnknownCategories:
    """The rule for one table, and the values it has been applied to.

    Parameters
    ----------
    rule : {"missing", "error", "prior"}
        Take them as missing, refuse them, or give them the number L that no level has.
    rows : uint32 array, or None
        The rows in which to look for them; None: all.
    """

    def __init__(
        self, rule: HandleUnknown = "missing", rows: npt.NDArray[np.uint32] | None = None
    ) -> None:
        self.rule = rule
        self._rows = rows
        self._found: dict[int, str] = {}
        self.rows_per_column: Counter[int] = Counter()

    def code(self, n_categories: int) -> float:
        """Give the number of a value that is none of `n_levels` levels."""
        return float(n_categories) if self.rule == "prior" else math.nan

    def record(
        self, position: int, factor: Factor, new: npt.NDArray[np.bool_], categories: Categories
    ) -> None:
        """Take note of a column some of whose values are no levels."""
        rows = np.where(new, factor.count_rows(self._rows), 0)
        if not rows.any():
            return
        values = sorted(
            (factor.values[code] for code in np.flatnonzero(rows)), key=category_sort_key
        )
        self.rows_per_column[position] = int(rows.sum())
        listed = ", ".join(map(short_repr, values[:CATEGORIES_SHOWN]))
        more = (
            f" and {len(values) - CATEGORIES_SHOWN} more" if len(values) > CATEGORIES_SHOWN else ""
        )
        n_rows = len(factor.codes) if self._rows is None else len(self._rows)
        self._found[position] = (
            f"holds {listed}{more} in {int(rows.sum())} of {n_rows} rows, which no training row did"
            + _other_kind(Categories.from_distinct(values), categories)
        )

    def refuse(self, names: Sequence[str] | None, remedy: str = OTHER_RULES) -> None:
        """Raise if the rule is to refuse such values and there were some."""
        if self.rule == "error" and self._found:
            raise ValueError(f"{self._sentence(names)}. Correct these values, or {remedy}.")

    def warn(self, names: Sequence[str] | None) -> None:
        """Warn if such values were taken as missing."""
        if self.rule == "missing" and self._found:
            warn_caller(
                f"{self._sentence(names)}. They are taken as missing; on_unseen='error' refuses "
                "such rows, and 'prior' treats them as levels without training rows.",
                UnknownCategoryWarning,
            )

    def _sentence(self, names: Sequence[str] | None) -> str:
        return "; ".join(
            f"{column_label(names, position)} {what}" for position, what in self._found.items()
        )


def _other_kind(new: Categories, categories: Categories) -> str:
    """Return a remark if the new values are of a kind that no level is."""
    if new.kind not in OTHER_KINDS.get(categories.kind, ()):
        return ""
    listed = ", ".join(map(short_repr, categories.values[:CATEGORIES_SHOWN]))
    more = ", …" if len(categories) > CATEGORIES_SHOWN else ""
    return f", and they are {new.kind} where its levels are {categories.kind} ({listed}{more})"
