"""The base class of the estimators with any loss and any learner.

A `HistogramTree` is boosted as in all other estimators. For any other learner the rows are passed
on as they are, and the terms of the model are fitted estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting import responses, steps
from stagewise.boosting.recipe import ZERO, Recipe
from stagewise.boosting.steps import Step
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.tree_attributes import TreeAttributes
from stagewise.estimators.parameters.learner_rules import check_tree
from stagewise.estimators.parameters.make_specs import BOOSTING_USES
from stagewise.learners.estimator import check_learner
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
from stagewise.training.reading.passthrough import PassthroughReader
from stagewise.training.reading.training_data import TableReader, TrainingData
from stagewise.training.results import FitResult
from stagewise.training.specs import LearnerAdapter
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Rule

__all__ = ["RESPONSES", "STEPS", "StagewiseMixin"]

Vector = npt.NDArray[np.float64]

if TYPE_CHECKING:

    class _Base(TreeAttributes, BaseBoosting):
        """The other bases of an estimator."""

else:
    _Base = object

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
ONLY_OF_TREES = (
    ("max_bins", 255),
    ("missing_values", ()),
    ("categorical_features", "from_dtype"),
    ("handle_unknown", "missing"),
)

STAGEWISE_RULES: Mapping[str, Rule] = MappingProxyType({"sampling": OPTION_RULES["sampling"]})
"""The rules of parameters that differ for these estimators."""


class StagewiseMixin(_Base):
    """The methods of `StagewiseRegressor` and `StagewiseClassifier`."""

    learner: Any
    response: str
    step: str
    corrective: str | None
    _rules = STAGEWISE_RULES
    _uses = BOOSTING_USES

    def _has_tree(self) -> bool:
        return self.learner is None or isinstance(self.learner, HistogramTree)

    def _parameters(self) -> dict[str, Any]:
        params = super()._parameters()
        if params["learner"] is None:
            params["learner"] = HistogramTree()
        learner, name = params["learner"], type(self).__name__
        tree, of_classes = isinstance(learner, HistogramTree), params["response"] == "classes"
        if tree:
            params["learner"] = check_tree(learner, name, of_classes=of_classes)
        else:
            try:
                check_learner(learner, of_classes=of_classes)
            except ValueError as error:
                raise InvalidParameterError(
                    f"The parameter 'learner' of {name} must be {error}; got {short_repr(learner)}."
                ) from None
        self._check_step(params["step"], tree=tree, of_classes=of_classes)
        # No parameter is ignored: one that the learner cannot use must have its default.
        for unused, default in (("resample", False),) if tree else ONLY_OF_TREES:
            if params[unused] != default:
                raise InvalidParameterError(
                    f"The parameter {unused!r} of {name} has no effect with this learner, "
                    f"{type(learner).__name__}; leave it at its default. Got {params[unused]!r}."
                )
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

    def _table_reader(self, params: dict[str, Any], previous: Model | None) -> TableReader:
        if self._has_tree():
            return super()._table_reader(params, previous)
        return PassthroughReader(type(self).__name__)

    def _set_fitted(
        self, result: FitResult, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        if not self._has_tree():
            self._header = data.features
            data.features.set_attributes(self)
        return super()._set_fitted(result, data, params)

    def _adopt(self, model: Any) -> None:
        if isinstance(model, Model):
            super()._adopt(model)
            return
        self.model_ = model
        self.n_iter_ = model.ensemble.n_rounds
        self.train_loss_ = model.train_loss
        self.validation_loss_ = model.valid_loss
        if model.classes is not None:
            self.classes_ = model.classes

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        model: Any = self._fitted()
        if isinstance(model, Model):
            yield from super()._staged_score(X)
            return
        rows = self._header.match(X, type(self).__name__)
        stages = model.ensemble.staged_scores(rows.X, rows.n_rows)
        next(stages)  # the constant
        start = self._start_score(model, X)
        yield from (score + start for score in stages)

    def _score(self, X: Any, n_rounds: Any = None) -> Vector:
        model: Any = self._fitted()
        if isinstance(model, Model):
            return super()._score(X, n_rounds)
        rounds = None if n_rounds is None else self._check_rounds(model, n_rounds)
        rows = self._header.match(X, type(self).__name__)
        score = np.asarray(model.ensemble.score(rows.X, rows.n_rows, rounds))
        return np.asarray(score + self._start_score(model, X))

    @property
    def feature_importances_(self) -> Vector:
        """Each feature's share of the gain of all splits, if the learner is a tree."""
        self._only_trees("feature_importances_")
        return super().feature_importances_

    @property
    def apply(self) -> Any:
        """The method that returns the leaf of each row in every tree, if the learner is a tree."""
        self._only_trees("apply")
        return super().apply

    def _only_trees(self, what: str) -> None:
        if not self._has_tree():
            raise AttributeError(
                f"{type(self).__name__} has {what} only if the learner is a tree; it is "
                f"{type(self.learner).__name__}."
            )

    def save(self, path: str | PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file, if its terms are trees; see `GradientBoostingRegressor`."""
        if not isinstance(self._fitted(), Model):
            raise ValueError(
                f"A model of {type(self.learner).__name__} terms cannot be saved to a file, which "
                "holds no code. Pickle the estimator instead (joblib.dump), or use a tree as "
                "learner."
            )
        super().save(path, notes=notes)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = self.learner
        if hasattr(learner, "__sklearn_tags__") and not isinstance(learner, type):
            theirs = learner.__sklearn_tags__().input_tags
            tags.input_tags.allow_nan = theirs.allow_nan
            tags.input_tags.categorical = theirs.categorical
            tags.input_tags.sparse = theirs.sparse
        return tags
