"""Importance of features: from splits, Shapley values and permutations."""

from stagewise.inspection.importances.importance import importance, importance_table
from stagewise.inspection.importances.permutation import permutation_importance
from stagewise.inspection.importances.split_importance import Importance

__all__ = [
    "Importance",
    "importance",
    "importance_table",
    "permutation_importance",
]


def __dir__() -> list[str]:
    """Return the public names: functions and result classes, no modules."""
    return sorted(__all__)
