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
from stagewise.boosting.steps import Move, Stage
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
        train.y if recipe.response.of_classes else None,
        hessian_bound=recipe.response.hessian_bound(loss),
        hessian_is_weight=recipe.response.hessian_is_weight(loss),
    )
    turns = recipe.response.turns(loss)
    bound.look(train.score)
    for m in rounds:
        bag = recipe.sampling.bag(len(train.y), seed, m)
        move = Move([])
        for turn, outputs in enumerate(turns):
            response = recipe.response.of(bound, outputs[0], workers, train.weight)
            term = growth.grow(response, bag, seed, m * len(turns) + turn)
            move = recipe.step(Stage(loss, bound, outputs, growth, term, train.y, train.score))
            for output, value in zip(outputs, move.values, strict=bool(move.values)):
                term = term.with_values(recipe.learning_rate * value)
                ensemble.append(term.tree)
                growth.add(term, train.score[output])
                if valid is not None:
                    growth.add_elsewhere(term, valid.bins, valid.score[output])
        if not move.values:
            monitor.end(move.last)
            break
        train_loss = bound.look(train.score) / train.total_weight
        valid_loss = None
        if valid is not None and watched is not None:
            valid_loss = watched.look(valid.score) / valid.total_weight
        if monitor.after_round(m + 1, train_loss, valid_loss):
            break
        if move.last:
            monitor.end(move.last)
            break
