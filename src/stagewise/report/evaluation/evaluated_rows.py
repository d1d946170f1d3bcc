"""The rows of a report beside their true targets: what every kind of target has.

The sections of a page need the same things of all models: scores, errors of rows, targets as text.
A subclass computes them for one kind of target, so that nothing else depends on the kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stagewise.estimators.bases.model_access import has_conformity
from stagewise.inspection.fitted_model import FittedModel, Vector
from stagewise.inspection.quality.coverage import Coverage, coverage
from stagewise.inspection.quality.predictions import Predictions
from stagewise.inspection.quality.scores import Score, Scores
from stagewise.report.evaluation.survival_facts import EventQuality
from stagewise.report.quality_facts import ClassQuality, NumberQuality
from stagewise.report.query_facts import QueryQuality
from stagewise.report.spread_facts import SpreadQuality
from stagewise.report.subgroup_facts import RowErrors

__all__ = [
    "CONFIDENCE_LEVEL",
    "EvaluatedRows",
    "GivenRows",
    "LabelQuality",
    "Quality",
    "ScoreGroup",
    "no_errors",
]

CONFIDENCE_LEVEL = 0.95

ScoreGroup = tuple[str, tuple[Score, ...]]
"""Scores with their target; the name is empty if there is one target."""


@dataclass(frozen=True, eq=False)
class GivenRows:
    """The arguments of a report.

    Attributes
    ----------
    fitted : FittedModel
        The model.
    X, y, sample_weight
        The rows, their targets and weights, as they were passed.
    target : str
        The name of the target; empty if it has none.
    seed : int
        The seed of samples.
    passed : mapping of str
        The offset and the exposure of the rows, if they were passed.
    """

    fitted: FittedModel
    X: Any
    y: Any
    sample_weight: Any
    target: str
    seed: int
    passed: Mapping[str, Any]

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        return self.fitted.estimator


@dataclass(frozen=True, eq=False)
class LabelQuality:
    """The quality of the predictions of one of several targets of classes.

    Attributes
    ----------
    name : str
        The target.
    scores : tuple of Score
        Its scores.
    classes, names, confusion
        As of `Quality`.
    has_curves : bool
        Whether `classes` was computed; of very many targets only the first have it.
    """

    name: str
    scores: tuple[Score, ...]
    classes: tuple[ClassQuality, ...]
    names: tuple[str, ...]
    confusion: Vector
    has_curves: bool


@dataclass(frozen=True, eq=False)
class Quality:
    """The quality of the predictions.

    Attributes
    ----------
    classes : tuple of ClassQuality
        The quality of each class against the rest; for two classes only the second.
    names : tuple of str
        The classes.
    confusion : float64 array of shape (n_classes, n_classes)
        The confusion matrix by weight: true classes (rows) and predicted classes (columns).
    numbers : tuple of NumberQuality
        Regression: the quality of each target.
    queries : QueryQuality or None
        Ranking: the quality of each query.
    spread : SpreadQuality or None
        The quality of predicted quantiles or distributions.
    coverage : Coverage or None
        The coverage of prediction intervals or sets; None: the model has no conformity scores.
    events : tuple of EventQuality
        Times until an event: the quality of the curves of each kind of event.
    labels : tuple of LabelQuality
        Several targets of classes: the quality of each.
    """

    classes: tuple[ClassQuality, ...] = ()
    names: tuple[str, ...] = ()
    confusion: Vector | None = None
    numbers: tuple[NumberQuality, ...] = ()
    queries: QueryQuality | None = None
    spread: SpreadQuality | None = None
    coverage: Coverage | None = None
    events: tuple[EventQuality, ...] = ()
    labels: tuple[LabelQuality, ...] = ()


class EvaluatedRows(ABC):
    """The rows of a report beside their true targets.

    Parameters
    ----------
    given : GivenRows
        The arguments of the report.

    Attributes
    ----------
    weight : float64 array
        The sample weights.
    errors : float64 array
        The error of each row; the row with the largest is the worst prediction. 0: rows have none.
    """

    has_associations: ClassVar[bool] = True
    """Whether `described` can be compared with the columns of the table."""

    weight: Vector
    errors: Vector

    def __init__(self, given: GivenRows) -> None:
        self.given = given

    @property
    def baseline(self) -> str:
        """The name of the predictions that scores are compared with."""
        return "best constant"

    @property
    def baseline_note(self) -> str:
        """What these predictions are."""
        return "the score of the constant prediction that is best for these rows"

    @property
    def first_target(self) -> str:
        """The name of the target; of several the first."""
        return self.given.target or "target"

    @property
    def task(self) -> str:
        """The kind of target."""
        return self.given.fitted.model.task

    @property
    def prediction(self) -> str:
        """The name of a prediction."""
        return self.given.target or "target"

    @property
    @abstractmethod
    def subject(self) -> str:
        """What is predicted, in words."""

    @property
    @abstractmethod
    def shown(self) -> Sequence[str] | Vector:
        """The true targets for display: text, or a column of numbers for each target."""

    @property
    @abstractmethod
    def target(self) -> Any:
        """The true targets in the form of the argument y, as an array."""

    @property
    @abstractmethod
    def described(self) -> Any:
        """The target as a column of the table; of several the first."""

    @abstractmethod
    def scores(self) -> tuple[ScoreGroup, ...]:
        """Return the scores with confidence limits, by target."""

    @abstractmethod
    def quality(self) -> Quality:
        """Return the quality of the predictions."""

    def row_errors(self) -> RowErrors | None:
        """Return what is compared between subgroups; None: a row by itself has no error."""
        return None

    def _scored(self, predictions: Predictions) -> tuple[Score, ...]:
        """Return the scores of the predictions of one target."""
        seed = self.given.seed
        found = Scores.of(predictions, confidence_level=CONFIDENCE_LEVEL, random_state=seed)
        return found.scores

    def _coverage(self) -> Coverage | None:
        """Return the coverage of intervals or sets; None: the model has no conformity scores."""
        given = self.given
        if not has_conformity(given.estimator):
            return None
        own = given.estimator, given.X, given.y
        return coverage(*own, sample_weight=self.weight, **given.passed)


def no_errors(weight: Vector) -> Vector:
    """Return the errors of rows that have none."""
    return np.zeros(len(weight))
