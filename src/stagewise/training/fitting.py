"""One fit, from samples to a model: standardise, bin, boost.

The one idea: everything that is learned before the first round (offset and scale of y, cuts, the
best constant) is learned from the training rows alone, or taken from the model that is continued.
Must not know scikit-learn, nor what the caller passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Bins, Columns, SparseColumns, Workers
from stagewise.boosting.folds import boost_side_by_side
from stagewise.boosting.linear_step import linear_leaves
from stagewise.boosting.loop import Boosting, Rows, boost
from stagewise.boosting.methods import Method
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.progress import ProgressDisplay
from stagewise.boosting.recipe import Recipe
from stagewise.boosting.sampling import OnlyRows
from stagewise.boosting.steps import Step
from stagewise.boosting.stopping import Patience, TimeLimit
from stagewise.data import TargetScale, TargetScales
from stagewise.data.bins import learn_codings, rank_values
from stagewise.errors import InvalidParameterError
from stagewise.learners.histogram_tree import version_of
from stagewise.learners.learner import Learner
from stagewise.losses import Loss
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.training.drawing import make_dropout, make_sampling
from stagewise.training.ready import Ready, Scale
from stagewise.training.report import warn_if_constant
from stagewise.training.rows import Folds, Sample, out_of_fold
from stagewise.training.statistics import Statistics, few_cuts
from stagewise.training.tree_rules import in_units, make_tree
from stagewise.validation.tree_needs import check_needs, check_sparse, is_joint

__all__ = ["Fit"]

Vector = npt.NDArray[np.float64]


class Fit:
    """One fit, from samples to a model: standardise, bin, boost.

    `groups` has the number of every training row's group, where whole groups are drawn.
    """

    def __init__(
        self,
        params: dict[str, Any],
        method: Method,
        loss: Loss,
        workers: Workers,
        seed: int,
        began: float,
        groups: npt.NDArray[np.uint32] | None = None,
    ) -> None:
        self.params, self.method, self.loss = params, method, loss
        self.workers, self.seed, self.began, self.groups = workers, seed, began, groups

    def run(
        self,
        train: Sample,
        valid: Sample | None,
        features: Any,
        classes: npt.NDArray[Any] | None,
        previous: Model | None,
        folds: Folds | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Boost and return the model, with what was noticed on the way.

        With folds, their held-out rows choose the number of rounds first.
        """
        self.features, self.previous = features, previous
        self._check_targets(train.y, None if valid is None else valid.y)
        scale = self._target_scale(train, previous)
        y = self._standardise(scale, train.y)
        statistics = self._statistics(train, y, features, previous)
        features, tables = statistics.learn(train, y, features)
        if previous is not None:
            features = previous.features  # the trees know what these say
        self.features = features
        prepared, alike, details = self._prepare(tables, train, features, classes)
        ensemble = self._start(features, y, train.weight, previous)
        score = self._start_score(ensemble, tables)
        rows = Rows(prepared, y, train.weight, score, self._source(tables[0]))
        ready = Ready(train, features, classes, previous, scale, statistics, rows, None, alike)
        if valid is not None:
            ready = replace(ready, held=self._unseen_rows(ready, valid, ensemble))
        if folds is None:
            monitor = self._boost(ready, ensemble)
        else:
            chosen, details["out_of_fold_scores"] = self._cross_validate(folds, ready)
            self.params = {**self.params, "n_estimators": chosen.best_round}
            monitor = self._boost(replace(ready, held=None, previous=None), ensemble)
            monitor.valid_loss = chosen.valid_loss
            monitor.stopped_because = monitor.stopped_because or chosen.stopped_because
        details |= self._noticed(monitor, ready)
        return self._model(features, ensemble, scale, classes, monitor), details

    def _check_targets(self, y: npt.NDArray[Any], held: npt.NDArray[Any] | None) -> None:
        """Raise unless the loss can be of these targets, and of those of held-out rows."""
        self.loss.check(y)
        if held is None:
            return
        try:
            _check_alike(held, y)
            self.loss.check(held)
        except ValueError as error:
            raise ValueError(f"In y_val: {error}") from None

    def _noticed(self, monitor: Monitor, ready: Ready) -> dict[str, Any]:
        """Return what is told of a fit besides its model."""
        return {
            "stopped_because": monitor.stopped_because,
            "rounds_run": monitor.last_round,
            "method_ended": monitor.ended,
            "out_of_bag": monitor.out_of_bag,
        }

    def _cross_validate(
        self, folds: Folds, ready: Ready
    ) -> tuple[Monitor, npt.NDArray[np.float64]]:
        """Grow a model for each fold on the shared bins; return what they showed.

        What levels say must come from the rows of the fold, so then it has bins of its own.
        """
        train, rows, scale, statistics = ready.train, ready.rows, ready.scale, ready.statistics
        recipe = replace(self._recipe(scale), out_of_bag=False)
        models = []
        for learned, held in folds:
            own, fold, prepared = train.part(learned), ready, rows.table
            y = self._standardise(scale, own.y)
            ensemble = self._start(ready.features, y, own.weight, None)
            if not self.method.from_zero:  # nor is the offset the mean of these rows
                ensemble.base = self._best_constant(y, own.weight)
            if statistics.sources:
                features, tables = statistics.learn(own, y, ready.features, told=train)
                prepared, alike = self._bins(tables, train.weight, features)
                fold = replace(ready, features=features, alike=alike)
            # On the shared bins a row that is held out is one of weight 0: absent in every sum.
            weight = np.zeros(len(rows.y))
            weight[learned] = 1.0 if own.weight is None else own.weight
            score = np.repeat(ensemble.base[:, np.newaxis], len(rows.y), axis=1)
            models.append(
                Boosting(
                    replace(recipe, sampling=OnlyRows(learned.astype(np.uint32), recipe.sampling)),
                    ensemble,
                    replace(rows, table=prepared, weight=weight, score=score),
                    self._unseen_rows(fold, train.part(held), ensemble),
                    self.workers,
                    self.seed,
                )
            )
        monitor = self._monitor(scale, patient=True, previous=None, share=len(folds))
        try:
            boost_side_by_side(models, range(self.params["n_estimators"]), monitor)
        finally:
            monitor.close()
        said = [self._score_of(m.ensemble, m.valid.source) for m in models if m.valid is not None]
        return monitor, out_of_fold(folds, said, len(train.y))

    def _unseen_rows(self, ready: Ready, sample: Sample, ensemble: Ensemble) -> Rows:
        """Return rows that are not learned from, as the ensemble and the learner read them."""
        table = sample.of(ready.features.extended(sample.columns)).table()
        return Rows(
            ready.alike(table),
            self._standardise(ready.scale, sample.y),
            sample.weight,
            self._start_score(ensemble, [table]),
            self._source(table),
        )

    def _source(self, table: Any) -> Any:
        """Return what the ensemble reads; lines read a few columns, here and there a row."""
        linear = self.params.get("leaves", "constant") == "linear"
        return table.contiguous(self.workers) if linear else table

    def _prepare(
        self,
        tables: Sequence[Columns | SparseColumns],
        train: Sample,
        features: Any,
        classes: npt.NDArray[Any] | None,
    ) -> tuple[Any, Callable[[Any], Any], dict[str, Any]]:
        """Return what the learner learns from, how to make more of it, and what was noticed."""
        bins, alike = self._bins(tables, train.weight, features)
        return bins, alike, warn_if_constant(bins[0], features, train.y, classes)

    def _bins(
        self, tables: Sequence[Columns | SparseColumns], weight: Vector | None, features: Any
    ) -> tuple[list[Bins], Callable[[Any], Any]]:
        """Return the bins of each version of the rows, and how other rows get them."""
        levels = features.levels_per_column()
        if isinstance(tables[0], SparseColumns):
            check_sparse(self.params)
        if self.params.get("split", "histogram") != "histogram":
            dense = [table for table in tables if isinstance(table, Columns)]  # others were refused
            return [rank_values(self.workers, t, levels) for t in dense], lambda other: other
        tables = [table.by_columns() for table in tables]
        codings = learn_codings(
            self.workers, tables[0], weight, self.params["max_bins"], self.seed, levels
        )
        codings = few_cuts(codings, features.n)

        def alike(other: Columns | SparseColumns) -> Bins:
            return Bins(self.workers, other.by_columns(), codings)

        return [alike(table) for table in tables], alike

    def _statistics(
        self, train: Sample, y: npt.NDArray[Any], features: Any, previous: Model | None
    ) -> Statistics:
        known = None if previous is None else previous.features
        return Statistics.choose(
            self.params, self.workers, self.loss, self.seed, train, y, features, known
        )

    def _model(
        self,
        features: Any,
        ensemble: Any,
        scale: Scale,
        classes: npt.NDArray[Any] | None,
        monitor: Monitor,
    ) -> Any:
        return Model(
            task="regression" if classes is None else "classification",
            loss=self.loss.name,
            features=features,
            ensemble=ensemble,
            offset=scale.offset,
            scale=scale.scale,
            classes=classes,
            train_loss=np.array(monitor.train_loss),
            valid_loss=np.array(monitor.valid_loss),
        )

    def _boost(self, ready: Ready, ensemble: Ensemble) -> Monitor:
        """Add rounds to the ensemble."""
        first, classes = ensemble.n_rounds, ready.classes
        patient = ready.held is not None
        monitor = self._monitor(ready.scale, patient=patient, previous=ready.previous)
        one_class = classes is not None and len(classes) == 1
        rounds = range(first, first if one_class else self.params["n_estimators"])
        recipe = self._recipe(ready.scale)
        try:
            model = Boosting(recipe, ensemble, ready.rows, ready.held, self.workers, self.seed)
            boost(model, rounds, monitor)
        finally:
            monitor.close()
        return monitor

    def _monitor(
        self, scale: Scale, *, patient: bool, previous: Model | None, share: int | None = None
    ) -> Monitor:
        """Return who watches; of `share` folds, which leave time for the last fit."""
        p, limit = self.params, self.params["time_limit"]
        if limit is not None and share is not None:
            limit = limit * share / (share + 1)
        first = 0 if previous is None else previous.ensemble.n_rounds
        return Monitor(
            p["n_estimators"],
            patience=Patience(p["n_iter_no_change"], p["tol"]) if patient else None,
            time_limit=None if limit is None else TimeLimit(limit, self.began),
            callbacks=p["callbacks"],
            display=ProgressDisplay(p["verbose"]),
            loss_scale=scale.loss_unit(self.loss.degree or 0),
            train_loss=[] if previous is None else previous.train_loss[:first].tolist(),
            valid_loss=[] if previous is None else previous.valid_loss[:first].tolist(),
        )

    def _target_scale(self, train: Sample, previous: Model | None) -> Scale:
        if train.y.ndim > 1:
            if previous is not None:
                return TargetScales(np.asarray(previous.offset), np.asarray(previous.scale))
            if self.loss.degree is None:
                return TargetScales.none(train.y.shape[1])
            return TargetScales.learn(train.y, train.weight)
        if previous is not None:
            spread = TargetScale.learn(train.y, train.weight).spread if self.loss.degree else 1.0
            return TargetScale(float(previous.offset), float(previous.scale), spread)
        if self.loss.degree is None:
            return TargetScale(0.0, 1.0, 1.0)
        return TargetScale.learn(train.y, train.weight)

    def _standardise(self, scale: Scale, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return y if self.loss.degree is None else scale.standardise(y)

    def _start(
        self,
        features: Any,
        y: npt.NDArray[Any],
        weight: Vector | None,
        previous: Model | None,
    ) -> Ensemble:
        levels = features.levels_per_column()
        if previous is not None:
            old = previous.ensemble
            if (old.outputs_per_tree > 1) != self._joint():
                raise InvalidParameterError(
                    "warm_start continues a model with one tree a round for "
                    f"{'all outputs' if old.outputs_per_tree > 1 else 'each output'}; multi_output "
                    "must stay as it was. Fit with warm_start=False to begin anew."
                )
            return replace(old, trees=list(old.trees), levels=levels)
        width = self.loss.n_outputs if self._joint() else 1
        # Of squares the offset is the exact mean; a second one would only add rounding.
        is_mean = self.loss.degree is not None and self.loss.mean_is_best
        if self.method.from_zero or is_mean:
            base = np.zeros(self.loss.n_outputs)
        else:
            base = self._best_constant(y, weight)
        return Ensemble(len(levels), base, levels=levels, outputs_per_tree=width)

    def _best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return make_dropout(self.params).settle(self.loss.best_constant(y, weight))

    def _start_score(
        self, ensemble: Ensemble, tables: Sequence[Columns | SparseColumns]
    ) -> npt.NDArray[np.float64]:
        """Return F of rows, each tree seeing the version of them that it was grown on."""
        if ensemble.n_rounds == 0:
            return np.repeat(ensemble.base[:, np.newaxis], tables[0].n_rows, axis=1)
        if len(tables) == 1:
            return self._score_of(ensemble, tables[0])
        score = np.tile(ensemble.base, (tables[0].n_rows, 1))
        for number in range(len(ensemble.trees)):
            table = tables[version_of(number, len(tables))]
            ensemble.forest.add_scores(self.workers, table, number, number + 1, score.reshape(-1))
        return np.ascontiguousarray(score.T)

    def _score_of(self, ensemble: Any, table: Any) -> npt.NDArray[np.float64]:
        return np.ascontiguousarray(ensemble.score(table, self.workers).T)

    def _recipe(self, scale: Scale) -> Recipe:
        """Build the recipe; limits that have a unit are in units of the target's spread.

        A gradient of a loss of degree d is of degree d - 1, a gain of degree 2 (d - 1).
        """
        p, degree = self.params, self.loss.degree
        unit = 1.0 if degree is None else scale.spread
        return Recipe(
            self.loss,
            self._learner(unit, unit ** ((degree or 1) - 1)),
            self.method.response,
            self._step(self._max_step() * unit),
            make_sampling(p, unit, self.groups),
            p["learning_rate"],
            make_dropout(p),
            p["out_of_bag"],
            self._joint(),
        )

    def _joint(self) -> bool:
        """Return whether a round is one tree for all outputs."""
        return is_joint(self.params)

    def _step(self, max_step: float) -> Step:
        """Return how a tree gets its values."""
        p, features = self.params, self.features
        step = self.method.step(self.loss, max_step)
        if p.get("leaves", "constant") == "constant":
            return step
        if len(features.categorical) == features.n:
            raise InvalidParameterError(
                "leaves='linear' gives leaves slopes in numeric features, but every column is "
                "categorical. Set leaves='constant', or name fewer categorical_features."
            )
        return linear_leaves(step, p["linear_l2"], max_step)

    def _max_step(self) -> float:
        """Return the largest step in spreads of the target, or 0 for any."""
        return float(self.params["max_step"] or 0.0)

    def _learner(self, unit: float, gradient_unit: float) -> Learner:
        check_needs(self.params, self.loss.n_outputs)
        used = () if self.previous is None else self.previous.ensemble.features_used()
        tree = make_tree(self.params, self.features, self._max_step(), used)
        return in_units(tree, self.loss, unit, gradient_unit)


def _check_alike(y: npt.NDArray[Any], training: npt.NDArray[Any]) -> None:
    n, known = (1 if t.ndim == 1 else t.shape[1] for t in (y, training))
    if n != known:
        raise ValueError(f"there must be as many targets as in y, {known}; got {n}.")
