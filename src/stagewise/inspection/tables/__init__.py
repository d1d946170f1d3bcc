"""Descriptions of tables before training."""

from stagewise.inspection.tables.description import Description, describe

__all__ = [
    "Description",
    "describe",
]


def __dir__() -> list[str]:
    """Return the public names: functions and result classes, no modules."""
    return sorted(__all__)
