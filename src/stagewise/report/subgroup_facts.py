"""Errors by subgroup: the rows of a category, or of a range of a feature.

A subgroup is compared with all rows. Subgroups are ordered by the lower confidence limit of their
error, so that a small one is not the first by chance alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from stagewise.data.reading.datetimes import format_datetime
from stagewise.export.formatting import format_number
from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import FittedModel, Vector
from stagewise.inspection.quality.calibration import wilson_limits
from stagewise.inspection.quality.metrics import DEVIANCES
from stagewise.inspection.quality.predictions import Predictions
from stagewise.inspection.quantiles import weighted_quantiles
from stagewise.metrics.row_losses import (
    CLASSIFICATION_ROW_LOSSES,
    REGRESSION_ROW_LOSSES,
    unit_deviance,
)
from stagewise.report.row_facts import take

__all__ = ["RowErrors", "Subgroup", "SubgroupFacts", "no_subgroups", "subgroup_facts"]

ROWS = 100_000
"""Of larger tables a sample of this many rows is used."""
FEATURES = 40
"""The number of features whose subgroups are compared, the most important first."""
WORST = 20
FEWEST_ROWS, LEAST_SHARE = 20, 0.01
"""A subgroup has at least so many rows, and this share of them."""
MOST_SHARE = 0.95
"""Larger subgroups are nearly all rows."""
FEW_VALUES = 6
"""A number with at most so many different values has a subgroup for each."""
RANGES = 4
"""The number of ranges of other numbers, of equal weight."""
CONFIDENCE_LEVEL = 0.95
DIGITS = 5


@dataclass(frozen=True)
class Subgroup:
    """The error of the predictions for some rows.

    Attributes
    ----------
    feature : int
        The feature that defines the subgroup.
    label : str
        Its condition, such as "age ≤ 25".
    n_rows : int
        The number of rows.
    error, low, high : float
        The mean error, and its confidence limits.
    predicted, observed : float
        The mean prediction and the mean target; for two classes the mean probability and the share
        of the second. NaN for more classes.
    """

    feature: int
    label: str
    n_rows: int
    error: float
    low: float
    high: float
    predicted: float
    observed: float


@dataclass(frozen=True, eq=False)
class SubgroupFacts:
    """The subgroups with the largest errors.

    Attributes
    ----------
    measure : str
        The mean that is compared: "error rate", "mean absolute error", a deviance or
        "integrated Brier score"; empty: rows by themselves have no errors.
    target : str
        The target; of several the first.
    n_rows, n_features, n_subgroups : int
        The numbers of rows, features and subgroups that were compared.
    whole : Subgroup
        All rows.
    worst : tuple of Subgroup
        By the lower confidence limit of their error.
    """

    measure: str
    target: str
    n_rows: int
    n_features: int
    n_subgroups: int
    whole: Subgroup
    worst: tuple[Subgroup, ...]


@dataclass(frozen=True, eq=False)
class RowErrors:
    """The errors of rows, with predictions and targets.

    Attributes
    ----------
    measure : str
        As of `SubgroupFacts`.
    error, weight : float64 arrays of shape (n_rows,)
        The errors and the weights.
    predicted, observed : float64 arrays of shape (n_rows,)
        Predictions and targets, whose means are compared; NaN: they have no means.
    """

    measure: str
    error: Vector
    predicted: Vector
    observed: Vector
    weight: Vector

    @classmethod
    def of(cls, predictions: Predictions) -> RowErrors:
        """Return the errors of predictions of classes or numbers."""
        y, y_pred, weight = predictions.y, predictions.y_pred, predictions.weight
        if predictions.classes is not None:
            error = CLASSIFICATION_ROW_LOSSES["error"](y, y_pred)
            two = y_pred.shape[1] == 2
            predicted = y_pred[:, 1] if two else np.full(len(y), np.nan)
            observed = (y == 1).astype(np.float64) if two else predicted
            return cls("error rate", error, predicted, observed, weight)
        power = predictions.deviance_power
        if power is not None and np.isfinite(unit_deviance(y, y_pred, power)).all():
            _, name = DEVIANCES.get(power, ("tweedie", "Tweedie"))
            deviance = unit_deviance(y, y_pred, power)
            return cls(f"mean {name} deviance", deviance, y_pred, y, weight)
        absolute = REGRESSION_ROW_LOSSES["absolute_error"](y, y_pred)
        return cls("mean absolute error", absolute, y_pred, y, weight)

    def take(self, rows: npt.NDArray[np.int64]) -> RowErrors:
        """Return the errors of some rows."""
        own = self.error, self.predicted, self.observed, self.weight
        return RowErrors(self.measure, *(values[rows] for values in own))

    def subgroup(self, feature: int, label: str, chosen: npt.NDArray[np.bool_]) -> Subgroup:
        """Return the mean error of some rows, with its confidence limits."""
        error, weight = self.error[chosen], self.weight[chosen]
        weight = weight / weight.max()
        mean = float(np.average(error, weights=weight))
        n = float(weight.sum() ** 2 / (weight**2).sum())  # the effective number of rows
        if self.measure == "error rate":
            limits = wilson_limits(np.array([mean]), np.array([n]), CONFIDENCE_LEVEL)
            low, high = float(limits[0][0]), float(limits[1][0])
        else:
            variance = float(np.average((error - mean) ** 2, weights=weight)) * n / max(n - 1, 1.0)
            reach = float(ndtri((1 + CONFIDENCE_LEVEL) / 2)) * (variance / n) ** 0.5
            low, high = max(mean - reach, 0.0), mean + reach
        predicted, observed = (
            float(np.average(values[chosen], weights=weight))
            for values in (self.predicted, self.observed)
        )
        n_rows = int(np.count_nonzero(chosen))
        return Subgroup(feature, label, n_rows, mean, low, high, predicted, observed)


def subgroup_facts(
    fitted: FittedModel,
    X: Any,
    errors: RowErrors,
    target: str,
    order: Sequence[int],
    seed: int,
) -> SubgroupFacts:
    """Compare the errors of subgroups.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    X : table
        The rows.
    errors : RowErrors
        Their errors.
    target : str
        The name of the target.
    order : sequence of int
        The features, the most important first.
    seed : int
        The seed of the sample of a large table.
    """
    rows, n_rows = sample_rows(errors.weight, ROWS, seed), len(errors.weight)
    errors = errors.take(rows)
    features = list(order[:FEATURES])
    encoded = fitted.rows(X if len(rows) == n_rows else take(X, rows))
    found = [
        errors.subgroup(j, label, chosen)
        for j in features
        for label, chosen in _conditions(fitted, j, encoded.column(j), errors.weight)
    ]
    worst = sorted(found, key=lambda group: (-group.low, group.feature, group.label))[:WORST]
    whole = errors.subgroup(-1, "all rows", np.ones(len(rows), dtype=bool))
    return SubgroupFacts(
        errors.measure, target, len(rows), len(features), len(found), whole, tuple(worst)
    )


def no_subgroups(target: str) -> SubgroupFacts:
    """Return no subgroups, for rankings: a row without the others of its query has no error."""
    nan = float("nan")
    whole = Subgroup(-1, "all rows", 0, nan, nan, nan, nan, nan)
    return SubgroupFacts("", target, 0, 0, 0, whole, ())


def _conditions(
    fitted: FittedModel, place: int, column: Vector, weight: Vector
) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Yield the subgroups of a feature with enough rows, each with its condition."""
    least = max(FEWEST_ROWS, LEAST_SHARE * len(column))
    feature = fitted.model.features[place]
    if feature.kind == "categorical":
        found = _categories(fitted, place, column)
    elif feature.kind == "real":
        found = _ranges(fitted, place, column, weight)
    else:  # the codes of wide integers are not their values
        return
    for label, chosen in found:
        if least <= np.count_nonzero(chosen) <= MOST_SHARE * len(column):
            yield label, chosen


def _categories(
    fitted: FittedModel, place: int, column: Vector
) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    name, known = fitted.names[place], fitted.model.features[place].categories
    assert known is not None
    for code, value in enumerate(known.values):
        yield f"{name} = {value}", column == code
    yield f"{name} missing", np.isnan(column)
    yield f"{name} unknown", column >= len(known)


def _ranges(
    fitted: FittedModel, place: int, column: Vector, weight: Vector
) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    name, temporal_type = fitted.names[place], fitted.model.features[place].temporal_type
    known = ~np.isnan(column)
    yield f"{name} missing", ~known
    values = np.unique(column[known])
    if not len(values):
        return

    def text(value: float) -> str:
        if temporal_type is None or not np.isfinite(value):
            return format_number(value, DIGITS)
        finite = values[np.isfinite(values)]
        return format_datetime(value, temporal_type, within=float(finite[-1] - finite[0]))

    if len(values) <= FEW_VALUES:
        for value in values.tolist():
            yield f"{name} = {text(value)}", column == value
        return
    shares = np.arange(1, RANGES) / RANGES
    cuts = np.unique(weighted_quantiles(column[known], weight[known], shares))
    cuts = cuts[cuts < values[-1]].tolist()
    for low, high in zip([None, *cuts], [*cuts, None], strict=True):
        if low is None and high is None:
            return
        if low is None:
            yield f"{name} ≤ {text(high)}", column <= high
        elif high is None:
            yield f"{name} > {text(low)}", column > low
        else:
            label = f"{name} > {text(low)}, ≤ {text(high)}"
            yield label, (column > low) & (column <= high)
