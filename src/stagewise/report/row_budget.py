"""The number of rows and grid points that a report uses.

A report should take seconds, and prediction takes longer with more and deeper trees, so large
models use fewer rows. The size of the model decides, not the clock: the same model and rows give
the same page on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stagewise.inspection.fitted_model import FittedModel

__all__ = ["RowBudget", "row_budget"]

FULL_BUDGET = 4000.0
"""Splits per row up to which the full budget is used: 500 trees of 31 leaves."""

NODES = 200
"""The number of stored nodes that cost as much as one split of a row."""


@dataclass(frozen=True)
class RowBudget:
    """The share of the full number of rows and points.

    Attributes
    ----------
    share : float
        At most 1.
    """

    share: float

    def limit(self, most: int, fewest: int) -> int:
        """Return the scaled number, between `fewest` and `most`."""
        return int(np.clip(round(self.share * most), fewest, most))


def row_budget(fitted: FittedModel) -> RowBudget:
    """Return the row budget of a model, from the number of splits that a row passes.

    This is the sum over trees of the mean depth of the leaves, weighted by the training rows, plus
    one for every `NODES` nodes, since trees that do not fit into the cache are slower.
    """
    splits = sum(len(tree.feature) for tree in fitted.model.ensemble.trees) / NODES
    for tree in fitted.model.ensemble.trees:
        inner = tree.feature >= 0
        # A row in an inner node passes one split there.
        splits += float(tree.cover[inner].sum() / max(tree.cover[0], np.finfo(float).tiny))
    return RowBudget(min(1.0, FULL_BUDGET / max(splits, 1.0)))
