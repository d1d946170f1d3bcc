"""Trees that are averaged: the loop without feedback.

The one idea: f = (1/M) Σ b_m, where every tree is fitted to the same response, each on a bag of its
own. No tree waits for another, so they are grown side by side, and the rows outside their bags say
how good the average is after each of them. Which trees are kept does not depend on how many were
grown at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import ForestGrower, GrownTree
from stagewise.boosting.loop import EncodedRows
from stagewise.boosting.monitor import Monitor
from stagewise.learners.histogram_tree import tree_of
from stagewise.losses import Loss
from stagewise.model.ensemble import Ensemble

__all__ = ["Average", "average"]

PER_THREAD = 4
"""How many trees each thread grows between two looks at the clock and the keyboard."""
BLOCK = 8192
"""Numbers that are worked on at once: larger arrays would be fresh pages of memory each time."""


@dataclass
class Average:
    """What some trees say of rows, in the mean: of each row those trees that have a say.

    Attributes
    ----------
    total : float64 array of shape (n_outputs, n_rows)
        The sum; the outputs of a row lie beside each other, as in the values of trees.
    trees : int64 array of shape (n_rows,)
        How many trees it is of.
    lowest, highest : float
        The range of what was averaged, so that of the means too.
    """

    total: npt.NDArray[np.float64]
    trees: npt.NDArray[np.int64]
    lowest: float = np.inf
    highest: float = -np.inf

    @classmethod
    def of(cls, n_outputs: int, n_rows: int) -> Average:
        """Return the average of no trees."""
        return cls(np.zeros((n_rows, n_outputs)).T, np.zeros(n_rows, dtype=np.int64))

    def take(
        self, value: npt.NDArray[np.float64], rows: npt.NDArray[Any], leaf: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Let a tree speak of some rows; return their means, of shape (n_outputs, len(rows)).

        `value` is what its nodes say, and `leaf` the node of each of the rows.
        """
        sums = self.total.T.take(rows, axis=0)
        sums += value.reshape(-1, len(self.total)).take(leaf, axis=0)
        self.total.T[rows] = sums
        self.trees[rows] += 1
        self.lowest = min(self.lowest, float(value.min()))
        self.highest = max(self.highest, float(value.max()))
        trees = self.trees[rows].astype(np.float64)  # before it is broadcast, which is far quicker
        return np.asarray((sums / trees[:, np.newaxis]).T)

    def copy(self) -> Average:
        """Return an average that further trees do not change."""
        return Average(self.total.copy(), self.trees.copy(), self.lowest, self.highest)

    def scores(self) -> npt.NDArray[np.float64]:
        """Return the means; NaN where nobody had a say."""
        with np.errstate(invalid="ignore"):
            return np.clip(self.total / self.trees, self.lowest, self.highest)


@dataclass(frozen=True)
class ExactDivision:
    """Values of trees divided by M, so that their sum is within the range of the values.

    The one idea: quotients are whole multiples of a unit so small that it is a rounding error, and
    so large that sums of M of them are exact. The range is rounded inwards.

    Attributes
    ----------
    n_trees : int
        M.
    exponent : int
        The unit is 2 ** exponent.
    lowest, highest : float
        The range of the quotients, in units.
    """

    n_trees: int
    exponent: int
    lowest: float
    highest: float

    @classmethod
    def of(cls, n_trees: int, low: float, high: float) -> ExactDivision:
        """Return the division of trees by their number.

        Parameters
        ----------
        n_trees : int
            How many trees there are.
        low, high : float
            The range of the targets, and so of the values.
        """
        exponent = int(np.frexp(max(-low, high))[1]) - 53
        unit = Fraction(2) ** exponent * max(1, n_trees)
        return cls(
            n_trees,
            exponent,
            float(math.ceil(Fraction(low) / unit)),
            float(math.floor(Fraction(high) / unit)),
        )

    def divide(self, value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the values of one tree, divided by M."""
        if self.n_trees == 1:
            return value
        units = np.rint(np.ldexp(value, -self.exponent) / self.n_trees)
        return np.asarray(np.ldexp(np.clip(units, self.lowest, self.highest), self.exponent))


class OutOfBag:
    """The mean loss of the rows that some tree has not seen; of a row it changes when one speaks.

    Parameters
    ----------
    loss : Loss
        By which the average is judged.
    rows : EncodedRows
        The rows of the fit.
    """

    def __init__(self, loss: Loss, rows: EncodedRows) -> None:
        self.loss = loss
        self.rows = rows
        self.average = Average.of(loss.n_outputs, len(rows.y))
        self._losses = np.zeros(len(rows.y))

    def take(
        self, value: npt.NDArray[np.float64], rows: npt.NDArray[Any], leaf: npt.NDArray[Any]
    ) -> float | None:
        """Let a tree speak of rows; return the mean loss of those that any spoke of, or None."""
        step = max(1, BLOCK // self.loss.n_outputs)
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            scores = self.average.take(value, some, leaf[first : first + step])
            self._losses[some] = self.loss.loss(self.rows.y[some], scores)
        known = self.average.trees > 0
        if not known.any():
            return None
        part = slice(None) if known.all() else known
        weight = None if self.rows.weight is None else self.rows.weight[part]
        return float(np.average(self._losses[part], weights=weight))


def average(
    committee: ForestGrower,
    ensemble: Ensemble,
    loss: Loss,
    train: EncodedRows,
    valid: EncodedRows | None,
    monitor: Monitor,
    *,
    workers: Any,
    seed: int,
    out_of_bag: bool,
) -> Average:
    """Grow trees until the monitor has enough; give each its share of the sum.

    Parameters
    ----------
    committee : ForestGrower
        Grows them.
    ensemble : Ensemble
        Gets them; empty before.
    loss : Loss
        By which the average is judged: on held-out rows or, without, on those outside the bags.
    train, valid : EncodedRows
        The rows of the fit; held-out rows, or None.
    monitor : Monitor
        Says when to stop, and which number of trees was best.
    workers : Workers
        The threads.
    seed : int
        Keys all that is drawn, together with the number of a tree.
    out_of_bag : bool
        Whether there are rows outside the bags, and somebody wants to know about them.

    Returns
    -------
    Average
        What is said of the training rows by those trees that have not seen them.
    """
    unseen = OutOfBag(loss, train)
    best = unseen.average
    members = _members(committee, monitor.n_rounds, PER_THREAD * workers.threads, seed, out_of_bag)
    for m, (grown, rows, leaf) in enumerate(members, start=1):
        tree = tree_of(grown)
        ensemble.append(tree)
        judged = None
        if out_of_bag:
            judged = unseen.take(tree.value, rows, leaf)
        if valid is not None:
            valid.table.add_tree(workers, grown, tree.value.reshape(-1), valid.score.reshape(-1))
            losses = loss.loss(valid.y, valid.score / m)
            judged = float(np.average(losses, weights=valid.weight))
        stop = monitor.after_round(m, None, judged)
        if monitor.early_stopping is not None and monitor.best_round == m:
            best = unseen.average.copy()
        if stop:
            break
    ensemble.truncate(monitor.best_round)
    division = None
    if loss.degree is not None:
        division = ExactDivision.of(len(ensemble.trees), float(train.y.min()), float(train.y.max()))
    for i, tree in enumerate(ensemble.trees):
        value = (
            tree.value / len(ensemble.trees) if division is None else division.divide(tree.value)
        )
        ensemble.trees[i] = tree.with_values(value)
    return best


def _members(
    committee: ForestGrower, n: int, at_once: int, seed: int, unseen: bool
) -> Iterator[tuple[GrownTree, npt.NDArray[np.uint32], npt.NDArray[np.int32]]]:
    for first in range(0, n, at_once):
        yield from committee.grow(seed, first, min(at_once, n - first), unseen)
