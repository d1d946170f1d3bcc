"""The design matrix of a linear model: numeric columns unchanged, categories as dummy columns.

The columns follow from the features alone, so a model that stores its features determines its
columns. A categorical feature with L categories has L - 1 dummy columns, each 1 in the rows of its
category and 0 elsewhere; the first category is the baseline and has none. This module must not fit
coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, SparseColumns
from stagewise.data.features import Features
from stagewise.validation.messages import column_label, short_repr

__all__ = ["Design", "DesignColumn"]

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DesignColumn:
    """One column of a design matrix.

    Parameters
    ----------
    feature : int
        The position of its feature.
    category : int or None
        For a dummy column, the code of its category; None for a numeric column.
    name : str
        ``age``, or for a dummy column ``city=Rome``.
    """

    feature: int
    category: int | None
    name: str


@dataclass(frozen=True)
class Design:
    """The columns of a design matrix.

    Parameters
    ----------
    features : Features
        The features of the model.
    columns : tuple of DesignColumn
        In the order of the features, dummy columns in the order of their categories.
    """

    features: Features
    columns: tuple[DesignColumn, ...]

    @classmethod
    def of(cls, features: Features) -> Design:
        """Return the design of some features.

        Raises
        ------
        ValueError
            If a feature holds wide integers.
        """
        columns = []
        for j, feature in enumerate(features):
            name = f"x{j}" if feature.name is None else feature.name
            if feature.kind == "wide_integer":
                raise ValueError(
                    f"{column_label(features.names, j)} holds integers beyond 2**53, dates or "
                    "durations, but a coefficient needs numbers that a float64 holds. Convert the "
                    "column first, for instance dates to days since a date, or ids to categories."
                )
            if feature.categories is None:
                columns.append(DesignColumn(j, None, name))
                continue
            for number, category in enumerate(feature.categories.values[1:], start=1):
                columns.append(DesignColumn(j, number, f"{name}={category}"))
        return cls(features, tuple(columns))

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @cached_property
    def places(self) -> list[list[int]]:
        """The positions of the columns of each feature."""
        found: list[list[int]] = [[] for _ in self.features]
        for place, column in enumerate(self.columns):
            found[column.feature].append(place)
        return found

    def feature_names(self) -> list[str]:
        """Return the names of the features; `x0`, `x1`, … if they have none."""
        return self.features.names or [f"x{j}" for j in range(self.features.n)]

    def baselines(self) -> dict[str, Any]:
        """Return the baseline category of each categorical feature."""
        return {
            name: feature.categories.values[0]
            for name, feature in zip(self.feature_names(), self.features, strict=True)
            if feature.categories is not None and len(feature.categories)
        }

    def matrix(
        self,
        table: Any,
        rows: npt.NDArray[np.uint32] | None = None,
        columns: Sequence[int] | None = None,
    ) -> Matrix:
        """Return the design matrix of some rows, shape (n_columns, n_rows).

        Parameters
        ----------
        table : Columns
            The rows, as `Features` returns them. The dummy columns of an unknown category are 0.
        rows : uint32 array, or None
            The row numbers in messages; None: 0, 1, ….
        columns : sequence of int or None
            The columns of the design to return; None: all.

        Raises
        ------
        ValueError
            If a cell is missing or infinite; the message has the column, the row and the remedy.
        """
        if isinstance(table, SparseColumns):
            raise ValueError(
                "X is a sparse matrix, but a linear model needs dense columns. Pass X.toarray()."
            )
        chosen = range(len(self)) if columns is None else columns
        out = np.empty((len(chosen), table.n_rows))
        read: tuple[int, Matrix] = (-1, np.empty(0))
        for place, number in enumerate(chosen):
            column = self.columns[number]
            if read[0] != column.feature:
                read = column.feature, self._checked(table, column.feature, rows)
            out[place] = read[1] if column.category is None else read[1] == column.category
        return out

    def check(self, table: Any) -> None:
        """Raise ValueError if a cell of a table is missing or infinite."""
        if isinstance(table, SparseColumns):
            self.matrix(table)
        for feature in range(self.features.n):
            self._checked(table, feature, None)

    def check_spread(self, matrix: Matrix) -> None:
        """Raise ValueError if the range of a column exceeds a float64."""
        for column, values in zip(self.columns, matrix, strict=True):
            low, high = float(values.min()), float(values.max())
            if high - low == math.inf:
                raise ValueError(
                    f"{column_label(self.features.names, column.feature)} ranges from {low} to "
                    f"{high}; the difference exceeds the range of a float64. Divide the column by "
                    "a constant first."
                )

    def check_slopes(self, columns: Sequence[int], *slopes: Matrix) -> None:
        """Raise ValueError if a slope is not finite; the message names the column."""
        for slope in slopes:
            if not np.isfinite(slope).all():
                feature = self.columns[columns[int(np.argmin(np.isfinite(slope)))]].feature
                raise ValueError(
                    f"{column_label(self.features.names, feature)} has values so close to one "
                    "another, for a target of this size, that its coefficient is beyond the range "
                    "of a float64. Multiply the column by a constant, or divide y by one."
                )

    def check_reach(
        self, table: Any, columns: Sequence[int], slope: Matrix, centre: Matrix
    ) -> None:
        """Raise ValueError if Σ slope (x - centre) is not finite for a row.

        Parameters
        ----------
        table : Columns
            The rows.
        columns : sequence of int
            The columns of the design that have a slope.
        slope, centre : float64 array
            Of these columns.
        """
        if not table.n_rows:
            return
        values = [
            (
                table.column(self.columns[c].feature)
                if self.columns[c].category is None
                else np.ones(1)
            )
            for c in columns
        ]
        with np.errstate(over="ignore", invalid="ignore"):
            farthest = [
                float(np.abs(x).max()) + abs(m) for x, m in zip(values, centre, strict=True)
            ]
            if np.isfinite((np.abs(slope) * farthest).sum()) and np.isfinite(farthest).all():
                return
            predicted = np.zeros(table.n_rows)
            for x, b, m in zip(values, slope, centre, strict=True):
                predicted = predicted + b * (x - m)
        if not np.isfinite(predicted).all():
            row = int(np.argmin(np.isfinite(predicted)))
            raise ValueError(
                f"The prediction for row {row} is beyond the range of a float64: its values are "
                "too far from those of the training rows. Remove the row, or rescale the columns."
            )

    def _checked(
        self, table: Columns, feature: int, rows: npt.NDArray[np.uint32] | None
    ) -> npt.NDArray[np.float64]:
        values = table.column(feature)
        finite = np.isfinite(values)
        if not finite.all():
            self._refuse(values, finite, feature, rows)
        return values

    def _refuse(
        self,
        values: npt.NDArray[np.float64],
        finite: npt.NDArray[np.bool_],
        feature: int,
        rows: npt.NDArray[np.uint32] | None,
    ) -> NoReturn:
        place = int(np.argmin(finite))
        row = place if rows is None else int(rows[place])
        label = column_label(self.features.names, feature)
        if np.isnan(values[place]):
            what = "is missing (NaN)"
        else:
            what = f"is infinite ({short_repr(float(values[place]))})"
        raise ValueError(
            f"{label} {what} at row {row} ({int((~finite).sum())} such cells in all), and a linear "
            "model cannot use it. Impute these cells or remove their rows; tree models, such as "
            "GradientBoostingRegressor, accept them."
        )
