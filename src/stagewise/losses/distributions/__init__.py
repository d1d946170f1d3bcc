"""Losses that are negative log-likelihoods of distributions."""

from stagewise.losses.distributions.base import DistributionLoss
from stagewise.losses.distributions.counts import (
    HurdleNegativeBinomialLoss,
    HurdlePoissonLoss,
    NegativeBinomialLoss,
    ZeroInflatedNegativeBinomialLoss,
    ZeroInflatedPoissonLoss,
)
from stagewise.losses.distributions.positive import (
    BetaLoss,
    GammaDistributionLoss,
    LogNormalLoss,
    WeibullLoss,
)
from stagewise.losses.distributions.real import LaplaceLoss, NormalLoss, StudentTLoss

__all__ = ["DISTRIBUTION_LOSSES", "DistributionLoss", "StudentTLoss"]

DISTRIBUTION_LOSSES: tuple[type[DistributionLoss], ...] = (
    NormalLoss,
    LaplaceLoss,
    StudentTLoss,
    LogNormalLoss,
    GammaDistributionLoss,
    WeibullLoss,
    NegativeBinomialLoss,
    ZeroInflatedPoissonLoss,
    ZeroInflatedNegativeBinomialLoss,
    HurdlePoissonLoss,
    HurdleNegativeBinomialLoss,
    BetaLoss,
)
"""The losses of distributions."""
