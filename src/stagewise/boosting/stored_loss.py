"""Losses of rows in a `RowStore`.

A loss with a kernel is computed by the core, chunk by chunk. Every other loss whose rows do not
depend on each other is bound to a few chunks at a time, as to rows in memory; its gradients are put
into the store. The sums are exact, so they are those of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers, round_exact_sums
from stagewise.cluster.peers import Peers
from stagewise.exact_sums import ExactSums
from stagewise.losses import BoundLoss, Loss

if TYPE_CHECKING:
    from stagewise.boosting.stored_rows import StoredTable

__all__ = ["StoredGradients", "bind_stored", "state_bytes", "sum_losses"]

PAIR_BYTES = 8
"""A gradient and a hessian of a row."""
PART_ROWS = 1 << 16
"""The rows that a loss is bound to at a time; chunks may be much smaller."""
Chunk = tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None, npt.NDArray[np.float64]]
"""Targets, weights or None, and the scores of the first output, then of the next."""


@dataclass(frozen=True)
class StoredGradients:
    """The gradients of one output, which are in the store, and their sums over all rows."""

    abs_gradient: float
    hessian: float


def state_bytes(loss: Loss) -> int:
    """Return the bytes of a row that a loss of several outputs keeps between the trees."""
    if loss.n_outputs == 1:
        return 0
    return PAIR_BYTES if loss.kernel is not None else PAIR_BYTES * loss.n_outputs


def bind_stored(loss: Loss, table: StoredTable, workers: Workers) -> BoundLoss:
    """Return a loss bound to the rows of a store."""
    kind = ChunkBoundLoss if loss.kernel is None else StoredLoss
    return kind(loss, table, workers)


def sum_losses(integers: npt.NDArray[np.int64], peers: Peers) -> tuple[float, StoredGradients]:
    """Return the sums over all rows of the fit: the loss, and those of the gradients.

    Parameters
    ----------
    integers : int64 array
        The integers of three exact sums over the rows of this rank.
    peers : Peers
        The ranks.
    """
    peers.sum(integers)
    loss, gradient, hessian = round_exact_sums(integers.reshape(3, -1)).tolist()
    return loss, StoredGradients(gradient, hessian)


class StoredLoss(BoundLoss):
    """A loss with a kernel, bound to the rows of a store."""

    def __init__(self, loss: Loss, table: StoredTable, workers: Workers) -> None:
        assert loss.kernel is not None
        (self._name, self._parameter), self._table, self._workers = loss.kernel, table, workers
        self._filled: StoredGradients | None = None

    def _sums(self, integers: npt.NDArray[np.int64]) -> tuple[float, StoredGradients]:
        return sum_losses(integers, self._table.peers)

    def evaluate(self, score: Any) -> float:
        """Compute the derivatives at the scores in the store; return the sum of the losses."""
        store = self._table.store
        if self._name == "softmax":
            return self._sums(store.softmax_state(self._workers))[0]
        loss, self._filled = self._sums(store.loss(self._workers, self._name, self._parameter))
        return loss

    def gradients(self, output: int) -> Any:
        """Fill the gradients of an output in the store; return their sums."""
        if self._name == "softmax":
            return self._sums(self._table.store.softmax(self._workers, output))[1]
        if self._filled is None:
            self.evaluate(None)
        filled, self._filled = self._filled, None  # a tree packs them
        return filled


def _joined(
    chunks: Sequence[Chunk], n_outputs: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None, npt.NDArray[np.float64]]:
    """Return targets, weights and scores, shape (n_rows, n_outputs), of adjacent chunks."""
    weights = [weight for _, weight, _ in chunks if weight is not None]
    score = np.concatenate([score.reshape(n_outputs, -1) for _, _, score in chunks], axis=1)
    y = np.concatenate([y for y, _, _ in chunks])
    return y, np.concatenate(weights) if weights else None, score.T


class ChunkBoundLoss(BoundLoss):
    """A loss that is bound to a few chunks of a store at a time.

    The gradients of several outputs are those at the scores of the last evaluation, and a tree
    changes these: the store keeps them until the next evaluation.
    """

    def __init__(self, loss: Loss, table: StoredTable, workers: Workers) -> None:
        self._loss, self._table, self._workers = loss, table, workers
        self._measures_only = False
        self._sums: list[StoredGradients] = []
        self._n_losses = 0  # of a rank without rows, until the others have evaluated theirs

    def follow(self, training: BoundLoss) -> None:
        self._measures_only = True  # no tree is fitted to these rows

    def evaluate(self, score: Any) -> float:
        """Compute the derivatives at the scores in the store; return the sum of the losses."""
        store, n_outputs = self._table.store, self._loss.n_outputs
        losses, gradients = [], [ExactSums.nothing(3) for _ in range(n_outputs)]
        for first, chunks in self._parts():
            y, weight, score = _joined(chunks, n_outputs)
            bound = self._loss.bind(self._workers, y, weight)
            losses.append(bound.loss_sums(score))
            for output in range(0 if self._measures_only else n_outputs):
                pairs, begin = bound.gradients(output), 0
                for index, (own, _, _) in enumerate(chunks, first):
                    store.put_gradients(index, pairs, begin, output)
                    begin += len(own)
                gradients[output] += ExactSums(pairs.exact_sums().reshape(3, -1))
        if not self._measures_only:
            peers = self._table.peers
            self._sums = [sum_losses(own.integers.reshape(-1), peers)[1] for own in gradients]
        return float(sum(self._over_ranks(losses).values.tolist()))

    def _parts(self) -> Iterator[tuple[int, list[Chunk]]]:
        """Read the chunks, some at a time; return the number of the first one and their rows."""
        store, first, chunks = self._table.store, 0, list[Chunk]()
        for index in range(store.n_chunks):
            chunks.append(store.read_chunk(index))
            if index + 1 == store.n_chunks or sum(len(y) for y, _, _ in chunks) >= PART_ROWS:
                yield first, chunks
                first, chunks = index + 1, []

    def _over_ranks(self, losses: list[ExactSums]) -> ExactSums:
        """Return the sums of the losses of all chunks of all ranks, some of which have none."""
        peers = self._table.peers
        if not self._n_losses:
            own = len(losses[0].integers) if losses else 0
            self._n_losses = max(peers.gather(own))
        return sum(losses, ExactSums.nothing(self._n_losses)).over(peers)

    def gradients(self, output: int) -> Any:
        """Fill the gradients of an output in the store; return their sums."""
        if self._loss.n_outputs > 1:
            self._table.store.take_gradients(self._workers, output)
            return self._sums[output]
        if not self._sums:
            self.evaluate(None)
        (filled,), self._sums = self._sums, []  # a tree packs them
        return filled
