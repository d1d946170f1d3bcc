"""One fit, from samples to a model: standardise, bin, boost.

The one idea: everything that is learned before the first round (offset and scale of y, cuts, the
best constant) is learned from the training rows alone, or taken from the model that is continued.
Must not know scikit-learn, nor what the caller passed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Workers
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
from stagewise.data import TargetScale
from stagewise.data.bins import bin_like, learn_bins, rank_values
from stagewise.errors import InvalidParameterError
from stagewise.estimators.drawing import make_dropout, make_sampling
from stagewise.estimators.feature_rules import (
    feature_label,
    forced_splits,
    interactions,
    numbers_by_feature,
)
from stagewise.estimators.report import warn_if_constant
from stagewise.estimators.rows import Folds, Sample
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.learners.learner import Learner
from stagewise.losses import Loss
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model

__all__ = ["Fit", "in_units"]

Vector = npt.NDArray[np.float64]

DEFAULT_BINS = 255
EPSILON = 0.02
"""Of split="approx": about fifty candidates a feature."""
TREE_PARAMETERS = (
    "max_leaf_nodes",
    "max_depth",
    "min_samples_leaf",
    "min_hessian",
    "min_gain",
    "criterion",
    "columns_per_tree",
    "columns_per_level",
    "columns_per_node",
    "path_smoothing",
    "random_thresholds",
)
"""Those that the estimators and a tree call the same."""


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
        self.loss.check(train.y)
        if valid is not None:
            try:
                self.loss.check(valid.y)
            except ValueError as error:
                raise ValueError(f"In y_val: {error}") from None
        scale = self._target_scale(train, previous)
        y = self._standardise(scale, train.y)
        table = train.table()
        prepared, alike, details = self._prepare(table, train, features, classes)
        ensemble = self._start(features, y, train.weight, previous)
        score = self._start_score(ensemble, table)
        rows = Rows(prepared, y, train.weight, score, self._source(table))
        held = None
        if valid is not None:
            held_table = valid.table()
            held = Rows(
                alike(held_table),
                self._standardise(scale, valid.y),
                valid.weight,
                self._start_score(ensemble, held_table),
                self._source(held_table),
            )
        if folds is None:
            monitor = self._boost(rows, held, ensemble, scale, previous, classes)
            details["stopped_because"] = monitor.stopped_because
            details["method_ended"] = monitor.ended
            details["out_of_bag"] = monitor.out_of_bag
            return self._model(features, ensemble, scale, classes, monitor), details
        chosen, held_out = self._cross_validate(folds, train, rows, features, alike, scale)
        self.params = {**self.params, "n_estimators": chosen.best_round}
        monitor = self._boost(rows, None, ensemble, scale, None, classes)
        monitor.valid_loss = chosen.valid_loss
        details["stopped_because"] = monitor.stopped_because or chosen.stopped_because
        details["method_ended"] = monitor.ended
        details["out_of_bag"] = monitor.out_of_bag
        details["out_of_fold_scores"] = held_out
        return self._model(features, ensemble, scale, classes, monitor), details

    def _cross_validate(
        self,
        folds: Folds,
        train: Sample,
        rows: Rows,
        features: Any,
        alike: Callable[[Any], Any],
        scale: TargetScale,
    ) -> tuple[Monitor, npt.NDArray[np.float64]]:
        """Grow a model for each fold on the shared bins; return what they showed."""
        recipe = replace(self._recipe(scale), out_of_bag=False)
        models = []
        for learned, held in folds:
            own = train.part(learned)
            ensemble = self._start(features, self._standardise(scale, own.y), own.weight, None)
            if not self.method.from_zero:  # nor is the offset the mean of these rows
                y = self._standardise(scale, own.y)
                ensemble.base = self._best_constant(y, own.weight)
            other = train.part(held)
            table = other.table()
            # On the shared bins a row that is held out is one of weight 0: absent in every sum.
            weight = np.zeros(len(rows.y))
            weight[learned] = 1.0 if own.weight is None else own.weight
            score = np.repeat(ensemble.base[:, np.newaxis], len(rows.y), axis=1)
            models.append(
                Boosting(
                    replace(recipe, sampling=OnlyRows(learned.astype(np.uint32), recipe.sampling)),
                    ensemble,
                    replace(rows, weight=weight, score=score),
                    Rows(
                        alike(table),
                        self._standardise(scale, other.y),
                        other.weight,
                        self._start_score(ensemble, table),
                        self._source(table),
                    ),
                    self.workers,
                    self.seed,
                )
            )
        monitor = self._monitor(scale, patient=True, previous=None, share=len(folds))
        try:
            boost_side_by_side(models, range(self.params["n_estimators"]), monitor)
        finally:
            monitor.close()
        scores = np.full((self.loss.n_outputs, len(train.y)), np.nan)
        for (_, held), model in zip(folds, models, strict=True):
            scores[:, held] = self._score_of(model.ensemble, train.part(held).table())
        return monitor, scores

    def _source(self, table: Any) -> Any:
        """Return what the ensemble reads; lines read a few columns, here and there a row."""
        linear = self.params.get("leaves", "constant") == "linear"
        return table.by_column(self.workers) if linear else table

    def _prepare(
        self,
        table: Columns,
        train: Sample,
        features: Any,
        classes: npt.NDArray[Any] | None,
    ) -> tuple[Any, Callable[[Any], Any], dict[str, Any]]:
        """Return what the learner learns from, how to make more of it, and what was noticed."""
        if self.params.get("split", "histogram") != "histogram":
            ranks = rank_values(self.workers, table, features.levels_per_feature())
            return ranks, lambda other: other, warn_if_constant(ranks, features, train.y, classes)
        levels = features.levels_per_feature()
        bins, cuts = learn_bins(
            self.workers, table, train.weight, self.params["max_bins"], self.seed, levels
        )
        details = warn_if_constant(bins, features, train.y, classes)
        return bins, lambda other: bin_like(self.workers, other, cuts), details

    def _model(
        self,
        features: Any,
        ensemble: Any,
        scale: TargetScale,
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

    def _boost(
        self,
        rows: Rows,
        held: Rows | None,
        ensemble: Ensemble,
        scale: TargetScale,
        previous: Model | None,
        classes: npt.NDArray[Any] | None,
    ) -> Monitor:
        first = ensemble.n_rounds
        monitor = self._monitor(scale, patient=held is not None, previous=previous)
        one_class = classes is not None and len(classes) == 1
        rounds = range(first, first if one_class else self.params["n_estimators"])
        try:
            model = Boosting(self._recipe(scale), ensemble, rows, held, self.workers, self.seed)
            boost(model, rounds, monitor)
        finally:
            monitor.close()
        return monitor

    def _monitor(
        self, scale: TargetScale, *, patient: bool, previous: Model | None, share: int | None = None
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

    def _target_scale(self, train: Sample, previous: Model | None) -> TargetScale:
        if previous is not None:
            spread = TargetScale.learn(train.y, train.weight).spread if self.loss.degree else 1.0
            return TargetScale(previous.offset, previous.scale, spread)
        if self.loss.degree is None:
            return TargetScale(0.0, 1.0, 1.0)
        return TargetScale.learn(train.y, train.weight)

    def _standardise(self, scale: TargetScale, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return y if self.loss.degree is None else scale.standardise(y)

    def _start(
        self,
        features: Any,
        y: npt.NDArray[Any],
        weight: Vector | None,
        previous: Model | None,
    ) -> Ensemble:
        levels = features.levels_per_feature()
        if previous is not None:
            old = previous.ensemble
            return Ensemble(old.n_features, old.base, list(old.trees), levels)
        # Of squares the offset is the exact mean; a second one would only add rounding.
        is_mean = self.loss.degree is not None and self.loss.mean_is_best
        if self.method.from_zero or is_mean:
            return Ensemble(features.n, np.zeros(self.loss.n_outputs), levels=levels)
        return Ensemble(features.n, self._best_constant(y, weight), levels=levels)

    def _best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return make_dropout(self.params).settle(self.loss.best_constant(y, weight))

    def _start_score(self, ensemble: Ensemble, table: Columns) -> npt.NDArray[np.float64]:
        if ensemble.n_rounds == 0:
            return np.repeat(ensemble.base[:, np.newaxis], table.n_rows, axis=1)
        return self._score_of(ensemble, table)

    def _score_of(self, ensemble: Any, table: Any) -> npt.NDArray[np.float64]:
        return np.ascontiguousarray(ensemble.score(table, self.workers).T)

    def _recipe(self, scale: TargetScale) -> Recipe:
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
        )

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
        p = self.params
        self._check_symmetric()
        tree = HistogramTree(
            **{name: p[name] for name in TREE_PARAMETERS if name in p},
            **self._feature_rules(),
            **self._proposal(),
            l1=p["l1_regularization"],
            l2=p["l2_regularization"],
            max_step=self._max_step(),
            growth=p["growth"],
        )
        return in_units(tree, self.loss, unit, gradient_unit)

    def _feature_rules(self) -> dict[str, Any]:
        """Return the rules of a tree that speak of single features."""
        p, features = self.params, self.features
        directions = numbers_by_feature(
            p.get("monotonic_cst"), features, "monotonic_cst", "-1, 0 or 1", of=(-1, 0, 1)
        )
        for position, direction in enumerate(directions):
            if direction and position in features.categorical:
                raise InvalidParameterError(
                    f"monotonic_cst: feature {feature_label(features, position)} is categorical, "
                    "and its levels have no order; leave its direction at 0."
                )
        together, most = interactions(p.get("interaction_cst"), features)
        weights = numbers_by_feature(
            p.get("feature_weights"), features, "feature_weights", "a number, at least 0"
        )
        if p.get("feature_weights") is not None and not self._draws_columns():
            raise InvalidParameterError(
                "feature_weights says how likely a feature is to be drawn, but none are drawn: set "
                "columns_per_tree, columns_per_level or columns_per_node below 1."
            )
        return {
            "monotone": tuple(int(d) for d in directions),
            "together": together,
            "most_together": most,
            "first_use": numbers_by_feature(
                p.get("first_use_penalty"), features, "first_use_penalty", "a number, at least 0"
            ),
            "used": () if self.previous is None else self.previous.ensemble.features_used(),
            "feature_weights": weights,
            "forced": forced_splits(p.get("forced_splits"), features),
        }

    def _check_symmetric(self) -> None:
        """Raise unless the other parameters say something about symmetric trees."""
        p = self.params
        if p["growth"] != "symmetric":
            return
        for name, needed in (
            ("split", "histogram"),
            ("columns_per_node", 1.0),
            ("random_thresholds", False),
            ("forced_splits", None),
        ):
            if name in p and p[name] != needed:
                raise InvalidParameterError(
                    f"growth='symmetric' asks one question a level, found from histograms: {name} "
                    f"must be {needed!r}; got {p[name]!r}."
                )

    def _proposal(self) -> dict[str, Any]:
        """Return which values are candidates where each has a code of its own."""
        p = self.params
        split, given = p.get("split", "histogram"), (p.get("proposal"), p.get("epsilon"))
        if split != "approx" and given != (None, None):
            raise InvalidParameterError(
                "proposal and epsilon say which values split='approx' tries; with "
                f"split={split!r} they must be None."
            )
        if split != "histogram" and p["max_bins"] != DEFAULT_BINS:
            raise InvalidParameterError(
                f"max_bins has no meaning with split={split!r}, which has no bins; leave it at "
                f"{DEFAULT_BINS}."
            )
        if split != "approx":
            return {}
        return {"proposal": given[0] or "global", "epsilon": given[1] or EPSILON}

    def _draws_columns(self) -> bool:
        return any(self.params[f"columns_per_{what}"] < 1 for what in ("tree", "level", "node"))


def in_units(tree: HistogramTree, loss: Loss, unit: float, gradient_unit: float) -> HistogramTree:
    """Return a tree whose limits are in units of the target's spread."""
    by_quantile = loss.leaf_quantile is not None
    return replace(
        tree,
        l1=tree.l1 * gradient_unit,
        min_gain=tree.min_gain * gradient_unit**2,
        first_use=tuple(price * gradient_unit**2 for price in tree.first_use),
        max_step=0.0 if by_quantile else tree.max_step * unit,
    )
