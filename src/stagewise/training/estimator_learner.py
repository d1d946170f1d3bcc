"""Fits with a learner of the caller's: a tree with other rules, or any estimator."""

from __future__ import annotations

from collections.abc import Callable
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

from stagewise.boosting.monitor import Monitor
from stagewise.learners.estimator import EstimatorLearner
from stagewise.learners.learner import Learner
from stagewise.model.terms import TermModel, Terms
from stagewise.training.boosting_trainer import Fit
from stagewise.training.ready import Scale
from stagewise.training.row_set import Sample
from stagewise.training.tree_learner import in_units

__all__ = ["TermFit", "TreeFit"]

Vector = npt.NDArray[np.float64]


class TermFit(Fit):
    """A fit whose terms are estimators."""

    def _prepare(
        self, tables: Any, train: Sample, features: Any, classes: npt.NDArray[Any] | None
    ) -> tuple[Any, Callable[[Any], Any], dict[str, Any]]:
        return tables[0].X, lambda other: other.X, {}

    def _start(
        self, features: Any, y: npt.NDArray[Any], weight: Vector | None, previous: Any
    ) -> Any:
        return Terms(super()._start(features, y, weight, previous).base)

    def _score_of(self, ensemble: Any, table: Any) -> npt.NDArray[np.float64]:
        return np.ascontiguousarray(ensemble.score(table.X, table.n_rows).T)

    def _max_step(self) -> float:
        return 0.0

    def _learner(self, unit: float, gradient_unit: float) -> Learner:
        return EstimatorLearner(self.params["learner"], self.params["resample"])

    def _model(
        self,
        features: Any,
        ensemble: Any,
        scale: Scale,
        classes: npt.NDArray[Any] | None,
        monitor: Monitor,
    ) -> TermModel:
        return TermModel(
            task="regression" if classes is None else "classification",
            loss=self.loss.name,
            ensemble=ensemble,
            offset=scale.offset,
            scale=scale.scale,
            classes=classes,
            train_loss=np.array(monitor.train_loss),
            valid_loss=np.array(monitor.valid_loss),
            n_features=features.n,
            names=features.names,
            digest=_digest(ensemble, scale, classes),
        )


def _digest(terms: Terms, scale: Scale, classes: npt.NDArray[Any] | None) -> str | None:
    """Return a hash of what was learned, or None if a learner cannot be pickled.

    Of an estimator that has a fingerprint, that is hashed.
    """
    parts = [
        (p.value, p.estimator.fingerprint() if hasattr(p.estimator, "fingerprint") else p.estimator)
        for p in terms.parts
    ]
    known = [terms.base, parts, scale.offset, scale.scale, classes]
    try:
        return str(joblib.hash(known, hash_name="sha1"))
    except (PicklingError, TypeError, AttributeError):  # as pickle answers, by what it meets
        return None


class TreeFit(Fit):
    """A fit whose trees have rules of the caller's."""

    def _max_step(self) -> float:
        return float(self.params["learner"].max_step)

    def _learner(self, unit: float, gradient_unit: float) -> Learner:
        return in_units(self.params["learner"], self.loss, unit, gradient_unit)
