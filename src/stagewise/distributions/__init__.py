"""Predicted distributions: what `predict_dist` returns."""

from stagewise.distributions.base import CountDistribution, Distribution
from stagewise.distributions.counts import (
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Poisson,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)
from stagewise.distributions.positive import Beta, GammaDistribution, LogNormal, Weibull
from stagewise.distributions.real import Laplace, Normal, StudentT

__all__ = [
    "Beta",
    "CountDistribution",
    "Distribution",
    "GammaDistribution",
    "HurdleNegativeBinomial",
    "HurdlePoisson",
    "Laplace",
    "LogNormal",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "StudentT",
    "Weibull",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
]
