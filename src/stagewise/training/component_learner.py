"""Fits whose terms are single columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from stagewise.learners.learner import Learner
from stagewise.linear.componentwise import ComponentTable, ComponentwiseLinear, is_constant
from stagewise.linear.design import Design
from stagewise.training.boosting_trainer import Fit
from stagewise.training.report import ONE_VALUE
from stagewise.training.row_set import Sample
from stagewise.validation.messages import warn_caller

__all__ = ["ComponentFit"]


class ComponentFit(Fit):
    """A fit on the columns of a design instead of bins."""

    def _prepare(
        self, tables: Any, train: Sample, features: Any, classes: npt.NDArray[Any] | None
    ) -> tuple[Any, Callable[[Any], Any], dict[str, Any]]:
        design = Design.of(features)
        matrix = design.matrix(tables[0], train.rows)
        design.check_spread(matrix)
        constant = [
            name
            for name, places in zip(design.feature_names(), design.places, strict=True)
            if all(is_constant(matrix[place]) for place in places)
        ]
        same = "so the model predicts the same for all rows."
        if (train.y == train.y[0]).all():
            warn_caller(ONE_VALUE)
        elif len(constant) == features.n:
            warn_caller(f"Every feature is constant, {same}")

        def alike(other: Any) -> ComponentTable:
            return ComponentTable(design, design.matrix(other))

        details = {"constant_features": constant}
        return ComponentTable(design, matrix), alike, details

    def _max_step(self) -> float:
        return 1.0  # steps are in standard deviations of the target

    def _learner(self, unit: float, gradient_unit: float) -> Learner:
        return ComponentwiseLinear()
