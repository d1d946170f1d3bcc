"""Scores of a model, printed beside those of the best constant prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.errors import InputError
from stagewise.cli.screen import Screen
from stagewise.estimators.bases.model_access import point_predictions
from stagewise.inspection import ConfusionMatrix, Predictions, QueryScores, Score, Scores
from stagewise.inspection.quality.own_losses import OwnRows
from stagewise.inspection.quality.predictions import (
    QuantilePredictions,
    deviance_power,
    has_ordered_classes,
    offsets_of,
    predicts_shares,
)
from stagewise.inspection.quality.query_scores import is_ranker, read_ranking
from stagewise.inspection.survival.scores import survival_scores

__all__ = ["ScoreTable"]

NOT_PRINTED = ("brier",)


@dataclass(frozen=True)
class ScoreTable:
    """The printed scores of a model.

    Parameters
    ----------
    scores : tuple of Score
        The scores with their baselines.
    per_class : list of dict
        Precision, recall and F1 of each class; empty for a regression.
    baseline : str
        The predictions that the baselines are of.
    """

    scores: tuple[Score, ...]
    per_class: list[dict[str, Any]]
    baseline: str = "best constant"

    @classmethod
    def of(cls, predictions: Predictions) -> ScoreTable:
        """Score predictions, without confidence limits."""
        found = Scores.of(predictions, n_resamples=0).scores
        per_class = ConfusionMatrix.of(predictions).by_class() if predictions.classes else []
        printed = tuple(score for score in found if score.name not in NOT_PRINTED)
        return cls(printed, per_class, predictions.constant.name)

    @classmethod
    def of_arrays(
        cls,
        estimator: Any,
        y: npt.NDArray[Any],
        y_pred: npt.NDArray[np.float64],
        target: str,
        weight: npt.NDArray[np.float64] | None,
        features: Any,
        *,
        own_loss: bool = False,
    ) -> ScoreTable:
        """Score the predictions of an estimator; errors about y name the target column.

        With `own_loss`, features are scored by the loss of the model, too; y_pred are then its
        predictions for them.
        """
        if is_ranker(estimator):
            return cls.of_queries(estimator, y, y_pred, target, weight)
        if estimator.model_.task == "survival":
            own = survival_scores(estimator, features, y, weight, n_resamples=0)
            return cls(own.scores, [])
        numeric = estimator.model_.task == "regression"
        classes = None if numeric else estimator.classes_
        facts: dict[str, Any] = {
            "deviance_power": deviance_power(estimator) if numeric else None,
            "offsets": offsets_of(estimator, features, len(y)),
            "ordered": has_ordered_classes(estimator),
            "quantiles": QuantilePredictions.of(estimator, y_pred) if numeric else None,
            "of_shares": predicts_shares(estimator),
        }
        try:
            points = point_predictions(estimator, y_pred) if numeric else y_pred
            found = Predictions.from_arrays(y, points, classes, weight, **facts)
            read = OwnRows.of(estimator, features, found.y) if own_loss else None
            return cls.of(replace(found, own=read))
        except ValueError as error:
            raise InputError(f"With {target!r} as y: {error}") from None

    @classmethod
    def of_queries(
        cls,
        estimator: Any,
        y: npt.NDArray[Any],
        score: npt.NDArray[np.float64],
        target: str,
        weight: npt.NDArray[np.float64] | None,
    ) -> ScoreTable:
        """Score the predictions of a ranker; the baseline is a random order."""
        try:
            known, names, own = read_ranking(estimator, y, weight, len(score))
            found = QueryScores.of_arrays(known, names, score, own, n_resamples=0)
        except ValueError as error:
            raise InputError(f"With {target!r} as y: {error}") from None
        return cls(found.scores.scores, [], "random order")

    @classmethod
    def of_rows(
        cls,
        estimator: Any,
        features: Any,
        y: npt.NDArray[Any],
        target: str,
        weight: npt.NDArray[np.float64] | None,
    ) -> ScoreTable:
        """Predict rows and score the predictions."""
        numeric = estimator.model_.task != "classification"
        y_pred = estimator.predict(features) if numeric else estimator.predict_proba(features)
        return cls.of_arrays(estimator, y, y_pred, target, weight, features, own_loss=True)

    def values(self) -> dict[str, float]:
        """Return the scores by name."""
        return {score.name: score.value for score in self.scores}

    def baselines(self) -> dict[str, float]:
        """Return the scores of the best constant prediction by name."""
        return {score.name: score.baseline for score in self.scores}

    def show(self, title: str, screen: Screen) -> None:
        """Print the scores and their baselines."""
        screen.table(
            title,
            [
                {"score": score.label, "value": score.value, self.baseline: score.baseline}
                for score in self.scores
            ],
        )
