"""``stagewise evaluate``: how good a saved model is on rows with known answers."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.errors import Complaint
from stagewise.cli.evaluation_data import add_judged_arguments, read_judged
from stagewise.cli.screen import Screen, amount
from stagewise.inspection import Answers, Confusion, Scores

__all__ = ["SUMMARY", "WORDS", "add_arguments", "figures", "run", "scores_of"]

SUMMARY = "measure a saved model on a table with known answers"

# What is shown, and how it is called on the screen.
WORDS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "log_loss": "log loss",
    "accuracy": "accuracy",
    "auc": "AUC",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_judged_arguments(parser)


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Predict, compare, and print the figures."""
    judged = read_judged(args)
    scores, per_class = scores_of(
        judged.estimator, judged.features, judged.y, judged.target, judged.weight
    )
    screen.pairs(
        f"{args.model.name} on {amount(len(judged.y), 'row')} of {args.data.name}",
        {WORDS[name]: value for name, value in scores.items()},
    )
    if per_class:
        screen.line()
        screen.table("Each class", per_class)
    result: dict[str, Any] = {"task": judged.estimator.model_.task, "target": judged.target}
    result |= {"rows": len(judged.y), "scores": scores}
    screen.result(result | ({"classes": per_class} if per_class else {}))


def scores_of(
    estimator: Any,
    features: Any,
    y: npt.NDArray[Any],
    target: str,
    weight: npt.NDArray[np.float64] | None,
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return a model's figures on rows, and those of each class if it has classes."""
    numeric = estimator.model_.task == "regression"
    classes = None if numeric else estimator.classes_
    said = estimator.predict(features) if numeric else estimator.predict_proba(features)
    try:
        answers = Answers.given(said, y, classes, weight)
    except ValueError as error:
        # The words are those for y; say which column is meant.
        raise Complaint(f"With {target!r} as y: {error}") from None
    return figures(answers)


def figures(answers: Answers) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return the figures that are shown, by their names, and those of each class."""
    scores = {score.name: score.value for score in Scores.of(answers, repeats=0).scores}
    per_class = Confusion.of(answers).by_class() if answers.classes else []
    return {name: scores[name] for name in WORDS if name in scores}, per_class
