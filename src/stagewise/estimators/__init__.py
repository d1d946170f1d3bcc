"""The scikit-learn estimators."""

from stagewise.estimators.ada_boost import AdaBoostClassifier
from stagewise.estimators.ada_boost_regressor import AdaBoostRegressor
from stagewise.estimators.auto.estimators import AutoClassifier, AutoRegressor
from stagewise.estimators.decision_tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from stagewise.estimators.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from stagewise.estimators.forest import RandomForestClassifier, RandomForestRegressor
from stagewise.estimators.gradient_boosting_classifier import GradientBoostingClassifier
from stagewise.estimators.gradient_boosting_ranker import GradientBoostingRanker
from stagewise.estimators.gradient_boosting_regressor import GradientBoostingRegressor
from stagewise.estimators.linear.least_squares import LinearRegression
from stagewise.estimators.linear.stagewise_linear import StagewiseLinearRegressor
from stagewise.estimators.linear.stepwise import StepwiseRegressor
from stagewise.estimators.load import load
from stagewise.estimators.logit_boost import GentleBoostClassifier, LogitBoostClassifier
from stagewise.estimators.parameters.documentation import (
    complete_docstrings as _complete_docstrings,
)
from stagewise.estimators.stagewise import StagewiseClassifier, StagewiseRegressor
from stagewise.estimators.survival.gradient_boosting_survival import GradientBoostingSurvival

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AutoClassifier",
    "AutoRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GentleBoostClassifier",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvival",
    "LinearRegression",
    "LogitBoostClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StagewiseClassifier",
    "StagewiseLinearRegressor",
    "StagewiseRegressor",
    "StepwiseRegressor",
    "load",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


_complete_docstrings({name: value for name, value in globals().items() if isinstance(value, type)})
