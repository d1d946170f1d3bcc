"""Dependence of predictions on features: partial dependence, ALE, interactions."""

from stagewise.inspection.dependence.ale import AccumulatedEffects, accumulated_effects
from stagewise.inspection.dependence.interactions import Interactions, interactions
from stagewise.inspection.dependence.partial_dependence import Dependence, partial_dependence

__all__ = [
    "AccumulatedEffects",
    "Dependence",
    "Interactions",
    "accumulated_effects",
    "interactions",
    "partial_dependence",
]


def __dir__() -> list[str]:
    """Return the public names: functions and result classes, no modules."""
    return sorted(__all__)
