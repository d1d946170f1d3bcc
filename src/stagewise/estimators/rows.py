"""From what `fit` was given to rows that can be boosted.

The one idea: rows are chosen by index (rows of weight zero are absent, held-out rows are elsewhere)
before anything is learned, so that everything that is learned (ranks of wide integers, cuts, offset
and scale of y, the best constant) comes from the training rows alone. Must not know parameters or
estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns

__all__ = ["Sample", "counted_rows", "hold_out"]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Sample:
    """Rows with target and weight, before binning.

    Parameters
    ----------
    columns : Columns
        The features of all rows that were given.
    rows : uint32 array or None
        Those that this sample consists of; None: all.
    y : array
        Target or class codes of these rows.
    weight : float64 array or None
        Positive weights of these rows; None: all ones.
    """

    columns: Columns
    rows: Indices | None
    y: npt.NDArray[Any]
    weight: Vector | None

    @classmethod
    def choose(
        cls, columns: Columns, rows: Indices | None, y: npt.NDArray[Any], weight: Vector | None
    ) -> Sample:
        """Choose rows, none of weight zero, out of all that were given."""
        if rows is None:
            return cls(columns, None, y, weight)
        kept = None if weight is None else weight[rows]
        return cls(columns, rows, y[rows], None if kept is None or (kept == 1.0).all() else kept)

    def table(self) -> Columns:
        """Return the features of just these rows, without copying them."""
        return self.columns if self.rows is None else self.columns.take(self.rows)


def counted_rows(weight: Vector | None) -> Indices | None:
    """Leave out the rows of weight zero: they are absent, to the bit. None: there are none."""
    if weight is None or weight.min() > 0.0:
        return None
    return np.flatnonzero(weight > 0.0).astype(np.uint32)


def hold_out(
    rows: Indices | None, y: npt.NDArray[Any], share: float, seed: int, *, by_class: bool
) -> tuple[Indices, Indices]:
    """Split rows at random into training rows and held-out rows, each class alike if asked.

    Parameters
    ----------
    rows : uint32 array or None
        The rows to split; None: all.
    y : array
        Targets or class codes of all rows.
    share : float
        The share to hold out, in (0, 1); at least one row, and at least one stays.
    seed : int
        Keys the choice.
    by_class : bool
        Whether y holds class codes; every class then keeps at least one training row.
    """
    rows = np.arange(len(y), dtype=np.uint32) if rows is None else rows
    n = len(rows)
    if n < 2:
        raise ValueError(
            "early_stopping=True holds rows out, and X has only one row (n_samples=1). "
            "Pass X_val and y_val to fit, or set early_stopping=False."
        )
    order = np.random.default_rng([seed, n]).permutation(n)
    held = np.zeros(n, dtype=bool)
    groups = y[rows[order]] if by_class else np.zeros(n, dtype=np.int32)
    for group in np.unique(groups):
        members = order[groups == group]
        held[members[: min(len(members) - 1, round(share * len(members)))]] = True
    if not held.any():
        counts = np.bincount(groups)
        members = order[groups == int(np.argmax(counts))]
        held[members[: max(1, len(members) - 1) if n == 2 else 1]] = True
    return rows[~held], rows[held]
