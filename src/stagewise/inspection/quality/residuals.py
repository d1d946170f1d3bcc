"""Residuals of a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from stagewise.display import Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.quality.plots import plot_residuals
from stagewise.inspection.quality.predictions import Predictions
from stagewise.inspection.quantiles import weighted_quantiles
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = ["Residuals", "residuals"]

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
QUARTILES = (0.25, 0.5, 0.75)
NORMAL_QUARTILES = 1.349
"""The distance of the quartiles of the standard normal distribution."""


@dataclass(frozen=True, eq=False, repr=False)
class Residuals(Tabled):
    """Predictions, true targets and residuals of a regression.

    Attributes
    ----------
    predicted, observed, residual : float64 arrays of shape (n_rows,)
        residual = observed - predicted.
    weight : float64 array of shape (n_rows,)
        The sample weights.
    """

    predicted: Vector
    observed: Vector
    residual: Vector
    weight: Vector

    @classmethod
    def of(cls, predictions: Predictions) -> Residuals:
        """Compute the residuals of predictions."""
        predictions.require("regression", "residuals")
        return cls(
            predictions.y_pred,
            predictions.y,
            predictions.y - predictions.y_pred,
            predictions.weight,
        )

    def _summary(self) -> Summary:
        kept = self.weight > 0
        r, w = self.residual[kept], self.weight[kept]
        facts = {
            "mean": float(np.average(r, weights=w)),
            "root mean square": float(np.sqrt(np.average(r**2, weights=w))),
        }
        ends = self.quantiles(SHARES).tolist()
        row = {f"{100 * share:g} %": end for share, end in zip(SHARES, ends, strict=True)}
        title = f"Residuals of {len(r):,} rows, observed - predicted; quantiles"
        return Summary(title, facts, [row])

    def quantiles(self, shares: Any = SHARES) -> Vector:
        """Return weighted quantiles of the residuals."""
        wanted = np.asarray(shares, dtype=np.float64)
        if wanted.ndim > 1 or not ((wanted >= 0) & (wanted <= 1)).all():
            raise InvalidParameterError(
                f"shares must be numbers from 0 to 1, such as 0.9; got {short_repr(shares)}."
            )
        return weighted_quantiles(self.residual, self.weight, wanted)

    def running(self, n_bins: int = 20) -> dict[str, Vector]:
        """Return quartiles of the residuals in groups of similar predictions.

        Parameters
        ----------
        n_bins : int, default=20
            The number of groups of equal weight, in the order of the predictions.

        Returns
        -------
        dict of float64 arrays of shape (n_groups,)
            "predicted" (the mean of a group), "lower", "median" and "upper".
        """
        most = check_argument("n_bins", Number(1, whole=True), n_bins)
        kept = np.flatnonzero(self.weight > 0)
        order = kept[np.argsort(self.predicted[kept], kind="stable")]
        own = self.weight[order]
        number = ((np.cumsum(own) - own / 2) / own.sum() * most).astype(np.intp)
        groups = np.split(order, np.flatnonzero(np.diff(number)) + 1)
        middle = [np.average(self.predicted[g], weights=self.weight[g]) for g in groups]
        found = [weighted_quantiles(self.residual[g], self.weight[g], QUARTILES) for g in groups]
        lower, median, upper = np.array(found).T
        return {"predicted": np.array(middle), "lower": lower, "median": median, "upper": upper}

    def against_normal(self) -> tuple[Vector, Vector]:
        """Return standard normal quantiles, and the sorted standardized residuals.

        A standardized residual is (r - median) / (interquartile range / 1.349), so that outliers
        do not shrink the others; if the quartiles are equal, (r - mean) / standard deviation. Its
        normal quantile is that of the share of the weight below it, half of its own weight
        included. Normally distributed errors lie on the diagonal.
        """
        kept = np.flatnonzero(self.weight > 0)
        order = kept[np.argsort(self.residual[kept], kind="stable")]
        own, r = self.weight[order], self.residual[order]
        low, centre, high = weighted_quantiles(r, own, QUARTILES)
        spread = (high - low) / NORMAL_QUARTILES
        if spread == 0:
            centre = np.average(r, weights=own)
            spread = np.sqrt(np.average((r - centre) ** 2, weights=own))
        share = (np.cumsum(own) - own / 2) / own.sum()
        return ndtri(share), (r - centre) / (spread if spread > 0 else 1.0)

    def table(self) -> list[dict[str, float]]:
        """Return one row per sample."""
        names = ("predicted", "observed", "residual", "weight")
        columns = [getattr(self, name).tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """Plot observed and residual against predicted values, and a normal quantile plot.

        Parameters
        ----------
        ax : three matplotlib axes, or None
            Where to draw; None: on a new figure.

        Returns
        -------
        list of matplotlib axes
            First: the diagonal is a perfect model. Second: the line is the median of the residuals,
            the band their quartiles. Third: the diagonal is a normal distribution.
        """
        kept = self.weight > 0
        rows = np.stack([self.predicted, self.observed, self.residual])[:, kept]
        return plot_residuals(rows, self.running(), self.against_normal(), ax)


@suggests_arguments
def residuals(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
) -> Residuals:
    """Return the residuals of a regressor, observed - predicted.

    Parameters
    ----------
    estimator : estimator
        A fitted regressor.
    X, y : array-like or data frame, and array-like
        Rows and their targets, preferably not used for training.
    sample_weight : array-like or None
        Sample weights.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator.

    Returns
    -------
    Residuals

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import LinearRegression
    >>> from stagewise.inspection import residuals
    >>> X = np.arange(10.0)[:, np.newaxis]
    >>> left = residuals(LinearRegression().fit(X, 2 * X[:, 0] + 1), X, 2 * X[:, 0] + 3)
    >>> left.quantiles([0.5]).round(6).tolist()
    [2.0]
    """
    return Residuals.of(
        Predictions.of(estimator, X, y, sample_weight, offset=offset, exposure=exposure)
    )
