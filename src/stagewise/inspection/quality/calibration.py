"""Whether probabilities mean what they say.

The one idea: of rows that are said to be positive with probability p, a share p should be. Rows are
compared in bins of equal weight, and a share of few rows has wide limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from stagewise.inspection.fitted_model import Vector, checked
from stagewise.inspection.quality.plots import plot_calibration
from stagewise.inspection.quality.predictions import Answers
from stagewise.validation.rules import Number

__all__ = ["Calibration", "calibration"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Probabilities beside the shares that came true, bin by bin.

    Attributes
    ----------
    positive : str
        The class whose probabilities these are.
    predicted, observed : float64 arrays of shape (n_bins,)
        The mean probability of the rows of a bin, and the share of them that are of the class.
    low, high : float64 arrays of shape (n_bins,)
        Wilson limits of the shares.
    weight : float64 array of shape (n_bins,)
        The weight of the rows.
    """

    positive: str
    predicted: Vector
    observed: Vector
    low: Vector
    high: Vector
    weight: Vector

    @classmethod
    def of(
        cls, answers: Answers, positive: Any = None, *, bins: int = 10, confidence: float = 0.95
    ) -> Calibration:
        """Compare what has been said already; the parameters are those of `calibration`."""
        place = answers.place(positive, "calibration")
        most = checked("bins", Number(1, whole=True), bins)
        share = checked("confidence", Number(0.0, 1.0, open_low=True, open_high=True), confidence)
        rows = answers.counted()
        said, largest = rows.said[:, place], rows.weight.max()
        weight = rows.weight / largest  # whose squares do not overflow
        number = _bins(said, weight, most)
        n = number.max() + 1
        total, squares, p, own = (
            np.bincount(number, weights=each, minlength=n).astype(np.float64)
            for each in (weight, weight**2, weight * said, weight * (rows.y == place))
        )
        predicted, observed = p / total, own / total
        low, high = _wilson(observed, total**2 / squares, share)
        return cls(answers.names[place], predicted, observed, low, high, total * largest)

    @property
    def error(self) -> float:
        """Expected calibration error: the mean of |observed - predicted|, bins by their weight."""
        return float(np.average(np.abs(self.observed - self.predicted), weights=self.weight))

    def table(self) -> list[dict[str, float]]:
        """Return a row for each bin."""
        names = ("predicted", "observed", "low", "high", "weight")
        columns = [getattr(self, name).tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """Draw shares with their limits against probabilities; return the axes."""
        limits = np.stack([self.low, self.high])
        title = f"{self.positive}: calibration error {self.error:.3f}"
        return plot_calibration(self.predicted, self.observed, limits, title, ax)


def calibration(
    model: Any,
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    bins: int = 10,
    sample_weight: Any = None,
    confidence: float = 0.95,
) -> Calibration:
    """Return how often what is said to be probable is true.

    Parameters
    ----------
    model : estimator
        A fitted classifier.
    X, y : array-like or data frame, and array-like
        Rows with known classes, best such that the model has not seen.
    positive : label or None
        The class whose probabilities are looked at. None: the second of two.
    bins : int, default=10
        How many bins of equal weight; fewer if many rows have the same probability.
    sample_weight : array-like or None
        How much each row counts.
    confidence : float, default=0.95
        Of the limits of the observed shares (Wilson 1927):

            (s + z²/2n ± z √(s(1 - s)/n + z²/4n²)) / (1 + z²/n)

        n being the number of rows that the weights are worth, (Σw)² / Σw².

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
    >>> calibration(model, X[400:], y[400:], bins=4).error < 0.2
    True
    """
    answers = Answers.of(model, X, y, sample_weight)
    return Calibration.of(answers, positive, bins=bins, confidence=confidence)


def _bins(said: Vector, weight: Vector, most: int) -> np.ndarray[Any, Any]:
    """Return the bin of each row; equal probabilities are never apart."""
    values, place = np.unique(said, return_inverse=True)
    own = np.bincount(place, weights=weight, minlength=len(values))
    middle = (np.cumsum(own) - own / 2) / own.sum()
    number = np.minimum((middle * most).astype(np.intp), most - 1)
    return np.asarray(np.unique(number, return_inverse=True)[1][place])  # without empty ones


def _wilson(share: Vector, n: Vector, confidence: float) -> tuple[Vector, Vector]:
    z = ndtri((1 + confidence) / 2)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)
