"""Bagging and cross-validation ensembles of any estimators."""

from stagewise.bagging.bagging import BaggingClassifier, BaggingRegressor
from stagewise.estimators.parameters.documentation import (
    complete_docstrings as _complete_docstrings,
)

__all__ = ["BaggingClassifier", "BaggingRegressor"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


_complete_docstrings({name: value for name, value in globals().items() if isinstance(value, type)})
