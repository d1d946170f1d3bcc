"""(y, score) → loss, derivatives, meaning. A new loss is one class and one line in a registry."""

from collections.abc import Mapping
from types import MappingProxyType

from stagewise.losses.base import BoundLoss, Loss
from stagewise.losses.classification import Logistic, Multinomial
from stagewise.losses.regression import AbsoluteError, SquaredError

__all__ = [
    "REGRESSION_LOSSES",
    "AbsoluteError",
    "BoundLoss",
    "Logistic",
    "Loss",
    "Multinomial",
    "SquaredError",
    "log_loss",
]

REGRESSION_LOSSES: Mapping[str, type[Loss]] = MappingProxyType(
    {loss.name: loss for loss in (SquaredError, AbsoluteError)}
)


def log_loss(n_classes: int) -> Loss:
    """Return the deviance for this many classes: one score for two, else one score a class."""
    return Logistic() if n_classes <= 2 else Multinomial(n_classes)
