"""Stagewise: boosting as one additive model."""

from importlib.metadata import version

from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.estimators import GradientBoostingClassifier, GradientBoostingRegressor, load

__version__ = version("stagewise")

__all__ = [
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "InvalidParameterError",
    "ModelFormatError",
    "__version__",
    "load",
]
