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

from stagewise._native import Gradients, VectorGradients, Workers
from stagewise.boosting.dropout import Absence
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.recipe import Recipe
from stagewise.boosting.sampling import Bag, Round
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
    source : Columns, or what else the ensemble reads
        The same rows before they were made ready for the learner.
    """

    table: Any
    y: npt.NDArray[Any]
    weight: Vector | None
    score: npt.NDArray[np.float64]
    source: Any

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
        self._turns = recipe.response.turns(loss, joint=recipe.joint)
        self._bound = loss.bind(workers, train.y, train.weight)
        self._watched = None if valid is None else loss.bind(workers, valid.y, valid.weight)
        self._growth = recipe.learner.start(
            workers,
            train.table,
            train.weight,
            train.y if recipe.response.of_classes else None,
            hessian_bound=recipe.response.hessian_bound(loss),
            hessian_is_weight=recipe.response.hessian_is_weight(
                loss, multiplied=recipe.sampling.multiplies
            ),
            outputs=loss.n_outputs if recipe.joint else 0,
        )
        self._vectors = VectorGradients(len(train.y), loss.n_outputs) if recipe.joint else None
        self._train_loss = self._bound.evaluate(train.score) / train.total_weight
        self._shown: tuple[int, Gradients] | None = None
        self._best: Ensemble | None = None
        self.remember(ensemble.n_rounds)

    def round(self, m: int) -> Outcome:
        """Append the terms of round m to the ensemble and add them to the scores."""
        recipe, train, valid, turns = self.recipe, self.train, self.valid, self._turns
        width = self._bound.delta
        before = self._losses(width) if recipe.out_of_bag else None
        absence = self._leave(m)
        new, old = recipe.dropout.shares(len(absence.rounds), recipe.learning_rate)
        bag = recipe.sampling.bag(self._draw(m))
        move = Move([])
        for turn, outputs in enumerate(turns):
            fitted_to = self._counted(outputs, bag)
            term = self._growth.grow(fitted_to, bag.rows, self._seed, m * len(turns) + turn)
            move = recipe.step(self._stage(outputs, term, bag))
            for places, value in self._parts(outputs, move):
                recipe.dropout.check(value, train.score[places], first=m == 0)
                term = term.with_values(recipe.dropout.settle(new * value))
                if move.lines is not None:
                    term = term.with_lines(move.lines.scaled(new, recipe.dropout.grain))
                self.ensemble.append(term.part)
                self._growth.add(term, train.source, train.score[places])
                if valid is not None:
                    held = valid.table, valid.source, valid.score[places]
                    self._growth.add_elsewhere(term, *held)
        absence.end(recipe.dropout, old)
        if move.values:
            self._train_loss = self._bound.evaluate(train.score) / train.total_weight
        return Outcome(
            self._train_loss,
            self._valid_loss(),
            bool(move.values),
            move.last,
            None if before is None else self._fall(before, width, bag),
        )

    def remember(self, best_round: int) -> None:
        """Keep the terms of the best round, if it is this one: dropout may change them later."""
        ensemble = self.ensemble
        if self.recipe.dropout.rate == 0 or not isinstance(ensemble, Ensemble):
            return  # nothing is ever changed
        if best_round == ensemble.n_rounds:
            self._best = ensemble.select_rounds(range(best_round))

    def rewind(self, rounds: int) -> None:
        """Make the ensemble what it was after the best round, the last one remembered."""
        self.ensemble.truncate(rounds)
        if self._best is not None and isinstance(self.ensemble, Ensemble):
            self.ensemble.replace_rounds(range(rounds), self._best)

    def _leave(self, m: int) -> Absence:
        """Take the rounds that are dropped for this one out of the scores."""
        drawn = self.recipe.dropout.drawn(self.ensemble.n_rounds, self._seed, m)
        samples = [rows for rows in (self.train, self.valid) if rows is not None]
        absence = Absence(drawn, self.ensemble, samples, self._workers)
        if drawn:
            self._bound.evaluate(self.train.score)
        return absence

    def _counted(self, outputs: Sequence[int], bag: Bag) -> Gradients | VectorGradients:
        """Return what the next term, of these outputs, is fitted to."""
        hessians = not self.recipe.response.of_classes
        counted = (
            bag.count(self._response(k), self._workers, self.train.weight, hessians=hessians)
            for k in (outputs if self._vectors is not None else outputs[:1])
        )
        if self._vectors is None:
            return next(counted)
        for output, derivatives in enumerate(counted):
            self._vectors.take(output, derivatives)
        return self._vectors

    def _parts(
        self, outputs: Sequence[int], move: Move
    ) -> Iterable[tuple[int | slice, npt.NDArray[np.float64]]]:
        """Return the values of each part that the model will keep, and the scores it adds to."""
        if self._vectors is not None and move.values:
            return [(slice(None), np.stack(move.values, axis=1))]
        return zip(outputs, move.values, strict=bool(move.values))

    def _response(self, output: int) -> Gradients:
        """Return what a term of this output is fitted to, all rows counted once."""
        shown, self._shown = self._shown, None
        if shown is not None and shown[0] == output:
            return shown[1]  # the draw has only looked at it
        return self.recipe.response.of(self._bound, output, self._workers, self.train.weight)

    def _show(self, output: int) -> Gradients:
        response = self._response(output)
        self._shown = output, response
        return response

    def _draw(self, m: int) -> Round:
        n, weight = len(self.train.y), self.train.weight
        joint = self.recipe.joint
        shown = [k for outputs in self._turns for k in (outputs if joint else outputs[:1])]
        return Round(self._workers, n, weight, self._seed, m, lambda: map(self._show, shown))

    def _losses(self, width: float | None) -> Vector:
        return self.recipe.loss.loss_with_delta(self.train.y, self.train.score, width)

    def _fall(self, before: Vector, width: float | None, bag: Bag) -> float:
        """Return by how much the mean loss of the rows outside the bag fell."""
        outside = np.ones(len(self.train.y), dtype=bool)
        outside[slice(None) if bag.rows is None else bag.rows] = False
        if not outside.any():
            return 0.0
        weight = None if self.train.weight is None else self.train.weight[outside]
        after = self._losses(width)
        means = [float(np.average(x[outside], weights=weight)) for x in (before, after)]
        return means[0] - means[1]

    def _stage(self, outputs: Sequence[int], term: Any, bag: Bag) -> Stage:
        t = self.train
        return Stage(
            self.recipe.loss,
            self._bound,
            outputs,
            self._growth,
            term,
            t.y,
            t.weight,
            t.score,
            bag,
            self._workers,
            self.recipe.sampling.draws,
            t.source,
        )

    def _valid_loss(self) -> float | None:
        if self.valid is None or self._watched is None:
            return None
        return self._watched.evaluate(self.valid.score) / self.valid.total_weight


def boost(model: Boosting, rounds: Iterable[int], monitor: Monitor) -> None:
    """Run rounds until they, the monitor or the method end; keep the best one's model.

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
        stop = monitor.after_round(m + 1, outcome.train_loss, outcome.valid_loss)
        model.remember(monitor.best_round)
        if stop or outcome.last:
            break
    model.rewind(monitor.best_round)
