"""Which columns of a table are categorical.

The one idea: what the caller asked for is held to the table before a cell is read, and whatever it
asks that the table does not have is refused by name. This file must not read levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from stagewise.validation.messages import short_repr

__all__ = ["NO_CATEGORICAL_FEATURES", "CategoricalFeatures", "CategoricalSelector", "ColumnSource"]

COLUMNS_SHOWN = 8


class ColumnSource(Protocol):
    """Columns before they are read."""

    @property
    def names(self) -> list[str] | None:
        """What the columns are called, if anything."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def has_category_type(self, position: int) -> bool:
        """Whether the type of the column says that it is categorical."""

    def is_text(self, position: int) -> bool:
        """Whether the column holds text."""


class CategoricalSelector(Protocol):
    """Who knows which columns are categorical, and what to advise about the others."""

    @property
    def learns_categories(self) -> bool:
        """Whether levels are learned from the cells, which must then be comparable."""

    def positions(self, source: ColumnSource) -> frozenset[int]:
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

    selection: str | tuple[str, ...] | tuple[int, ...] | tuple[bool, ...] | None = None
    learns_categories = True

    def positions(self, source: ColumnSource) -> frozenset[int]:
        """Give the places of the categorical columns.

        Raises
        ------
        ValueError
            If a name or a place is not there or comes twice, or a truth value is left over.
        """
        every = range(source.shape[1])
        if self.selection is None:
            return frozenset()
        if self.selection == "from_dtype":
            return frozenset(j for j in every if source.has_category_type(j))
        if self.selection == "text":
            return frozenset(j for j in every if source.has_category_type(j) or source.is_text(j))
        return self.named_positions(source.names, source.shape[1])

    @property
    def is_explicit(self) -> bool:
        """Whether the caller named the columns, so that no table can change what is meant."""
        return self.selection is None or isinstance(self.selection, tuple)

    def named_positions(self, names: Sequence[str] | None, n_columns: int) -> frozenset[int]:
        """Give the places of the columns that the caller named."""
        selection = self.selection or ()
        if selection and isinstance(selection[0], bool):
            if len(selection) != n_columns:
                raise ValueError(
                    f"categorical_features has {len(selection)} truth values, and X has "
                    f"{n_columns} columns. Pass one for each column, or the columns' names."
                )
            return frozenset(j for j, wanted in enumerate(selection) if wanted)
        found: set[int] = set()
        for column in selection:
            position = self._position(column, names, n_columns)
            if position in found:
                raise ValueError(
                    f"categorical_features names the column {short_repr(column)} twice."
                )
            found.add(position)
        return frozenset(found)

    def _position(self, column: object, names: Sequence[str] | None, n_columns: int) -> int:
        if isinstance(column, int):
            if not 0 <= column < n_columns:
                raise ValueError(
                    f"categorical_features names the column {column}, and X has {n_columns} "
                    f"columns, numbered from 0 to {n_columns - 1}."
                )
            return column
        if names is None:
            raise ValueError(
                f"categorical_features names the column {short_repr(column)}, but X has no column "
                "names. Give the places of the columns instead, counted from 0."
            )
        if column not in names:
            listed = ", ".join(map(repr, names[:COLUMNS_SHOWN]))
            more = ", …" if len(names) > COLUMNS_SHOWN else ""
            raise ValueError(
                f"categorical_features names the column {short_repr(column)}, which X does not "
                f"have. Its columns are {listed}{more}."
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


NO_CATEGORICAL_FEATURES = CategoricalFeatures(None)
"""No column is."""
