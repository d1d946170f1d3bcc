"""Stagewise: boosting as one additive model."""

from importlib.metadata import version

from stagewise.errors import InvalidParameterError, ModelFormatError, UnseenLevelWarning
from stagewise.estimators import (
    AdaBoostClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearModel,
    LogitBoostClassifier,
    StagewiseClassifier,
    StagewiseLinearRegressor,
    StagewiseRegressor,
    StepwiseRegressor,
    load,
)

__version__ = version("stagewise")

__all__ = [
    "AdaBoostClassifier",
    "GentleBoostClassifier",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "InvalidParameterError",
    "LinearModel",
    "LogitBoostClassifier",
    "ModelFormatError",
    "StagewiseClassifier",
    "StagewiseLinearRegressor",
    "StagewiseRegressor",
    "StepwiseRegressor",
    "UnseenLevelWarning",
    "__version__",
    "load",
]
