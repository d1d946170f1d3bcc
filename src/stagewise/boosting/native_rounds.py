"""Rounds that run in one native call.

A round of a tree with Newton's step needs nothing of Python but its calls, which take longer than a
tree of a hundred rows. Fits whose parts are all native run many rounds at a time; the models have
the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Rounds, Workers
from stagewise.boosting import responses
from stagewise.boosting.recipe import BoundRecipe
from stagewise.boosting.step_input import newton
from stagewise.learners.tree_learner import BoundTree
from stagewise.losses import BoundLoss
from stagewise.losses.kernel import NativeBoundLoss
from stagewise.model.ensemble import Ensemble
from stagewise.model.tree_list import flat_trees

__all__ = ["ROUNDS_AT_ONCE", "NativeRounds"]

ROUNDS_AT_ONCE = 64
"""The largest number of rounds of a call."""
ROWS_AT_ONCE = 1 << 17
"""The number of rows times trees of a call: it takes some hundredths of a second."""


class NativeRounds:
    """The native rounds of one fit.

    Parameters
    ----------
    rounds : Rounds
        The native object.
    ensemble : Ensemble
        Gets the trees.
    n_rows : int
        The number of training rows.
    n_sets : int
        The number of sets that are measured, the training rows included.
    """

    def __init__(self, rounds: Rounds, ensemble: Ensemble, n_rows: int, n_sets: int) -> None:
        self._rounds, self._ensemble, self._n_sets = rounds, ensemble, n_sets
        rows = max(1, n_rows) * ensemble.trees_per_round
        self.at_once = max(1, min(ROUNDS_AT_ONCE, ROWS_AT_ONCE // rows))

    @classmethod
    def of(
        cls,
        parts: BoundRecipe,
        ensemble: Any,
        train: Any,
        bound: BoundLoss,
        learner: Any,
        measured: Sequence[tuple[Any, BoundLoss]],
        workers: Workers,
        seed: int,
    ) -> NativeRounds | None:
        """Return the rounds of a fit; None: something of it needs Python in every round.

        Parameters
        ----------
        parts : BoundRecipe
            The algorithm.
        ensemble : Ensemble or Terms
            Gets the terms.
        train : EncodedRows or StoredRows
            The training rows.
        bound : BoundLoss
            Their loss.
        learner : BoundLearner
            The learner with the training rows.
        measured : sequence of (MeasuredRows, BoundLoss)
            The other sets that are measured, with their losses.
        workers : Workers
            The threads.
        seed : int
            The key of all random numbers.
        """
        recipe = parts.recipe
        if not (isinstance(bound, NativeBoundLoss) and isinstance(learner, BoundTree)):
            return None
        plain = (
            parts.step is newton
            and recipe.response is responses.newton
            and recipe.dropout.rate == 0
            and recipe.correction is None
            and not recipe.out_of_bag
        )
        draw = recipe.sampling.native(parts.spread)
        if not plain or draw is None or not isinstance(ensemble, Ensemble):
            return None
        rounds = Rounds(
            workers,
            bound.rows,
            train.score.T.reshape(-1),
            train.total_weight,
            train.weight,
            *learner.growers,
            draw.only,
            draw.name,
            *draw.numbers,
            recipe.learning_rate,
            seed,
            parts.joint,
        )
        for own, loss in measured:
            if not isinstance(loss, NativeBoundLoss):
                return None
            rows = own.rows
            rounds.measure(loss.rows, rows.score.T.reshape(-1), rows.total_weight, rows.table)
        return cls(rounds, ensemble, len(train.y), 1 + len(measured))

    def run(self, first: int, count: int) -> npt.NDArray[np.float64]:
        """Add the trees of rounds to the ensemble, and their values to all scores.

        Returns
        -------
        float64 array of shape (n_rounds, n_sets)
            The mean losses after each round: of the training rows, then of the measured sets.
            There are fewer rounds if a loss is not finite.
        """
        start, *arrays, sets, bits, losses = self._rounds.run(first, count)
        self._ensemble.append_flat(flat_trees(start, arrays, sets, bits))
        return losses.reshape(-1, self._n_sets)
