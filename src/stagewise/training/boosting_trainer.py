"""The trainer of boosted models: scale the target, encode the rows, boost.

Everything that is learned before the first round (the scale of y, target encodings, cuts, the best
constant) is learned from the training rows alone, or taken from the model that is continued.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.loop import Boosting, EncodedRows, MeasuredRows, boost
from stagewise.boosting.monitor import HELD_OUT, Monitor
from stagewise.boosting.recipe import BoundRecipe
from stagewise.boosting.sampling import OnlyRows
from stagewise.learners.tree_learner import version_of
from stagewise.losses import Loss
from stagewise.losses.scores import repeat_score
from stagewise.model.model import Model
from stagewise.training.bound_metrics import BoundMetrics, bind_metrics
from stagewise.training.preparation import (
    Scale,
    check_targets,
    choose_rounds,
    given_base,
    learn_scale,
    make_monitor,
    named_numbers,
    scale_target,
)
from stagewise.training.reading.folds import out_of_fold
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import CrossFit, FitResult
from stagewise.training.specs import BoostingSpec, FitContext
from stagewise.training.start_model import StartModel
from stagewise.training.target_encoder import TargetEncoder

__all__ = ["cross_fit", "train_boosting"]

Vector = npt.NDArray[np.float64]


def train_boosting(
    spec: BoostingSpec,
    loss: Loss,
    data: TrainingData,
    context: FitContext,
    previous: Model | None = None,
) -> FitResult:
    """Fit a boosted model.

    Parameters
    ----------
    spec : BoostingSpec
        The algorithm, the learner and when to stop.
    loss : Loss
        The loss to minimise.
    data : TrainingData
        The rows. With folds, their held-out rows choose the number of rounds first.
    context : FitContext
        Threads, seed and start time.
    previous : Model or None
        The model that the fit continues.
    """
    return _BoostingTrainer(spec, loss, data, context, previous).train()


def cross_fit(spec: BoostingSpec, loss: Loss, data: TrainingData, context: FitContext) -> CrossFit:
    """Fit one boosted model to the training rows of each fold.

    Parameters
    ----------
    spec : BoostingSpec
        The algorithm, the learner and when to stop.
    loss : Loss
        The loss to minimise.
    data : TrainingData
        The rows and the folds.
    context : FitContext
        Threads, seed and start time.
    """
    return _BoostingTrainer(spec, loss, data, context, None).cross_fit()


@dataclass(frozen=True)
class _Encoded:
    """The features of a fit, and a function that encodes other rows for its learner."""

    features: Any
    encode: Callable[[Any], Any]


@dataclass(frozen=True)
class _Start:
    """A fit before its first round.

    Attributes
    ----------
    encoder : TargetEncoder
        Learns the target encodings of folds.
    table : _Encoded
        The features.
    tables : sequence of Columns or SparseColumns
        The training rows; several if their target encodings differ.
    rows : EncodedRows
        The training rows, encoded.
    ensemble : Ensemble
        The model without rounds, or the model that is continued.
    constant, missing : list of str
        As of `FitResult`.
    model : StartModel or None
        Predicts F before the first round; None: it is the base of the ensemble.
    """

    encoder: TargetEncoder
    table: _Encoded
    tables: Any
    rows: EncodedRows
    ensemble: Any
    constant: list[str]
    missing: list[str] | None
    model: StartModel | None


@dataclass(frozen=True)
class _FoldFit:
    """The fit of one fold, with the features that it uses and the start of its held-out rows."""

    boosting: Boosting
    table: _Encoded
    held_start: Any
    tables: Any
    model: StartModel | None
    learned: npt.NDArray[np.intp]


def _fitted_rows(loss: Loss, rows: RowSet) -> RowSet:
    """Return the rows that the loop fits: the offset of a loss of y - F is a part of the target."""
    return rows if loss.degree is None else rows.without_offset(loss.location)


class _BoostingTrainer:
    def __init__(
        self,
        spec: BoostingSpec,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        previous: Model | None,
    ) -> None:
        self.spec, self.data, self.context = spec, data, context
        self.previous = previous
        self.train_rows = _fitted_rows(loss, data.train)
        start = spec.recipe.start_of(loss)
        self.scale: Scale = learn_scale(loss, self.train_rows, previous, start)
        self.loss = loss.in_units(self.scale.unit)

    def train(self) -> FitResult:
        spec, data = self.spec, self.data
        start = self._prepare()
        features, ensemble, rows = start.table.features, start.ensemble, start.rows
        oof_scores, choice, folds_monitor = None, None, None
        oof_learned: tuple[dict[str, Vector], ...] = ()
        fold_ensembles: tuple[Any, ...] = ()
        if data.folds is not None:
            fits, folds_monitor = self._cross_validate(start, then_refits=True)
            oof_scores, oof_learned = self._oof_scores(fits), self._oof_learned(fits)
            if not start.encoder.sources:  # target encodings differ between folds
                fold_ensembles = tuple(fit.boosting.ensemble for fit in fits)
            choice = choose_rounds(spec.hold_out, data, folds_monitor)
            self.spec = replace(spec, stopping=replace(spec.stopping, n_estimators=choice.rounds))
        monitor = self._boost(features, ensemble, rows, self._measured(start))
        if folds_monitor is not None:
            monitor.take_search(folds_monitor)
        return FitResult(
            self._model(features, ensemble, monitor, self._learned(start, monitor)),
            monitor.stop_reason,
            monitor.last_round,
            monitor.ended,
            start.constant,
            start.missing,
            monitor.oob_improvement,
            oof_scores,
            choice,
            start.model,
            monitor.evals,
            fold_ensembles,
            oof_learned,
            rounds_given=not spec.hold_out.chooses,
        )

    def cross_fit(self) -> CrossFit:
        """Return the models of the folds, each with the rounds that are best for all of them."""
        if self.loss.learns:
            raise ValueError(
                f"The loss {self.loss.name!r} learns numbers besides the trees, which models of "
                "folds do not have. Use gradient boosting with this loss."
            )
        fits, monitor = self._cross_validate(self._prepare(), then_refits=False)
        models = [
            self._model(fit.table.features, fit.boosting.ensemble, monitor, {}) for fit in fits
        ]
        return CrossFit(models, self._oof_scores(fits), monitor.best_round, monitor.stop_reason)

    def _model(
        self, features: Any, ensemble: Any, monitor: Monitor, learned: dict[str, Vector]
    ) -> Any:
        """Return a fitted model, with the numbers that its loss learned."""
        own = self.loss, self.data, features, ensemble, self.scale, monitor
        model = self.spec.learner.model(*own)
        return replace(model, learned=named_numbers(learned)) if learned else model

    def _learned(self, start: _Start, monitor: Monitor) -> dict[str, Vector]:
        """Return the numbers that the loss learns from the scores of the training rows."""
        if not self.loss.learns:
            return {}
        score, begin = start.rows.score, self._model_score(start.model, self.train_rows)
        recipe = self.spec.recipe
        is_sum = recipe.dropout.rate == 0 and recipe.correction is None and isinstance(begin, float)
        # Rounds after the best one are in the scores of the loop.
        if not is_sum or monitor.best_round < monitor.last_round:
            score = self._start_score(start.ensemble, start.tables) + begin
        return self.loss.learn(start.rows.y, start.rows.weight, score)

    def _prepare(self) -> _Start:
        """Return everything that is learned before the first round."""
        check_targets(self.loss, self.data)
        data, learner, train = self.data, self.spec.learner, self.train_rows
        y = scale_target(self.loss, self.scale, train.y)
        encoder = self._target_encoder(y)
        features, tables = encoder.learn(train, y, data.features)
        if self.previous is not None:
            features = self.previous.features  # the trees were grown with these encodings
        encoded, encode = learner.encode(tables, train.weight, features, self.context, train.rows)
        constant, missing = learner.find_constant(
            encoded, data, features, warns=self.previous is None
        )
        ensemble = self._start(features, y, train)
        model = None if data.start is None else data.start.fit(data.train)
        score = self._start_score(ensemble, tables) + self._model_score(model, train)
        source = learner.source(tables[0], self.context)
        rows = EncodedRows(encoded, y, train.weight, score, source)
        table = _Encoded(features, encode)
        return _Start(encoder, table, tables, rows, ensemble, constant, missing, model)

    def _target_encoder(self, y: npt.NDArray[Any]) -> TargetEncoder:
        known = None if self.previous is None else self.previous.features
        return TargetEncoder.choose(
            self.spec.category_encoding,
            self.spec.n_orderings,
            self.context,
            self.loss,
            self.train_rows,
            y,
            self.data.features,
            known,
        )

    # ---- the start -------------------------------------------------------------------------------

    def _start(self, features: Any, y: npt.NDArray[Any], rows: RowSet) -> Any:
        """Return the ensemble before the first round."""
        learner = self.spec.learner
        if self.previous is not None:
            return learner.continued(features, self.previous.ensemble)
        base = given_base(self.spec.recipe, self.loss, of_all_rows=True)
        return learner.new_ensemble(
            features, self._best_constant(y, rows) if base is None else base
        )

    def _best_constant(self, y: npt.NDArray[Any], rows: RowSet) -> Vector:
        best = self.loss.checked_best_constant(y, rows.weight, rows.offset)
        return self.spec.recipe.dropout.round_values(best)

    def _start_score(self, ensemble: Any, tables: Any) -> npt.NDArray[np.float64]:
        """Return the scores of rows; each tree reads the table that it was grown on."""
        if ensemble.n_rounds == 0:
            return repeat_score(ensemble.base, tables[0].n_rows)
        if len(tables) == 1:
            return np.asarray(self.spec.learner.score(ensemble, tables[0], self.context))
        score = np.tile(ensemble.base, (tables[0].n_rows, 1))
        workers = self.context.workers
        for number in range(len(ensemble.trees)):
            table = tables[version_of(number, len(tables))]
            ensemble.forest.add_scores(workers, table, number, number + 1, score.reshape(-1))
        return score

    def _model_score(self, model: StartModel | None, rows: RowSet) -> Any:
        """Return the scaled scores of rows besides those of the ensemble, or 0.

        They are the offset, and the scores that an estimator predicts before the first round.
        """
        offset = 0.0 if rows.offset is None else rows.offset / self.scale.scale
        if model is None or self.data.start is None:
            return offset
        return self.data.start.scores(model, rows) / self.scale.scale + offset

    def _encode_rows(
        self, table: _Encoded, rows: RowSet, ensemble: Any, model: StartModel | None
    ) -> EncodedRows:
        """Return rows that are not trained on, encoded for the learner and for the ensemble."""
        rows = _fitted_rows(self.loss, rows)
        columns = rows.with_columns(table.features.append_encoded(rows.columns)).table()
        return EncodedRows(
            table.encode(columns),
            scale_target(self.loss, self.scale, rows.y),
            rows.weight,
            self._start_score(ensemble, [columns]) + self._model_score(model, rows),
            self.spec.learner.source(columns, self.context),
        )

    def _metrics(self, rows: RowSet, name: str = HELD_OUT) -> BoundMetrics:
        """Return the metrics of the rows of a set."""
        own = self.spec.stopping.eval_metric, rows, self.loss, self.scale, self.data.classes
        return bind_metrics(*own, name, self.data.class_targets)

    def _measured(self, start: _Start) -> list[MeasuredRows]:
        """Return the sets that are measured after every round; the one that decides comes first."""
        data = self.data
        sets = [(own.name, own.rows) for own in data.eval_sets]
        if data.valid is not None:
            sets.insert(0, (data.valid_name, data.valid))
        return [
            MeasuredRows(
                name,
                start.rows
                if rows is data.train
                else self._encode_rows(start.table, rows, start.ensemble, start.model),
                self._metrics(rows, name),
            )
            for name, rows in sets
        ]

    # ---- the rounds ------------------------------------------------------------------------------

    def _recipe(self, features: Any) -> BoundRecipe:
        """Return the recipe of this fit; a parameter with a unit is in units of the target."""
        recipe, learner, loss = self.spec.recipe, self.spec.learner, self.loss
        used = () if self.previous is None else self.previous.ensemble.used_features()
        max_step = learner.max_step(self.scale)
        return BoundRecipe(
            recipe,
            loss,
            learner.learner(features, loss, self.scale.unit, used),
            learner.step(recipe.step(loss, max_step), features, max_step),
            learner.vector_leaves,
            self.scale.spread,
            self.data.groups,
        )

    def _boost(
        self, features: Any, ensemble: Any, rows: EncodedRows, measured: list[MeasuredRows]
    ) -> Monitor:
        """Add rounds to the ensemble."""
        previous = None if self.data.folds is not None else self.previous
        monitor = make_monitor(
            self.spec.stopping,
            self.loss,
            self.scale,
            self.context,
            stops_early=self.data.valid is not None,
            previous=previous,
            decides=self.data.valid_name,
            metrics=self._metrics(self.data.train),
        )
        first = ensemble.n_rounds
        last = first if self.data.one_class else self.spec.stopping.n_estimators
        try:
            recipe, context = self._recipe(features), self.context
            fit = Boosting(recipe, ensemble, rows, measured, context.workers, context.seed)
            boost([fit], range(first, last), monitor)
        finally:
            monitor.close()
        return monitor

    def _fold(
        self,
        bound: BoundRecipe,
        start: _Start,
        learned: npt.NDArray[np.intp],
        held: npt.NDArray[np.intp],
    ) -> _FoldFit:
        """Return the fit of one fold; `learned` and `held` are positions of training rows.

        It uses the shared bins. With target encodings, which come from the training rows of the
        fold, it has bins of its own.
        """
        train, rows, encoder = self.train_rows, start.rows, start.encoder
        table, tables = start.table, start.tables
        own, encoded = train.part(learned), rows.table
        y = scale_target(self.loss, self.scale, own.y)
        base = given_base(self.spec.recipe, self.loss, of_all_rows=False)
        base = self._best_constant(y, own) if base is None else base
        ensemble = self.spec.learner.new_ensemble(table.features, base)
        if encoder.sources:
            features, tables = encoder.learn(own, y, table.features, rows_to_encode=train)
            encoded, encode = self.spec.learner.encode(tables, train.weight, features, self.context)
            table = _Encoded(features, encode)
        # On the shared bins a held-out row has weight 0: it is absent from every sum.
        weight = np.zeros(len(rows.y))
        weight[learned] = 1.0 if own.weight is None else own.weight
        given = self.data.train
        model = None if self.data.start is None else self.data.start.fit(given.part(learned))
        score = repeat_score(ensemble.base, len(rows.y)) + self._model_score(model, train)
        others = given.part(held)
        held_rows = self._encode_rows(table, others, ensemble, model)
        sampling = OnlyRows(learned.astype(np.uint32), bound.recipe.sampling)
        recipe = replace(bound.recipe, out_of_bag=False, sampling=sampling)
        boosting = Boosting(
            replace(bound, recipe=recipe),
            ensemble,
            replace(rows, table=encoded, weight=weight, score=score),
            [MeasuredRows(HELD_OUT, held_rows, self._metrics(others))],
            self.context.workers,
            self.context.seed,
        )
        held_start = self._model_score(model, others)
        return _FoldFit(boosting, table, held_start, tables, model, learned)

    def _cross_validate(
        self, start: _Start, *, then_refits: bool
    ) -> tuple[list[_FoldFit], Monitor]:
        """Boost one model for each fold; return them and their monitor."""
        folds = self.data.folds
        assert folds is not None
        bound = self._recipe(start.table.features)
        fits = [self._fold(bound, start, learned, held) for learned, held in folds]
        monitor = make_monitor(
            self.spec.stopping,
            self.loss,
            self.scale,
            self.context,
            stops_early=self.spec.hold_out.chooses,
            folds=len(folds) if then_refits else None,
            metrics=self._metrics(self.data.train),
        )
        last = 0 if self.data.one_class else self.spec.stopping.n_estimators
        try:
            boost([fit.boosting for fit in fits], range(last), monitor)
        finally:
            monitor.close()
        return fits, monitor

    def _oof_scores(self, fits: list[_FoldFit]) -> Vector:
        """Return the scores of held-out rows, in the order of the training rows."""
        scores = [
            self.spec.learner.score(
                fit.boosting.ensemble, fit.boosting.measured[0].rows.source, self.context
            )
            + fit.held_start
            for fit in fits
        ]
        assert self.data.folds is not None
        return out_of_fold(self.data.folds, scores, len(self.data.train.y))

    def _oof_learned(self, fits: list[_FoldFit]) -> tuple[dict[str, Vector], ...]:
        """Return what the loss learned from the training rows of each fold; () if it does not."""
        if not self.loss.learns:
            return ()
        train, found = self.train_rows, []
        for fit in fits:
            score = self._start_score(fit.boosting.ensemble, fit.tables)
            score, own = score + self._model_score(fit.model, train), fit.learned
            part = train.part(own)
            y = scale_target(self.loss, self.scale, part.y)
            learned = self.loss.learn(y, part.weight, score[own])
            found.append(named_numbers(learned))
        return tuple(found)
