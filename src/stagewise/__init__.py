"""Stagewise: boosting as one additive model."""

from importlib.metadata import version

from stagewise.errors import InvalidParameterError, ModelFormatError, UnseenLevelWarning
from stagewise.estimators import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
    load,
)
from stagewise.report import export_svg, export_text, rules

__version__ = version("stagewise")

__all__ = [
    "AdaBoostClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GentleBoostClassifier",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "InvalidParameterError",
    "LogitBoostClassifier",
    "ModelFormatError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StagewiseClassifier",
    "StagewiseRegressor",
    "UnseenLevelWarning",
    "__version__",
    "export_svg",
    "export_text",
    "load",
    "rules",
]
