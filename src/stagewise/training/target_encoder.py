"""The target encodings of a fit: which features are encoded, and from which rows.

The encoding of a category is the step that a leaf with its rows would take from the best constant,
so target encodings exist for every loss and every number of classes. They are learned from the
training rows alone, as everything else that is learned before the first round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Workers
from stagewise.data.categories.combinations import find_combinations
from stagewise.data.categories.target_encoding import Sources, TargetEncodings
from stagewise.data.features import Features
from stagewise.losses import Loss
from stagewise.losses.base import repeat_score
from stagewise.training.reading.row_set import RowSet
from stagewise.training.specs import FitContext

__all__ = ["TargetEncoder", "chosen_encoding", "few_cuts"]

Pairs = list[npt.NDArray[np.float32]]

FEW = 4
"""Features with at most this many categories are split by sets of categories only."""
MANY = 50
"""With category_encoding="auto", a table is encoded if a feature has more categories than this."""
MAX_OUTPUTS = 8
"""With category_encoding="auto", a table is encoded for at most this many outputs: each has its
own columns."""
MAX_CUTS = 31
"""The largest number of cuts of a target-encoded column: finer differences are mostly chance."""
MAX_ROWS = 25_000
"""The largest number of rows from which combinations are found."""


@dataclass(frozen=True)
class TargetEncoder:
    """Learns the target encodings of a fit.

    Parameters
    ----------
    workers : Workers
        The threads.
    loss : Loss
        The loss whose Newton steps are the encodings.
    seed : int
        The seed of the orders of the rows.
    sources : sequence of tuple of int
        The features, and combinations of features, to encode; empty: none.
    n_orderings : int
        The number of random orders.
    """

    workers: Workers
    loss: Loss
    seed: int
    sources: Sequence[Sources] = ()
    n_orderings: int = 1

    @classmethod
    def choose(
        cls,
        mode: str,
        n_orderings: int,
        context: FitContext,
        loss: Loss,
        rows: RowSet,
        y: npt.NDArray[Any],
        features: Any,
        known: Features | None,
    ) -> TargetEncoder:
        """Choose the features to encode.

        Parameters
        ----------
        mode : {"auto", "sets", "target"}
            "auto": encode if a feature has many categories; "sets": do not encode.
        n_orderings : int
            The number of random orders.
        context : FitContext
            Threads and seed.
        loss : Loss
            The loss whose Newton steps are the encodings.
        rows : RowSet
            The training rows.
        y : array
            Their targets, in the units of the loss.
        features : Features
            The description of the columns.
        known : Features or None
            The description of the columns of a model that is continued; its encodings are used.
        """
        none = cls(context.workers, loss, context.seed)
        if known is not None:
            sources = [encoding.sources for encoding in known.target_encodings]
            return replace(none, sources=sources, n_orderings=n_orderings)
        if chosen_encoding(mode, features, loss.n_outputs) == "sets":
            return none
        categories = features.n_categories_per_feature()
        least = FEW if mode == "target" else MANY
        alone = [(f,) for f, n in enumerate(categories) if n > least]
        pairs = none._pairs(y, rows.weight)
        table = rows.table()
        if len(y) > MAX_ROWS:
            some = np.linspace(0, len(y), MAX_ROWS, endpoint=False).astype(np.uint32)
            table = rows.part(some.astype(np.intp)).table()
            pairs = [p.reshape(-1, 2)[some].reshape(-1) for p in pairs]
        combined = find_combinations(none.workers, table, categories, pairs, none.seed)
        return replace(none, sources=[*alone, *combined], n_orderings=n_orderings)

    def learn(
        self,
        sample: RowSet,
        y: npt.NDArray[Any],
        features: Any,
        rows_to_encode: RowSet | None = None,
    ) -> tuple[Any, list[Columns]]:
        """Learn the target encodings of training rows, and encode rows.

        Parameters
        ----------
        sample : RowSet
            The training rows.
        y : array
            Their targets, in the units of the loss.
        features : Features
            The description of the columns.
        rows_to_encode : RowSet or None
            The rows to encode, of the same table; None: those of `sample`.

        Returns
        -------
        features : Features
            With the target encodings.
        tables : list of Columns
            The encoded rows, one table for each order.
        """
        rows_to_encode = sample if rows_to_encode is None else rows_to_encode
        if not self.sources:
            return features, [rows_to_encode.table()]
        learned = TargetEncodings(
            self.workers,
            sample.columns,
            self.sources,
            features.n_categories_per_feature(),
            sample.rows,
            self._pairs(y, sample.weight),
        )
        versions = [learned.version(self.seed, v) for v in range(self.n_orderings)]
        tables = [rows_to_encode.with_columns(columns).table() for columns in versions]
        return features.with_target_encodings(learned.encodings()), tables

    def _pairs(self, y: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None) -> Pairs:
        """Return (g, h) of every row and output at the best constant."""
        bound = self.loss.bind(self.workers, y, weight)
        best = self.loss.checked_best_constant(y, weight)
        bound.evaluate(repeat_score(best, len(y)))
        outputs = range(self.loss.n_outputs)
        return [bound.gradients(k).pairs().reshape(-1).copy() for k in outputs]


def chosen_encoding(mode: str, features: Any, n_outputs: int) -> str:
    """Return how a mode encodes the categories of these features: "sets" or "target"."""
    if mode == "sets" or (mode == "auto" and n_outputs > MAX_OUTPUTS):
        return "sets"
    most = max(features.n_categories_per_feature(), default=0)
    return "target" if most > (FEW if mode == "target" else MANY) else "sets"


def few_cuts(codings: list[Any], first: int) -> list[Any]:
    """Return codings with at most `MAX_CUTS` evenly chosen cuts for the features from `first`."""
    thinned = [
        cuts[np.linspace(0, len(cuts), MAX_CUTS + 2)[1:-1].astype(np.intp)]
        if len(cuts) > MAX_CUTS
        else cuts
        for cuts in codings[first:]
    ]
    return [*codings[:first], *thinned]
