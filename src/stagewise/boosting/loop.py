"""The boosting loop: f_m = f_(m-1) + ν · step(b_m).

The recipe has everything in which algorithms differ, and the monitor decides when to stop. One
model and the models of the folds of a cross-validation are boosted by the same loop. Forests have a
loop of their own (`forest_loop`), since their trees do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, VectorGradients, Workers
from stagewise.boosting.correction import TermAmounts
from stagewise.boosting.dropout import DroppedRounds
from stagewise.boosting.monitor import TRAIN, Evals, Monitor
from stagewise.boosting.native_rounds import NativeRounds
from stagewise.boosting.recipe import BoundRecipe
from stagewise.boosting.sampling import Bag, DrawInput
from stagewise.boosting.steps import StepInput, StepResult
from stagewise.exact_sums import mean_rows, sum_rows
from stagewise.losses import BoundLoss, Loss
from stagewise.losses.scores import squeeze_outputs
from stagewise.metrics.choice import LOSS
from stagewise.model.ensemble import Ensemble
from stagewise.model.terms import Terms

__all__ = ["Boosting", "EncodedRows", "MeasuredRows", "RoundResult", "boost"]

Vector = npt.NDArray[np.float64]


@dataclass
class EncodedRows:
    """Rows as a learner reads them, with their current scores.

    Parameters
    ----------
    table : list of Bins, or another input of the learner
        The features.
    y : array
        Targets in the units of the loss: float64, or int32 class codes.
    weight : float64 array or None
        How often each row counts; None: once.
    score : float64 array of shape (n_rows, n_outputs)
        F of the ensemble so far; the loop adds to it. Each output is contiguous in memory.
    source : Columns, or another input of the ensemble
        The same rows before they were encoded.
    """

    table: Any
    y: npt.NDArray[Any]
    weight: Vector | None
    score: npt.NDArray[np.float64]
    source: Any

    def __post_init__(self) -> None:
        self.score = np.asfortranarray(self.score)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)

    def bind(self, loss: Loss, workers: Workers) -> BoundLoss:
        """Return the loss bound to the rows."""
        return loss.bind(workers, self.y, self.weight)

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return float(len(self.y)) if self.weight is None else sum_rows(self.weight)


@dataclass(frozen=True)
class MeasuredRows:
    """A set of rows whose loss and metrics are measured after every round.

    Attributes
    ----------
    name : str
        The name of the set.
    rows : EncodedRows or StoredRows
        The rows, with their scores; they may be the training rows.
    metrics : BoundMetrics or None
        The metrics, as a function of the scores; None: only the loss.
    """

    name: str
    rows: Any
    metrics: Any = None

    def values(self, loss: BoundLoss) -> dict[str, float]:
        """Return the loss and the metrics of the scores so far."""
        mean = float(loss.evaluate(self.rows.score) / self.rows.total_weight)
        return {LOSS: mean, **self.metric_values(loss)}

    @property
    def has_metrics(self) -> bool:
        """Whether there are metrics besides the loss."""
        return self.metrics is not None and bool(self.metrics.metrics)

    def metric_values(self, loss: BoundLoss) -> dict[str, float]:
        """Return the metrics of the scores so far."""
        if not self.has_metrics:
            return {}
        found: dict[str, float] = self.metrics.values(self.rows.score, learned=loss.learned())
        return found


@dataclass(frozen=True)
class RoundResult:
    """The result of a round.

    Attributes
    ----------
    evals : mapping
        The mean loss and the metrics of every set.
    grown : bool
        Whether the model has new terms; if not, the losses are those of the round before.
    stop_reason : str
        Why there can be no further round; empty: there can.
    oob_improvement : float or None
        The decrease of the mean loss of the out-of-bag rows, if it is measured.
    """

    evals: Evals
    grown: bool
    stop_reason: str
    oob_improvement: float | None = None


class Boosting:
    """One additive model that is being fitted.

    Parameters
    ----------
    parts : BoundRecipe
        The algorithm, with the loss and the learner.
    ensemble : Ensemble or Terms
        Gets the terms of every round.
    train : EncodedRows or StoredRows
        The training rows.
    measured : sequence of MeasuredRows
        The sets that are measured; bins of them are made with the training rows' cuts.
    workers : Workers
        The threads.
    seed : int
        The key of all random numbers, together with the number of the round: a fit that continues
        an earlier one draws the same numbers as an uninterrupted fit.

    Attributes
    ----------
    train_loss : float
        The mean loss of the training rows so far.
    """

    def __init__(
        self,
        parts: BoundRecipe,
        ensemble: Ensemble | Terms,
        train: Any,
        measured: Sequence[MeasuredRows],
        workers: Workers,
        seed: int,
    ) -> None:
        self._parts, self._recipe = parts, parts.recipe
        self.ensemble, self.train, self.measured = ensemble, train, measured
        self._others = [own.rows for own in measured if own.rows is not train]
        self._workers, self._seed = workers, seed
        loss, response = parts.loss, parts.recipe.response
        self._turns = response.turns(loss, joint=parts.joint)
        self._bound = train.bind(loss, workers)
        self._losses_of = [
            self._bound if own.rows is train else own.rows.bind(loss.evaluation(), workers)
            for own in measured
        ]
        for own, bound in zip(measured, self._losses_of, strict=True):
            if own.rows is not train:
                bound.start(own.rows.score)
                bound.follow(self._bound)
        self._learner = parts.learner.start(
            workers,
            train.table,
            train.weight,
            train.y if response.of_classes else None,
            hessian_bound=response.hessian_bound(loss),
            hessian_is_weight=response.hessian_is_weight(
                loss, multiplied=parts.recipe.sampling.multiplies
            ),
            outputs=loss.n_outputs if parts.joint else 0,
            terms_per_round=len(self._turns),
        )
        self._vectors = VectorGradients(train.n_rows, loss.n_outputs) if parts.joint else None
        self.train_loss = self._bound.evaluate(train.score) / train.total_weight
        self._cached: tuple[int, Gradients] | None = None
        self._amounts = None
        if parts.recipe.correction is not None:
            self._amounts = TermAmounts([train, *self._others])
        self._best: list[Any] | None = None
        self.remember(ensemble.n_rounds)
        self._native = NativeRounds.of(
            parts,
            ensemble,
            train,
            self._bound,
            self._learner,
            [pair for pair in self._sets() if pair[0].rows is not train],
            workers,
            seed,
        )

    @property
    def rounds_at_once(self) -> int:
        """The largest number of rounds of one call of `block`."""
        if self._native is None or any(own.has_metrics for own in self.measured):
            return 1
        return self._native.at_once

    def block(self, numbers: range) -> dict[str, list[float]]:
        """Run native rounds; return the mean losses of every set after each of them.

        There are fewer if a loss is not finite.
        """
        assert self._native is not None
        names = [TRAIN, *(own.name for own in self.measured if own.rows is not self.train)]
        found = self._native.run(numbers.start, len(numbers))
        self.train_loss = float(found[-1, 0])
        return dict(zip(names, found.T.tolist(), strict=True))

    def _native_round(self, m: int) -> RoundResult:
        evals = {name: {LOSS: own[0]} for name, own in self.block(range(m, m + 1)).items()}
        for own, loss in self._sets():
            if own.has_metrics:
                evals[TRAIN if own.rows is self.train else own.name] |= own.metric_values(loss)
        return RoundResult(evals, True, "")

    def _sets(self) -> list[tuple[MeasuredRows, BoundLoss]]:
        """Return the sets that are measured, with their losses."""
        return list(zip(self.measured, self._losses_of, strict=True))

    def round(self, m: int) -> RoundResult:
        """Append the terms of round m to the ensemble and add them to the scores."""
        if self._native is not None:
            return self._native_round(m)
        recipe, train, turns = self._recipe, self.train, self._turns
        delta = self._bound.delta
        before = self._losses(delta) if recipe.out_of_bag else None
        dropped = self._drop(m)
        new, old = recipe.dropout.shares(len(dropped.rounds), recipe.learning_rate)
        bag = recipe.sampling.bag(self._draw_input(m))
        result = StepResult([])
        for turn, outputs in enumerate(turns):
            response = self._multiplied(outputs, bag)
            term = self._learner.grow(response, bag.rows, self._seed, m * len(turns) + turn)
            result = self._parts.step(self._step_input(outputs, term, bag))
            for places, value in self._split_outputs(outputs, result):
                # Of several scores, one may have nothing to learn.
                first = m == 0 and len(turns) == 1
                recipe.dropout.check(value, train.score[:, places], first=first)
                term = term.with_values(recipe.dropout.round_values(new * value))
                if result.linear_leaves is not None:
                    scaled = result.linear_leaves.scaled(new, recipe.dropout.grain)
                    term = term.with_linear_leaves(scaled)
                self.ensemble.append(term.part)
                self._learner.add(term, train.source, train.score[:, places])
                for rows in self._others:
                    held = rows.table, rows.source, rows.score[:, places]
                    self._learner.add_to_other_rows(term, *held)
                if self._amounts is not None and isinstance(places, int):
                    self._amounts.append(places, self._learner, term)
        dropped.restore(recipe.dropout, old)
        if result.values and recipe.correction == "each_round":
            self.correct()
        if result.values:
            self.train_loss = self._bound.evaluate(train.score) / train.total_weight
        return RoundResult(
            self._evals(),
            bool(result.values),
            result.stop_reason,
            None if before is None else self._oob_improvement(before, delta, bag),
        )

    def remember(self, best_round: int) -> None:
        """Copy the terms if this is the best round: later rounds may change them."""
        if self._recipe.changes_terms and best_round == self.ensemble.n_rounds:
            self._best = list(self.ensemble.terms)

    def rewind(self, rounds: int) -> None:
        """Restore the ensemble of the best round, the last one that was copied."""
        self.ensemble.truncate(rounds)
        if self._best is not None:
            self.ensemble.set_terms(self._best)

    def correct(self) -> None:
        """Fit the coefficients of all terms again, jointly."""
        assert self._amounts is not None
        terms = self.ensemble.terms
        self._amounts.truncate(len(terms))
        factors = self._amounts.refit(self._parts.loss)
        pairs = zip(terms, factors, strict=True)
        self.ensemble.set_terms([term.with_values(c * term.value) for term, c in pairs])

    def correct_at_end(self) -> RoundResult | None:
        """Correct the finished model; return its result, or None if it is not corrected."""
        if self._recipe.correction != "end" or not self.ensemble.n_rounds:
            return None
        self.correct()
        self.train_loss = self._bound.evaluate(self.train.score) / self.train.total_weight
        return RoundResult(self._evals(), True, "")

    def _drop(self, m: int) -> DroppedRounds:
        """Remove the rounds that are dropped for this one from the scores."""
        drawn = self._recipe.dropout.drawn(self.ensemble.n_rounds, self._seed, m)
        samples = [self.train, *self._others]
        dropped = DroppedRounds(drawn, self.ensemble, samples, self._workers)
        if drawn:
            self._bound.evaluate(self.train.score)
        return dropped

    def _multiplied(self, outputs: Sequence[int], bag: Bag) -> Gradients | VectorGradients:
        """Return the response of the next term, times how often each row counts."""
        hessians = not self._recipe.response.of_classes
        multiplied = (
            bag.multiply(self._response(k), self._workers, self.train.weight, hessians=hessians)
            for k in (outputs if self._vectors is not None else outputs[:1])
        )
        if self._vectors is None:
            return next(multiplied)
        for output, derivatives in enumerate(multiplied):
            self._vectors.take(output, derivatives)
        return self._vectors

    def _split_outputs(
        self, outputs: Sequence[int], result: StepResult
    ) -> Iterable[tuple[int | slice, npt.NDArray[np.float64]]]:
        """Return each part that the model keeps: its outputs and its values."""
        if self._vectors is not None and result.values:
            return [(slice(None), np.stack(result.values, axis=1))]
        return zip(outputs, result.values, strict=bool(result.values))

    def _response(self, output: int) -> Gradients:
        """Return the response of an output, before rows are multiplied."""
        cached, self._cached = self._cached, None
        if cached is not None and cached[0] == output:
            return cached[1]  # the sampling has read it
        return self._recipe.response.of(self._bound, output, self._workers, self.train.weight)

    def _cache(self, output: int) -> Gradients:
        response = self._response(output)
        self._cached = output, response
        return response

    def _draw_input(self, m: int) -> DrawInput:
        n, weight = self.train.n_rows, self.train.weight
        joint = self._parts.joint
        outputs = [k for turn in self._turns for k in (turn if joint else turn[:1])]
        return DrawInput(
            self._workers,
            n,
            weight,
            self._seed,
            m,
            lambda: map(self._cache, outputs),
            self._parts.spread,
            self._parts.groups,
        )

    def _losses(self, delta: float | None) -> Vector:
        scores = squeeze_outputs(self.train.score)
        return self._parts.loss.loss_with_delta(self.train.y, scores, delta)

    def _oob_improvement(self, before: Vector, delta: float | None, bag: Bag) -> float:
        """Return the decrease of the mean loss of the out-of-bag rows."""
        outside = np.ones(len(self.train.y), dtype=bool)
        outside[slice(None) if bag.rows is None else bag.rows] = False
        if not outside.any():
            return 0.0
        weight = None if self.train.weight is None else self.train.weight[outside]
        after = self._losses(delta)
        means = [mean_rows(x[outside], weight) for x in (before, after)]
        return means[0] - means[1]

    def _step_input(self, outputs: Sequence[int], term: Any, bag: Bag) -> StepInput:
        t = self.train
        return StepInput(
            self._parts.loss,
            self._bound,
            outputs,
            self._learner,
            term,
            t.y,
            t.weight,
            t.score,
            bag,
            self._workers,
            self._recipe.sampling.draws,
            t.source,
        )

    def _evals(self) -> dict[str, dict[str, float]]:
        """Return the mean loss and the metrics of every set; the training loss is there already."""
        evals = {TRAIN: {LOSS: self.train_loss}}
        for own, loss in self._sets():
            if own.rows is self.train:
                evals[TRAIN] |= own.metric_values(loss)
            else:
                evals[own.name] = own.values(loss)
        return evals


def boost(fits: Sequence[Boosting], rounds: range, monitor: Monitor) -> None:
    """Run rounds until they end, the monitor stops them, or no fit has a further round.

    Several fits are those of the folds of a cross-validation. They run side by side, one round or
    one block of rounds of each at a time, so that the mean loss of their held-out rows is available
    for every round. All fits end with the terms of the best round.

    Parameters
    ----------
    fits : sequence of Boosting
        The models that grow; usually one.
    rounds : range
        The numbers of the rounds.
    monitor : Monitor
        Records the losses and decides when to stop.
    """
    ended: dict[int, RoundResult] = {}
    most, first = min(fit.rounds_at_once for fit in fits), rounds.start
    while first < rounds.stop:
        block = range(first, min(first + monitor.rounds_at_once(most), rounds.stop))
        first = block.stop
        if len(block) > 1:
            losses = _mean_losses(fits, [fit.block(block) for fit in fits])
            stop = monitor.after_block(block.start + 1, losses)
        else:
            m = block.start
            results = [ended.get(i) or fit.round(m) for i, fit in enumerate(fits)]
            stop = not _record(fits, m, results, ended, monitor)
        if stop:
            break
    for fit in fits:
        fit.rewind(monitor.best_round)
    corrected = [fit.correct_at_end() for fit in fits]
    if all(result is not None for result in corrected):
        means = _mean_evals(fits, [result for result in corrected if result is not None])
        monitor.replace_round(monitor.best_round, means)


def _record(
    fits: Sequence[Boosting],
    m: int,
    results: list[RoundResult],
    ended: dict[int, RoundResult],
    monitor: Monitor,
) -> bool:
    """Record round m of all fits; return whether there is a further round."""
    grown = [r.grown for i, r in enumerate(results) if i not in ended]
    ended |= {i: r for i, r in enumerate(results) if r.stop_reason}
    if len(ended) == len(fits):
        reason = results[0].stop_reason if len(fits) == 1 else "no fold has a further round"
        monitor.end(reason)
    if not any(grown):
        return False
    if results[0].oob_improvement is not None:
        monitor.record_oob_improvement(results[0].oob_improvement)
    stop = monitor.after_round(m + 1, _mean_evals(fits, results))
    for fit in fits:
        fit.remember(monitor.best_round)
    return not (stop or len(ended) == len(fits))


def _mean_losses(
    fits: Sequence[Boosting], blocks: Sequence[Mapping[str, list[float]]]
) -> Mapping[str, list[float]]:
    """Return the mean losses of folds after each round of a block, as `_mean_evals`."""
    if len(fits) == 1:
        return blocks[0]
    n = min(len(own[TRAIN]) for own in blocks)
    weights = [fit.measured[0].rows.total_weight for fit in fits]
    return {
        name: np.average([own[name][:n] for own in blocks], axis=0, weights=weights).tolist()
        for name in blocks[0]
    }


def _mean_evals(fits: Sequence[Boosting], results: Sequence[RoundResult]) -> Evals:
    """Return the mean losses and metrics of folds, weighted by the held-out rows."""
    first = results[0].evals
    if len(fits) == 1:
        return first
    weights = [fit.measured[0].rows.total_weight for fit in fits]
    values = [[v for own in r.evals.values() for v in own.values()] for r in results]
    means = iter(np.average(values, axis=0, weights=weights).tolist())
    return {name: {metric: next(means) for metric in own} for name, own in first.items()}
