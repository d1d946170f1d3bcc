"""Rows of a fit that are in a `RowStore`: in chunks, in memory or in a file.

They have the interface of `EncodedRows`, so the one loop boosts them: the loss is computed chunk by
chunk, and trees are grown in passes over the chunks. Every sum is exact, so the model is that of
the same rows in memory, to the byte. On a cluster, each rank has some of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise._native import BinLayout, ChunkGrower, RowStore, Workers
from stagewise.boosting.stored_loss import StoredGradients, bind_stored
from stagewise.cluster.peers import ALONE, Peers
from stagewise.learners.histogram_tree import HistogramTree, native_rules
from stagewise.learners.tree_learner import GrownTerm, tree_of
from stagewise.losses import BoundLoss, Loss

__all__ = [
    "LEAVES_PER_PASS",
    "StoredRows",
    "StoredScore",
    "StoredTable",
    "StoredTreeLearner",
]

Vector = npt.NDArray[np.float64]

LEAVES_PER_PASS = 8
"""The leaves that are divided in one pass over the chunks, if a pass reads files or ends with a
message to other ranks."""
LEAVES_PER_PASS_IN_MEMORY = 4
"""The same if all chunks are in memory: a pass loads a chunk into the cache once for all leaves,
and few leaves are divided in vain."""


@dataclass(frozen=True)
class StoredTable:
    """The codes of the rows, as a learner reads them.

    Parameters
    ----------
    store : RowStore
        The rows.
    layout : BinLayout
        The meaning of their codes.
    whole_weights : bool
        Whether the weights of all rows of the fit are whole numbers.
    total_weight : float
        Their sum.
    peers : Peers
        The ranks of the fit.
    has_absent_rows : bool
        Whether some rows have weight 0; they are in no tree.
    """

    store: RowStore
    layout: BinLayout
    whole_weights: bool
    total_weight: float
    peers: Peers = ALONE
    has_absent_rows: bool = False

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.layout.n_features

    @property
    def leaves_per_pass(self) -> int:
        """The leaves that are divided in one pass; it does not change the trees."""
        in_memory = self.store.chunks_in_memory == self.store.n_chunks
        alone = in_memory and self.peers.size == 1
        return LEAVES_PER_PASS_IN_MEMORY if alone else LEAVES_PER_PASS

    @property
    def exchange(self) -> Peers | None:
        """The ranks of the fit; None: there is only this one."""
        return self.peers if self.peers.size > 1 else None

    def bin_below(self, feature: int, threshold: float) -> int:
        """Return the last bin of a feature that is not above a threshold."""
        return self.layout.bin_below(feature, threshold)


@dataclass(frozen=True)
class StoredScore:
    """The scores of the rows of a store; `score[:, k]` are those of an output."""

    output: int = 0

    def __getitem__(self, places: tuple[slice, int]) -> StoredScore:
        return StoredScore(places[1])


@dataclass(frozen=True)
class StoredRows:
    """Rows in a store, with their current scores; see `EncodedRows`.

    Parameters
    ----------
    table : StoredTable
        The rows.
    n_rows : int
        The number of rows of the store.
    """

    table: StoredTable
    n_rows: int
    score: StoredScore = StoredScore()
    y: None = None
    weight: None = None
    source: None = None

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all rows of the fit."""
        return self.table.total_weight

    def bind(self, loss: Loss, workers: Workers) -> BoundLoss:
        """Return the loss bound to the rows."""
        return bind_stored(loss, self.table, workers)


@dataclass(frozen=True)
class StoredTreeLearner:
    """The learner that grows trees on stored rows; see `TreeLearner`.

    Parameters
    ----------
    rules : tuple of HistogramTree
        The rules of the trees, which rounds use in turn.
    share : float
        Each row is drawn with this probability, anew in every round.
    multiplied : bool
        Whether the rows of a round are those with a multiplier in the store.
    """

    rules: tuple[HistogramTree, ...]
    share: float = 1.0
    multiplied: bool = False

    def start(
        self,
        workers: Workers,
        table: StoredTable,
        weight: Vector | None,
        classes: npt.NDArray[np.int32] | None,
        *,
        hessian_bound: float,
        hessian_is_weight: bool,
        outputs: int = 0,
        terms_per_round: int = 1,
    ) -> BoundStoredTree:
        """Return the learner bound to the rows of a fit."""
        made = {
            tree: ChunkGrower(
                workers,
                table.store,
                table.layout,
                native_rules(
                    tree, table, hessian_bound=hessian_bound, hessian_is_weight=hessian_is_weight
                ),
                table.whole_weights,
                table.total_weight,
                table.leaves_per_pass,
                table.has_absent_rows,
                table.exchange,
            )
            for tree in dict.fromkeys(self.rules)
        }
        growers = [made[tree] for tree in self.rules]
        return BoundStoredTree(workers, growers, self.share, self.multiplied, terms_per_round)


class BoundStoredTree:
    """A `StoredTreeLearner` bound to the rows of one fit."""

    def __init__(
        self,
        workers: Workers,
        growers: Sequence[ChunkGrower],
        share: float,
        multiplied: bool,
        terms_per_round: int,
    ) -> None:
        self._workers, self._growers, self._grower = workers, growers, growers[0]
        self._bag, self._terms_per_round = (share, multiplied), terms_per_round

    def grow(self, gradients: StoredGradients, bag: None, seed: int, number: int) -> GrownTerm:
        """Fit the next tree to the gradients in the store."""
        m = number // self._terms_per_round
        self._grower = self._growers[m % len(self._growers)]
        sums = gradients.abs_gradient, gradients.hessian
        grown = self._grower.grow(*sums, *self._bag, seed, m, number)
        return GrownTerm(grown, tree_of(grown))

    def add(self, term: GrownTerm, source: None, score: StoredScore) -> None:
        """Add the last tree's values to the training scores of an output."""
        self._grower.add_scores(term.grown, term.tree.value, score.output)

    def add_to_other_rows(
        self, term: GrownTerm, table: StoredTable, source: None, score: StoredScore
    ) -> None:
        """Add a tree's values to the scores of other rows."""
        table.store.add_tree(self._workers, table.layout, term.grown, term.tree.value, score.output)
