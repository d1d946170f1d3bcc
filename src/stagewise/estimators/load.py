"""The function `load`, which reads a model file into a fitted estimator."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklearn.base import ClassifierMixin

from stagewise.errors import ModelFormatError
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
from stagewise.estimators.logit_boost import GentleBoostClassifier, LogitBoostClassifier
from stagewise.estimators.parameters.saved_parameters import CLASS_NAMES, read_parameters
from stagewise.estimators.stagewise import StagewiseClassifier, StagewiseRegressor
from stagewise.estimators.survival.gradient_boosting_survival import GradientBoostingSurvival
from stagewise.model.file.format import read_model
from stagewise.validation.parameters import RULES

__all__ = ["load"]

_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        AdaBoostClassifier,
        AdaBoostRegressor,
        AutoClassifier,
        AutoRegressor,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        GentleBoostClassifier,
        GradientBoostingClassifier,
        GradientBoostingRanker,
        GradientBoostingRegressor,
        GradientBoostingSurvival,
        LinearRegression,
        LogitBoostClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
        StagewiseClassifier,
        StagewiseLinearRegressor,
        StagewiseRegressor,
        StepwiseRegressor,
    )
}


def _task(name: str) -> str:
    if issubclass(_CLASSES[name], GradientBoostingRanker):
        return "ranking"
    if issubclass(_CLASSES[name], GradientBoostingSurvival):
        return "survival"
    return "classification" if issubclass(_CLASSES[name], ClassifierMixin) else "regression"


def load(path: str | PathLike[str]) -> Any:
    """Read a model that an estimator's `save` wrote, and return that estimator, fitted.

    Parameters
    ----------
    path : str or path
        A .stgw file.

    Raises
    ------
    ModelFormatError
        If the file is not a complete and valid model file.
    """
    model, notes = read_model(path)
    name = notes.get("class")
    name = CLASS_NAMES.get(str(name), name)
    if name not in _CLASSES or _task(name) != model.task:
        raise ModelFormatError(
            f"{path}: the file holds a {model.task} model of the estimator {name!r}, which this "
            "version of Stagewise does not have."
        )
    try:
        if "learning_rate" in notes:
            RULES["learning_rate"](notes["learning_rate"])
    except ValueError as error:
        raise ModelFormatError(f"{path}: the learning rate in the file must be {error}.") from None
    try:
        params = read_parameters(notes.get("params", {}), name)
        return _CLASSES[name]._from_model(model, params, notes)  # noqa: SLF001
    except ValueError as error:
        raise ModelFormatError(f"{path}: {error}") from None
    except TypeError as error:
        raise ModelFormatError(f"{path}: a parameter in the file is unknown: {error}") from None
