"""The quality of predicted quantiles and distributions for the report page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.distributions import CountDistribution
from stagewise.estimators.bases.model_access import has_distribution, several_scores
from stagewise.inspection.fitted_model import Vector
from stagewise.losses.levels import Expectiles, LevelsLoss
from stagewise.metrics.probabilistic import crps_of_quantiles, pinball

__all__ = ["SpreadQuality", "spread_quality"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
GROUPS, BARS = 40, 10


@dataclass(frozen=True, eq=False)
class SpreadQuality:
    """Predicted quantiles beside the observed values.

    Attributes
    ----------
    kind : {"quantiles", "expectiles", "distributions"}
        What the model predicts.
    levels : float64 array
        The levels, increasing.
    position : float64 array
        The share of the rows before the middle of each group; rows are in the order of the middle
        level.
    fans : tuple of float64 arrays
        The mean of each level in each group.
    observed : float64 array
        The mean of y in each group.
    below : float64 array
        The share of the rows that are not above each level; empty for expectiles.
    pit : float64 array
        The histogram of the probability integral transform, of distributions; otherwise empty.
    scores : tuple of (str, float)
        The proper scores, by name.
    """

    kind: str
    levels: Vector
    position: Vector
    fans: tuple[Vector, ...]
    observed: Vector
    below: Vector
    pit: Vector
    scores: tuple[tuple[str, float], ...]


def spread_quality(
    estimator: Any, X: Any, y: Vector, weight: Vector, passed: dict[str, Any], seed: int
) -> SpreadQuality | None:
    """Return the quality of the quantiles of rows; None: the model predicts one number.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X, y, weight : table, float64 array, float64 array
        The rows, their targets and weights.
    passed : dict
        The offset and the exposure of the rows.
    seed : int
        The seed of the randomised transform of counts.
    """
    loss = several_scores(estimator)
    pit = np.empty(0)
    if isinstance(loss, LevelsLoss):
        levels, kind = np.array(loss.levels), loss.name
        found = estimator.predict(X, **passed)
        scores: tuple[tuple[str, float], ...] = ()
        if not isinstance(loss, Expectiles):
            own = y, found, loss.levels, weight
            scores = ("pinball loss", pinball(*own)), ("CRPS", crps_of_quantiles(*own))
    elif has_distribution(estimator):
        levels, kind = np.array(LEVELS), "distributions"
        dist = estimator.predict_dist(X, **passed)
        found = dist.quantile(levels)
        at = dist.pit(y, seed) if isinstance(dist, CountDistribution) else dist.cdf(y)
        pit, _ = np.histogram(at, bins=BARS, range=(0.0, 1.0), weights=weight)
        pit = pit / max(pit.sum(), 1e-300)
        nll, crps = (float(np.average(own, weights=weight)) for own in (dist.nll(y), dist.crps(y)))
        scores = ("negative log-likelihood", nll), ("CRPS", crps)
    else:
        return None
    below = np.average(y[:, np.newaxis] <= found, axis=0, weights=weight)
    middle = int(np.argmin(np.abs(levels - 0.5)))
    order = np.argsort(found[:, middle], kind="stable")
    parts = [p for p in np.array_split(order, GROUPS) if weight[p].sum() > 0]

    def means(values: Vector) -> Vector:
        return np.array([np.average(values[p], weights=weight[p]) for p in parts])

    sizes = np.array([weight[p].sum() for p in parts])
    return SpreadQuality(
        kind,
        levels,
        (np.cumsum(sizes) - sizes / 2.0) / sizes.sum(),
        tuple(means(found[:, k]) for k in range(len(levels))),
        means(y),
        np.empty(0) if kind == "expectiles" else below,
        pit,
        scores,
    )
