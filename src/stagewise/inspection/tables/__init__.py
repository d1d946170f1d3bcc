"""Descriptions of tables before training."""

from stagewise.inspection.tables.description import Description, describe
from stagewise.inspection.tables.information_gain import InformationGain, information_gain

__all__ = [
    "Description",
    "InformationGain",
    "describe",
    "information_gain",
]


def __dir__() -> list[str]:
    """Return the public names: functions and result classes, no modules."""
    return sorted(__all__)
