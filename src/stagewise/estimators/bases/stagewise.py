"""The base class of the estimators with any loss and any learner.

A `HistogramTree` is boosted as in all other estimators. For any other learner the rows are passed
on as they are, and the terms of the model are fitted estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting import responses, steps
from stagewise.boosting.recipe import ZERO, Recipe
from stagewise.boosting.steps import Step
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.estimator_terms import ONLY_OF_TREES, EstimatorTerms
from stagewise.estimators.parameters.learner_rules import check_tree
from stagewise.estimators.parameters.make_specs import BOOSTING_USES
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss
from stagewise.model.model import Model
from stagewise.options import OPTION_RULES
from stagewise.training.adapters.estimator_adapter import EstimatorAdapter
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.describe import (
    describe_object,
    describe_rounds,
    describe_rows,
    other_parameters,
)
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.specs import LearnerAdapter
from stagewise.validation.rules import Rule

__all__ = ["RESPONSES", "STEPS", "StagewiseMixin"]

Vector = npt.NDArray[np.float64]

RESPONSES = MappingProxyType(
    {
        "newton": responses.newton,
        "gradient": responses.gradient,
        "classes": responses.classes,
    }
)
STEPS: Mapping[str, Callable[[float], Step]] = MappingProxyType(
    {
        "newton": lambda max_step: steps.newton,
        "region_optimum": steps.region_optimum,
        "line_search": lambda max_step: steps.line_search,
        "votes": lambda max_step: steps.votes,
        "log_odds": lambda max_step: steps.log_odds,
    }
)
OF_CLASSES = ("votes", "log_odds")
OF_LEAVES = ("region_optimum", "log_odds")

STAGEWISE_RULES: Mapping[str, Rule] = MappingProxyType({"sampling": OPTION_RULES["sampling"]})
"""The rules of parameters that differ for these estimators."""


class StagewiseMixin(EstimatorTerms):
    """The methods of `StagewiseRegressor` and `StagewiseClassifier`."""

    learner: Any
    response: str
    step: str
    corrective: str | None
    _term_parameter = "learner"
    _rules = STAGEWISE_RULES
    _uses = BOOSTING_USES

    @property
    def _takes_offset(self) -> bool:  # type: ignore[override]  # votes have no scores to add to
        return self.response != "classes"

    def _has_tree(self) -> bool:
        return self._term_estimator() is None

    def _term_estimator(self) -> Any:
        tree = self.learner is None or isinstance(self.learner, HistogramTree)
        return None if tree else self.learner

    def _parameters(self) -> dict[str, Any]:
        params = super()._parameters()
        if params["learner"] is None:
            params["learner"] = HistogramTree()
        learner, name = params["learner"], type(self).__name__
        tree, of_classes = isinstance(learner, HistogramTree), params["response"] == "classes"
        if tree:
            params["learner"] = check_tree(learner, name, of_classes=of_classes)
        else:
            self._check_term_estimator(learner, of_classes=of_classes)
        self._check_step(params["step"], tree=tree, of_classes=of_classes)
        # No parameter is ignored: one that the learner cannot use must have its default.
        self._check_unused(params, {"resample": False} if tree else ONLY_OF_TREES)
        return params

    def _check_step(self, step: str, *, tree: bool, of_classes: bool) -> None:
        allowed = [name for name in STEPS if of_classes == (name in OF_CLASSES)]
        if not tree:
            allowed = [name for name in allowed if name not in OF_LEAVES]
        if step not in ("auto", *allowed):
            why = "" if tree else ", whose terms have no leaves"
            raise InvalidParameterError(
                f"The parameter 'step' of {type(self).__name__} must be 'auto' or one of "
                f"{', '.join(map(repr, allowed))} with response={self.response!r} and this "
                f"learner{why}; got {step!r}."
            )

    def _recipe(self) -> Recipe:
        response, tree = RESPONSES[self.response], self._has_tree()

        def make(loss: Loss, max_step: float) -> Step:
            name = self.step
            if name == "auto":
                regions = loss.leaf_quantile is not None or self.response == "gradient"
                optimum = "region_optimum" if tree else "line_search"
                name = optimum if regions else "newton"
                name = "votes" if self.response == "classes" else name
            return STEPS[name](max_step)

        name = self.step.replace("_", " ") + " steps"
        start = ZERO if response.of_classes else None
        return Recipe(name, response, make, start=start, correction=self.corrective)

    def _check_data(
        self, params: dict[str, Any], data: TrainingData, loss: Loss, previous: Model | None
    ) -> None:
        super()._check_data(params, data, loss, previous)
        if self.corrective is not None and loss.leaf_quantile is not None:
            raise InvalidParameterError(
                f"corrective={self.corrective!r} fits coefficients by Newton's method, which needs "
                f"a loss with a curvature; loss={loss.name!r} has none. Set corrective=None, or "
                "use another loss, such as 'squared_error'."
            )

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        learner = params["learner"]
        if isinstance(learner, HistogramTree):
            return TreeAdapter((learner,), max_bins=params["max_bins"])
        return EstimatorAdapter(learner, params["resample"])

    def recipe(self) -> str:
        """Return the fit in one line: loss x response x step x learner x rows x rounds."""
        checked = self._parameters()
        params = self._resolve(checked)
        spec, loss = self._spec(params, self._hold_out(checked)), params["loss"]
        name = loss if isinstance(loss, str) else repr(loss)
        return (
            f"{name} x {params['response']} x {params['step'].replace('_', ' ')} step x "
            f"{describe_object(params['learner'])} x "
            f"{describe_rows(spec.recipe.sampling.description, spec.hold_out)} x "
            f"{describe_rounds(spec.stopping, spec.hold_out)}, ν={spec.recipe.learning_rate:g}"
            f"{other_parameters(self, 'boosting')}"
        )
