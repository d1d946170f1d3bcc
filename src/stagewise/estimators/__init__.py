"""scikit-learn faces over recipes."""

from stagewise.estimators.ada_boost import AdaBoostClassifier
from stagewise.estimators.additive_logistic import GentleBoostClassifier, LogitBoostClassifier
from stagewise.estimators.bagging import BaggingClassifier, BaggingRegressor
from stagewise.estimators.decision_tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from stagewise.estimators.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from stagewise.estimators.forest import RandomForestClassifier, RandomForestRegressor
from stagewise.estimators.gradient_boosting_classifier import GradientBoostingClassifier
from stagewise.estimators.gradient_boosting_regressor import GradientBoostingRegressor
from stagewise.estimators.linear_model import LinearModel
from stagewise.estimators.load import load
from stagewise.estimators.stagewise import StagewiseClassifier, StagewiseRegressor
from stagewise.estimators.stagewise_linear import StagewiseLinearRegressor
from stagewise.estimators.stepwise import StepwiseRegressor

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
    "LinearModel",
    "LogitBoostClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StagewiseClassifier",
    "StagewiseLinearRegressor",
    "StagewiseRegressor",
    "StepwiseRegressor",
    "load",
]
