"""From what `fit` was given to rows that can be boosted.

The one idea: rows are chosen by index (rows of weight zero are absent, held-out rows are elsewhere)
and everything that is learned before boosting (cuts, offset and scale of y, the best constant) is
learned from the training rows alone. Must not know parameters or estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns

__all__ = ["Sample", "hold_out"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Rows with target and weight, before binning.

    Parameters
    ----------
    columns : Columns
        The features of all rows that were given.
    rows : uint32 array or None
        The rows that this sample consists of; None: all.
    y : array
        Target or class codes of these rows.
    weight : float64 array or None
        Positive weights of these rows; None: all ones.
    """

    columns: Columns
    rows: npt.NDArray[np.uint32] | None
    y: npt.NDArray[Any]
    weight: Vector | None

    @classmethod
    def of_positive_weight(
        cls, columns: Columns, y: npt.NDArray[Any], weight: Vector | None
    ) -> Sample:
        """Leave out the rows of weight zero: they are absent, to the bit."""
        if weight is None or weight.min() > 0.0:
            return cls(columns, None, y, weight)
        rows = np.flatnonzero(weight > 0.0).astype(np.uint32)
        kept = weight[rows]
        return cls(columns, rows, y[rows], None if (kept == 1.0).all() else kept)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, places: npt.NDArray[np.intp]) -> Sample:
        """Choose rows by their places in this sample."""
        rows = places.astype(np.uint32) if self.rows is None else self.rows[places]
        weight = None if self.weight is None else self.weight[places]
        return Sample(self.columns, rows, self.y[places], weight)

    def table(self) -> Columns:
        """Return the features of just these rows, without copying them."""
        return self.columns if self.rows is None else self.columns.take(self.rows)


def hold_out(sample: Sample, share: float, seed: int, *, by_class: bool) -> tuple[Sample, Sample]:
    """Split a sample at random into training rows and held-out rows, each class alike if asked.

    Parameters
    ----------
    sample : Sample
        All rows.
    share : float
        The share to hold out, in (0, 1); at least one row, and at least one stays.
    seed : int
        Keys the choice.
    by_class : bool
        Whether y holds class codes; every class then keeps at least one training row.
    """
    n = len(sample)
    if n < 2:
        raise ValueError(
            "early_stopping=True holds rows out, and X has only one row (n_samples=1). "
            "Pass X_val and y_val to fit, or set early_stopping=False."
        )
    order = np.random.default_rng([seed, n]).permutation(n)
    held = np.zeros(n, dtype=bool)
    groups = sample.y[order] if by_class else np.zeros(n, dtype=np.int32)
    for group in np.unique(groups):
        members = order[groups == group]
        held[members[: min(len(members) - 1, round(share * len(members)))]] = True
    if not held.any():
        counts = np.bincount(groups)
        members = order[groups == int(np.argmax(counts))]
        held[members[: max(1, len(members) - 1) if n == 2 else 1]] = True
    return sample.take(np.flatnonzero(~held)), sample.take(np.flatnonzero(held))
