"""Boosting of any estimator: rows are passed on as they are, and terms are fitted estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

from stagewise.boosting.monitor import Monitor
from stagewise.boosting.steps import Step
from stagewise.learners.estimator import EstimatorLearner
from stagewise.learners.learner import Learner
from stagewise.losses import Loss
from stagewise.model.terms import TermModel, Terms
from stagewise.training.fit_report import ONE_VALUE, warn_of_one_class
from stagewise.training.preparation import Scale
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.specs import FitContext
from stagewise.validation.messages import warn_caller

__all__ = ["EstimatorAdapter"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EstimatorAdapter:
    """Terms that are estimators.

    Attributes
    ----------
    estimator : estimator
        Is cloned and fitted in every round.
    resample : bool
        Whether rows are drawn by their weights, for estimators without sample_weight.
    """

    estimator: Any
    resample: bool = False
    vector_leaves = False

    def max_step(self, scale: Scale) -> float:
        """Return 0: steps have no limit."""
        return 0.0

    def source(self, table: Any, context: FitContext) -> Any:
        """Return rows as the terms read them."""
        return table

    def encode(
        self,
        tables: Sequence[Any],
        weight: Vector | None,
        features: Any,
        context: FitContext,
        rows: npt.NDArray[np.uint32] | None = None,
    ) -> tuple[Any, Callable[[Any], Any]]:
        """Return X as it was passed, and a function that does so for other rows."""
        return tables[0].X, lambda other: other.X

    def find_constant(
        self, encoded: Any, data: TrainingData, features: Any, *, warns: bool
    ) -> tuple[list[str], list[str] | None]:
        """Return no feature: the columns are not read. With `warns`, warn if y has one value."""
        if not warns:
            return [], None
        if data.classes is not None and len(data.classes) == 1:
            warn_of_one_class(data.classes)
        elif data.classes is None and (data.train.y == data.train.y[0]).all():
            warn_caller(ONE_VALUE)
        return [], None

    def new_ensemble(self, features: Any, base: Vector) -> Terms:
        """Return a sum without terms."""
        return Terms(base)

    def continued(self, features: Any, previous: Any) -> Terms:
        """Raise: a sum of estimators is not continued."""
        raise NotImplementedError("A model of estimators cannot be continued.")

    def score(self, ensemble: Terms, source: Any, context: FitContext) -> Vector:
        """Return the scores of rows, shape (n_rows, n_outputs)."""
        return ensemble.score(source.X, source.n_rows)

    def learner(self, features: Any, loss: Loss, unit: float, used: Sequence[int]) -> Learner:
        """Return the learner."""
        return EstimatorLearner(self.estimator, self.resample)

    def step(self, step: Step, features: Any, max_step: float) -> Step:
        """Return the step: estimators have no leaves."""
        return step

    def model(
        self,
        loss: Loss,
        data: TrainingData,
        features: Any,
        ensemble: Terms,
        scale: Scale,
        monitor: Monitor,
    ) -> TermModel:
        """Return the model."""
        return TermModel(
            task="regression" if data.classes is None else "classification",
            loss=loss.name,
            ensemble=ensemble,
            offset=scale.offset,
            scale=scale.scale,
            classes=data.classes,
            train_loss=np.array(monitor.train_loss),
            valid_loss=np.array(monitor.valid_loss),
            n_features=features.n,
            names=features.names,
            digest=_digest(ensemble, scale, data.classes),
            row_offset=data.row_offset,
        )


def _digest(terms: Terms, scale: Scale, classes: npt.NDArray[Any] | None) -> str | None:
    """Return a hash of the model, or None if an estimator cannot be pickled.

    An estimator with a fingerprint contributes the fingerprint.
    """
    parts = [
        (p.value, p.estimator.fingerprint() if hasattr(p.estimator, "fingerprint") else p.estimator)
        for p in terms.parts
    ]
    known = [terms.base, parts, scale.offset, scale.scale, classes]
    try:
        return str(joblib.hash(known, hash_name="sha1"))
    except (PicklingError, TypeError, AttributeError):  # pickle raises any of these
        return None
