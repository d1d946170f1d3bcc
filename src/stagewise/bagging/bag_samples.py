"""What each member of a committee learns from: some rows, so many times each, and some columns.

The one idea: members differ by what they see. Bags are drawn as a round of boosting draws its own,
keyed by (seed, number of the member), so a member does not depend on those before it. A row of
weight k is k copies that are drawn one by one, and lie in one row again afterwards. Must not know
estimators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.boosting.sampling import Round, Sampling
from stagewise.training.folds import Folds
from stagewise.training.row_set import RowSet
from stagewise.workers import make_workers

__all__ = ["Share", "copies", "deal_bags", "deal_folds", "draw_columns"]

Vector = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

MOST_COPIES = 2**26
"""How many copies of rows are drawn one by one, at most: as many rows as one might pass."""
COLUMNS = 0
"""What the draws of columns are keyed by, besides seed and member."""


@dataclass(frozen=True, eq=False)
class Share:
    """What one member learns from.

    Parameters
    ----------
    number : int
        Of the member, counted from 0.
    rows, times : arrays
        The rows that it sees, increasing, and how often each counts, weights included.
    held, held_weight : arrays
        The rows that it does not see, and their weights.
    """

    number: int
    rows: Places
    times: Vector
    held: Places
    held_weight: Vector


def copies(weight: Vector | None) -> Places | None:
    """Return for each copy of a row which row it is; None: rows are drawn as units.

    Parameters
    ----------
    weight : float64 array or None
        Positive frequencies. Whole ones are copies; of others nobody knows what one copy is.
    """
    if weight is None or not (weight == np.rint(weight)).all():
        return None
    total = int(weight.sum())
    if total > MOST_COPIES:
        raise ValueError(
            f"sample_weight holds counts of {total:,} rows in all, and copies of rows are drawn "
            f"one by one, {MOST_COPIES:,} at most. Divide the weights by their mean, say: then "
            "each row is drawn as a unit."
        )
    return np.repeat(np.arange(len(weight)), weight.astype(np.intp))


def deal_bags(
    sampling: Sampling,
    groups: npt.NDArray[np.uint32] | None,
    sample: RowSet,
    seed: int,
    members: int,
) -> Iterator[Share]:
    """Yield what each member sees of the rows of a sample, drawn by `sampling`.

    Parameters
    ----------
    sampling : Sampling
        How rows are drawn.
    groups : uint32 array or None
        The group number of every copy, if groups are drawn.
    sample : RowSet
        Rows, none of weight 0.
    seed : int
        Keys the draws.
    members : int
        How many there are.
    """
    n, workers = len(sample.y), make_workers(1)
    row_of = copies(sample.weight)
    drawn_from = n if row_of is None else len(row_of)
    weight = np.ones(n) if sample.weight is None else sample.weight
    for number in range(members):
        bag = sampling.bag(Round(workers, drawn_from, None, seed, number, tuple, groups=groups))
        drawn = np.zeros(drawn_from)
        chosen = slice(None) if bag.rows is None else bag.rows
        drawn[chosen] = 1.0 if bag.times is None else bag.times[chosen]
        if row_of is None:
            times: Vector = weight * drawn
        else:
            times = np.bincount(row_of, drawn, minlength=n).astype(np.float64)
        rows, held = np.flatnonzero(times > 0.0), np.flatnonzero(times == 0.0)
        yield Share(number, rows, times[rows], held, weight[held])


def deal_folds(folds: Folds, sample: RowSet) -> Iterator[Share]:
    """Yield what each member sees: all folds but one."""
    weight = np.ones(len(sample.y)) if sample.weight is None else sample.weight
    for number, (train, held) in enumerate(folds):
        yield Share(number, train, weight[train], held, weight[held])


def draw_columns(share: float, n_columns: int, seed: int, number: int) -> Places | None:
    """Return the columns that a member sees, increasing; None: all.

    Parameters
    ----------
    share : float
        In (0, 1]: how many of them, without replacement; at least one.
    n_columns : int
        How many there are.
    seed, number : int
        What the draw is keyed by.
    """
    if share == 1.0:
        return None
    order = np.random.default_rng([seed, number, COLUMNS]).permutation(n_columns)
    return np.sort(order[: max(1, round(share * n_columns))])
