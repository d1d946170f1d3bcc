"""Losses of distributions of counts: negative binomial, and variants with other zeros.

The first score is the logarithm of the mean of the counts, which has the exposure of a row. The
probability of a zero of a hurdle model has it, too: its link is that of a Poisson count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.distributions import (
    CountDistribution,
    Distribution,
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Poisson,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)
from stagewise.elementary import extended_log, portable_exp, sigmoid
from stagewise.exact_sums import mean_rows
from stagewise.losses.distributions.base import DistributionLoss
from stagewise.losses.logarithm import exact_log
from stagewise.losses.scores import Matrix, Vector

__all__ = [
    "HurdleNegativeBinomialLoss",
    "HurdlePoissonLoss",
    "NegativeBinomialLoss",
    "PoissonDistributionLoss",
    "ZeroInflatedNegativeBinomialLoss",
    "ZeroInflatedPoissonLoss",
]

LOG_MEAN = (-30.0, 30.0)
LARGEST_COUNT = 1e12
LOG_DISPERSION = (-12.0, 6.0)
LOG_ODDS = (-12.0, 12.0)
LOG_RATE = (-20.0, 4.0)


class _CountLoss(DistributionLoss):
    """F_1 is the logarithm of the mean of the counts."""

    log_link = True
    largest_offset = 25.0

    def check(self, y: npt.NDArray[Any]) -> None:
        remedy = "Use loss='gamma' or 'tweedie' for amounts, or remove these rows."
        self.refuse((y < 0) | (y != np.floor(y)), y, "that are counts (0, 1, 2, …)", remedy)
        remedy = "Use loss='gamma_distribution' or 'log_normal' for such amounts."
        self.refuse(y > LARGEST_COUNT, y, f"of at most {LARGEST_COUNT:g}", remedy)
        if not y.any():
            raise ValueError(
                f"The {self.name} loss needs a count above 0, but all are 0: the logarithm of "
                "their mean is infinite. Use another loss."
            )

    def _location_of(self, mean: Vector) -> Vector:
        return extended_log(mean)


class PoissonDistributionLoss(_CountLoss):
    """The Poisson distribution with the mean μ = e^(F_1), as a part of other distributions.

    Domain: y = 0, 1, 2, …

        L = μ - y F_1 + log y!        ∂L/∂F_1 = μ - y        I = μ
    """

    name, family = "poisson_distribution", "poisson"
    output_names = ("log mean",)
    bounds = (LOG_MEAN,)

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        return Poisson(mu=portable_exp(self.within(score)[:, 0]))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([exact_log(mean_rows(y, weight))])


class NegativeBinomialLoss(_CountLoss):
    """The negative binomial distribution with the mean μ = e^(F_1) and the dispersion α = e^(F_2).

    Domain: y = 0, 1, 2, … The variance is μ + α μ²; for α → 0 it is the Poisson distribution.
    With r = 1/α,

        L = (r + y) log(1 + αμ) - y F_1 + log y! - (log Γ(y + r) - log Γ(r) - y log r)
        ∂L/∂F_1 = (μ - y) / (1 + αμ)
        ∂L/∂F_2 = r (ψ(y + r) - ψ(r) - log(1 + αμ)) + (μ - y) / (1 + αμ)
        I = diag(μ / (1 + αμ), i(μ, α))

    The information about F_2 has no closed form:

        i(μ, α) = r² Σ_j P(Y > j) / (r + j)² - r t,    t = αμ / (1 + αμ)

    For small α, or where αμ is tiny, it is approximated by t² (c_0 (1 - t) + c_1 t), with the
    limits c_0 = 1 / (2 (1 + α)) for small αμ and, for large αμ, c_1 = r² (ψ'(r) - 1/r), the
    information of gamma variables. Otherwise the first 24 terms are added up, and the others are
    approximated by an integral.
    """

    name = family = "negative_binomial"
    output_names = ("log mean", "log dispersion")
    bounds = (LOG_MEAN, LOG_DISPERSION)

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        return NegativeBinomial(mu=portable_exp(own[:, 0]), dispersion=portable_exp(own[:, 1]))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        mean = mean_rows(y, weight)
        excess = mean_rows((y - mean) ** 2, weight) - mean
        dispersion = max(excess / mean**2, 1e-3)
        return np.array([exact_log(mean), min(exact_log(dispersion), LOG_DISPERSION[1])])


class _OtherZerosLoss(_CountLoss):
    """The counts of another loss, and one more score for the zeros, the last one.

    The directions of trees use the diagonal of the information: zeros are explained by π, by a
    small mean or by a large dispersion, and a tree of one score cannot follow the trade-off.
    """

    counts: _CountLoss
    kind: type[CountDistribution]
    zero_name: str
    zero_bounds: tuple[float, float]
    location_is_mean, with_monotone_mean = False, "'negative_binomial' or 'poisson'"

    def __init__(self) -> None:
        self.output_names = (*self.counts.output_names, self.zero_name)
        self.bounds = (*self.counts.bounds, self.zero_bounds)
        super().__init__()

    def zero_probability(self, last: Vector) -> Vector:
        """Return the parameter of the distribution of the last score."""
        raise NotImplementedError

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        own = self.within(score)
        counts = self.counts.distribution(own[:, :-1])
        return self.kind(**counts.parameters, zero_probability=self.zero_probability(own[:, -1]))


class _ZeroInflatedLoss(_OtherZerosLoss):
    zero_name = "log odds of an extra zero"
    zero_bounds = LOG_ODDS

    def zero_probability(self, last: Vector) -> Vector:
        return np.asarray(sigmoid(last))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        start = self.counts.guess(y, weight)
        start[0] += exact_log(1.25)
        return np.array([*start, exact_log(0.25)])


class _HurdleLoss(_OtherZerosLoss):
    zero_name = "log rate of a count above 0"
    zero_bounds = LOG_RATE
    offset_outputs = (0, -1)

    def zero_probability(self, last: Vector) -> Vector:
        return np.asarray(portable_exp(-portable_exp(last)))

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        share = mean_rows((y == 0).astype(np.float64), weight)
        rate = -exact_log(min(max(share, 1e-6), 1.0 - 1e-9))
        return np.array([*self.counts.guess(y, weight), exact_log(rate)])


class ZeroInflatedPoissonLoss(_ZeroInflatedLoss):
    """Poisson counts of mean μ = e^(F_1), or 0 with the probability π = 1 / (1 + e^(-F_2)).

    Domain: y = 0, 1, 2, … (Lambert 1992). The mean is (1 - π) μ. With f(0) = e^(-μ) and
    p_0 = π + (1 - π) f(0),

        L = -log p_0 if y = 0, else -log(1 - π) - log f(y)
        I_11 = (1-π) μ - π (1-π) f(0) μ² / p_0        I_12 = -π (1-π) f(0) μ / p_0
        I_22 = π² (1-π) (1 - f(0)) / p_0
    """

    name = family = "zero_inflated_poisson"
    counts = PoissonDistributionLoss()
    kind = ZeroInflatedPoisson


class ZeroInflatedNegativeBinomialLoss(_ZeroInflatedLoss):
    """Negative binomial counts, or 0 with the probability π = 1 / (1 + e^(-F_3)).

    Domain: y = 0, 1, 2, … F_1 and F_2 are those of `NegativeBinomialLoss`, with the probability
    f(0), its logarithm's gradient s and the information J. With p_0 = π + (1 - π) f(0),

        I = (1-π) J - π (1-π) f(0) s sᵀ / p_0 for F_1, F_2;  π (1-π) f(0) s / p_0;
        π² (1-π) (1 - f(0)) / p_0 for F_3
    """

    name = family = "zero_inflated_negative_binomial"
    counts = NegativeBinomialLoss()
    kind = ZeroInflatedNegativeBinomial


class HurdlePoissonLoss(_HurdleLoss):
    """0 with the probability π = exp(-e^(F_2)), else Poisson counts of mean e^(F_1) without 0.

    Domain: y = 0, 1, 2, … (Mullahy 1986). With F_1 = F_2 it is the Poisson distribution, so an
    exposure is added to both. With ρ = e^(F_2), μ = e^(F_1) and f(0) = e^(-μ),

        L = ρ if y = 0, else -log(1 - e^(-ρ)) - log f(y) + log(1 - f(0))
        I = diag((1-π) (μ / (1-f(0)) - μ² f(0) / (1-f(0))²), ρ² / (e^ρ - 1))
    """

    name = family = "hurdle_poisson"
    counts = PoissonDistributionLoss()
    kind = HurdlePoisson


class HurdleNegativeBinomialLoss(_HurdleLoss):
    """0 with the probability π = exp(-e^(F_3)), else negative binomial counts without 0.

    Domain: y = 0, 1, 2, … F_1 and F_2 are those of `NegativeBinomialLoss`, with the probability
    f(0), its logarithm's gradient s and the information J. With ρ = e^(F_3),

        I = (1-π) (J / (1-f(0)) - f(0) s sᵀ / (1-f(0))²) for F_1, F_2;  ρ² / (e^ρ - 1) for F_3
    """

    name = family = "hurdle_negative_binomial"
    counts = NegativeBinomialLoss()
    kind = HurdleNegativeBinomial
