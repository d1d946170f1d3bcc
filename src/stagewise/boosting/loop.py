"""The only loop: f_m = f_(m-1) + ν · step(b_m).

The one idea: everything that makes one algorithm differ from another is in the recipe; everything
that watches a fit is in the monitor. What is left is here, and it fits on a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.recipe import Recipe
from stagewise.boosting.steps import Move, Stage
from stagewise.model.ensemble import Ensemble
from stagewise.model.terms import Terms

__all__ = ["Boosting", "Outcome", "Rows", "boost"]

Vector = npt.NDArray[np.float64]


@dataclass
class Rows:
    """Rows and what is known of them.

    Parameters
    ----------
    table : Bins or what else the learner learns from
        The features.
    y : array
        Targets on the scale of the loss: float64, or int32 class codes.
    weight : float64 array or None
        How often each row counts; None: once.
    score : float64 array of shape (n_outputs, n_rows)
        F of the ensemble so far; the loop adds to it.
    """

    table: Any
    y: npt.NDArray[Any]
    weight: Vector | None
    score: npt.NDArray[np.float64]

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())


@dataclass(frozen=True)
class Outcome:
    """What a round came to.

    Attributes
    ----------
    train_loss : float
        The mean loss of the training rows.
    valid_loss : float or None
        That of the held-out rows, if there are any.
    taken : bool
        Whether the model grew; if not, the losses are those of the round before.
    last : str
        Why there can be no round after this one; empty: there can.
    out_of_bag : float or None
        By how much the mean loss of the rows outside the bag fell, if that is measured.
    """

    train_loss: float
    valid_loss: float | None
    taken: bool
    last: str
    out_of_bag: float | None = None


class Boosting:
    """One additive model on its way, and what it keeps from round to round.

    Parameters
    ----------
    recipe : Recipe
        The algorithm.
    ensemble : Ensemble or Terms
        Grows by one part per output and round.
    train : Rows
        What is learned from.
    valid : Rows or None
        Held-out rows; bins of them are made with the training rows' cuts.
    workers : Workers
        The threads.
    seed : int
        Keys all random numbers, together with the number of the round: a fit that continues an
        earlier one draws what an uninterrupted fit would have drawn.
    """

    def __init__(
        self,
        recipe: Recipe,
        ensemble: Ensemble | Terms,
        train: Rows,
        valid: Rows | None,
        workers: Workers,
        seed: int,
    ) -> None:
        self.recipe, self.ensemble, self.train, self.valid = recipe, ensemble, train, valid
        self._workers, self._seed = workers, seed
        loss = recipe.loss
        self._turns = recipe.response.turns(loss)
        self._bound = loss.bind(workers, train.y, train.weight)
        self._watched = None if valid is None else loss.bind(workers, valid.y, valid.weight)
        self._growth = recipe.learner.start(
            workers,
            train.table,
            train.weight,
            train.y if recipe.response.of_classes else None,
            hessian_bound=recipe.response.hessian_bound(loss),
            hessian_is_weight=recipe.response.hessian_is_weight(loss),
        )
        self._train_loss = self._bound.look(train.score) / train.total_weight

    def round(self, m: int) -> Outcome:
        """Append the terms of round m to the ensemble and add them to the scores."""
        recipe, train, valid, turns = self.recipe, self.train, self.valid, self._turns
        bag = recipe.sampling.bag(len(train.y), self._seed, m)
        outside = self._outside(bag) if recipe.out_of_bag else None
        width = self._bound.width
        before = self._mean_loss(outside, width)
        move = Move([])
        for turn, outputs in enumerate(turns):
            response = recipe.response.of(self._bound, outputs[0], self._workers, train.weight)
            term = self._growth.grow(response, bag, self._seed, m * len(turns) + turn)
            move = recipe.step(self._stage(outputs, term, bag))
            for output, value in zip(outputs, move.values, strict=bool(move.values)):
                term = term.with_values(recipe.learning_rate * value)
                self.ensemble.append(term.part)
                self._growth.add(term, train.score[output])
                if valid is not None:
                    self._growth.add_elsewhere(term, valid.table, valid.score[output])
        if move.values:
            self._train_loss = self._bound.look(train.score) / train.total_weight
        return Outcome(
            self._train_loss,
            self._valid_loss(),
            bool(move.values),
            move.last,
            before - self._mean_loss(outside, width) if recipe.out_of_bag else None,
        )

    def _outside(self, bag: npt.NDArray[np.uint32] | None) -> npt.NDArray[np.bool_] | None:
        if bag is None:
            return None
        outside = np.ones(len(self.train.y), dtype=bool)
        outside[bag] = False
        return outside if outside.any() else None

    def _mean_loss(self, rows: npt.NDArray[np.bool_] | None, width: float | None) -> float:
        if rows is None:
            return 0.0
        t = self.train
        losses = self.recipe.loss.loss_within(t.y[rows], t.score[:, rows], width)
        return float(np.average(losses, weights=None if t.weight is None else t.weight[rows]))

    def _stage(
        self, outputs: Sequence[int], term: Any, bag: npt.NDArray[np.uint32] | None
    ) -> Stage:
        t = self.train
        loss = self.recipe.loss
        drawn = self.recipe.sampling.draws
        return Stage(
            loss, self._bound, outputs, self._growth, term, t.y, t.weight, t.score, bag, drawn
        )

    def _valid_loss(self) -> float | None:
        if self.valid is None or self._watched is None:
            return None
        return self._watched.look(self.valid.score) / self.valid.total_weight


def boost(model: Boosting, rounds: Iterable[int], monitor: Monitor) -> None:
    """Run rounds until they, the monitor or the method end.

    Parameters
    ----------
    model : Boosting
        What grows.
    rounds : iterable of int
        The numbers of the rounds.
    monitor : Monitor
        Is told the losses, says when to stop.
    """
    for m in rounds:
        outcome = model.round(m)
        if outcome.last:
            monitor.end(outcome.last)
        if not outcome.taken:
            break
        if outcome.out_of_bag is not None:
            monitor.note_out_of_bag(outcome.out_of_bag)
        if monitor.after_round(m + 1, outcome.train_loss, outcome.valid_loss) or outcome.last:
            break
