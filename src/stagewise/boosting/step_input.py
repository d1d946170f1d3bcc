"""The inputs and the result of a step, and the step that keeps a term as it was fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.boosting.sampling import Bag
from stagewise.learners.learner import BoundLearner, Term
from stagewise.learners.tree_learner import BoundTree, GrownTerm
from stagewise.losses import BoundLoss, Loss
from stagewise.trees.linear_leaves import LinearLeaves

__all__ = ["Step", "StepInput", "StepResult", "newton", "tree_of"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StepInput:
    """The inputs of a step: a fitted term, the loss and the scores before the term.

    Attributes
    ----------
    loss, bound : Loss, BoundLoss
        The loss, and its derivatives at the scores before this term.
    outputs : sequence of int
        The scores that the term adds to.
    learner, term : BoundLearner, Term
        The learner, and the term that it has fitted.
    y, weight : array, float64 array or None
        The targets, and how often each row counts.
    score : float64 array of shape (n_rows, n_outputs)
        The scores before this term.
    bag : Bag
        The rows that the term was fitted to, and how often each counts.
    workers : Workers
        The threads.
    drawn : bool
        Whether the next round will have other rows.
    source : Columns, or another input of the ensemble
        The rows before they were encoded for the learner.
    """

    loss: Loss
    bound: BoundLoss
    outputs: Sequence[int]
    learner: BoundLearner
    term: Term
    y: npt.NDArray[Any]
    weight: Vector | None
    score: npt.NDArray[np.float64]
    bag: Bag
    workers: Workers
    drawn: bool
    source: Any

    def derivatives(self, output: int) -> Gradients:
        """Return the loss's derivatives, times how often each row counts in this round."""
        own = self.bound.gradients(output)
        return self.bag.multiply(own, self.workers, self.weight, hessians=True)

    def quantile_times(self, output: int) -> npt.NDArray[np.float32] | None:
        """Return how often each row counts in a quantile of residuals, besides its weight."""
        own = self.loss.residual_weight(self.y, output)
        if own is None:
            return self.bag.multiplier
        times = own if self.bag.multiplier is None else own * self.bag.multiplier
        return times.astype(np.float32)

    def row_weights(self) -> Gradients:
        """Return the row weights of the loss, times how often each row counts in this round."""
        own = self.bound.row_weights()
        return self.bag.multiply(own, self.workers, self.weight, hessians=False)


@dataclass(frozen=True)
class StepResult:
    """The values that a step sets.

    Attributes
    ----------
    values : sequence of float64 array
        The values of the term's nodes, for each of its outputs; empty: the term is rejected.
    stop_reason : str
        Why there can be no further round; empty: there can.
    linear_leaves : LinearLeaves or None
        The linear models of the leaves of a tree with one output; None: all are constants.
    """

    values: Sequence[Vector]
    stop_reason: str = ""
    linear_leaves: LinearLeaves | None = None


Step = Callable[[StepInput], StepResult]


def newton(given: StepInput) -> StepResult:
    """Return the term as it was fitted: a tree's w = -G / (H + λ) (Chen & Guestrin, eq. 5)."""
    value = given.term.value
    return StepResult([value] if value.ndim == 1 else list(value.T))


def tree_of(given: StepInput) -> tuple[BoundTree, GrownTerm]:
    """Return the learner and the tree of a step, or raise ValueError if the term is no tree."""
    learner, term = given.learner, given.term
    if isinstance(learner, BoundTree) and isinstance(term, GrownTerm):
        return learner, term
    raise ValueError(
        "this step sets the values of leaves, so the learner must be a tree; use "
        "step='line_search' or 'votes'."
    )
