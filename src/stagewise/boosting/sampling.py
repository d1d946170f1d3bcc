"""Which rows a round sees.

The one idea: a row is in the bag of round m if a hash of (seed, m, row number) says so; nothing is
drawn in sequence, so the bag does not depend on threads or on which rounds were run before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise._native import draw_rows

__all__ = ["RowFraction"]


@dataclass(frozen=True)
class RowFraction:
    """Each row with probability `share`, anew in every round (Friedman 2002).

    Parameters
    ----------
    share : float
        In (0, 1]; 1 is every row, without drawing.
    """

    share: float = 1.0

    def bag(self, n_rows: int, seed: int, round_number: int) -> npt.NDArray[np.uint32] | None:
        """Return the rows of this round in increasing order, or None for all of them."""
        if self.share >= 1.0:
            return None
        return draw_rows(n_rows, self.share, seed, round_number)
