"""Shares of a loss that are explained, 1 - L(prediction) / L(constant): R² and D².

R² compares with the mean of y, as in scikit-learn, whatever the model. The constant of a D² is the
best one of the model: of rows with an exposure a rate, which is multiplied by their exposure, and
of rows with another offset a number that is added to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.exact_sums import mean_rows

__all__ = ["ExplainedShare", "average", "explained", "median", "median_rate", "rate_of_deviance"]

Vector = npt.NDArray[np.float64]
Function = Callable[[npt.NDArray[Any], Vector, Vector | None], float]
Rate = Callable[[Vector, Vector | None, Vector], float]
"""The best rate of targets, weights and exposures."""


def explained(mean_loss: Function, constant: Callable[[Vector, Vector | None], Any]) -> Function:
    """Return the share of a loss that is explained: 1 - L(y, prediction) / L(y, constant).

    As in scikit-learn, it is 1 or 0 if the constant has no loss, and NaN for one row.
    """

    def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        if len(y) < 2:
            return math.nan
        numbers = np.asarray(y, dtype=np.float64)
        best = np.full(len(y), constant(numbers, weight))
        left, whole = mean_loss(y, predicted, weight), mean_loss(y, best, weight)
        if whole == 0.0:
            return 1.0 if left == 0.0 else 0.0
        return 1.0 - left / whole

    return of


@dataclass(frozen=True)
class ExplainedShare:
    """D² of a loss, whose constant may be beside the offsets of rows.

    Attributes
    ----------
    mean_loss : callable
        The mean loss of targets, predictions and weights.
    rate : callable
        The best rate of targets, weights and exposures.
    in_range : callable
        Returns the function in a unit in which its sums do not overflow.
    of_differences : bool
        Whether the loss depends on y - F only, so that offsets may be subtracted.
    """

    mean_loss: Function
    rate: Rate
    in_range: Callable[[Function], Function]
    of_differences: bool = False

    def __call__(self, y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        """Return D² against one constant for all rows; of several targets, the mean."""
        ones = np.ones((len(y), 1 if y.ndim == 1 else y.shape[1]))
        return self._mean(y, predicted, weight, map(self._of_exposure, ones.T))

    def beside(self, offset: npt.NDArray[np.float64], *, multiplies: bool) -> Function:
        """Return D² against the best constant beside the offsets of rows.

        Parameters
        ----------
        offset : float64 array of shape (n_rows, n_targets)
            The offsets, before the link.
        multiplies : bool
            Whether the link is the logarithm, so that e^offset is an exposure.
        """
        if not multiplies and not self.of_differences:
            return self

        def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
            if multiplies:
                return self._mean(y, predicted, weight, map(self._of_exposure, np.exp(offset.T)))
            own = offset.reshape(y.shape)
            return self(y - own, predicted - own, weight)

        return of

    def _of_exposure(self, exposure: Vector) -> Function:
        """Return D² of one target against the best rate times the exposure."""
        return self.in_range(
            explained(self.mean_loss, lambda y, weight: exposure * self.rate(y, weight, exposure))
        )

    @staticmethod
    def _mean(y: Any, predicted: Any, weight: Any, functions: Iterable[Function]) -> float:
        columns = zip(y.reshape(len(y), -1).T, predicted.reshape(len(y), -1).T, strict=True)
        found = [of(*own, weight) for own, of in zip(columns, functions, strict=True)]
        return float(np.mean(found))


def average(y: Vector, weight: Vector | None) -> float:
    """Return the mean."""
    return mean_rows(np.ascontiguousarray(y), weight)


def median(y: Vector, weight: Vector | None) -> float:
    """Return a median: a value with at least half of the weight on both sides."""
    if weight is None:
        return float(np.median(y))
    order = np.argsort(y, kind="stable")
    below = np.cumsum(weight[order])
    half, places = below[-1] / 2, y[order]
    first = int(np.searchsorted(below, half))
    last = int(np.searchsorted(below, half, "right"))
    return float((places[first] + places[min(last, len(y) - 1)]) / 2)


def median_rate(y: Vector, weight: Vector | None, exposure: Vector) -> float:
    """Return the rate with the smallest absolute errors: the median of rates by exposure."""
    if (exposure == exposure[0]).all():
        return median(y, weight) / float(exposure[0])
    return median(y / exposure, exposure if weight is None else weight * exposure)


def rate_of_deviance(power: float) -> Rate:
    """Return the rate with the smallest deviance: Σ w y e^(1-p) / Σ w e^(2-p)."""

    def of(y: Vector, weight: Vector | None, exposure: Vector) -> float:
        if (exposure == exposure[0]).all():
            return average(y, weight) / float(exposure[0])
        above = mean_rows(np.ascontiguousarray(y * exposure ** (1.0 - power)), weight)
        return above / mean_rows(np.ascontiguousarray(exposure ** (2.0 - power)), weight)

    return of
