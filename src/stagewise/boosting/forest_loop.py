"""The loop of forests, whose trees are averaged and do not depend on each other.

f = (1/M) Σ b_m, where every tree is fitted to the same target on its own bag. The trees are grown
in parallel, and the out-of-bag rows measure the average after each tree. Which trees are kept does
not depend on the number of threads, nor on that of the ranks of a cluster: every rank has all rows,
grows some of the trees of a batch, and gets the others from the other ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import ForestGrower, GrownTree
from stagewise.boosting.loop import EncodedRows, MeasuredRows
from stagewise.boosting.monitor import OUT_OF_BAG, Monitor
from stagewise.cluster.peers import ALONE, Peers
from stagewise.exact_sums import mean_rows
from stagewise.learners.tree_learner import tree_of
from stagewise.losses import Loss
from stagewise.losses.scores import squeeze_outputs
from stagewise.metrics.choice import LOSS
from stagewise.model.ensemble import Ensemble
from stagewise.trees.tree import Tree

__all__ = ["Average", "GrownTrees", "grow_forest"]

PER_THREAD = 4
"""Trees that each thread grows between two checks of the time limit and of interrupts."""
BLOCK = 8192
"""Numbers that are processed at once: larger arrays would allocate new memory pages each time."""


@dataclass
class Average:
    """The average prediction of trees for rows; each row has its own trees.

    Attributes
    ----------
    total : float64 array of shape (n_rows, n_outputs)
        The sums.
    trees : int64 array of shape (n_rows,)
        The number of trees in each sum.
    lowest, highest : float
        The range of the values, and so of their averages.
    """

    total: npt.NDArray[np.float64]
    trees: npt.NDArray[np.int64]
    lowest: float = np.inf
    highest: float = -np.inf

    @classmethod
    def of(cls, n_rows: int, n_outputs: int) -> Average:
        """Return the average of no trees."""
        return cls(np.zeros((n_rows, n_outputs)), np.zeros(n_rows, dtype=np.int64))

    def add(
        self, value: npt.NDArray[np.float64], rows: npt.NDArray[Any], leaf: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Add a tree for some rows; return their averages, of shape (len(rows), n_outputs).

        `value` has the values of the tree's nodes, and `leaf` the leaf of each of the rows.
        """
        sums = self.total.take(rows, axis=0)
        sums += value.reshape(-1, sums.shape[1]).take(leaf, axis=0)
        self.total[rows] = sums
        self.trees[rows] += 1
        self.lowest = min(self.lowest, float(value.min()))
        self.highest = max(self.highest, float(value.max()))
        trees = self.trees[rows].astype(np.float64)  # converted before the broadcast: faster
        return np.asarray(sums / trees[:, np.newaxis])

    def copy(self) -> Average:
        """Return an average that further trees do not change."""
        return Average(self.total.copy(), self.trees.copy(), self.lowest, self.highest)

    def scores(self) -> npt.NDArray[np.float64]:
        """Return the averages; NaN for rows without a tree."""
        with np.errstate(invalid="ignore"):
            return np.clip(self.total / self.trees[:, np.newaxis], self.lowest, self.highest)


@dataclass(frozen=True)
class ExactDivision:
    """Values of trees divided by M, so that their sum is within the range of the values.

    Quotients are whole multiples of a unit that is as small as a rounding error, and so large that
    sums of M quotients are exact. The range is rounded inwards.

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
            The number of trees.
        low, high : float
            The range of the targets, and so of the values of trees.
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


@dataclass(frozen=True)
class GrownTrees:
    """The trees of a forest before their values are divided: what a further fit continues.

    Attributes
    ----------
    trees : list of Tree
        The trees.
    oob_average : Average or None
        Their averages over the out-of-bag rows; None: not known for the rows of the fit.
    """

    trees: list[Tree]
    oob_average: Average | None = None


class OutOfBag:
    """The mean loss of the out-of-bag predictions; a tree updates only its out-of-bag rows.

    Parameters
    ----------
    loss : Loss
        The loss that is measured.
    rows : EncodedRows
        The rows of the fit.
    earlier : Average or None
        The averages of the trees of an earlier fit to the same rows.
    """

    def __init__(self, loss: Loss, rows: EncodedRows, earlier: Average | None = None) -> None:
        self.loss = loss
        self.rows = rows
        self.average = Average.of(len(rows.y), loss.n_outputs)
        self._losses = np.zeros(len(rows.y))
        if earlier is not None:
            self.average = earlier.copy()
            known = earlier.trees > 0
            scores = earlier.total[known] / earlier.trees[known].astype(np.float64)[:, np.newaxis]
            self._losses[known] = loss.loss(rows.y[known], squeeze_outputs(scores))

    def add(
        self, value: npt.NDArray[np.float64], rows: npt.NDArray[Any], leaf: npt.NDArray[Any]
    ) -> float | None:
        """Add a tree for its out-of-bag rows; return the mean loss of rows with any tree, or None.

        The arguments are those of `Average.add`.
        """
        step = max(1, BLOCK // self.loss.n_outputs)
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            scores = self.average.add(value, some, leaf[first : first + step])
            self._losses[some] = self.loss.loss(self.rows.y[some], squeeze_outputs(scores))
        known = self.average.trees > 0
        if not known.any():
            return None
        part = slice(None) if known.all() else known
        weight = None if self.rows.weight is None else self.rows.weight[part]
        return mean_rows(self._losses[part], weight)


def grow_forest(
    grower: ForestGrower,
    ensemble: Ensemble,
    loss: Loss,
    train: EncodedRows,
    measured: Sequence[MeasuredRows],
    monitor: Monitor,
    *,
    workers: Any,
    seed: int,
    out_of_bag: bool,
    peers: Peers = ALONE,
    oob_metrics: Any = None,
    earlier: GrownTrees | None = None,
) -> GrownTrees:
    """Grow trees until the monitor stops, and divide their values by the number of trees.

    Parameters
    ----------
    grower : ForestGrower
        Grows the trees.
    ensemble : Ensemble
        Gets the trees; it is empty before.
    loss : Loss
        The loss of the average, which is measured.
    train : EncodedRows
        The rows of the fit.
    measured : sequence of MeasuredRows
        The sets that are measured after every tree, besides the out-of-bag rows.
    monitor : Monitor
        Decides when to stop, and which number of trees is the best.
    workers : Workers
        The threads.
    seed : int
        The key of all random numbers, together with the number of a tree.
    out_of_bag : bool
        Whether out-of-bag predictions are computed.
    peers : Peers
        The ranks of a cluster. All of them have the same rows and return the same forest.
    oob_metrics : BoundMetrics or None
        The metrics of the out-of-bag rows; None: only their loss is measured.
    earlier : GrownTrees or None
        The first trees of the forest; only their out-of-bag rows are measured.

    Returns
    -------
    GrownTrees
        All trees of the forest, and the out-of-bag predictions of the training rows.
    """
    earlier = earlier or GrownTrees([])
    oob = OutOfBag(loss, train, earlier.oob_average)
    best, first = oob.average, len(earlier.trees)
    for tree in earlier.trees:
        ensemble.append(tree)
    # The out-of-bag rows of the trees of all ranks are in memory at once.
    batch = workers.threads * (PER_THREAD if peers.size == 1 else 1)
    numbers = range(first, monitor.n_rounds)
    trees = _grow_in_batches(grower, numbers, batch, seed, out_of_bag, peers)
    for m, (grown, rows, leaf) in enumerate(trees, start=first + 1):
        tree = tree_of(grown)
        ensemble.append(tree)
        evals = _oob_evals(oob, oob.add(tree.value, rows, leaf), oob_metrics) if out_of_bag else {}
        for own in measured:
            scores = own.rows.score.T.reshape(-1)  # a view
            own.rows.table.add_tree(workers, grown, tree.value.reshape(-1), scores)
            evals[own.name] = _values(own, loss, own.rows.score / m)
        stop = monitor.after_round(m, evals)
        if monitor.early_stopping is not None and monitor.best_round == m:
            best = oob.average.copy()
        if stop:
            break
    ensemble.truncate(monitor.best_round)
    undivided = GrownTrees(list(ensemble.trees), best)
    _divide(ensemble, loss, train.y)
    return undivided


def _divide(ensemble: Ensemble, loss: Loss, y: npt.NDArray[Any]) -> None:
    """Divide the values of trees by the number of trees."""
    n_trees, division = len(ensemble.trees), None
    if loss.degree is not None:
        # The trees of an earlier fit may have seen other targets.
        ends = [y, *(tree.value for tree in ensemble.trees)]
        low, high = min(float(v.min()) for v in ends), max(float(v.max()) for v in ends)
        division = ExactDivision.of(n_trees, low, high)
    for i, tree in enumerate(ensemble.trees):
        value = tree.value / n_trees if division is None else division.divide(tree.value)
        ensemble.trees[i] = tree.with_values(value)


def _values(own: MeasuredRows, loss: Loss, score: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return the mean loss and the metrics of a set."""
    mean = mean_rows(loss.loss(own.rows.y, squeeze_outputs(score)), own.rows.weight)
    return {LOSS: mean, **({} if own.metrics is None else own.metrics.values(score))}


def _oob_evals(oob: OutOfBag, mean: float | None, metrics: Any) -> dict[str, dict[str, float]]:
    """Return the mean loss and the metrics of the out-of-bag rows; empty: there are none yet."""
    if mean is None:
        return {}
    values = {LOSS: mean}
    if metrics is not None:
        known = oob.average.trees > 0
        values |= metrics.values(oob.average.scores()[known], known)
    return {OUT_OF_BAG: values}


def _grow_in_batches(
    grower: ForestGrower, numbers: range, batch: int, seed: int, out_of_bag: bool, peers: Peers
) -> Iterator[tuple[GrownTree, npt.NDArray[np.uint32], npt.NDArray[np.int32]]]:
    """Yield each tree, its out-of-bag rows and their leaves, in the order of the trees.

    The ranks divide the trees of a batch in proportion to their threads.
    """
    shares = np.cumsum([0, *peers.gather(batch)])
    for first in numbers[:: int(shares[-1])]:
        number = min(int(shares[-1]), numbers.stop - first)
        begin, end = (first + number * shares[peers.rank :][:2] // shares[-1]).tolist()
        own = grower.grow(seed, begin, end - begin, out_of_bag) if end > begin else []
        for trees in peers.gather(own):
            yield from trees
