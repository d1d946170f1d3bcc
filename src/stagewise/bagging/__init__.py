"""Bagging and cross-validation ensembles of any estimators."""

from stagewise.bagging.bagging import BaggingClassifier, BaggingRegressor

__all__ = ["BaggingClassifier", "BaggingRegressor"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
