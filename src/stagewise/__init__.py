"""Stagewise: boosting as one additive model."""

from importlib.metadata import version as _version

from stagewise import averaging, inspection, losses
from stagewise.bagging import BaggingClassifier, BaggingRegressor
from stagewise.boosting.monitor import Progress
from stagewise.datasets import Dataset, read_batches, read_csv, read_parquet
from stagewise.errors import InvalidParameterError, ModelFormatError, UnknownCategoryWarning
from stagewise.estimators import (
    AdaBoostClassifier,
    AutoClassifier,
    AutoRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
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
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss
from stagewise.options import (
    Dart,
    FeatureSampling,
    Goss,
    LinearLeaves,
    Mvs,
    OrderedTargetEncoding,
    SplitSearch,
)

__version__ = _version("stagewise")

__all__ = [
    "AdaBoostClassifier",
    "AutoClassifier",
    "AutoRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "Dart",
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "FeatureSampling",
    "GentleBoostClassifier",
    "Goss",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistogramTree",
    "InvalidParameterError",
    "LinearLeaves",
    "LinearRegression",
    "LogitBoostClassifier",
    "Loss",
    "ModelFormatError",
    "Mvs",
    "OrderedTargetEncoding",
    "Progress",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "SplitSearch",
    "StagewiseClassifier",
    "StagewiseLinearRegressor",
    "StagewiseRegressor",
    "StepwiseRegressor",
    "UnknownCategoryWarning",
    "__version__",
    "averaging",
    "export_svg",
    "export_text",
    "inspection",
    "load",
    "losses",
    "read_batches",
    "read_csv",
    "read_parquet",
    "rules",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
