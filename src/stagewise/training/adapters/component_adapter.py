"""Boosting of linear terms: each round fits one column of the design matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.monitor import Monitor
from stagewise.boosting.steps import Step
from stagewise.learners.learner import Learner
from stagewise.linear.componentwise import ComponentTable, ComponentwiseLinear, is_constant
from stagewise.linear.design import Design
from stagewise.losses import Loss
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.model.tree_list import TreeList
from stagewise.training.fit_report import ONE_VALUE
from stagewise.training.preparation import Scale, make_model, new_ensemble, score_rows
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.specs import FitContext
from stagewise.validation.messages import warn_caller

__all__ = ["ComponentAdapter"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ComponentAdapter:
    """Linear terms of one column each; the model keeps them as trees with linear leaves."""

    vector_leaves = False

    def max_step(self, scale: Scale) -> float:
        """Return a standard deviation of the target: the unit of steps."""
        return scale.spread

    def source(self, table: Any, context: FitContext) -> Any:
        """Return rows as the ensemble reads them."""
        return table

    def encode(
        self,
        tables: Sequence[Any],
        weight: Vector | None,
        features: Any,
        context: FitContext,
        rows: npt.NDArray[np.uint32] | None = None,
    ) -> tuple[ComponentTable, Callable[[Any], Any]]:
        """Return the design matrix of the training rows, and a function that encodes others."""
        design = Design.of(features)
        matrix = design.matrix(tables[0], rows)
        design.check_spread(matrix)

        def encode(other: Any) -> ComponentTable:
            return ComponentTable(design, design.matrix(other))

        return ComponentTable(design, matrix), encode

    def find_constant(
        self, encoded: ComponentTable, data: TrainingData, features: Any, *, warns: bool
    ) -> tuple[list[str], list[str] | None]:
        """Return the constant features; with `warns`, warn if the model can only be constant."""
        design, matrix = encoded.design, encoded.matrix
        constant = [
            name
            for name, places in zip(design.feature_names(), design.places, strict=True)
            if all(is_constant(matrix[place]) for place in places)
        ]
        if not warns:
            return constant, None
        if (data.train.y == data.train.y[0]).all():
            warn_caller(ONE_VALUE)
        elif len(constant) == features.n:
            warn_caller("Every feature is constant, so the model predicts the same for all rows.")
        return constant, None

    def new_ensemble(self, features: Any, base: Vector) -> Ensemble:
        """Return an ensemble without terms."""
        return new_ensemble(features, base)

    def continued(self, features: Any, previous: Ensemble) -> Ensemble:
        """Return a copy of the ensemble of an earlier fit."""
        return replace(previous, trees=TreeList(previous.trees))

    def score(self, ensemble: Ensemble, source: Any, context: FitContext) -> Vector:
        """Return the scores of rows, shape (n_rows, n_outputs)."""
        return score_rows(ensemble, source, context)

    def step(self, step: Step, features: Any, max_step: float) -> Step:
        """Return the step as it is."""
        return step

    def model(
        self,
        loss: Loss,
        data: TrainingData,
        features: Any,
        ensemble: Ensemble,
        scale: Scale,
        monitor: Monitor,
    ) -> Model:
        """Return the model."""
        return make_model(loss, data, features, ensemble, scale, monitor)

    def learner(self, features: Any, loss: Loss, unit: float, used: Sequence[int]) -> Learner:
        """Return the learner."""
        return ComponentwiseLinear()
