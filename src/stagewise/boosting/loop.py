"""The only loop: f_m = f_(m-1) + ν · step(b_m).

The one idea: everything that makes one algorithm differ from another is in the recipe; everything
that watches a fit is in the monitor. What is left is here, and it fits on a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Bins, Workers
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.recipe import Recipe
from stagewise.model.ensemble import Ensemble

__all__ = ["Rows", "boost"]

Vector = npt.NDArray[np.float64]


@dataclass
class Rows:
    """Rows and what is known of them.

    Parameters
    ----------
    bins : Bins
        The features.
    y : array
        Targets on the scale of the loss: float64, or int32 class codes.
    weight : float64 array or None
        How often each row counts; None: once.
    score : float64 array of shape (n_outputs, n_rows)
        F of the ensemble so far; the loop adds to it.
    """

    bins: Bins
    y: npt.NDArray[Any]
    weight: Vector | None
    score: npt.NDArray[np.float64]

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())


def boost(
    recipe: Recipe,
    ensemble: Ensemble,
    train: Rows,
    valid: Rows | None,
    rounds: Iterable[int],
    monitor: Monitor,
    workers: Workers,
    seed: int,
) -> None:
    """Append one term per output and round to the ensemble, until the rounds or the monitor end.

    Parameters
    ----------
    recipe : Recipe
        The algorithm.
    ensemble : Ensemble
        Grows by one tree per output and round.
    train : Rows
        What is learned from.
    valid : Rows or None
        Held-out rows, binned with the training rows' cuts.
    rounds : iterable of int
        The numbers of the rounds; they key the random numbers, so a fit that continues an earlier
        one draws what an uninterrupted fit would have drawn.
    monitor : Monitor
        Is told the losses, says when to stop.
    workers : Workers
        The threads.
    seed : int
        Keys all random numbers.
    """
    loss = recipe.loss
    bound = loss.bind(workers, train.y, train.weight)
    watched = None if valid is None else loss.bind(workers, valid.y, valid.weight)
    growth = recipe.learner.start(
        workers,
        train.bins,
        train.weight,
        hessian_bound=loss.hessian_bound,
        hessian_is_weight=loss.hessian_is_weight,
    )
    bound.look(train.score)
    for m in rounds:
        bag = recipe.sampling.bag(len(train.y), seed, m)
        for k, score in enumerate(train.score):
            term = growth.grow(bound.gradients(k), bag, seed, m * loss.n_outputs + k)
            value = recipe.learning_rate * recipe.step(bound, growth, term, train.y, score)
            term = term.with_values(value)
            ensemble.append(term.tree)
            growth.add(term, score)
            if valid is not None:
                growth.add_elsewhere(term, valid.bins, valid.score[k])
        train_loss = bound.look(train.score) / train.total_weight
        valid_loss = None
        if valid is not None and watched is not None:
            valid_loss = watched.look(valid.score) / valid.total_weight
        if monitor.after_round(m + 1, train_loss, valid_loss):
            break
