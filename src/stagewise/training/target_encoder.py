"""The statistics of levels that a fit makes: which ones, and from which rows.

The one idea: a level says the step that a leaf of its rows would take from the best constant, so
every loss and every number of classes has its statistics. They are learned from the training rows
alone, like everything else that comes before the first round. Must not know trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Workers
from stagewise.data.categories.combinations import find_combinations
from stagewise.data.categories.target_encoding import Sources, TargetEncodings
from stagewise.data.features import Features
from stagewise.losses import Loss
from stagewise.training.row_set import Sample
from stagewise.validation.tree_needs import check_need, is_possible

__all__ = ["TargetEncoder", "few_cuts"]

Pairs = list[npt.NDArray[np.float32]]

FEW = 4
"""Up to this many levels sets of them are all that can be asked about."""
MANY = 50
"""With categorical="auto", a table has statistics if a column has more levels than this."""
MOST_OUTPUTS = 8
"""With categorical="auto", classes up to which a table has statistics: each has its own columns."""
MOST_CUTS = 31
"""Of a column of statistics: what tells its values apart more finely is mostly chance."""
MOST_ROWS = 100_000
"""From which combinations are found."""


@dataclass(frozen=True)
class TargetEncoder:
    """What a fit averages, and how.

    Parameters
    ----------
    workers : Workers
        The threads.
    loss : Loss
        Whose steps are averaged.
    seed : int
        Keys the orders of the rows.
    sources : sequence of tuple of int
        The features, and combinations of features, by whose levels to average; empty: none.
    permutations : int
        In how many orders.
    """

    workers: Workers
    loss: Loss
    seed: int
    sources: Sequence[Sources] = ()
    permutations: int = 1

    @classmethod
    def choose(
        cls,
        params: Mapping[str, Any],
        workers: Workers,
        loss: Loss,
        seed: int,
        sample: Sample,
        y: npt.NDArray[Any],
        features: Any,
        known: Features | None,
    ) -> TargetEncoder:
        """Choose what to average by, unless the features of a model that is continued say it.

        Parameters
        ----------
        params : mapping
            The estimator's: `categorical`, and those that have no meaning together with it.
        workers, loss, seed
            See the class.
        sample : Sample
            The training rows.
        y : array
            Their targets, as the loss wants them.
        features : Features
            What is known of the columns.
        known : Features or None
            Those of the model that is continued.
        """
        none = cls(workers, loss, seed)
        mode = params.get("categorical", "sets")
        if known is not None:
            sources = [statistic.sources for statistic in known.target_encodings]
            if sources:
                check_need(params, "categorical", "statistics")
            return replace(none, sources=sources, permutations=params.get("permutations", 1))
        if mode == "sets":
            return none
        if mode == "statistics":
            check_need(params, "categorical", "statistics")
        levels = features.n_categories_per_feature()
        least = FEW if mode == "statistics" else MANY
        alone = [(f,) for f, n in enumerate(levels) if n > least]
        too_many = mode == "auto" and loss.n_outputs > MOST_OUTPUTS
        if too_many or not alone or not is_possible(params, "categorical", "statistics"):
            return none
        pairs = none._pairs(y, sample.weight)
        table = sample.table()
        if len(y) > MOST_ROWS:
            rows = np.linspace(0, len(y), MOST_ROWS, endpoint=False).astype(np.uint32)
            table = sample.part(rows.astype(np.intp)).table()
            pairs = [p.reshape(-1, 2)[rows].reshape(-1) for p in pairs]
        together = find_combinations(workers, table, levels, pairs, seed)
        return replace(none, sources=[*alone, *together], permutations=params["permutations"])

    def learn(
        self,
        sample: Sample,
        y: npt.NDArray[Any],
        features: Any,
        rows_to_encode: Sample | None = None,
    ) -> tuple[Any, list[Columns]]:
        """Learn from a sample what levels say.

        Parameters
        ----------
        sample : Sample
            The rows to learn from.
        y : array
            Their targets, as the loss wants them.
        features : Features
            What is known of the columns.
        told : Sample or None
            The rows that are told, of the same table; None: the same.

        Returns
        -------
        features : Features
            With the statistics.
        tables : list of Columns
            The rows that are told, in as many versions as there are orders.
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
        versions = [learned.version(self.seed, v) for v in range(self.permutations)]
        tables = [rows_to_encode.of(columns).table() for columns in versions]
        return features.with_target_encodings(learned.encodings()), tables

    def _pairs(self, y: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None) -> Pairs:
        """Return (g, h) of every row and output at the best constant."""
        bound = self.loss.bind(self.workers, y, weight)
        best = self.loss.best_constant(y, weight)
        bound.evaluate(np.repeat(best[:, np.newaxis], len(y), axis=1))
        outputs = range(self.loss.n_outputs)
        return [bound.gradients(k).pairs().reshape(-1).copy() for k in outputs]


def few_cuts(codings: list[Any], first: int) -> list[Any]:
    """Return codings with at most `MOST_CUTS` cuts from some feature on, evenly chosen."""
    thinned = [
        cuts[np.linspace(0, len(cuts), MOST_CUTS + 2)[1:-1].astype(np.intp)]
        if len(cuts) > MOST_CUTS
        else cuts
        for cuts in codings[first:]
    ]
    return [*codings[:first], *thinned]
