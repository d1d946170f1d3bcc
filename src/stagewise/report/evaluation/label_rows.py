"""Rows with several labels, beside the predicted probabilities of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.confusion import ConfusionMatrix
from stagewise.inspection.quality.label_scores import (
    label_metrics,
    label_predictions,
    wrong_labels,
)
from stagewise.inspection.quality.predictions import Predictions
from stagewise.inspection.quality.scores import Score, Scores
from stagewise.report.evaluation.evaluated_rows import (
    CONFIDENCE_LEVEL,
    EvaluatedRows,
    GivenRows,
    LabelQuality,
    Quality,
    ScoreGroup,
)
from stagewise.report.quality_facts import class_quality
from stagewise.report.subgroup_facts import RowErrors

__all__ = ["LabelRows"]

MOST_CURVES = 12
"""The number of targets with curves; the table has all."""
MOST_SHOWN = 8
"""The number of labels of a row that are shown."""


@dataclass(frozen=True, eq=False)
class _Scored:
    """The scores of the labels together, and those of each target."""

    together: tuple[Score, ...]
    by_target: dict[str, tuple[Score, ...]]

    @classmethod
    def of(cls, predictions: dict[str, Predictions], seed: int) -> _Scored:
        used = {name: own.with_weight() for name, own in predictions.items()}
        together, single = label_metrics(used)
        weight = next(iter(used.values())).weight
        own = (*together, *single)
        found = Scores.of_metrics(
            "classification", own, weight, confidence_level=CONFIDENCE_LEVEL, random_state=seed
        ).scores
        n, rest = len(single) // len(used), found[len(together) :]
        parts = {name: rest[k * n : (k + 1) * n] for k, name in enumerate(used)}
        return cls(found[: len(together)], parts)


class LabelRows(EvaluatedRows):
    """Rows with several targets of classes."""

    task = "labels"
    baseline_note = (
        "the score of the constant prediction that is best for these rows (the class shares of "
        "each target, its most frequent class, or the most frequent labels)"
    )

    def __init__(self, given: GivenRows) -> None:
        super().__init__(given)
        own = given.X, given.y, given.sample_weight
        offset = given.passed.get("offset")
        self.predictions = label_predictions(given.estimator, *own, offset=offset)
        self.each = list(self.predictions.values())
        self.weight = self.each[0].weight
        rows = np.arange(len(self.weight))
        self.errors = np.mean([1.0 - each.y_pred[rows, each.y] for each in self.each], axis=0)
        self._scored_labels = _Scored.of(self.predictions, given.seed)

    @property
    def first_target(self) -> str:
        return next(iter(self.predictions))

    @property
    def prediction(self) -> str:
        return "probability"

    @property
    def subject(self) -> str:
        return f"{len(self.each)} labels"

    @property
    def shown(self) -> Sequence[str]:
        parts = [(name, own.names, own.y) for name, own in self.predictions.items()]
        more = f", and {len(parts) - MOST_SHOWN} more" if len(parts) > MOST_SHOWN else ""
        return [
            ", ".join(f"{name}={labels[y[i]]}" for name, labels, y in parts[:MOST_SHOWN]) + more
            for i in range(len(self.weight))
        ]

    @property
    def target(self) -> Any:
        columns = [np.asarray(own.classes, dtype=object)[own.y] for own in self.each]
        return np.column_stack(columns)

    @property
    def described(self) -> Any:
        first = self.each[0]
        return np.array([first.names[k] for k in first.y.tolist()], dtype=object)

    def scores(self) -> tuple[ScoreGroup, ...]:
        return (("", self._scored_labels.together),)

    def quality(self) -> Quality:
        labels = []
        for k, (name, own) in enumerate(self.predictions.items()):
            drawn = k < MOST_CURVES
            labels.append(
                LabelQuality(
                    name,
                    self._scored_labels.by_target[name],
                    class_quality(own) if drawn else (),
                    own.names,
                    ConfusionMatrix.of(own).counts,
                    drawn,
                )
            )
        return Quality(labels=tuple(labels))

    def row_errors(self) -> RowErrors:
        wrong: Vector = wrong_labels(self.each).mean(axis=1)
        unknown = np.full(len(wrong), np.nan)
        return RowErrors("share of wrong labels", wrong, unknown, unknown, self.weight)
