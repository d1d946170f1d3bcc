"""One fit, from samples to a model: standardise, bin, boost.

The one idea: everything that is learned before the first round (offset and scale of y, cuts, the
best constant) is learned from the training rows alone, or taken from the model that is continued.
Must not know scikit-learn, nor what the caller passed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Workers
from stagewise.boosting.loop import Rows, boost
from stagewise.boosting.methods import Method
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.progress import ProgressDisplay
from stagewise.boosting.recipe import Recipe
from stagewise.boosting.sampling import RowFraction
from stagewise.boosting.stopping import Patience, TimeLimit
from stagewise.data import Features, TargetScale
from stagewise.data.bins import bin_like, learn_bins
from stagewise.estimators.report import warn_if_constant
from stagewise.estimators.rows import Sample
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model

__all__ = ["Fit"]

Vector = npt.NDArray[np.float64]


class Fit:
    """One fit, from samples to a model: standardise, bin, boost."""

    def __init__(
        self,
        params: dict[str, Any],
        method: Method,
        loss: Loss,
        workers: Workers,
        seed: int,
        began: float,
    ) -> None:
        self.params, self.method, self.loss = params, method, loss
        self.workers, self.seed, self.began = workers, seed, began

    def run(
        self,
        train: Sample,
        valid: Sample | None,
        features: Features,
        classes: npt.NDArray[Any] | None,
        previous: Model | None,
    ) -> tuple[Model, dict[str, Any]]:
        """Boost and return the model, with what was noticed on the way."""
        self.loss.check(train.y)
        if valid is not None:
            try:
                self.loss.check(valid.y)
            except ValueError as error:
                raise ValueError(f"In y_val: {error}") from None
        scale = self._target_scale(train, previous)
        y = self._standardise(scale, train.y)
        table = train.table()
        bins, cuts = learn_bins(
            self.workers, table, train.weight, self.params["max_bins"], self.seed
        )
        details = warn_if_constant(bins, features, train.y, classes)
        ensemble = self._start(features, y, train.weight, previous)
        rows = Rows(bins, y, train.weight, self._start_score(ensemble, table))
        held = None
        if valid is not None:
            held_table = valid.table()
            held = Rows(
                bin_like(self.workers, held_table, cuts),
                self._standardise(scale, valid.y),
                valid.weight,
                self._start_score(ensemble, held_table),
            )
        monitor = self._boost(rows, held, ensemble, scale, previous, classes)
        details["stopped_because"] = monitor.stopped_because
        model = Model(
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
        return model, details

    def _boost(
        self,
        rows: Rows,
        held: Rows | None,
        ensemble: Ensemble,
        scale: TargetScale,
        previous: Model | None,
        classes: npt.NDArray[Any] | None,
    ) -> Monitor:
        p = self.params
        first = ensemble.n_rounds
        patience = None if held is None else Patience(p["n_iter_no_change"], p["tol"])
        display = ProgressDisplay(p["verbose"])
        limit = p["time_limit"]
        monitor = Monitor(
            p["n_estimators"],
            patience=patience,
            time_limit=None if limit is None else TimeLimit(limit, self.began),
            callbacks=p["callbacks"],
            display=display,
            loss_scale=scale.loss_unit(self.loss.degree or 0),
            train_loss=[] if previous is None else previous.train_loss[:first].tolist(),
            valid_loss=[] if previous is None else previous.valid_loss[:first].tolist(),
        )
        one_class = classes is not None and len(classes) == 1
        rounds = range(first, first if one_class else p["n_estimators"])
        try:
            boost(
                self._recipe(scale), ensemble, rows, held, rounds, monitor, self.workers, self.seed
            )
        finally:
            display.close()
        ensemble.truncate(monitor.best_round)
        return monitor

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
        features: Features,
        y: npt.NDArray[Any],
        weight: Vector | None,
        previous: Model | None,
    ) -> Ensemble:
        if previous is None:
            if self.method.from_zero:
                return Ensemble(features.n, np.zeros(self.loss.n_outputs))
            if self.loss.degree is not None and self.loss.mean_is_best:
                # The offset is the exact mean; a second one would only add rounding.
                return Ensemble(features.n, np.zeros(self.loss.n_outputs))
            return Ensemble(features.n, self.loss.best_constant(y, weight))
        old = previous.ensemble
        return Ensemble(old.n_features, old.base, list(old.trees))

    def _start_score(self, ensemble: Ensemble, table: Columns) -> npt.NDArray[np.float64]:
        if ensemble.n_rounds == 0:
            return np.repeat(ensemble.base[:, np.newaxis], table.n_rows, axis=1)
        return np.ascontiguousarray(ensemble.score(table, self.workers).T)

    def _recipe(self, scale: TargetScale) -> Recipe:
        """Build the recipe; limits that have a unit are in units of the target's spread.

        A gradient of a loss of degree d is of degree d - 1, a gain of degree 2 (d - 1).
        """
        p, degree = self.params, self.loss.degree
        unit = 1.0 if degree is None else scale.spread
        gradient_unit = unit ** ((degree or 1) - 1)
        max_step = (p["max_step"] or 0.0) * unit
        by_quantile = self.loss.leaf_quantile is not None
        learner = HistogramTree(
            max_leaf_nodes=p["max_leaf_nodes"],
            max_depth=p["max_depth"],
            min_samples_leaf=p["min_samples_leaf"],
            min_hessian=p["min_hessian"],
            l1=p["l1_regularization"] * gradient_unit,
            l2=p["l2_regularization"],
            min_gain=p["min_gain"] * gradient_unit**2,
            max_step=0.0 if by_quantile else max_step,
            criterion=p.get("criterion", "misclassification"),
            depth_wise=p["growth"] == "depth_wise",
            columns_per_tree=p["columns_per_tree"],
            columns_per_level=p["columns_per_level"],
            columns_per_node=p["columns_per_node"],
        )
        return Recipe(
            self.loss,
            learner,
            self.method.response,
            self.method.step(self.loss, max_step),
            RowFraction(p["subsample"]),
            p["learning_rate"],
        )
