"""One least-squares fit, and what can be inferred from it.

A fit is an estimate with (X'X)⁻¹ and the residual sum of squares; standard errors,
t and F tests, intervals and information criteria are formulas of these. They hold if
y = Xβ + ε with independent normal errors of one variance (Hastie, Tibshirani & Friedman, *The
Elements of Statistical Learning*, section 3.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, stdtr, stdtrit

__all__ = ["LeastSquares", "log_likelihood"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A least-squares fit f(x) = target_mean + Σ_j slope_j (x_j - centre_j), with its inference.

    Attributes
    ----------
    columns : uint32 array of shape (k,)
        The columns of the design that have a slope.
    intercept : bool
        Whether the fit has an intercept; without one, `target_mean` and `centre` are 0.
    target_mean : float
        The mean of the target, which is the prediction at the centres.
    slope, centre, size : float64 array of shape (k,)
        The coefficients; the means of the columns; and powers of two above the
        largest |x - centre|.
    covariance : float64 array of shape (m, m)
        (X'X)⁻¹ of the columns (x - centre) / size, preceded by a column of ones if there is an
        intercept. Times σ² it is the covariance of `target_mean` and of the slopes in these units.
    weight : float
        The sum of the weights, which is the number of rows if weights are frequencies.
    rank : int
        The rank of the design matrix, the intercept included.
    rss, tss : float
        Σ w (y - f)² and Σ w (y - ȳ)², in units of `scale` squared.
    centred : bool
        Whether `tss` is about the mean, because the columns span the constant. If not, about 0.
    scale : float
        The unit of the sums of squares.
    dependent : tuple of pairs
        Each column, by its position in `columns`, that is a linear combination of others, and
        these others; only available directly after a fit.
    """

    columns: npt.NDArray[np.uint32]
    intercept: bool
    target_mean: float
    slope: Vector
    centre: Vector
    size: Vector
    covariance: Matrix
    weight: float
    rank: int
    rss: float
    tss: float
    centred: bool
    scale: float
    dependent: tuple[tuple[int, tuple[int, ...]], ...] = ()

    # ---- coefficients --------------------------------------------------------------------------

    @property
    def estimate(self) -> Vector:
        """The intercept, if there is one, and the slopes: β̂ = (X'X)⁻¹X'y (ESL eq. 3.6)."""
        if not self.intercept:
            return self.slope
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            parts = self.slope * self.centre
            # If 0 is too far from the rows, the intercept is not finite.
            total = math.fsum(parts) if np.isfinite(parts).all() else float(parts.sum())
        return np.concatenate([[self.target_mean - total], self.slope])

    @property
    def _uncentred(self) -> Matrix:
        """(X'X)⁻¹ of the coefficients in `estimate`, slopes in units of their columns' sizes."""
        if not self.intercept:
            return self.covariance
        out, centre = self.covariance.copy(), self.centre / self.size
        out[0] -= (centre[:, np.newaxis] * out[1:]).sum(axis=0)
        out[:, 0] -= (centre * out[:, 1:]).sum(axis=1)
        return out

    @property
    def _sizes(self) -> Vector:
        return np.concatenate([np.ones(int(self.intercept)), self.size])

    @property
    def covariance_of_estimate(self) -> Matrix:
        """σ̂²(X'X)⁻¹ of the coefficients in `estimate` (ESL eq. 3.8)."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            unit = self.sigma / self._sizes
            return np.asarray(unit[:, np.newaxis] * self._uncentred * unit)

    @property
    def df(self) -> float:
        """Degrees of freedom of the residuals, N - rank; at least 0."""
        return max(0.0, self.weight - self.rank)

    @property
    def sigma(self) -> float:
        """σ̂ = √(rss / (N - rank)), the residual standard error (ESL eq. 3.8); NaN without df."""
        return self.scale * math.sqrt(self.rss / self.df) if self.df > 0 else math.nan

    @property
    def standard_error(self) -> Vector:
        """σ̂ √v_j, v_j the j-th diagonal element of (X'X)⁻¹."""
        root = np.sqrt(np.maximum(np.diag(self._uncentred), 0.0))
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self.sigma * root / self._sizes)

    @property
    def t(self) -> Vector:
        """β̂_j / (σ̂ √v_j), the test of β_j = 0 (ESL eq. 3.12)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.estimate / self.standard_error)

    @property
    def p(self) -> Vector:
        """P(|T| > |t|), T of Student's distribution with N - rank degrees of freedom."""
        return np.asarray(2.0 * stdtr(self._df_or_nan, -np.abs(self.t)))

    def interval(self, confidence_level: float) -> Matrix:
        """Return the confidence interval of each coefficient, shape (m, 2) (ESL eq. 3.14)."""
        with np.errstate(over="ignore"):
            return _around(self.estimate, self._quantile(confidence_level) * self.standard_error)

    # ---- the fit as a whole --------------------------------------------------------------------

    @property
    def r2(self) -> float:
        """1 - rss / tss, the coefficient of determination; NaN if tss is 0."""
        return 1.0 - self.rss / self.tss if self.tss > 0 else math.nan

    @property
    def adjusted_r2(self) -> float:
        """1 - (rss / (N - rank)) / (tss / (N - 1)); with N instead of N - 1 if tss is about 0."""
        if not self.df > 0:
            return math.nan
        return 1.0 - (self.weight - self.centred) / self.df * (1.0 - self.r2)

    @property
    def model_df(self) -> int:
        """Degrees of freedom of the model: the rank, less one for the constant."""
        return self.rank - int(self.centred)

    @property
    def f(self) -> float:
        """((tss - rss) / q) / (rss / (N - rank)), q slopes: the test that all are 0 (ESL 3.13)."""
        if not self.df > 0 or self.model_df == 0:
            return math.nan
        explained, unexplained = (self.tss - self.rss) / self.model_df, self.rss / self.df
        if unexplained == 0.0:
            return math.inf if explained > 0 else math.nan
        return explained / unexplained

    @property
    def f_p(self) -> float:
        """P(F > f), F of Fisher's distribution with q and N - rank degrees of freedom."""
        return float(fdtrc(self.model_df or math.nan, self._df_or_nan, self.f))

    @property
    def log_likelihood(self) -> float:
        """-N/2 (log(2π rss / N) + 1), for normal errors with the maximum-likelihood variance."""
        return log_likelihood(self.rss, self.weight, self.scale)

    @property
    def aic(self) -> float:
        """2 rank - 2 log likelihood (Akaike 1973; ESL eq. 7.29 up to constants)."""
        return 2.0 * self.rank - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """log(N) rank - 2 log likelihood (Schwarz 1978; ESL eq. 7.35)."""
        return math.log(self.weight) * self.rank - 2.0 * self.log_likelihood

    # ---- rows ----------------------------------------------------------------------------------

    def leverage(self, X: Matrix) -> Vector:
        """Return x'(X'X)⁻¹x for each row x; `X` has shape (k, n).

        It is infinite if the squares exceed a float64.
        """
        out = np.zeros(X.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            rows = (X - self.centre[:, np.newaxis]) / self.size[:, np.newaxis]
            if self.intercept:
                rows = np.concatenate([np.ones((1, X.shape[1])), rows])
            for i, row in enumerate(rows):
                out += row * (self.covariance[i, :, np.newaxis] * rows).sum(axis=0)
        return np.where(np.isnan(out), np.inf, np.maximum(out, 0.0))

    def half_width(self, X: Matrix, confidence_level: float, *, of_mean: bool) -> Vector:
        """Return half the width of the confidence or prediction interval of each row.

        σ̂ √(x'(X'X)⁻¹x) for the mean of all y at x, σ̂ √(1 + x'(X'X)⁻¹x) for one new y, times the
        quantile of Student's distribution.
        """
        spread = np.sqrt(self.leverage(X) + (0.0 if of_mean else 1.0))
        return np.asarray(self._quantile(confidence_level) * self.sigma * spread)

    @property
    def _df_or_nan(self) -> float:
        return self.df if self.df > 0 else math.nan

    def _quantile(self, confidence_level: float) -> float:
        return float(stdtrit(self._df_or_nan, 0.5 + confidence_level / 2))


def log_likelihood(rss: float, weight: float, scale: float) -> float:
    """Return -N/2 (log(2π rss / N) + 1), with rss in units of `scale` squared."""
    if not rss > 0:
        return math.inf
    of_one = math.log(2 * math.pi) + math.log(rss) - math.log(weight) + 1.0
    return -weight / 2 * (of_one + 2 * math.log(scale))


def _around(middle: Vector, half: Vector) -> Matrix:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.column_stack([middle - half, middle + half])
