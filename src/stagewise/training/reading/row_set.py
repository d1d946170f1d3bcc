"""A set of rows with targets and weights, before they are encoded for a learner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import SparseColumns
from stagewise.exact_sums import sum_rows

__all__ = ["RowSet", "rows_with_weight"]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class RowSet:
    """Rows with target and weight, before binning.

    Parameters
    ----------
    columns : Columns, or another table with `take`
        The features of all rows that were passed.
    rows : uint32 array or None
        The rows of this set; None: all.
    y : array
        Target or class codes of these rows.
    weight : float64 array or None
        Positive weights of these rows; None: all ones.
    offset : float64 array of shape (n_rows, n_outputs) or None
        Scores of these rows that are added to those of the model; None: all 0.
    """

    columns: Any
    rows: Indices | None
    y: npt.NDArray[Any]
    weight: Vector | None
    offset: npt.NDArray[np.float64] | None = None

    @classmethod
    def choose(
        cls, columns: Any, rows: Indices | None, y: npt.NDArray[Any], weight: Vector | None
    ) -> RowSet:
        """Return rows of positive weight out of all that were passed."""
        if rows is None:
            return cls(columns, None, y, weight)
        kept = None if weight is None else weight[rows]
        return cls(columns, rows, y[rows], None if kept is None or (kept == 1.0).all() else kept)

    def part(self, places: npt.NDArray[np.intp]) -> RowSet:
        """Return the rows at some positions of this set."""
        rows = places.astype(np.uint32) if self.rows is None else self.rows[places]
        weight = None if self.weight is None else self.weight[places]
        offset = None if self.offset is None else self.offset[places]
        return RowSet(self.columns, rows, self.y[places], weight, offset)

    def with_columns(self, columns: Any) -> RowSet:
        """Return the same rows of other columns."""
        return replace(self, columns=columns)

    def with_offset(self, offset: npt.NDArray[np.float64] | None) -> RowSet:
        """Return the same rows with the offsets of all rows that were passed."""
        own = offset if offset is None or self.rows is None else offset[self.rows]
        return replace(self, offset=own)

    def without_offset(self, location: int | None = None) -> RowSet:
        """Return rows with the target y - offset, for losses that depend on y - F only.

        `location` is the score that has the offset, of several that describe one target.
        """
        if self.offset is None:
            return self
        own = self.offset if location is None else self.offset[:, location]
        return replace(self, y=self.y - own.reshape(self.y.shape), offset=None)

    def spread(self, values: Vector, n_rows: int) -> Vector:
        """Return values of these rows in the order of all rows that were passed; NaN for others."""
        whole = np.full((n_rows, *values.shape[1:]), np.nan)
        whole[slice(None) if self.rows is None else self.rows] = values
        return whole

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)

    def total_weight(self) -> float:
        """Return the sum of the weights."""
        return float(self.n_rows) if self.weight is None else sum_rows(self.weight)

    def has_constant_target(self) -> bool:
        """Return whether all rows have the same target."""
        return bool((self.y == self.y[0]).all())

    @property
    def n_targets(self) -> int:
        """The number of targets; 1 for a vector."""
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the features are a sparse matrix."""
        return isinstance(self.columns, SparseColumns)

    def table(self) -> Any:
        """Return the features of just these rows, without copying them."""
        return self.columns if self.rows is None else self.columns.take(self.rows)


def rows_with_weight(weight: Vector | None) -> Indices | None:
    """Return the rows of positive weight; None: all rows."""
    if weight is None or weight.min() > 0.0:
        return None
    return np.flatnonzero(weight > 0.0).astype(np.uint32)
