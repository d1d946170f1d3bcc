"""Lift and balance of predicted amounts: groups of rows by predicted rate, and the Lorenz curve.

A rate is a prediction per unit of exposure. A model of claims is useful if rows with high predicted
rates have high observed rates, and balanced if both are equal in every group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.display import Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.model_access import read_exposure
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.quality.plots import plot_lift
from stagewise.inspection.quality.predictions import Predictions
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import Number

__all__ = ["Lift", "lift"]


@dataclass(frozen=True, eq=False, repr=False)
class Lift(Tabled):
    """Groups of rows in the order of their predicted rates.

    Attributes
    ----------
    exposure : float64 array of shape (n_groups,)
        The exposure of each group, times the weights; the groups have about the same.
    predicted, observed : float64 arrays of shape (n_groups,)
        The predicted and the observed rate of each group: Σ w ŷ / Σ w e and Σ w y / Σ w e.
    share_of_exposure, share_of_observed : float64 arrays
        The Lorenz curve: the cumulative shares of the rows in the order of their predicted rates.
    gini : float
        1 - 2 · the area below the Lorenz curve: 0 for a constant rate.
    balance : float
        Σ w ŷ / Σ w y.
    """

    exposure: Vector
    predicted: Vector
    observed: Vector
    share_of_exposure: Vector
    share_of_observed: Vector
    gini: float
    balance: float

    @classmethod
    def of(
        cls, predictions: Predictions, exposure: Vector | None = None, *, n_bins: int = 10
    ) -> Lift:
        """Compute the groups of predictions; the parameters are those of `lift`."""
        predictions.require("regression", "lift")
        most = check_argument("n_bins", Number(1, whole=True), n_bins)
        kept = predictions.weight > 0
        y, y_pred, weight = (
            values[kept] for values in (predictions.y, predictions.y_pred, predictions.weight)
        )
        volume = weight if exposure is None else weight * exposure[kept]
        if y.min() < 0 or not (weight * y).sum() > 0:
            raise InvalidParameterError(
                "lift needs targets that are not negative, and not all 0: shares of their sum are "
                f"compared. The smallest is {y.min():g}."
            )
        rate = y_pred * weight / volume
        place = np.unique(rate, return_inverse=True)[1]
        sums = [np.bincount(place, own) for own in (volume, weight * y_pred, weight * y)]
        middle = (np.cumsum(sums[0]) - sums[0] / 2) / sums[0].sum()
        group = np.unique(
            np.minimum((middle * most).astype(np.intp), most - 1), return_inverse=True
        )
        held, predicted, observed = (np.bincount(group[1], own).astype(float) for own in sums)
        shares = [np.append(0.0, np.cumsum(own) / own.sum()) for own in (sums[0], sums[2])]
        area = float((np.diff(shares[0]) * (shares[1][1:] + shares[1][:-1])).sum() / 2)
        balance = float(sums[1].sum() / sums[2].sum())
        rates = predicted / held, observed / held
        return cls(held, *rates, shares[0], shares[1], 1.0 - 2.0 * area, balance)

    def _summary(self) -> Summary:
        facts = {"Gini": self.gini, "predicted / observed": self.balance}
        title = f"Lift: {len(self.exposure)} groups by predicted rate"
        return Summary(title, facts, self.table())

    def table(self) -> list[dict[str, float]]:
        """Return one row per group, the smallest predicted rate first."""
        columns = self.exposure, self.predicted, self.observed
        names = "exposure", "predicted", "observed"
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def plot(self, ax: Any = None) -> Any:
        """Plot the rates of the groups, and the Lorenz curve.

        Parameters
        ----------
        ax : two matplotlib axes, or None
            Where to draw; None: on a new figure.

        Returns
        -------
        list of matplotlib axes
            First: predicted and observed rate of each group. Second: the Lorenz curve; the diagonal
            is a constant rate.
        """
        curve = self.share_of_exposure, self.share_of_observed
        return plot_lift(self.predicted, self.observed, curve, self.gini, ax)


@suggests_arguments
def lift(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_bins: int = 10,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
) -> Lift:
    """Compare predicted and observed rates of groups of rows, and return the Lorenz curve.

    Rows are sorted by their predicted rate, the prediction divided by the exposure, and divided
    into groups of about the same exposure. The Lorenz curve is the share of Σ y against the share
    of the exposure, in this order.

    Parameters
    ----------
    estimator : estimator
        A fitted regressor.
    X, y : array-like or data frame, and array-like
        Rows and their targets, which are not negative, preferably not used for training.
    n_bins : int, default=10
        The number of groups; fewer if many rows have the same rate.
    sample_weight : array-like or None
        Sample weights.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator. Without an exposure every row has the same.

    Returns
    -------
    Lift

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import lift
    >>> rng = np.random.default_rng(0)
    >>> X, years = rng.normal(size=(500, 2)), rng.uniform(0.1, 1.0, 500)
    >>> y = rng.poisson(years * np.exp(X[:, 0]))
    >>> model = GradientBoostingRegressor(loss="poisson", n_estimators=20)
    >>> model = model.fit(X, y, exposure=years)
    >>> found = lift(model, X, y, exposure=years, n_bins=5)
    >>> bool(found.observed[-1] > found.observed[0])
    True
    """
    given = {"offset": offset, "exposure": exposure}
    predictions = Predictions.of(estimator, X, y, sample_weight, **given)
    volume = read_exposure(estimator, X, len(predictions.y), exposure)
    return Lift.of(predictions, volume, n_bins=n_bins)
