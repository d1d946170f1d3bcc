"""The target encodings of a fit: which features are encoded, and from which rows.

The encoding of a category is the step that a leaf with its rows would take from the best constant,
so target encodings exist for every loss and every number of classes. They are learned from the
training rows alone, as everything else that is learned before the first round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Workers, draw_encoding_folds
from stagewise.data.categories.combinations import find_combinations
from stagewise.data.categories.cross_fitting import NO_FOLD, KeyedRows, learn_cross_fitting
from stagewise.data.categories.target_encoding import Sources, TargetEncodings
from stagewise.data.features import Features
from stagewise.losses import Loss
from stagewise.losses.scores import repeat_score
from stagewise.training.reading.folds import MANY_ROWS
from stagewise.training.reading.row_set import RowSet
from stagewise.training.specs import FitContext

__all__ = ["TargetEncoder", "combination_rows", "few_cuts", "single_sources"]

Pairs = list[npt.NDArray[np.float32]]
Vector = npt.NDArray[np.float64]

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
        The number of random orders, or of random folds.
    cross_fits : bool
        Whether a row is encoded by the rows of other folds, instead of by the rows before it.
    """

    workers: Workers
    loss: Loss
    seed: int
    sources: Sequence[Sources] = ()
    n_orderings: int = 1
    cross_fits: bool = False

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
            The training rows. Their offset is part of the score, so categories of counts with an
            exposure are encoded by their rate.
        y : array
            Their targets, in the units of the loss.
        features : Features
            The description of the columns.
        known : Features or None
            The description of the columns of a model that is continued; its encodings are used.
        """
        none = cls(context.workers, loss, context.seed, cross_fits=rows.n_rows > MANY_ROWS)
        if known is not None:
            sources = [encoding.sources for encoding in known.target_encodings]
            return replace(none, sources=sources, n_orderings=n_orderings)
        alone = single_sources(mode, features, loss.n_outputs)
        if not alone:
            return none
        categories = features.n_categories_per_feature()
        best = loss.checked_best_constant(y, rows.weight, rows.offset)
        pairs = none.pairs(y, rows.weight, best, rows.offset)
        table = rows.table()
        if len(y) > MAX_ROWS:
            some = combination_rows(len(y))
            table = rows.part(some).table()
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
        best = self.loss.checked_best_constant(y, sample.weight, sample.offset)
        pairs = self.pairs(y, sample.weight, best, sample.offset)
        if self.cross_fits:
            return self._cross_fit(sample, pairs, features, rows_to_encode)
        learned = TargetEncodings(
            self.workers,
            sample.columns,
            self.sources,
            features.n_categories_per_feature(),
            sample.rows,
            pairs,
        )
        versions = [learned.version(self.seed, v) for v in range(self.n_orderings)]
        tables = [rows_to_encode.with_columns(columns).table() for columns in versions]
        return features.with_target_encodings(learned.encodings()), tables

    def _cross_fit(
        self, sample: RowSet, pairs: Pairs, features: Any, rows_to_encode: RowSet
    ) -> tuple[Any, list[Columns]]:
        """Return what `learn` returns; `sample` is a part of `rows_to_encode`."""
        columns = sample.columns
        every = np.arange(columns.n_rows)
        own, encoded = (every if s.rows is None else s.rows for s in (sample, rows_to_encode))
        tables = []
        for version in range(self.n_orderings):
            drawn = np.full(columns.n_rows, NO_FOLD, dtype=np.uint8)
            drawn[encoded] = draw_encoding_folds(len(encoded), 0, self.seed, version)
            folds = np.full_like(drawn, NO_FOLD)
            folds[own] = drawn[own]
            rows = [KeyedRows(sample.table(), folds[own], pairs)]
            learned = learn_cross_fitting(
                self.workers,
                self.sources,
                features.n_categories_per_feature(),
                len(own),
                self.loss.n_outputs,
                partial(iter, rows),
            )
            table = columns.extended(learned.columns(columns, folds))
            tables.append(rows_to_encode.with_columns(table).table())
        return features.with_target_encodings(learned.encodings()), tables

    def pairs(
        self,
        y: npt.NDArray[Any],
        weight: npt.NDArray[np.float64] | None,
        best: Vector,
        offset: npt.NDArray[np.float64] | None = None,
    ) -> Pairs:
        """Return (g, h) of every row and output at the best constant, plus the offset."""
        bound = self.loss.bind(self.workers, y, weight)
        score = repeat_score(best, len(y))
        bound.evaluate(score if offset is None else np.asfortranarray(score + offset))
        outputs = range(self.loss.n_outputs)
        return [bound.gradients(k).pairs().reshape(-1).copy() for k in outputs]


def combination_rows(n_rows: int) -> npt.NDArray[np.int64]:
    """Return the positions of the training rows from which combinations are found."""
    return np.linspace(0, n_rows, MAX_ROWS, endpoint=False).astype(np.int64)


def single_sources(mode: str, features: Any, n_outputs: int) -> list[Sources]:
    """Return the features that a mode encodes, each by itself; empty: there is no encoding."""
    if mode == "sets" or (mode == "auto" and n_outputs > MAX_OUTPUTS):
        return []
    least = FEW if mode == "target" else MANY
    return [(f,) for f, n in enumerate(features.n_categories_per_feature()) if n > least]


def few_cuts(cuts: list[Any]) -> list[Any]:
    """Return at most `MAX_CUTS` evenly chosen cuts of each target-encoded column."""
    return [
        own[np.linspace(0, len(own), MAX_CUTS + 2)[1:-1].astype(np.intp)]
        if len(own) > MAX_CUTS
        else own
        for own in cuts
    ]
