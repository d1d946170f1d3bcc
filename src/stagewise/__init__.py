"""Stagewise: boosting as one additive model."""

from importlib.metadata import version

from stagewise.bagging import BaggingClassifier, BaggingRegressor
from stagewise.errors import InvalidParameterError, ModelFormatError, UnknownCategoryWarning
from stagewise.estimators import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
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
from stagewise.export import export_svg, export_text, rules

__version__ = version("stagewise")

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
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
    "UnknownCategoryWarning",
    "__version__",
    "export_svg",
    "export_text",
    "load",
    "rules",
]
