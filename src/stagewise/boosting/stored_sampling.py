"""Row sampling of rows in a `RowStore`: the bags are those of the same rows in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stagewise._native import Workers
from stagewise.boosting.sampling import (
    Bootstrap,
    DrawInput,
    GossSampling,
    MvsSampling,
    RowFraction,
    Sampling,
)
from stagewise.boosting.stored_loss import StoredGradients, sum_losses
from stagewise.boosting.stored_rows import StoredTable

__all__ = ["StoredSampling", "can_draw_stored_rows", "draws_by_importance"]


def can_draw_stored_rows(sampling: Sampling) -> bool:
    """Return whether rows in a store can be sampled by a method."""
    return isinstance(sampling, (RowFraction, Bootstrap, GossSampling, MvsSampling))


def draws_by_importance(sampling: Sampling) -> bool:
    """Return whether rows are drawn by their importance, which the store then has."""
    return isinstance(sampling, (GossSampling, MvsSampling))


@dataclass(frozen=True)
class StoredBag:
    """The rows of one round; see `Bag`. The store has their multipliers.

    Parameters
    ----------
    table : StoredTable
        The rows.
    multiplied : bool
        Whether rows count more than once; otherwise the grower draws them.
    """

    table: StoredTable
    multiplied: bool
    rows: None = None

    def multiply(
        self, derivatives: StoredGradients, workers: Workers, weight: None, *, hessians: bool
    ) -> StoredGradients:
        """Multiply derivatives by how often each row counts, and return them."""
        if not self.multiplied:
            return derivatives
        integers = self.table.store.multiply_gradients(workers)
        return sum_losses(integers, self.table.peers)[1]


@dataclass(frozen=True)
class StoredSampling:
    """A method of sampling, for rows in a store; see `Sampling`.

    Parameters
    ----------
    method : Sampling
        The method.
    table : StoredTable
        The rows.
    """

    method: Any
    table: StoredTable

    @property
    def draws(self) -> bool:
        """Whether rounds have different rows."""
        return bool(self.method.draws)

    @property
    def multiplies(self) -> bool:
        """Whether rows of a bag may count more than once."""
        return bool(self.method.multiplies)

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""
        return str(self.method.description)

    def bag(self, this: DrawInput) -> StoredBag:
        """Draw the rows of this round; the grower draws rows that count once."""
        method, store, peers = self.method, self.table.store, self.table.exchange
        key = this.seed, this.number
        if isinstance(method, Bootstrap):
            store.draw_bootstrap(this.workers, peers, method.rate, *key)
        elif isinstance(method, GossSampling):
            self._add_squares(this, 0.0)
            store.draw_goss(this.workers, peers, method.top, method.other, *key)
        elif isinstance(method, MvsSampling):
            self._add_squares(this, method.ridge * this.spread**2)
            store.draw_mvs(this.workers, peers, method.share, *key)
        return StoredBag(self.table, self.multiplies)

    def _add_squares(self, this: DrawInput, ridge: float) -> None:
        """Fill the squared importances of the rows; see `DrawInput.importance`."""
        store = self.table.store
        store.clear_squares(this.workers)
        for _ in this.responses():  # each is in the store until the next one is computed
            store.add_squares(this.workers, ridge)
