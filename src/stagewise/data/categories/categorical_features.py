"""Which columns of a table are categorical.

The one idea: what the caller asked for is held to the table before a cell is read, and whatever it
asks that the table does not have is refused by name. This file must not read levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from stagewise.validation.messages import shown

__all__ = ["NONE", "CategoricalFeatures", "Chosen", "Source"]

COLUMNS_SHOWN = 8


class Source(Protocol):
    """Columns before they are read."""

    @property
    def names(self) -> list[str] | None:
        """What the columns are called, if anything."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def is_category(self, position: int) -> bool:
        """Whether the type of the column says that it is categorical."""

    def is_text(self, position: int) -> bool:
        """Whether the column holds text."""


class Chosen(Protocol):
    """Who knows which columns are categorical, and what to advise about the others."""

    @property
    def learns(self) -> bool:
        """Whether levels are learned from the cells, which must then be comparable."""

    def places(self, source: Source) -> frozenset[int]:
        """Give the places of the categorical columns."""

    def remedy(self, names: Sequence[str] | None, position: int) -> str:
        """Say what to do about a column of text or categories that is not among them."""


@dataclass(frozen=True)
class CategoricalFeatures:
    """What the caller asked for.

    Parameters
    ----------
    asked : "from_dtype", "text", None, or tuple of str, int or bool
        Columns of a category type; those and columns of text; none; or names, places, or one
        truth value for each column.
    """

    asked: str | tuple[str, ...] | tuple[int, ...] | tuple[bool, ...] | None = None
    learns = True

    def places(self, source: Source) -> frozenset[int]:
        """Give the places of the categorical columns.

        Raises
        ------
        ValueError
            If a name or a place is not there or comes twice, or a truth value is left over.
        """
        every = range(source.shape[1])
        if self.asked is None:
            return frozenset()
        if self.asked == "from_dtype":
            return frozenset(j for j in every if source.is_category(j))
        if self.asked == "text":
            return frozenset(j for j in every if source.is_category(j) or source.is_text(j))
        return self.named_places(source.names, source.shape[1])

    @property
    def by_name(self) -> bool:
        """Whether the caller named the columns, so that no table can change what is meant."""
        return self.asked is None or isinstance(self.asked, tuple)

    def named_places(self, names: Sequence[str] | None, n_columns: int) -> frozenset[int]:
        """Give the places of the columns that the caller named."""
        asked = self.asked or ()
        if asked and isinstance(asked[0], bool):
            if len(asked) != n_columns:
                raise ValueError(
                    f"categorical_features has {len(asked)} truth values, and X has {n_columns} "
                    "columns. Pass one for each column, or the columns' names."
                )
            return frozenset(j for j, wanted in enumerate(asked) if wanted)
        found: set[int] = set()
        for column in asked:
            place = self._place(column, names, n_columns)
            if place in found:
                raise ValueError(f"categorical_features names the column {shown(column)} twice.")
            found.add(place)
        return frozenset(found)

    def _place(self, column: object, names: Sequence[str] | None, n_columns: int) -> int:
        if isinstance(column, int):
            if not 0 <= column < n_columns:
                raise ValueError(
                    f"categorical_features names the column {column}, and X has {n_columns} "
                    f"columns, numbered from 0 to {n_columns - 1}."
                )
            return column
        if names is None:
            raise ValueError(
                f"categorical_features names the column {shown(column)}, but X has no column "
                "names. Give the places of the columns instead, counted from 0."
            )
        if column not in names:
            listed = ", ".join(map(repr, names[:COLUMNS_SHOWN]))
            more = ", …" if len(names) > COLUMNS_SHOWN else ""
            raise ValueError(
                f"categorical_features names the column {shown(column)}, which X does not have. "
                f"Its columns are {listed}{more}."
            )
        return list(names).index(str(column))

    def remedy(self, names: Sequence[str] | None, position: int) -> str:
        """Say what to do about a column of text or categories that nobody asked for."""
        column = position if names is None else names[position]
        return (
            f"To use it as a categorical feature, add it to categorical_features=[{column!r}] (or "
            "pass 'text' for every text column), or cast it to a category type and leave "
            "categorical_features at 'from_dtype'"
        )


NONE = CategoricalFeatures(None)
"""No column is."""
