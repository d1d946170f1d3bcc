"""The search of an automatic model: fit candidates to folds, weight them, fit them to all rows.

Candidates share the table, the folds and the threads. Every model that is fitted can be used: if
the time is over, or the user interrupts the search, the models of the folds are the members of the
sum instead of the models of all rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.progress import ProgressLines
from stagewise.estimators.auto.candidates import Plan
from stagewise.estimators.auto.crosses import choose_crosses
from stagewise.estimators.auto.held_out_losses import HeldOutLosses
from stagewise.estimators.auto.weights import choose_factor, choose_weights
from stagewise.losses import Loss
from stagewise.losses.scores import squeeze_outputs
from stagewise.model.model import Model
from stagewise.model.weighted_sum import weighted_sum
from stagewise.training.boosting_trainer import cross_fit, train_boosting
from stagewise.training.preparation import learn_scale, scale_target
from stagewise.training.reading.folds import Folds, fold_sizes, refit_rounds
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import CrossFit, FitResult
from stagewise.training.specs import BoostingSpec, FitContext
from stagewise.validation.messages import collect_warnings, warn_caller

__all__ = ["AutoSpec", "CandidateSpec", "Search", "Trial", "search"]

Vector = npt.NDArray[np.float64]

SEARCH_SHARE = 0.6
"""The share of the time limit after which no more candidates are fitted to folds."""
INTERRUPTED, LIMIT = "interrupted", "time_limit of"
"""The reasons why a search ends early."""
SAFETY = 1.2
"""The factor by which a fit to all rows may take longer than estimated."""


@dataclass(frozen=True)
class CandidateSpec:
    """The specification of a candidate.

    Attributes
    ----------
    boosting : BoostingSpec
        Its parameters.
    n_crossed : int
        The number of features to cross.
    """

    boosting: BoostingSpec
    n_crossed: int = 0


@dataclass(frozen=True)
class AutoSpec:
    """An automatic model.

    Attributes
    ----------
    plan : Plan
        What the search does.
    specs : dict of str to CandidateSpec
        The candidates by name.
    time_limit : float or None
        Seconds.
    verbose : int
        Whether progress is shown.
    """

    plan: Plan
    specs: dict[str, CandidateSpec]
    time_limit: float | None = None
    verbose: int = 0


@dataclass
class Trial:
    """A candidate, and the models that were fitted with it.

    Attributes
    ----------
    name : str
        Its name.
    spec : CandidateSpec
        Its specification.
    data : TrainingData
        The rows, with the crosses of the candidate once they are chosen.
    folds : Folds
        The folds that were run.
    fits : list of CrossFit
        Their models.
    oof_scores : float64 array of shape (n_rows, n_outputs)
        The scores of held-out rows; NaN for others.
    seconds, refit_time : float
        The time of these fits, and that of the fit to all rows.
    weight : float
        Its weight in the sum.
    refit : FitResult or None
        The model of all rows.
    losses : HeldOutLosses or None
        The losses of held-out rows; None: there are none.
    """

    name: str
    spec: CandidateSpec
    data: TrainingData
    oof_scores: Vector
    folds: Folds = field(default_factory=list)
    fits: list[CrossFit] = field(default_factory=list)
    seconds: float = 0.0
    refit_time: float = 0.0
    weight: float = 0.0
    refit: FitResult | None = None
    losses: HeldOutLosses | None = None

    @property
    def mean_loss(self) -> float:
        """The mean loss of held-out rows."""
        return math.inf if self.losses is None else self.losses.mean

    def add(self, folds: Folds, fit: CrossFit, seconds: float) -> None:
        """Add the models of further folds; a row that several folds hold out has their mean."""
        before, now = (self._times_held(f)[:, np.newaxis] for f in (self.folds, folds))
        total = np.nan_to_num(before * self.oof_scores) + np.nan_to_num(now * fit.oof_scores)
        times = before + now
        self.oof_scores = np.where(times > 0, total / np.maximum(times, 1), np.nan)
        self.folds = [*self.folds, *folds]
        self.fits.append(fit)
        self.seconds += seconds

    def _times_held(self, folds: Folds) -> Vector:
        """Return how often folds hold each row out."""
        held = np.concatenate([np.empty(0, dtype=np.intp), *(held for _, held in folds)])
        return np.bincount(held, minlength=len(self.oof_scores)).astype(np.float64)

    @property
    def fold_models(self) -> list[Model]:
        """The models of the folds."""
        return [model for fit in self.fits for model in fit.models]

    @property
    def rounds(self) -> int:
        """The number of rounds of the model of all rows, or the mean of those of the folds."""
        if self.refit is not None:
            return self.refit.rounds_run
        counts = [(fit.best_round, len(fit.models)) for fit in self.fits]
        return round(sum(r * n for r, n in counts) / max(1, sum(n for _, n in counts)))

    def refit_seconds(self, n_rows: int) -> float:
        """Return how long a fit to all rows will take, from the times of the folds."""
        learned = sum(len(train) for train, _ in self.folds)
        rounds = refit_rounds(1000, fold_sizes(self.folds), n_rows) / 1000
        return self.seconds * rounds * n_rows / learned

    def members(self) -> tuple[list[Model], list[float]]:
        """Return the models of this trial and their weights."""
        if self.refit is not None:
            model: Any = self.refit.model
            return [model], [self.weight]
        models = self.fold_models
        return models, [self.weight / len(models)] * len(models)


@dataclass(frozen=True)
class SearchResult(FitResult):
    """The result of a search.

    Attributes
    ----------
    trials : tuple of Trial
        The candidates, best first.
    losses : HeldOutLosses or None
        The losses of held-out rows; None: no row was held out.
    factor : float
        The factor of the scores that calibrates probabilities.
    """

    trials: tuple[Trial, ...] = ()
    losses: HeldOutLosses | None = None
    factor: float = 1.0

    @property
    def completion(self) -> str:
        """The reason for the end of a search that nothing stopped."""
        return "all candidates were tried"


def search(spec: AutoSpec, loss: Loss, data: TrainingData, context: FitContext) -> SearchResult:
    """Fit an automatic model."""
    return Search(spec, loss, data, context).run()


class Search:
    """The search of one fit.

    Parameters
    ----------
    spec : AutoSpec
        What it does.
    loss : Loss
        The loss to minimise.
    data : TrainingData
        The rows, and the folds; without folds the first candidate is fitted to all rows.
    context : FitContext
        Threads, seed and start time.
    """

    def __init__(self, spec: AutoSpec, loss: Loss, data: TrainingData, context: FitContext) -> None:
        self.spec, self.loss, self.data, self.context = spec, loss, data, context
        self.stop_reason = ""
        scale = learn_scale(loss, data.train, None)
        self._y = scale_target(loss, scale, data.train.y)
        self._unit = scale.loss_unit(loss.degree or 0)
        shape = len(data.train.y), loss.n_outputs
        self.trials = [Trial(n, s, data, np.full(shape, np.nan)) for n, s in spec.specs.items()]
        self.left = list(self.trials)
        """The candidates that have not been dropped."""
        self._lines = ProgressLines(spec.verbose)

    def run(self) -> SearchResult:
        """Return the model, and what the search has found."""
        with collect_warnings() as collected:
            result = self._fit_one() if self.data.folds is None else self._search(self.data.folds)
        for message, category in dict.fromkeys(collected):  # each once, not for every candidate
            warn_caller(message, category)
        return result

    def _search(self, folds: Folds) -> SearchResult:
        try:
            self._race(folds)
        except KeyboardInterrupt:
            if not any(trial.fits for trial in self.trials):
                raise
            self.stop_reason = INTERRUPTED
        chosen = self._weigh()
        self._refit(chosen)
        return self._result(chosen)

    # ---- the steps -----------------------------------------------------------------------------

    def _fit_one(self) -> SearchResult:
        """Fit the first candidate; no row can be held out."""
        trial, begin = self.trials[0], time.perf_counter()
        trial.refit = train_boosting(trial.spec.boosting, self.loss, self.data, self.context)
        trial.weight, trial.refit_time = 1.0, time.perf_counter() - begin
        return SearchResult(**vars(trial.refit), trials=(trial,))

    def _race(self, folds: Folds) -> None:
        """Fit candidates to folds, fewer of them in every rung (Jamieson & Talwalkar 2016)."""
        first = 0
        for n_folds, kept in (*self.spec.plan.rungs, (len(folds), len(self.trials))):
            run = folds[first : first + n_folds]
            if not run:
                break
            for trial in self.left:
                if not self._has_time(trial, len(run)):
                    self.stop_reason = f"{LIMIT} {self.spec.time_limit:g} s"
                    return
                if self._add_crosses(trial):
                    self._fit_folds(trial, run)
            first += len(run)
            self.left = sorted(self.left, key=lambda trial: trial.mean_loss)[:kept]

    def _add_crosses(self, trial: Trial) -> bool:
        """Add the crosses of a candidate that has some; return False if there are none to add."""
        if not trial.spec.n_crossed or trial.fits:
            return True
        crosses = choose_crosses(self.trials[0].fold_models, trial.spec.n_crossed)
        trial.data = self.data.with_crosses(crosses)
        return bool(crosses)

    def _fit_folds(self, trial: Trial, folds: Folds) -> None:
        begin, limit = time.perf_counter(), self.spec.time_limit
        share = None if limit is None else SEARCH_SHARE * limit
        spec = trial.spec.boosting
        fit = cross_fit(
            replace(spec, stopping=replace(spec.stopping, time_limit=share)),
            self.loss,
            replace(trial.data, folds=folds),
            self.context,
        )
        trial.add(folds, fit, time.perf_counter() - begin)
        self._note_limit(fit.stop_reason)
        trial.losses = self._losses(trial.oof_scores)
        self._lines.show(
            f"{trial.name}: loss {trial.mean_loss:.6g} of "
            f"{len(trial.folds)} folds, {fit.best_round} rounds{self._remaining()}",
            last=True,
        )

    def _note_limit(self, reason: str) -> None:
        """Note that the time limit has ended a fit."""
        if reason.startswith(LIMIT):
            self.stop_reason = f"{LIMIT} {self.spec.time_limit:g} s"

    def _weigh(self) -> list[Trial]:
        """Set the weights of the trials that are left; return those with a weight."""
        left = [trial for trial in self.left if trial.fits]
        rows = self._held(left)
        losses = [self._losses(trial.oof_scores).at(rows) for trial in left]
        weights = choose_weights(losses, self.spec.plan.members)
        for trial, weight in zip(left, weights.tolist(), strict=True):
            trial.weight = weight
        return sorted((t for t in left if t.weight), key=lambda t: -t.weight)

    def _refit(self, chosen: Sequence[Trial]) -> None:
        """Fit the chosen candidates to all rows, as long as there is time."""
        n_rows = len(self._y)
        for trial in chosen:
            if self.stop_reason == INTERRUPTED:
                return
            if self._seconds_left() < SAFETY * trial.refit_seconds(n_rows):
                self.stop_reason = f"{LIMIT} {self.spec.time_limit:g} s"
                continue
            begin = time.perf_counter()
            rounds = refit_rounds(trial.rounds, fold_sizes(trial.folds), n_rows)
            spec, limit = trial.spec.boosting, self.spec.time_limit
            stopping = replace(spec.stopping, n_estimators=rounds, time_limit=limit)
            data = replace(trial.data, folds=None)
            try:
                trial.refit = train_boosting(
                    replace(spec, stopping=stopping), self.loss, data, self.context
                )
            except KeyboardInterrupt:
                self.stop_reason = INTERRUPTED
                return
            self._note_limit(trial.refit.stop_reason)
            trial.refit_time = time.perf_counter() - begin
            self._lines.show(
                f"{trial.name}: weight {trial.weight:.2g}, {rounds} rounds of all rows"
                f"{self._remaining()}",
                last=True,
            )

    def _result(self, chosen: Sequence[Trial]) -> SearchResult:
        rows = self._held(chosen)
        score = np.sum([trial.weight * trial.oof_scores[rows] for trial in chosen], axis=0)
        weight, factor = self._weights(rows), 1.0
        if self.data.classes is not None and self.spec.plan.members > 1:
            factor = choose_factor(score, lambda s: self._row_losses(s, rows), weight)
        models: list[Model] = []
        weights: list[float] = []
        for trial in chosen:
            own, shares = trial.members()
            models += own
            weights += [factor * share for share in shares]
        oof = np.full_like(chosen[0].oof_scores, np.nan)
        oof[rows] = factor * score
        run = [trial for trial in self.trials if trial.fits]
        ranked = sorted(run, key=lambda t: (-t.weight, -len(t.folds), t.mean_loss))
        first = chosen[0].refit
        return SearchResult(
            weighted_sum(models, weights),
            self.stop_reason,
            sum(model.ensemble.n_rounds for model in models),
            constant_features=[] if first is None else first.constant_features,
            missing_features=None if first is None else first.missing_features,
            oof_scores=oof,
            trials=tuple(ranked),
            losses=self._losses(oof),
            factor=factor,
        )

    # ---- losses of held-out rows -----------------------------------------------------------------

    def _held(self, trials: Sequence[Trial]) -> npt.NDArray[np.intp]:
        """Return the rows that each of some trials has held out."""
        known = [~np.isnan(trial.oof_scores[:, 0]) for trial in trials]
        return np.flatnonzero(np.logical_and.reduce(known))

    def _losses(self, oof_scores: Vector) -> HeldOutLosses:
        """Return the losses of the rows that have scores."""
        known = np.flatnonzero(~np.isnan(oof_scores[:, 0]))
        values = np.full(len(oof_scores), np.nan)
        values[known] = self._row_losses(oof_scores[known], known)
        return HeldOutLosses(values, self._weights(np.arange(len(values))), self._unit)

    def _weights(self, rows: npt.NDArray[np.intp]) -> Vector:
        weight = self.data.train.weight
        return np.ones(len(rows)) if weight is None else weight[rows]

    def _row_losses(self, score: Vector, rows: npt.NDArray[np.intp]) -> Vector:
        return np.asarray(self.loss.loss(self._y[rows], squeeze_outputs(score)))

    # ---- time ----------------------------------------------------------------------------------

    def _seconds_left(self) -> float:
        limit = self.spec.time_limit
        return math.inf if limit is None else self.context.began + limit - time.perf_counter()

    def _has_time(self, trial: Trial, n_folds: int) -> bool:
        """Return whether the time of the search suffices to run further folds of a trial.

        The first candidate is always run. A candidate that was not run yet takes as long as the
        mean of the others.
        """
        limit = self.spec.time_limit
        run = [t for t in self.trials if t.fits]
        if limit is None or not run:
            return True
        known = [trial] if trial.fits else run
        seconds = sum(t.seconds for t in known) / sum(len(t.folds) for t in known)
        return self._seconds_left() - (1.0 - SEARCH_SHARE) * limit >= n_folds * seconds

    def _remaining(self) -> str:
        left = self._seconds_left()
        return "" if math.isinf(left) else f", at most {max(0.0, left):.0f} s left,"
