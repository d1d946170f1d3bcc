"""Losses of distributions of real numbers: normal, Laplace, Student's t.

Targets are standardised before the fit, so a·y + b gives a·loc + b and a·scale.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import weighted_quantile
from stagewise.distributions import Distribution, Laplace, Normal, StudentT
from stagewise.elementary import portable_exp
from stagewise.exact_sums import mean_rows
from stagewise.losses.distributions.base import DistributionLoss
from stagewise.losses.logarithm import exact_log
from stagewise.losses.scores import Matrix, Vector
from stagewise.validation.arguments import check_argument
from stagewise.validation.rules import Number

__all__ = ["LaplaceLoss", "NormalLoss", "StudentTLoss"]

FREE = (-math.inf, math.inf)
LOG_SCALE = (-12.0, 12.0)
"""The bounds of the logarithm of a scale, in standard deviations of the target."""
LOG_DF = (-4.0, 14.0)
"""The bounds of log(ν - 1)."""


class _LocationScaleLoss(DistributionLoss):
    """F_1 is the location, and F_2 the logarithm of the scale."""

    degree = 0
    log_scale_outputs = (1,)
    output_names: tuple[str, ...] = ("location", "log scale")
    bounds: tuple[tuple[float, float], ...] = (FREE, LOG_SCALE)


class NormalLoss(_LocationScaleLoss):
    """The normal distribution with the mean μ = F_1 and the standard deviation σ = e^(F_2).

    Domain: y any finite number. With z = (y - μ) / σ,

        L = F_2 + z²/2 + log(2π)/2        ∂L/∂F = (-z/σ, 1 - z²)        I = diag(1/σ², 2)
    """

    name = family = "normal"

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        return Normal(loc=start + scale * own[:, 0], scale=scale * portable_exp(own[:, 1]))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        mean = mean_rows(y, weight)
        spread = math.sqrt(mean_rows((y - mean) ** 2, weight))
        return np.array([mean, exact_log(max(spread, 1e-5))])


class LaplaceLoss(_LocationScaleLoss):
    """The Laplace distribution with the median m = F_1 and the scale b = e^(F_2).

    Domain: y any finite number. With z = (y - m) / b,

        L = F_2 + |z| + log 2        ∂L/∂F = (-sign(z)/b, 1 - |z|)        I = diag(1/b², 1)
    """

    name = family = "laplace"

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        return Laplace(loc=start + scale * own[:, 0], scale=scale * portable_exp(own[:, 1]))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        middle = float(weighted_quantile(np.ascontiguousarray(y), weight, 0.5))
        spread = mean_rows(np.abs(y - middle), weight)
        return np.array([middle, exact_log(max(spread, 1e-5))])


class StudentTLoss(_LocationScaleLoss):
    """Student's t distribution with location F_1, scale s = e^(F_2) and ν degrees of freedom.

    Domain: y any finite number. ν = 1 + e^(F_3) > 1, so that there is a mean. With
    z = (y - F_1) / s and v = (ν + 1) / (ν + z²),

        L = F_2 + (ν+1)/2 log(1 + z²/ν) + log(πν)/2 + log Γ(ν/2) - log Γ((ν+1)/2)
        ∂L/∂F_1 = -v z / s        ∂L/∂F_2 = 1 - v z²
        ∂L/∂ν = ½ (log(1 + z²/ν) - v z²/ν + 1/ν + ψ(ν/2) - ψ((ν+1)/2)),  ∂L/∂F_3 = (ν-1) ∂L/∂ν

        I_11 = (ν+1) / ((ν+3) s²)        I_22 = 2ν / (ν+3)        I_23 = -2 (ν-1) / ((ν+1)(ν+3))
        I_33 = (ν-1)² (¼ (ψ'(ν/2) - ψ'((ν+1)/2)) - (ν+5) / (2ν (ν+1)(ν+3)))

    (Lange, Little & Taylor 1989.)

    Parameters
    ----------
    df : float or None, default=None
        ν, above 1; None: it is a third score.
    """

    name = family = "student_t"
    parameter_names = ("df",)

    def __init__(self, df: float | None = None) -> None:
        check_argument("df", Number(1.0, open_low=True, or_none=True), df)
        self.df = None if df is None else float(df)
        if df is None:
            self.output_names = ("location", "log scale", "log(df - 1)")
            self.bounds = (FREE, LOG_SCALE, LOG_DF)
        else:
            self.family, self.family_parameter = "student_t_of_df", float(df)
        super().__init__()

    learns = True
    learns_from_rows = False

    def learn(self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix) -> dict[str, Vector]:
        """Return the degrees of freedom, if they are a parameter."""
        return {"df": np.array([] if self.df is None else [self.df])}

    def with_learned(self, learned: Any) -> StudentTLoss:
        """Return the loss with the degrees of freedom of a model."""
        own = learned.get("df", ())
        return StudentTLoss(float(own[0]) if len(own) else None)

    def _df(self, score: Matrix) -> Vector:
        if self.df is not None:
            return np.full(len(score), self.df)
        return np.asarray(1.0 + portable_exp(score[:, 2]))

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        loc, spread = start + scale * own[:, 0], scale * portable_exp(own[:, 1])
        return StudentT(loc=loc, scale=spread, df=self._df(own))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        start = LaplaceLoss().guess(y, weight)
        df = 5.0
        return np.array([*start, *([] if self.df is not None else [exact_log(df - 1.0)])])
