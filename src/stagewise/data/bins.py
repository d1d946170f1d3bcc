"""Columns → bins: what the trees are grown on.

The one idea: cuts are learned from the training rows alone, from a sample that a hash of the row
number chooses, and then applied to any rows. Must not know losses or trees.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stagewise._native import Bins, Columns, Workers, learn_cuts

__all__ = ["SAMPLE_LIMIT", "bin_like", "learn_bins"]

SAMPLE_LIMIT = 65_536
"""Rows from which cuts are learned; all rows up to this many."""

Cuts = list[npt.NDArray[np.float64]]


def learn_bins(
    workers: Workers,
    columns: Columns,
    weight: npt.NDArray[np.float64] | None,
    max_bins: int,
    seed: int,
) -> tuple[Bins, Cuts]:
    """Learn at most `max_bins` bins per column and apply them; return the bins and the cuts."""
    cuts = learn_cuts(workers, columns, weight, max_bins, SAMPLE_LIMIT, seed)
    return Bins(workers, columns, cuts), cuts


def bin_like(workers: Workers, columns: Columns, cuts: Cuts) -> Bins:
    """Apply cuts that were learned elsewhere."""
    return Bins(workers, columns, cuts)
