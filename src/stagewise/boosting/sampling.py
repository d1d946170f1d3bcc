"""Which rows a round sees.

The one idea: a row is in the bag of round m if a hash of (seed, m, row number) says so; nothing is
drawn in sequence, so the bag does not depend on threads or on which rounds were run before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stagewise._native import draw_rows

__all__ = ["OnlyRows", "RowFraction", "Sampling"]


class Sampling(Protocol):
    """A choice of rows for every round."""

    @property
    def draws(self) -> bool:
        """Whether rounds see different rows."""

    def bag(self, n_rows: int, seed: int, round_number: int) -> npt.NDArray[np.uint32] | None:
        """Return the rows of this round in increasing order, or None for all of them."""


@dataclass(frozen=True)
class RowFraction:
    """Each row with probability `share`, anew in every round (Friedman 2002).

    Parameters
    ----------
    share : float
        In (0, 1]; 1 is every row, without drawing.
    """

    share: float = 1.0

    @property
    def draws(self) -> bool:
        """Whether rounds see different rows."""
        return self.share < 1.0

    def bag(self, n_rows: int, seed: int, round_number: int) -> npt.NDArray[np.uint32] | None:
        """Return the rows of this round in increasing order, or None for all of them."""
        if self.share >= 1.0:
            return None
        return draw_rows(n_rows, self.share, seed, round_number)


@dataclass(frozen=True, eq=False)
class OnlyRows:
    """Some rows of the table, as if there were no others: the training part of a fold.

    Parameters
    ----------
    rows : uint32 array
        Increasing.
    inner : Sampling
        What is drawn among all; those that are not of the fold are left out.
    """

    rows: npt.NDArray[np.uint32]
    inner: Sampling

    @property
    def draws(self) -> bool:
        """Whether rounds see different rows."""
        return self.inner.draws

    def bag(self, n_rows: int, seed: int, round_number: int) -> npt.NDArray[np.uint32] | None:
        """Return the fold's rows of this round."""
        drawn = self.inner.bag(n_rows, seed, round_number)
        if drawn is None:
            return self.rows
        both = np.intersect1d(self.rows, drawn, assume_unique=True)
        return both if len(both) else self.rows[:1]
