"""Chooses how the rows of a report are evaluated, by the kind of their targets."""

from __future__ import annotations

from stagewise.report.evaluation.class_rows import ClassRows
from stagewise.report.evaluation.evaluated_rows import EvaluatedRows, GivenRows
from stagewise.report.evaluation.label_rows import LabelRows
from stagewise.report.evaluation.number_rows import NumberRows
from stagewise.report.evaluation.query_rows import QueryRows
from stagewise.report.evaluation.survival_rows import SurvivalRows

__all__ = ["evaluate"]

KINDS: dict[str, type[EvaluatedRows]] = {
    "regression": NumberRows,
    "classification": ClassRows,
    "ranking": QueryRows,
    "survival": SurvivalRows,
}


def evaluate(given: GivenRows) -> EvaluatedRows:
    """Predict the rows of a report, and return them beside their true targets."""
    model = given.fitted.model
    return LabelRows(given) if model.class_targets is not None else KINDS[model.task](given)
