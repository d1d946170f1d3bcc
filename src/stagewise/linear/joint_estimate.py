"""Several coefficients of a least-squares fit together: their F test and their confidence set.

Both are made of one number, the squared distance (w - ŵ)'V⁻¹(w - ŵ) of some values w from the
estimates ŵ with the covariance V = σ̂²(X'X)⁻¹: the F statistic is the distance divided by the number
of coefficients, and the confidence set has the values with a small distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, fdtri, stdtr

from stagewise.linear.least_squares import LeastSquares

__all__ = ["FTest", "JointEstimate", "TTest", "f_test", "t_test"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

SMALLEST_PIVOT = 1e-10
"""The smallest 1 - R² of an estimate and those before it; less has no correct digits."""


class FTest(NamedTuple):
    """An F test.

    Attributes
    ----------
    statistic, pvalue : float
        F, and the probability of a larger F if the hypothesis is true.
    df_num, df_denom : float
        The degrees of freedom: the number of coefficients, and N - rank.
    """

    statistic: float
    pvalue: float
    df_num: int
    df_denom: float


class TTest(NamedTuple):
    """A t test.

    Attributes
    ----------
    statistic, pvalue : float
        t, and the probability of a value at least as extreme if the hypothesis is true.
    df : float
        The degrees of freedom, N - rank.
    """

    statistic: float
    pvalue: float
    df: float


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """Some coefficients of a fit, with their joint covariance.

    Parameters
    ----------
    fit : LeastSquares
        The fit, of full rank.
    places : sequence of int
        The positions of the coefficients in `fit.estimate`.
    """

    fit: LeastSquares
    places: Sequence[int]

    @property
    def estimate(self) -> Vector:
        """The estimates ŵ."""
        return self.fit.estimate[list(self.places)]

    @property
    def covariance(self) -> Matrix:
        """V = σ̂²(X'X)⁻¹ of these coefficients."""
        return self.fit.covariance_of_estimate[np.ix_(self.places, self.places)]

    def distance(self, values: Matrix) -> Vector:
        """Return (w - ŵ)'V⁻¹(w - ŵ) of each row w; NaN without residual degrees of freedom.

        Raises
        ------
        ValueError
            If the estimates are so correlated that the result would have no correct digits.
        """
        unit, root = self._roots
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            away = self._deviation(values)
            scaled = np.where(away == 0.0, 0.0, away / unit)
            solved = np.zeros_like(scaled)
            for i, row in enumerate(root):
                known = (solved[:, :i] * row[:i]).sum(axis=1)
                solved[:, i] = (scaled[:, i] - known) / row[i]
            squares = (solved * solved).sum(axis=1)
        return np.where(np.isnan(squares) & (self.fit.df > 0), np.inf, squares)

    def _deviation(self, values: Matrix) -> Matrix:
        """Return w - ŵ, with the value at the centres of these columns in place of the intercept.

        An intercept far from the rows is almost a linear function of the slopes; the value at the
        centres is not. The distance is the same.
        """
        fit, first = self.fit, int(self.fit.intercept)
        out = values - self.estimate
        for column, place in enumerate(self.places):
            if place >= first:
                continue
            others, own = self._split
            slopes = values[:, [i for i, p in enumerate(self.places) if p >= first]]
            at_centres = values[:, column] + (slopes * fit.centre[own]).sum(axis=1)
            rest = math.fsum(fit.slope[others] * fit.centre[others])
            out[:, column] = at_centres - fit.target_mean + rest
        return out

    @property
    def _split(self) -> tuple[list[int], list[int]]:
        """The slopes that are not among these coefficients, and those that are, in this order."""
        first = int(self.fit.intercept)
        own = [place - first for place in self.places if place >= first]
        return [j for j in range(len(self.fit.slope)) if j not in set(own)], own

    @cached_property
    def _roots(self) -> tuple[Vector, Matrix]:
        """The standard errors of the deviations, and the Cholesky root of their correlations."""
        fit, first = self.fit, int(self.fit.intercept)
        contrast = np.zeros((len(self.places), len(fit.covariance)))
        size = np.ones(len(self.places))
        for row, place in enumerate(self.places):
            contrast[row, place] = 1.0
            if place >= first:
                size[row] = fit.size[place - first]
                continue
            others, _ = self._split
            contrast[row, [first + j for j in others]] = -fit.centre[others] / fit.size[others]
        half = np.stack([(fit.covariance * row).sum(axis=1) for row in contrast])
        covariance = np.stack([(contrast * row).sum(axis=1) for row in half])
        error = np.sqrt(np.diag(covariance))
        root = _cholesky(covariance / error[:, np.newaxis] / error)
        with np.errstate(over="ignore", under="ignore"):
            return fit.sigma * error / size, root

    def quantile(self, confidence_level: float) -> float:
        """Return q F, with F the quantile of Fisher's distribution for q coefficients."""
        q = len(self.places)
        return q * float(fdtri(q, self.fit.df, confidence_level))


def _cholesky(matrix: Matrix) -> Matrix:
    """Return the lower triangular L with L L' = matrix, a matrix of correlations."""
    root = np.zeros_like(matrix)
    for j in range(len(matrix)):
        left = matrix[j:, j] - (root[j:, :j] * root[j, :j]).sum(axis=1)
        if not left[0] > SMALLEST_PIVOT:
            raise ValueError(
                "The estimates of these coefficients are almost collinear, so their joint "
                "covariance cannot be inverted. Leave one of the columns out."
            )
        root[j:, j] = left / math.sqrt(left[0])
    return root


def f_test(joint: JointEstimate, value: Vector) -> FTest:
    """Return the test of w = value, F = (ŵ - value)'V⁻¹(ŵ - value) / q (ESL eq. 3.13)."""
    q, df = len(joint.places), joint.fit.df
    f = float(joint.distance(value[np.newaxis])[0]) / q if df > 0 else math.nan
    return FTest(f, float(fdtrc(q, df, f)) if df > 0 else math.nan, q, df)


def t_test(fit: LeastSquares, place: int, value: float, alternative: str) -> TTest:
    """Return the test of one coefficient, t = (ŵ - value) / σ̂ √v (ESL eq. 3.12)."""
    if not fit.df > 0:
        return TTest(math.nan, math.nan, fit.df)
    away, error = float(fit.estimate[place]) - value, float(fit.standard_error[place])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = float(np.float64(away) / error)
    p = {
        "two-sided": 2.0 * stdtr(fit.df, -abs(t)),
        "less": stdtr(fit.df, t),
        "greater": stdtr(fit.df, -t),
    }[alternative]
    return TTest(t, float(p), fit.df)
