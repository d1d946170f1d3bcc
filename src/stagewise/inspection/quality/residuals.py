"""What a model of numbers leaves over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted import Vector, checked
from stagewise.inspection.quality.answers import Answers
from stagewise.inspection.quality.plots import plot_three_looks
from stagewise.inspection.quality.quantiles import weighted_quantiles
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = ["Residuals", "residuals"]

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Residuals:
    """What was said of rows, what they are, and the difference.

    Attributes
    ----------
    predicted, observed, residual : float64 arrays of shape (n_rows,)
        residual = observed - predicted.
    weight : float64 array of shape (n_rows,)
        How much each row counts.
    """

    predicted: Vector
    observed: Vector
    residual: Vector
    weight: Vector

    @classmethod
    def of(cls, answers: Answers) -> Residuals:
        """Subtract what has been said already."""
        answers.require("regression", "residuals")
        return cls(answers.said, answers.y, answers.y - answers.said, answers.weight)

    def quantiles(self, shares: Any = SHARES) -> Vector:
        """Return the residuals below which these shares of the weight are."""
        asked = np.asarray(shares, dtype=np.float64)
        if asked.ndim > 1 or not ((asked >= 0) & (asked <= 1)).all():
            raise InvalidParameterError(
                f"shares must be numbers from 0 to 1, such as 0.9; got {short_repr(shares)}."
            )
        return weighted_quantiles(self.residual, self.weight, asked)

    def running(self, bins: int = 20) -> dict[str, Vector]:
        """Return quartiles of the residuals of rows that are predicted alike.

        Parameters
        ----------
        bins : int, default=20
            How many groups of equal weight, in the order of the predictions.

        Returns
        -------
        dict of float64 arrays of shape (n_groups,)
            "predicted" (the mean of a group), "lower", "median" and "upper".
        """
        most = checked("bins", Number(1, whole=True), bins)
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
        """Return quantiles of the standard normal, and residuals in units of their spread.

        The i-th smallest residual r, less the mean and divided by the standard deviation, belongs
        to the quantile of the share of weight below its middle. Points on the diagonal: normal
        errors.
        """
        kept = np.flatnonzero(self.weight > 0)
        order = kept[np.argsort(self.residual[kept], kind="stable")]
        own, r = self.weight[order], self.residual[order]
        mean = np.average(r, weights=own)
        spread = np.sqrt(np.average((r - mean) ** 2, weights=own))
        share = (np.cumsum(own) - own / 2) / own.sum()
        return ndtri(share), (r - mean) / (spread if spread > 0 else 1.0)

    def table(self) -> list[dict[str, float]]:
        """Return a row for each row."""
        names = ("predicted", "observed", "residual", "weight")
        columns = [getattr(self, name).tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """Draw three looks: observed against predicted, what is left of it, and its distribution.

        Parameters
        ----------
        ax : three matplotlib axes, or None
            Where to draw; None: on a new figure.

        Returns
        -------
        list of matplotlib axes
            On the first the diagonal is a perfect model; on the second the band has the middle half
            of the residuals, the line their median; on the third the diagonal is normal errors.
        """
        kept = self.weight > 0
        rows = np.stack([self.predicted, self.observed, self.residual])[:, kept]
        return plot_three_looks(rows, self.running(), self.against_normal(), ax)


def residuals(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Residuals:
    """Return what a model of numbers leaves over.

    Parameters
    ----------
    model : estimator
        A fitted regressor.
    X, y : array-like or data frame, and array-like
        Rows with known numbers, best such that the model has not seen.
    sample_weight : array-like or None
        How much each row counts.

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
    return Residuals.of(Answers.of(model, X, y, sample_weight))
