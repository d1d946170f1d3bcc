"""The quality of predicted counts and amounts: models with a Poisson, gamma or Tweedie loss.

The variance of such targets grows with their mean, so residuals are deviance residuals, and
predictions are compared with observations in groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtri

from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.calibration import weight_bins
from stagewise.inspection.quality.metrics import DEVIANCES
from stagewise.inspection.quality.predictions import Predictions
from stagewise.inspection.quality.residuals import Residuals
from stagewise.metrics.row_losses import unit_deviance
from stagewise.report.payload import compact

__all__ = ["DecileFacts", "DevianceFacts", "Rootogram", "deviance_facts"]

DECILES = 10
CONFIDENCE_LEVEL = 0.95
MOST_COUNTS = 20
"""Larger counts are summed in the last bar of a rootogram."""
BARS = 41
BLOCK = 100_000
"""The number of rows whose probabilities are computed together."""


@dataclass(frozen=True, eq=False)
class DecileFacts:
    """Mean prediction and mean target in groups of similar predictions.

    Attributes
    ----------
    predicted, observed : float64 arrays of shape (n_groups,)
        The means.
    low, high : float64 arrays of shape (n_groups,)
        The confidence limits of `observed`: mean ± z · standard error.
    weight : float64 array of shape (n_groups,)
        The weights of the groups.
    """

    predicted: Vector
    observed: Vector
    low: Vector
    high: Vector
    weight: Vector


@dataclass(frozen=True, eq=False)
class Rootogram:
    """Observed and expected numbers of rows with each count.

    Attributes
    ----------
    count : int64 array of shape (n_counts,)
        0, 1, 2, …; the last includes all larger ones.
    observed, expected : float64 arrays of shape (n_counts,)
        The weight of the rows with this count; the sum of its Poisson probabilities.
    """

    count: npt.NDArray[np.int64]
    observed: Vector
    expected: Vector


@dataclass(frozen=True, eq=False)
class DevianceFacts:
    """The quality of predicted counts or amounts.

    Attributes
    ----------
    name : str
        The name of the deviance.
    deciles : DecileFacts
        Means by decile of the prediction.
    residual : float array
        The deviance residuals of the rows drawn as dots: sign(y - μ) √d.
    middle, lower, median, upper : float64 arrays
        The quartiles of the deviance residuals by predicted value, as of `NumberQuality`.
    edges, share : float64 arrays
        The histogram of the deviance residuals.
    rootogram : Rootogram or None
        For counts with the Poisson loss.
    """

    name: str
    deciles: DecileFacts
    residual: Vector
    middle: Vector
    lower: Vector
    median: Vector
    upper: Vector
    edges: Vector
    share: Vector
    rootogram: Rootogram | None


def deviance_facts(
    predictions: Predictions, rows: npt.NDArray[np.int64], n_bands: int
) -> DevianceFacts | None:
    """Return the quality of counts or amounts; None for other losses and undefined deviances.

    Parameters
    ----------
    predictions : Predictions
        The predictions.
    rows : int64 array
        The rows drawn as dots.
    n_bands : int
        The largest number of bands of equal weight.
    """
    power = predictions.deviance_power
    if power is None:
        return None
    y, mu, weight = predictions.y, predictions.y_pred, predictions.weight
    deviance = unit_deviance(y, mu, power)
    if not np.isfinite(deviance[weight > 0]).all():
        return None
    residual = np.nan_to_num(np.sign(y - mu) * np.sqrt(deviance))
    found = replace(Residuals.of(predictions), residual=residual)
    running = found.running(n_bands)
    far = np.max(np.abs(found.quantiles([0.0025, 0.9975]))) or 1.0
    share, edges = np.histogram(residual, bins=BARS, range=(-far, far), weights=weight)
    _, name = DEVIANCES.get(power, ("tweedie", "Tweedie"))
    counts = power == 1.0 and bool((y[weight > 0] == np.floor(y[weight > 0])).all())
    return DevianceFacts(
        name,
        _deciles(predictions.with_weight()),
        compact(residual[rows]),
        running["predicted"],
        running["lower"],
        running["median"],
        running["upper"],
        edges,
        share / weight.sum(),
        _rootogram(predictions.with_weight()) if counts else None,
    )


def _deciles(rows: Predictions) -> DecileFacts:
    number = weight_bins(rows.y_pred, rows.weight, DECILES)
    largest = rows.weight.max()
    own = rows.weight / largest  # so that squares do not overflow

    def sums(values: Vector) -> Vector:
        return np.bincount(number, weights=own * values).astype(np.float64)

    total, squares = sums(np.ones(len(own))), sums(own)
    predicted, observed = sums(rows.y_pred) / total, sums(rows.y) / total
    n = total**2 / squares  # the effective number of rows
    variance = sums((rows.y - observed[number]) ** 2) / total * n / np.maximum(n - 1.0, 1.0)
    reach = ndtri((1 + CONFIDENCE_LEVEL) / 2) * np.sqrt(variance / n)
    low = np.maximum(observed - reach, 0.0)
    return DecileFacts(predicted, observed, low, observed + reach, total * largest)


def _rootogram(rows: Predictions) -> Rootogram:
    """Return the numbers of rows by count; expected from the Poisson distribution of each row."""
    most = int(min(rows.y.max() + 1, MOST_COUNTS))
    count = np.arange(most + 1)
    place = np.minimum(rows.y, most).astype(np.intp)
    observed = np.bincount(place, weights=rows.weight, minlength=most + 1).astype(np.float64)
    expected = np.zeros(most + 1)
    for first in range(0, len(rows.y), BLOCK):
        mu = rows.y_pred[first : first + BLOCK, np.newaxis]
        with np.errstate(divide="ignore"):
            p = np.exp(np.where(count > 0, count * np.log(mu), 0.0) - mu - gammaln(count + 1.0))
        p[:, -1] = np.maximum(1.0 - p[:, :-1].sum(axis=1), 0.0)  # this count and all larger ones
        expected += rows.weight[first : first + BLOCK] @ p
    return Rootogram(count.astype(np.int64), observed, expected)
