"""The weights of base estimators, their weighted average, and the out-of-sample predictions.

The prediction of a bagging ensemble is Σ α_j h_j(x) / Σ α_j, where h_j are numbers, probabilities
or votes. The ways to combine estimators differ only in the weights α_j.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.bagging.bag_samples import BagSample
from stagewise.data import TargetScale

__all__ = [
    "OutOfSample",
    "WeightedSum",
    "log_odds_weight",
    "normalize_weights",
    "precision_weight",
]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

MIN_WEIGHT = 2.0**-20
"""The weight of an estimator no better than chance: it matters only where no other votes."""
MIN_ERROR = 2.0**-40
"""The smallest mean squared error, as a share of the target's variance, that is used."""


def log_odds_weight(error: float, n_classes: int, total: float) -> float:
    """Return α = log((1 - ε) / ε) + log(K - 1), the weight of a classifier with error rate ε.

    For two classes these are the weights of AdaBoost's votes, and those with which votes of
    independent classifiers are right most often (Nitzan & Paroush 1982). A classifier without
    errors counts as one with half a row wrong; one that is no better than chance gets `MIN_WEIGHT`.

    Parameters
    ----------
    error : float
        ε, measured on out-of-sample rows.
    n_classes : int
        K.
    total : float
        The weight of these rows.
    """
    half = min(0.5, 0.5 / total)
    wrong = min(max(error, half), 1.0 - half)
    return max(math.log((1.0 - wrong) / wrong) + math.log(max(1, n_classes - 1)), MIN_WEIGHT)


def precision_weight(error: float, variance: float) -> float:
    """Return α = 1 / ε, the weight of a regressor whose mean squared error is ε.

    Of all weights with Σ α = 1 these minimise the expected square of Σ α_j ε_j(x) if the errors of
    the regressors are uncorrelated.

    Parameters
    ----------
    error : float
        ε, measured on out-of-sample rows.
    variance : float
        The variance of the target, the unit of ε.
    """
    return 1.0 if variance == 0.0 else 1.0 / max(error / variance, MIN_ERROR)


def normalize_weights(weights: Vector) -> Vector:
    """Return weights that sum to 1; NaN (an error that was not measured) becomes the mean."""
    known = ~np.isnan(weights)
    filled = np.where(known, weights, weights[known].mean() if known.any() else 1.0)
    return np.asarray(filled / filled.sum())


class WeightedSum:
    """Σ α_j h_j(x), which stays finite as long as all h_j are finite.

    Parameters
    ----------
    n_rows, n_columns : int
        The shape of the predictions.
    """

    STEP = 64
    """By how many powers of two the unit grows where a sum would overflow."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self._sums, self._power = np.zeros((n_rows, n_columns)), 0

    def add(
        self, predicted: Matrix, weight: float, rows: npt.NDArray[np.intp] | None = None
    ) -> None:
        """Add the predictions of one estimator for all rows, or for some."""
        at = slice(None) if rows is None else rows
        with np.errstate(over="ignore"):
            new = self._sums[at] + np.ldexp(weight * predicted, -self._power)
        if not np.isfinite(new).all():
            self._sums = np.ldexp(self._sums, -self.STEP)
            self._power += self.STEP
            new = self._sums[at] + weight * np.ldexp(predicted, -self._power)
        self._sums[at] = new

    def divide(self, total: Vector | float, rows: npt.NDArray[np.intp] | None = None) -> Matrix:
        """Return the sums divided by the sum of the weights."""
        sums = self._sums if rows is None else self._sums[rows]
        return np.ldexp(sums / total, self._power)


class OutOfSample:
    """The ensemble's predictions for training rows, by the estimators not fitted to the row.

    Parameters
    ----------
    y : array
        Targets, or class codes.
    weight : float64 array or None
        The weights of the rows.
    n_classes : int
        The number of classes; 0: regression.
    """

    def __init__(self, y: npt.NDArray[np.generic], weight: Vector | None, n_classes: int) -> None:
        self._y: npt.NDArray[Any] = y
        self._classes = n_classes
        self._weight = np.ones(len(y)) if weight is None else weight
        self._sums = WeightedSum(len(y), max(1, n_classes))
        self._total = np.zeros(len(y))
        self.variance, self._scale = 0.0, TargetScale(0.0, 1.0)
        """The variance of the targets of a regression, in the unit of the squared errors."""
        self.unit = 1.0
        """The unit of squared errors: the square of the unit of the standardised targets."""
        if not n_classes:
            values = np.asarray(y, dtype=np.float64)
            self._scale = TargetScale.learn(values, self._weight)
            self._y = self._scale.standardise(values)
            self.unit = self._scale.loss_unit(2)
            self.variance = float(np.average(self._y**2, weights=self._weight))

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Whether a row is out of sample for at least one estimator."""
        return self._total > 0.0

    @property
    def prediction(self) -> Matrix:
        """The predictions, shape (n_rows, n_columns); NaN if a row is in every bag."""
        out = np.full((len(self._y), max(1, self._classes)), np.nan)
        known = np.flatnonzero(self.known)
        out[known] = self._average(known)
        return out

    def error(self, predicted: Matrix, rows: npt.NDArray[np.intp]) -> float:
        """Return the error rate, or the mean squared error in `unit`; NaN without rows."""
        if not len(rows):
            return math.nan
        weight = self._weight[rows]
        if self._classes:
            off = (predicted.argmax(axis=1) != self._y[rows]).astype(np.float64)
        else:
            off = (self._scale.standardise(predicted[:, 0]) - self._y[rows]) ** 2
        return float(np.average(off, weights=weight))

    def weight(self, error: float, sample: BagSample) -> float:
        """Return the weight α of an estimator with this out-of-sample error."""
        if math.isnan(error):
            return math.nan
        if self._classes:
            return log_odds_weight(error, self._classes, float(sample.held_weight.sum()))
        return precision_weight(error, self.variance)

    def add(self, sample: BagSample, predicted: Matrix, weight: float) -> float:
        """Add the predictions of an estimator; return the error of the ensemble so far."""
        if len(sample.held):
            self._sums.add(predicted, weight, sample.held)
            self._total[sample.held] += weight
        known = np.flatnonzero(self.known)
        return self.error(self._average(known), known)

    def score(self) -> float:
        """Return the accuracy, or R², of the rows that have a prediction."""
        known = np.flatnonzero(self.known)
        error = self.error(self.prediction[known], known)
        if self._classes:
            return 1.0 - error
        values, weight = self._y[known].astype(np.float64), self._weight[known]
        if len(known) < 2 or np.ptp(values) == 0.0:
            return math.nan
        mean = np.average(values, weights=weight)
        return 1.0 - error / float(np.average((values - mean) ** 2, weights=weight))

    def _average(self, rows: npt.NDArray[np.intp]) -> Matrix:
        return self._sums.divide(self._total[rows, np.newaxis], rows)
