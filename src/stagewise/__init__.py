"""Stagewise: boosting as one additive model."""

from importlib.metadata import version

from stagewise.errors import InvalidParameterError, ModelFormatError, UnseenLevelWarning
from stagewise.estimators import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    StagewiseClassifier,
    StagewiseRegressor,
    load,
)

__version__ = version("stagewise")

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "GentleBoostClassifier",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "InvalidParameterError",
    "LogitBoostClassifier",
    "ModelFormatError",
    "StagewiseClassifier",
    "StagewiseRegressor",
    "UnseenLevelWarning",
    "__version__",
    "load",
]
