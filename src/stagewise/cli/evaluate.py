"""``stagewise evaluate``: score a saved model on rows with known targets."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.errors import InputError
from stagewise.cli.evaluation_data import add_evaluation_arguments, read_evaluation_data
from stagewise.cli.screen import Screen, amount
from stagewise.inspection import ConfusionMatrix, Predictions, Scores

__all__ = ["SCORE_LABELS", "add_arguments", "model_scores", "run", "score_tables"]


# The scores that are printed, and their labels.
SCORE_LABELS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "log_loss": "log loss",
    "accuracy": "accuracy",
    "auc": "AUC",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_evaluation_arguments(parser)


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Predict, and print the scores."""
    data = read_evaluation_data(args)
    scores, per_class = model_scores(
        data.estimator, data.features, data.y, data.target, data.weight
    )
    screen.pairs(
        f"{args.model.name} on {amount(len(data.y), 'row')} of {args.data.name}",
        {SCORE_LABELS[name]: value for name, value in scores.items()},
    )
    if per_class:
        screen.line()
        screen.table("Each class", per_class)
    result: dict[str, Any] = {"task": data.estimator.model_.task, "target": data.target}
    result |= {"rows": len(data.y), "scores": scores}
    screen.result(result | ({"classes": per_class} if per_class else {}))


def model_scores(
    estimator: Any,
    features: Any,
    y: npt.NDArray[Any],
    target: str,
    weight: npt.NDArray[np.float64] | None,
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return the scores of a model, and those of each class for a classifier."""
    numeric = estimator.model_.task == "regression"
    classes = None if numeric else estimator.classes_
    y_pred = estimator.predict(features) if numeric else estimator.predict_proba(features)
    try:
        predictions = Predictions.from_arrays(y, y_pred, classes, weight)
    except ValueError as error:
        # The message is about y; add the name of the column.
        raise InputError(f"With {target!r} as y: {error}") from None
    return score_tables(predictions)


def score_tables(predictions: Predictions) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return the printed scores by name, and those of each class."""
    scores = {score.name: score.value for score in Scores.of(predictions, n_resamples=0).scores}
    per_class = ConfusionMatrix.of(predictions).by_class() if predictions.classes else []
    return {name: scores[name] for name in SCORE_LABELS if name in scores}, per_class
