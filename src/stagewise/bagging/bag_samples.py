"""The rows and columns that each base estimator of a bagging ensemble is fitted to.

Bags are drawn by the same code as in a round of boosting. The random numbers depend on the seed and
on the number of the estimator only, so a bag does not depend on the bags before it. A row of weight
k is k copies that are drawn one by one; the drawn copies are then merged into one row again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.boosting.sampling import DrawInput, Sampling
from stagewise.training.reading.folds import Folds
from stagewise.training.reading.row_set import RowSet
from stagewise.workers import make_workers

__all__ = [
    "BagSample",
    "draw_bag_samples",
    "draw_columns",
    "make_fold_samples",
    "row_of_each_copy",
]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

MAX_COPIES = 2**26
"""The largest number of copies of rows that are drawn one by one."""
COLUMNS = 0
"""The third part of the random key of column draws, after the seed and the number."""


@dataclass(frozen=True, eq=False)
class BagSample:
    """The rows that one base estimator is fitted to, and the rows that it is not fitted to.

    Parameters
    ----------
    number : int
        The number of the estimator, from 0.
    rows, times : arrays
        The rows in the bag, increasing, and how often each counts, sample weights included.
    held, held_weight : arrays
        The out-of-sample rows (out-of-bag or the held-out fold) and their weights.
    """

    number: int
    rows: Indices
    times: Vector
    held: Indices
    held_weight: Vector


def row_of_each_copy(weight: Vector | None) -> Indices | None:
    """Return the row of each copy of a row; None: rows are drawn as units.

    Parameters
    ----------
    weight : float64 array or None
        Positive weights. If all of them are whole numbers, they are numbers of copies.
    """
    if weight is None or not (weight == np.rint(weight)).all():
        return None
    total = int(weight.sum())
    if total > MAX_COPIES:
        raise ValueError(
            f"sample_weight holds counts of {total:,} rows in all. Copies of rows are drawn one by "
            f"one, and at most {MAX_COPIES:,} are possible. Divide the weights by their mean, for "
            "example: then each row is drawn as a unit."
        )
    return np.repeat(np.arange(len(weight)), weight.astype(np.intp))


def draw_bag_samples(
    sampling: Sampling,
    groups: npt.NDArray[np.uint32] | None,
    sample: RowSet,
    seed: int,
    n_estimators: int,
) -> Iterator[BagSample]:
    """Yield the bag of each base estimator, drawn by `sampling`.

    Parameters
    ----------
    sampling : Sampling
        How rows are drawn.
    groups : uint32 array or None
        The group number of every copy, if groups are drawn.
    sample : RowSet
        Rows, none of weight 0.
    seed : int
        The seed of the draws.
    n_estimators : int
        The number of bags.
    """
    n, workers = len(sample.y), make_workers(1)
    row_of = row_of_each_copy(sample.weight)
    drawn_from = n if row_of is None else len(row_of)
    weight = np.ones(n) if sample.weight is None else sample.weight
    for number in range(n_estimators):
        bag = sampling.bag(DrawInput(workers, drawn_from, None, seed, number, tuple, groups=groups))
        drawn = np.zeros(drawn_from)
        chosen = slice(None) if bag.rows is None else bag.rows
        drawn[chosen] = 1.0 if bag.multiplier is None else bag.multiplier[chosen]
        if row_of is None:
            times: Vector = weight * drawn
        else:
            times = np.bincount(row_of, drawn, minlength=n).astype(np.float64)
        rows, held = np.flatnonzero(times > 0.0), np.flatnonzero(times == 0.0)
        yield BagSample(number, rows, times[rows], held, weight[held])


def make_fold_samples(folds: Folds, sample: RowSet) -> Iterator[BagSample]:
    """Yield the training rows and the held-out rows of each fold."""
    weight = np.ones(len(sample.y)) if sample.weight is None else sample.weight
    for number, (train, held) in enumerate(folds):
        yield BagSample(number, train, weight[train], held, weight[held])


def draw_columns(
    max_features: float | int, n_columns: int, seed: int, number: int
) -> Indices | None:
    """Return the columns of a base estimator, increasing; None: all.

    Parameters
    ----------
    max_features : float or int
        The fraction (float, in (0, 1]; at least one column) or the number (int) of columns, which
        are drawn without replacement.
    n_columns : int
        The number of columns.
    seed, number : int
        The seed and the number of the estimator: the key of the draw.
    """
    if isinstance(max_features, float) and max_features == 1.0:
        return None
    wanted = max_features if isinstance(max_features, int) else round(max_features * n_columns)
    order = np.random.default_rng([seed, number, COLUMNS]).permutation(n_columns)
    return np.sort(order[: max(1, wanted)])
