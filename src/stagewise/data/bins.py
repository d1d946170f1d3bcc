"""Columns → codings, by which they become bins: what the trees are grown on.

The one idea: a coding of each column is learned from the training rows alone and applied to any
rows: the cuts of a number, from a sample that a hash of the row number chooses, or the bins of the
levels of a category. Must not know losses or trees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stagewise._native import (
    Bins,
    Columns,
    SparseColumns,
    Workers,
    learn_category_bins,
    learn_cuts,
)
from stagewise.data.reading.column import Array
from stagewise.data.reading.sparse import SparseCells

__all__ = ["SAMPLE_LIMIT", "core_columns", "learn_codings", "rank_values"]

SAMPLE_LIMIT = 65_536
"""Rows from which cuts are learned; all rows up to this many."""

Codings = list[npt.NDArray[np.float64] | npt.NDArray[np.uint32]]


def core_columns(values: Array | list[Array] | SparseCells) -> Columns | SparseColumns:
    """Give columns, as `Features` has them, in the form that the core reads."""
    return values.columns() if isinstance(values, SparseCells) else Columns(values)


def learn_codings(
    workers: Workers,
    columns: Columns | SparseColumns,
    weight: npt.NDArray[np.float64] | None,
    max_bins: int,
    seed: int,
    n_categories: Sequence[int] = (),
) -> Codings:
    """Learn at most `max_bins` bins per column; return how values get them.

    `levels` says how many levels each column has, 0 where it is a number; empty: all are numbers.
    Of levels one bin less is learned, since those that nobody knows need one.
    """
    columns = columns.by_columns()
    codings: Codings = [*learn_cuts(workers, columns, weight, max_bins, SAMPLE_LIMIT, seed)]
    for feature, n in enumerate(n_categories):
        if n and isinstance(columns, Columns):
            most = max(1, max_bins - 1)
            codings[feature] = learn_category_bins(columns, feature, n, weight, most)
    return codings


def rank_values(workers: Workers, columns: Columns, n_categories: Sequence[int] = ()) -> Bins:
    """Give every value of every column a code of its own; of categories, the numbers of levels."""
    codings: Codings = [np.empty(0)] * columns.n_features
    for feature, n in enumerate(n_categories):
        if n:
            codings[feature] = np.arange(n, dtype=np.uint32)
    return Bins.ranks(workers, columns, codings)
