"""The chapters of the notes, by the names that ``stagewise train --method`` knows.

The one idea: a method is an estimator for each task, and parameters that make it what it is called;
whatever else differs between methods is read off the estimator's own signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from stagewise.cli.complaint import Complaint

__all__ = ["METHODS", "Method", "takes", "watches"]


@dataclass(frozen=True)
class Method:
    """What a method is called in the library.

    Parameters
    ----------
    words : str
        What it is, for the help.
    regression, classification : str or None
        The names of its estimators; None: it has none for such a task.
    own : mapping of str
        What it sets unless the user does.
    """

    words: str
    regression: str | None
    classification: str | None
    own: Mapping[str, Any] = field(default_factory=dict)

    def estimator(self, task: str, name: str) -> type:
        """Return the class for a task."""
        import stagewise

        chosen = self.regression if task == "regression" else self.classification
        if chosen is None:
            tells = "classes apart" if self.regression is None else "numbers"
            fitting = [
                other for other, m in METHODS.items() if getattr(m, task) and other != "boosting"
            ]
            raise Complaint(
                f"--method {name} tells {tells}, and the task is {task}; take boosting, "
                f"{', '.join(fitting)}, or say --task."
            )
        kind: type = getattr(stagewise, chosen)
        return kind


def _both(words: str, name: str, own: Mapping[str, Any] | None = None) -> Method:
    return Method(words, f"{name}Regressor", f"{name}Classifier", own or {})


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "boosting": _both("gradient boosting", "GradientBoosting"),
        "tree": _both("a single decision tree", "DecisionTree"),
        "forest": _both("a random forest", "RandomForest"),
        "extra-trees": _both("extremely randomised trees", "ExtraTrees"),
        "bagging": _both("bagged trees", "RandomForest", {"max_features": None}),
        "adaboost": Method("AdaBoost", None, "AdaBoostClassifier"),
        "linear": Method("least squares", "LinearRegression", None),
        "stepwise": Method("stepwise regression", "StepwiseRegressor", None),
        "stagewise": Method("forward stagewise regression", "StagewiseLinearRegressor", None),
    }
)


def takes(callable_: Any, name: str) -> bool:
    """Return whether a class or a method has a parameter of this name."""
    return name in inspect.signature(callable_).parameters


def watches(estimator: Any) -> bool:
    """Return whether a fit looks at held-out rows; a single tree does if it is cut by them."""
    cut = getattr(estimator, "pruning", "early_stopping") in ("reduced_error", "early_stopping")
    return takes(estimator.fit, "X_val") and cut
