"""Stagewise: boosting as one additive model."""

from importlib.metadata import version

from stagewise.errors import InvalidParameterError, ModelFormatError, UnseenLevelWarning
from stagewise.estimators import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearModel,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseClassifier,
    StagewiseLinearRegressor,
    StagewiseRegressor,
    StepwiseRegressor,
    load,
)

__version__ = version("stagewise")

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GentleBoostClassifier",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "InvalidParameterError",
    "LinearModel",
    "LogitBoostClassifier",
    "ModelFormatError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StagewiseClassifier",
    "StagewiseLinearRegressor",
    "StagewiseRegressor",
    "StepwiseRegressor",
    "UnseenLevelWarning",
    "__version__",
    "load",
]
