"""Binning: the cuts of numeric columns and the bins of categorical columns.

A coding of each column is learned from the training rows and applied to all rows. For a numeric
column it is an array of cuts, learned from a sample that a hash of the row number chooses; for a
categorical column it is the bin of each category. This module must not import losses or trees.
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
from stagewise.data.reading.wide_integers import SAMPLE_LIMIT

__all__ = ["SAMPLE_LIMIT", "core_columns", "learn_codings", "rank_values"]

Codings = list[npt.NDArray[np.float64] | npt.NDArray[np.uint32]]


def core_columns(values: Array | list[Array] | SparseCells) -> Columns | SparseColumns:
    """Return columns, as `Features` returns them, as an object of the native core."""
    return values.columns() if isinstance(values, SparseCells) else Columns(values)


def learn_codings(
    workers: Workers,
    columns: Columns | SparseColumns,
    weight: npt.NDArray[np.float64] | None,
    max_bins: int,
    seed: int,
    n_categories: Sequence[int] = (),
) -> Codings:
    """Return a coding with at most `max_bins` bins for each column.

    `n_categories` is the number of categories of each column, 0 for a numeric column; empty: all
    columns are numeric. A categorical column gets at most `max_bins` - 1 bins, because one bin is
    reserved for unknown categories.
    """
    columns = columns.by_columns()
    codings: Codings = [*learn_cuts(workers, columns, weight, max_bins, SAMPLE_LIMIT, seed)]
    for feature, n in enumerate(n_categories):
        if n and isinstance(columns, Columns):
            most = max(1, max_bins - 1)
            codings[feature] = learn_category_bins(columns, feature, n, weight, most)
    return codings


def rank_values(workers: Workers, columns: Columns, n_categories: Sequence[int] = ()) -> Bins:
    """Return bins with one code per distinct value; of a categorical column, its categories."""
    codings: Codings = [np.empty(0)] * columns.n_features
    for feature, n in enumerate(n_categories):
        if n:
            codings[feature] = np.arange(n, dtype=np.uint32)
    return Bins.ranks(workers, columns, codings)
