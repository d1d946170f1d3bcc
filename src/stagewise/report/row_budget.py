"""How many rows and points a report has time for.

The one idea: a reader waits for seconds, and asking a model about a row takes as long as its trees
are many and deep. So large models are asked about fewer rows: by their size, not by the clock,
since the same model and rows give the same page on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stagewise.inspection.fitted_model import Fitted

__all__ = ["Patience", "patience"]

QUICK = 4000.0
"""Questions a row up to which nothing is saved: 500 trees of 31 leaves."""

NODES = 200
"""How many nodes take as long as a question."""


@dataclass(frozen=True)
class Patience:
    """The share of what is done for small models that there is time for.

    Attributes
    ----------
    share : float
        At most 1.
    """

    share: float

    def of(self, most: int, fewest: int) -> int:
        """Return how many of something there shall be, between two ends."""
        return int(np.clip(round(self.share * most), fewest, most))


def patience(fitted: Fitted) -> Patience:
    """Return how patient one can be with a model: by how many questions a row is asked.

    Σ over trees of the mean depth of its leaves, by the weight of the training rows in them; and a
    question for every so many nodes, since rows wait for trees that do not fit into a cache.
    """
    questions = sum(len(tree.feature) for tree in fitted.model.ensemble.trees) / NODES
    for tree in fitted.model.ensemble.trees:
        inner = tree.feature >= 0
        # A row in a node that asks has answered one question there.
        questions += float(tree.cover[inner].sum() / max(tree.cover[0], np.finfo(float).tiny))
    return Patience(min(1.0, QUICK / max(questions, 1.0)))
