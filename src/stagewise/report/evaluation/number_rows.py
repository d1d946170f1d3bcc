"""Rows with one or several numbers, beside the predicted ones."""

from __future__ import annotations

import numpy as np

from stagewise.data import match_targets, read_targets
from stagewise.estimators.bases.model_access import n_targets
from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.predictions import (
    Predictions,
    deviance_power,
    offsets_of,
    predicts_shares,
)
from stagewise.report.evaluation.evaluated_rows import (
    EvaluatedRows,
    GivenRows,
    Quality,
    ScoreGroup,
)
from stagewise.report.quality_facts import number_quality
from stagewise.report.spread_facts import spread_quality
from stagewise.report.subgroup_facts import RowErrors

__all__ = ["NumberRows"]


class NumberRows(EvaluatedRows):
    """Rows with a number for each target."""

    def __init__(self, given: GivenRows) -> None:
        super().__init__(given)
        self.predictions = _predict(given)
        self.first = next(iter(self.predictions.values()))
        self.weight = self.first.weight
        self.errors = np.abs(self.first.y - self.first.y_pred)

    @property
    def first_target(self) -> str:
        return next(iter(self.predictions)) or super().first_target

    @property
    def baseline(self) -> str:
        return self.first.constant.name

    @property
    def baseline_note(self) -> str:
        if self.first.offsets is None:
            best = "the score of the constant prediction that is best for these rows"
            return f"{best} (the mean; for MAE the median)"
        best = "the rate" if self.first.offsets.loss.log_link else "the constant"
        return (
            f"the score of {best} that is best for these rows beside their exposures or offsets; "
            "R² compares with the mean of the target"
        )

    @property
    def subject(self) -> str:
        if len(self.predictions) > 1:
            return f"{len(self.predictions)} numbers"
        power = self.first.deviance_power
        return "a number" if power is None else "a count" if power == 1.0 else "an amount"

    @property
    def shown(self) -> Vector:
        return np.column_stack([each.y for each in self.predictions.values()])

    @property
    def target(self) -> Vector:
        return np.asarray(self.first.y) if len(self.predictions) == 1 else self.shown

    @property
    def described(self) -> Vector:
        return np.asarray(self.first.y)

    def scores(self) -> tuple[ScoreGroup, ...]:
        return tuple((name, self._scored(each)) for name, each in self.predictions.items())

    def quality(self) -> Quality:
        given = self.given
        numbers = tuple(
            number_quality(each, name or self.first_target, given.seed)
            for name, each in self.predictions.items()
        )
        spread = None
        if "" in self.predictions:
            rows = given.X, self.first.y, self.first.weight
            spread = spread_quality(given.estimator, *rows, dict(given.passed), given.seed)
        return Quality(numbers=numbers, spread=spread, coverage=self._coverage())

    def row_errors(self) -> RowErrors:
        return RowErrors.of(self.first)


def _predict(given: GivenRows) -> dict[str, Predictions]:
    """Return the predictions beside the true targets, by the name of the target."""
    fitted, estimator, X = given.fitted, given.estimator, given.X
    n = n_targets(estimator)
    if n == 1:
        return {"": Predictions.of(estimator, X, given.y, given.sample_weight, **given.passed)}
    y_pred = estimator.predict(X, **given.passed)
    known = read_targets(match_targets(given.y, fitted.model.targets), len(y_pred), caller="report")
    if known.ndim != 2 or known.shape[1] != n:
        raise ValueError(
            f"The model predicts {n} targets, and y has shape {known.shape}. Pass one column per "
            f"target: {', '.join(fitted.outputs('mean'))}."
        )
    power = deviance_power(estimator)
    offsets = offsets_of(estimator, X, len(known), **given.passed)
    return {
        name: Predictions.from_arrays(
            known[:, k],
            y_pred[:, k],
            None,
            given.sample_weight,
            deviance_power=power,
            of_shares=predicts_shares(estimator),
            offsets=None if offsets is None else offsets.of_target(k),
        )
        for k, name in enumerate(fitted.outputs("mean"))
    }
