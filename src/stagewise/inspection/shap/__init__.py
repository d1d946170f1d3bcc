"""Shapley values of trees and their plots."""

from stagewise.inspection.shap.values import ShapValues, shap_values

__all__ = [
    "ShapValues",
    "shap_values",
]


def __dir__() -> list[str]:
    """Return the public names: functions and result classes, no modules."""
    return sorted(__all__)
