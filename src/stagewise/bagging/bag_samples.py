"""The rows and columns that each base estimator of a bagging ensemble is fitted to.

Bags are drawn by the same code as in a round of boosting. The random numbers depend on the seed and
on the number of the estimator only, so a bag does not depend on the bags before it. A row of weight
k is k copies that are drawn one by one; the drawn copies are then merged into one row again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stagewise.boosting.sampling import DrawInput, Sampling
from stagewise.training.reading.folds import Folds
from stagewise.workers import make_workers

__all__ = [
    "BagSample",
    "Bags",
    "draw_columns",
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


@dataclass(frozen=True, eq=False)
class Bags:
    """The bags of a fit. They can be drawn again: each depends on the seed and its number only.

    Parameters
    ----------
    n_rows : int
        The number of training rows, none of weight 0.
    weight : float64 array or None
        Their weights.
    sampling : Sampling or None
        How rows are drawn; None: bags are `folds`.
    folds : Folds
        The training rows and the held-out rows of each fold.
    groups : uint32 array or None
        The group number of every copy, if groups are drawn.
    seed : int
        The seed of the draws.
    rows : int array or None
        The position of each training row in X; None: all rows of X are training rows.
    """

    n_rows: int
    weight: Vector | None = None
    sampling: Sampling | None = None
    folds: Folds = field(default_factory=list)
    groups: npt.NDArray[np.uint32] | None = None
    seed: int = 0
    rows: npt.NDArray[np.uint32] | None = None

    def draw(self, n_estimators: int) -> Iterator[BagSample]:
        """Yield the bag of each base estimator, or of each fold."""
        weight = np.ones(self.n_rows) if self.weight is None else self.weight
        if self.sampling is None:
            for number, (train, held) in enumerate(self.folds):
                yield BagSample(number, train, weight[train], held, weight[held])
            return
        row_of, workers = row_of_each_copy(self.weight), make_workers(1)
        drawn_from = self.n_rows if row_of is None else len(row_of)
        for number in range(n_estimators):
            source = DrawInput(
                workers, drawn_from, None, self.seed, number, tuple, groups=self.groups
            )
            bag = self.sampling.bag(source)
            drawn = np.zeros(drawn_from)
            chosen = slice(None) if bag.rows is None else bag.rows
            drawn[chosen] = 1.0 if bag.multiplier is None else bag.multiplier[chosen]
            if row_of is None:
                times: Vector = weight * drawn
            else:
                times = np.bincount(row_of, drawn, minlength=self.n_rows).astype(np.float64)
            rows, held = np.flatnonzero(times > 0.0), np.flatnonzero(times == 0.0)
            yield BagSample(number, rows, times[rows], held, weight[held])

    def positions(self, sample: BagSample) -> Indices:
        """Return the positions in X of the rows of a bag, each as often as it was drawn.

        A row whose weight is a whole number was drawn as so many copies.
        """
        times = sample.times
        if self.weight is not None and row_of_each_copy(self.weight) is None:
            times = times / self.weight[sample.rows]
        rows = sample.rows if self.rows is None else self.rows.astype(np.intp)[sample.rows]
        return np.repeat(rows, np.rint(times).astype(np.intp))


def draw_columns(
    max_features: float | int, n_columns: int, seed: int, number: int, *, bootstrap: bool = False
) -> Indices | None:
    """Return the columns of a base estimator, increasing; None: all.

    Parameters
    ----------
    max_features : float or int
        The fraction (float, in (0, 1]; at least one column) or the number (int) of columns.
    n_columns : int
        The number of columns.
    seed, number : int
        The seed and the number of the estimator: the key of the draw.
    bootstrap : bool
        Whether columns are drawn with replacement, so that some occur more than once.
    """
    if isinstance(max_features, float) and max_features == 1.0 and not bootstrap:
        return None
    wanted = max_features if isinstance(max_features, int) else round(max_features * n_columns)
    rng = np.random.default_rng([seed, number, COLUMNS])
    if bootstrap:
        return np.sort(rng.integers(n_columns, size=max(1, wanted)))
    return np.sort(rng.permutation(n_columns)[: max(1, wanted)])
