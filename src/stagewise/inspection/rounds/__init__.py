"""Boosting round by round: AdaBoost's errors, votes and row weights; margins."""

from stagewise.inspection.rounds.ada_boost_path import AdaBoostPath, ada_boost_path
from stagewise.inspection.rounds.margins import Margins, margins

__all__ = ["AdaBoostPath", "Margins", "ada_boost_path", "margins"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
