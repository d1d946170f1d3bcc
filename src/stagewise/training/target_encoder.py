"""The target encoder of a fit: chooses the features to encode, and encodes them.

The encoding of a category is the Newton step that a leaf with its rows would take from the best
constant, so it is defined for every loss and every number of classes. It is learned from the
training rows only. This module must not import trees.
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
from stagewise.training.rows import Sample
from stagewise.validation.tree_needs import check_need, is_possible

__all__ = ["TargetEncoder", "few_cuts"]

Pairs = list[npt.NDArray[np.float32]]

FEW = 4
"""Features with at most this many categories are not encoded: category sets suffice."""
MANY = 50
"""With categorical="auto", features with more categories than this are encoded."""
MOST_OUTPUTS = 8
"""With categorical="auto", nothing is encoded if there are more outputs: each has own columns."""
MOST_CUTS = 31
"""The largest number of cuts of an encoded column; finer differences are mostly noise."""
MOST_ROWS = 100_000
"""The largest number of rows from which combinations are searched."""


@dataclass(frozen=True)
class TargetEncoder:
    """The target encoder of one fit.

    Parameters
    ----------
    workers : Workers
        The threads.
    loss : Loss
        The loss whose gradients are averaged.
    seed : int
        Determines the permutations of the rows.
    sources : sequence of tuple of int
        The features, and combinations of features, to encode; empty: none.
    permutations : int
        The number of permutations.
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
        """Return an encoder with the features to encode: those of a continued model, or chosen.

        Parameters
        ----------
        params : mapping
            The estimator's parameters: `categorical`, and those that cannot be combined with it.
        workers, loss, seed
            See the class.
        sample : Sample
            The training rows.
        y : array
            Their targets, as the loss uses them.
        features : Features
            The features.
        known : Features or None
            The features of the model that is continued.
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
        """Learn the target encodings from a sample.

        Parameters
        ----------
        sample : Sample
            The training rows.
        y : array
            Their targets, as the loss uses them.
        features : Features
            The features.
        rows_to_encode : Sample or None
            The rows to encode, of the same table; None: the training rows.

        Returns
        -------
        features : Features
            With the target encodings.
        tables : list of Columns
            The rows to encode with the encoded columns, one version per permutation.
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
