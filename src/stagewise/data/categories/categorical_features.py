"""The parameter `categorical_features`: which columns of a table are categorical.

The parameter is compared with the table before any cell is read. A column that the table does not
have is an error that names the column. This module must not read cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from stagewise.validation.messages import short_repr

__all__ = ["NO_CATEGORICAL_FEATURES", "CategoricalFeatures", "CategoricalSelector", "ColumnSource"]

COLUMNS_SHOWN = 8


class ColumnSource(Protocol):
    """A table whose cells have not been read yet."""

    @property
    def names(self) -> list[str] | None:
        """Column names, or None."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""

    def has_category_type(self, position: int) -> bool:
        """Return whether the column has a category type."""

    def is_text(self, position: int) -> bool:
        """Return whether the column holds text."""


class CategoricalSelector(Protocol):
    """Selects the categorical columns of a table."""

    @property
    def learns_categories(self) -> bool:
        """Whether categories are learned from the cells, which must then be of comparable types."""

    @property
    def uses_types(self) -> bool:
        """Whether columns of a category type are categorical."""

    @property
    def dates(self) -> frozenset[int]:
        """The positions of columns in which text is read as dates."""

    def positions(self, source: ColumnSource) -> frozenset[int]:
        """Return the positions of the categorical columns."""

    def remedy(self, names: Sequence[str] | None, position: int) -> str:
        """Return advice for a column of text or of a category type that is not selected."""


@dataclass(frozen=True)
class CategoricalFeatures:
    """The value of the parameter `categorical_features`.

    Parameters
    ----------
    selection : "from_dtype", "text", None, or tuple of str, int or bool
        "from_dtype": columns of a category type; "text": these and columns of text; None: no
        column; a tuple: these names, positions, or columns of a boolean mask with one item per
        column, and those of a category type.
    dates : frozenset of int
        The positions of columns in which text is read as dates; they are not categorical.
    """

    selection: str | tuple[str, ...] | tuple[int, ...] | tuple[bool, ...] | None = None
    dates: frozenset[int] = frozenset()
    learns_categories: ClassVar[bool] = True

    def positions(self, source: ColumnSource) -> frozenset[int]:
        """Return the positions of the categorical columns.

        Raises
        ------
        ValueError
            If a name or a position does not exist or occurs twice, or a boolean mask has the wrong
            length.
        """
        if self.selection is None:
            return frozenset()
        every = frozenset(range(source.shape[1])) - self.dates
        typed = frozenset(j for j in every if source.has_category_type(j))
        if self.selection == "from_dtype":
            return typed
        if self.selection == "text":
            return typed | frozenset(j for j in every if source.is_text(j))
        return typed | self.named_positions(source.names, source.shape[1])

    @property
    def uses_types(self) -> bool:
        """Whether columns of a category type are categorical."""
        return self.selection is not None

    @property
    def is_listed(self) -> bool:
        """Whether columns are listed."""
        return isinstance(self.selection, tuple)

    def named_positions(self, names: Sequence[str] | None, n_columns: int) -> frozenset[int]:
        """Return the positions of the listed columns."""
        selection = self.selection or ()
        if selection and isinstance(selection[0], bool):
            if len(selection) != n_columns:
                raise ValueError(
                    f"categorical_features is a mask of {len(selection)} booleans, but X has "
                    f"{n_columns} columns. Pass one boolean per column, or the columns' names."
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
                "names. Pass the positions of the columns instead, counted from 0."
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
        """Return advice for a column of a category type that is not selected."""
        return "Set categorical_features to 'from_dtype', the default, or convert it to numbers"


NO_CATEGORICAL_FEATURES = CategoricalFeatures(None)
"""No column is categorical."""
