"""Prediction sets of classifiers: `predict_set` and `conformalize`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.conformal.conformity import PER_CLASS, Conformity
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.predictions.conformal_scores import (
    conformity_of_classes,
    group_keys,
)
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.estimators.bases.predictions.intervals import COVERAGE, ConformalModel
from stagewise.estimators.bases.predictions.unseen_rows import UnseenRows
from stagewise.options import Conformal
from stagewise.validation.arguments import check_argument

__all__ = ["SetPredictions"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


class SetPredictions(ConformalModel):
    """Classifiers with prediction sets."""

    @predicts_datasets
    def predict_set(
        self, X: Any, *, coverage: float = 0.9, offset: Any = None
    ) -> npt.NDArray[np.bool_]:
        """Return which classes are in the prediction set of every row, shape (n_rows, n_classes).

        The columns are in the order of `classes_`. A set may be empty with the score "lac", and
        with random scores. The fit must have kept conformity scores (parameter `conformal`), or
        `conformalize` was called. See docs/intervals.md.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows.
        coverage : float, default=0.9
            The probability that a set contains the true class, in (0, 1).
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `predict_proba`.

        Raises
        ------
        ValueError
            If the conformity scores are too few for the coverage.
        """
        share: float = check_argument("coverage", COVERAGE, coverage)
        model = self._fitted()
        if model.classes is not None and len(model.classes) == 1:
            return np.ones((len(self._score(X)), 1), dtype=bool)
        conformity = self._conformity()
        assert conformity.set_score is not None
        score = self._with_offset(model, self._score(X), X, offset, None)
        proba = np.asarray(self._predict_scores(model, score))
        scores = conformity.set_score.of_classes(proba, score)
        if conformity.group_column == PER_CLASS:
            return scores <= self._class_thresholds(conformity, share, proba.shape[1])
        conformity.check_coverage(share)
        keys = group_keys(self, X, conformity.group_column)
        if keys is None:
            return np.asarray(scores <= conformity.sorted().quantile(share))
        found = np.zeros(scores.shape, dtype=bool)
        for rows, part in conformity.of_groups(keys, share):
            found[rows] = scores[rows] <= part.sorted().quantile(share)
        return found

    @staticmethod
    def _class_thresholds(conformity: Conformity, coverage: float, n_classes: int) -> Vector:
        """Return the threshold of each class; inf for a class with too few rows."""
        thresholds = np.full(n_classes, np.inf)
        for key, part in conformity.groups.items():
            thresholds[int(key)] = part.sorted().quantile(coverage)
        return thresholds

    def conformalize(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        conformal: Any = None,
        offset: Any = None,
    ) -> Self:
        """Keep the conformity scores of rows that the model was not trained on; return self.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,) or None
            Their weights, as frequencies.
        conformal : Conformal or None
            Its score, its groups and `per_class` are used. None: those of the parameter
            `conformal`.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `predict_proba`.
        """
        return self._conformalize(X, y, sample_weight, conformal, offset, None, of_classes=True)

    def _conformity_of(
        self, option: Conformal, rows: UnseenRows, group: Vector | None, column: int
    ) -> Conformity:
        if self.model_.classes is None:
            raise InvalidParameterError(
                f"Prediction sets are for one target, and this {type(self).__name__} has several. "
                "Fit one model per target, or leave conformal at None."
            )
        return conformity_of_classes(self, option, rows, group, column)
