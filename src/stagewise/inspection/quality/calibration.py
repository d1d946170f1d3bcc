"""Calibration: predicted probabilities against observed frequencies.

Of the rows with a predicted probability p, a share p should be of the class. Rows are compared in
bins of equal weight, with confidence limits for the observed shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from stagewise.display import Summary, Tabled, spread
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.quality.plots import plot_calibration
from stagewise.inspection.quality.predictions import Predictions
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import Number

__all__ = ["Calibration", "calibration", "weight_bins", "wilson_limits"]


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Tabled):
    """Mean predicted probability and observed share in each bin.

    Attributes
    ----------
    pos_label : str
        The class.
    predicted, observed : float64 arrays of shape (n_bins,)
        The mean predicted probability of a bin, and the share of its rows that are of the class.
    low, high : float64 arrays of shape (n_bins,)
        Wilson confidence limits of the observed shares.
    weight : float64 array of shape (n_bins,)
        The weight of the rows of each bin.
    """

    pos_label: str
    predicted: Vector
    observed: Vector
    low: Vector
    high: Vector
    weight: Vector

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        pos_label: Any = None,
        *,
        n_bins: int = 10,
        confidence_level: float = 0.95,
    ) -> Calibration:
        """Compute the calibration of predictions; the parameters are those of `calibration`."""
        place = predictions.class_index(pos_label, "calibration")
        most = check_argument("n_bins", Number(1, whole=True), n_bins)
        share = check_argument(
            "confidence_level", Number(0.0, 1.0, open_low=True, open_high=True), confidence_level
        )
        rows = predictions.with_weight()
        probability, largest = rows.y_pred[:, place], rows.weight.max()
        weight = rows.weight / largest  # so that squares do not overflow
        number = weight_bins(probability, weight, most)
        n = number.max() + 1
        total, squares, p, own = (
            np.bincount(number, weights=each, minlength=n).astype(np.float64)
            for each in (weight, weight**2, weight * probability, weight * (rows.y == place))
        )
        predicted, observed = p / total, own / total
        low, high = wilson_limits(observed, total**2 / squares, share)
        return cls(predictions.names[place], predicted, observed, low, high, total * largest)

    def _summary(self) -> Summary:
        table = self.table()
        title = f"Calibration of the class {self.pos_label}, expected error {self.error:.4g}"
        return Summary(title, rows=[table[i] for i in spread(len(table))], n_rows=len(table))

    @property
    def error(self) -> float:
        """Expected calibration error: the mean of |observed - predicted|, bins by their weight."""
        return float(np.average(np.abs(self.observed - self.predicted), weights=self.weight))

    def table(self) -> list[dict[str, float]]:
        """Return one row per bin."""
        names = ("predicted", "observed", "low", "high", "weight")
        columns = [getattr(self, name).tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """Plot observed shares with limits against predicted probabilities; return the axes."""
        limits = np.stack([self.low, self.high])
        title = f"{self.pos_label}: calibration error {self.error:.3f}"
        return plot_calibration(self.predicted, self.observed, limits, title, ax)


@suggests_arguments
def calibration(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    pos_label: Any = None,
    n_bins: int = 10,
    sample_weight: Any = None,
    offset: Any = None,
    confidence_level: float = 0.95,
) -> Calibration:
    """Compare predicted probabilities of a class with observed frequencies.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier.
    X, y : array-like or data frame, and array-like
        Rows and their classes, preferably not used for training.
    pos_label : label or None
        The class. None: the second of two classes.
    n_bins : int, default=10
        The number of bins of equal weight; fewer if many rows have the same probability.
    sample_weight : array-like or None
        Sample weights.
    offset : array-like, number, str or None
        As of `predict` of the estimator.
    confidence_level : float, default=0.95
        The confidence level of the limits of the observed shares (Wilson 1927):

            (s + z²/2n ± z √(s(1 - s)/n + z²/4n²)) / (1 + z²/n)

        where n is the effective number of rows, (Σw)² / Σw².

    Returns
    -------
    Calibration
        `error` is the expected calibration error (Naeini, Cooper & Hauskrecht 2015).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stagewise import GradientBoostingClassifier
    >>> from stagewise.inspection import calibration
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X[:400], y[:400])
    >>> calibration(model, X[400:], y[400:], n_bins=4).error < 0.2
    True
    """
    predictions = Predictions.of(estimator, X, y, sample_weight, offset=offset)
    return Calibration.of(predictions, pos_label, n_bins=n_bins, confidence_level=confidence_level)


def weight_bins(values: Vector, weight: Vector, most: int) -> np.ndarray[Any, Any]:
    """Return the bin of each row; bins have about equal weights, and equal values one bin."""
    distinct, place = np.unique(values, return_inverse=True)
    own = np.bincount(place, weights=weight, minlength=len(distinct))
    middle = (np.cumsum(own) - own / 2) / own.sum()
    number = np.minimum((middle * most).astype(np.intp), most - 1)
    return np.asarray(
        np.unique(number, return_inverse=True)[1][place]
    )  # renumbered without empty bins


def wilson_limits(share: Vector, n: Vector, confidence_level: float) -> tuple[Vector, Vector]:
    """Return confidence limits of shares of n rows (Wilson 1927)."""
    z = ndtri((1 + confidence_level) / 2)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)
