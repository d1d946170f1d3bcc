"""The methods of ``stagewise train --method``.

A method has an estimator for each task, and parameters that it sets. All other differences between
methods are read from the signature of the estimator.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from stagewise.cli.errors import InputError

__all__ = ["METHODS", "Method", "has_parameter", "uses_validation_rows"]


@dataclass(frozen=True)
class Method:
    """A method and its estimators.

    Parameters
    ----------
    description : str
        The description in the help text.
    regression, classification : str or None
        The names of its estimators; None: it does not support the task.
    parameters : mapping of str
        Parameters that it sets unless the user does.
    ranking : str or None
        The name of its estimator of rankings.
    survival : str or None
        The name of its estimator of times until an event.
    """

    description: str
    regression: str | None
    classification: str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ranking: str | None = None
    survival: str | None = None

    def estimator(self, task: str, name: str) -> type:
        """Return the class for a task."""
        import stagewise

        chosen: str | None = getattr(self, task)
        if chosen is None and task == "ranking":
            raise InputError(f"--method {name} does not rank; use --method boosting.")
        if chosen is None and task == "survival":
            raise InputError(f"--method {name} does not support survival times; use boosting.")
        if chosen is None:
            own = "classification" if self.regression is None else "regression"
            fitting = [
                other for other, m in METHODS.items() if getattr(m, task) and other != "boosting"
            ]
            raise InputError(
                f"--method {name} supports {own} only, and the task is {task}; use boosting, "
                f"{', '.join(fitting)}, or set --task."
            )
        kind: type = getattr(stagewise, chosen)
        return kind


def _both(description: str, name: str, parameters: Mapping[str, Any] | None = None) -> Method:
    return Method(description, f"{name}Regressor", f"{name}Classifier", parameters or {})


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "boosting": replace(
            _both("gradient boosting", "GradientBoosting"),
            ranking="GradientBoostingRanker",
            survival="GradientBoostingSurvival",
        ),
        "auto": _both("a weighted sum of several configurations of boosting", "Auto"),
        "tree": _both("a single decision tree", "DecisionTree"),
        "forest": _both("a random forest", "RandomForest"),
        "extra-trees": _both("extremely randomised trees", "ExtraTrees"),
        "bagging": _both("bagged trees", "RandomForest", {"max_features": None}),
        "adaboost": _both("AdaBoost", "AdaBoost"),
        "gentleboost": Method("Gentle AdaBoost", None, "GentleBoostClassifier"),
        "logitboost": Method("LogitBoost", None, "LogitBoostClassifier"),
        "linear": Method("least squares", "LinearRegression", None),
        "stepwise": Method("stepwise regression", "StepwiseRegressor", None),
        "stagewise": Method("forward stagewise regression", "StagewiseLinearRegressor", None),
    }
)


def has_parameter(callable_: Any, name: str) -> bool:
    """Return whether a class or a method has a parameter of this name."""
    return name in inspect.signature(callable_).parameters


def uses_validation_rows(estimator: Any) -> bool:
    """Return whether a fit uses validation rows; a single tree does if it is pruned by them."""
    pruned = getattr(estimator, "pruning", "early_stopping") in ("reduced_error", "early_stopping")
    return has_parameter(estimator.fit, "X_val") and pruned
