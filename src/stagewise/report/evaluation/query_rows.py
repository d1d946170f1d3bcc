"""Rows of queries with their relevance, beside the scores that order them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.query_scores import read_ranking
from stagewise.report.evaluation.evaluated_rows import (
    CONFIDENCE_LEVEL,
    EvaluatedRows,
    GivenRows,
    Quality,
    ScoreGroup,
    no_errors,
)
from stagewise.report.query_facts import query_quality

__all__ = ["QueryRows"]


class QueryRows(EvaluatedRows):
    """Rows of queries; a row by itself has no error."""

    baseline = "random order"
    baseline_note = "the mean score of random orders of the rows"
    subject = "the order of the rows of a query"
    prediction = "score"

    def __init__(self, given: GivenRows) -> None:
        super().__init__(given)
        score = given.estimator.predict(given.X, **given.passed)
        known, names, weight = read_ranking(
            given.estimator, given.y, given.sample_weight, len(score)
        )
        own = known, names, score, weight
        self.found = query_quality(*own, CONFIDENCE_LEVEL, given.seed)
        self.relevance = np.asarray(known["relevance"])
        self.weight = np.ones(len(score)) if weight is None else weight
        self.errors = no_errors(self.weight)

    @property
    def shown(self) -> Vector:
        return self.relevance[:, np.newaxis]

    @property
    def target(self) -> Any:
        return self.given.y

    @property
    def described(self) -> Vector:
        return self.relevance

    def scores(self) -> tuple[ScoreGroup, ...]:
        return (("", self.found.scores),)

    def quality(self) -> Quality:
        return Quality(queries=self.found)
