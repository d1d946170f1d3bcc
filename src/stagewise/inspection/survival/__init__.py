"""The quality of predicted times until an event."""

from stagewise.inspection.survival.metrics import (
    concordance_index,
    cumulative_dynamic_auc,
    integrated_brier_score,
    survival_brier_score,
    uno_concordance_index,
)
from stagewise.inspection.survival.quality import SurvivalQuality, survival_quality

__all__ = [
    "SurvivalQuality",
    "concordance_index",
    "cumulative_dynamic_auc",
    "integrated_brier_score",
    "survival_brier_score",
    "survival_quality",
    "uno_concordance_index",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
