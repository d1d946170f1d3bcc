"""Rows with a class, beside their predicted probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagewise.estimators.bases.model_access import without_calibration
from stagewise.inspection.quality.confusion import ConfusionMatrix
from stagewise.inspection.quality.predictions import Predictions
from stagewise.report.evaluation.evaluated_rows import (
    EvaluatedRows,
    GivenRows,
    Quality,
    ScoreGroup,
)
from stagewise.report.quality_facts import class_quality
from stagewise.report.subgroup_facts import RowErrors

__all__ = ["ClassRows"]


class ClassRows(EvaluatedRows):
    """Rows with a class."""

    baseline_note = (
        "the score of the constant prediction that is best for these rows (the class shares, or "
        "the most frequent class)"
    )

    def __init__(self, given: GivenRows) -> None:
        super().__init__(given)
        self.predictions = self._predict(given.estimator, given.sample_weight)
        own = self.predictions
        self.weight = own.weight
        self.errors = np.asarray(1.0 - own.y_pred[np.arange(len(own.y)), own.y])

    def _predict(self, estimator: Any, weight: Any) -> Predictions:
        given = self.given
        return Predictions.of(estimator, given.X, given.y, weight, **given.passed)

    @property
    def subject(self) -> str:
        names = self.given.fitted.outputs("mean")
        two = len(names) == 2
        return f"class {names[0]} or {names[1]}" if two else f"one of {len(names)} classes"

    @property
    def shown(self) -> Sequence[str]:
        names = self.predictions.names
        return [names[k] for k in self.predictions.y.tolist()]

    @property
    def target(self) -> Any:
        return np.asarray(self.given.fitted.model.classes)[self.predictions.y]

    @property
    def described(self) -> Any:
        return np.array(self.shown, dtype=object)

    def scores(self) -> tuple[ScoreGroup, ...]:
        return (("", self._scored(self.predictions)),)

    def quality(self) -> Quality:
        own = self.predictions
        each = class_quality(own, self._before_calibration())
        counts = ConfusionMatrix.of(own).counts
        return Quality(each, own.names, counts, coverage=self._coverage())

    def _before_calibration(self) -> Predictions | None:
        """Return the predictions without the calibration map; None: the model has none."""
        plain = without_calibration(self.given.estimator)
        return None if plain is None else self._predict(plain, self.weight)

    def row_errors(self) -> RowErrors:
        return RowErrors.of(self.predictions)
