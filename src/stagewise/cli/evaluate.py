"""``stagewise evaluate``: how good a saved model is on rows with known answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.columns import labelled, labels, numbers
from stagewise.cli.complaint import Complaint
from stagewise.cli.files import pick, read_file
from stagewise.cli.models import columns_of_text, model_input, open_model, remembered_target
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
    parser.add_argument("model", type=Path, help="a model file written by train")
    parser.add_argument("data", type=Path, help="a CSV or Parquet file with the target column")
    parser.add_argument(
        "--target", metavar="COLUMN", help="the known answers (default: as in training)"
    )
    parser.add_argument("--weight", metavar="COLUMN", help="how much each row counts")
    parser.add_argument(
        "--drop-unlabelled", action="store_true", help="leave out rows whose target is missing"
    )
    parser.add_argument(
        "--ignore",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns that are no features (needed only for models trained without names)",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (default: all)")


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Predict, compare, and print the figures."""
    estimator = open_model(args.model, args.threads)
    if estimator.model_.task == "regression" and estimator.model_.ensemble.n_outputs > 1:
        raise Complaint(
            "The model predicts several targets, and evaluate compares one. Use predict, or score "
            "in Python."
        )
    target = args.target or remembered_target(args.model)
    if target is None:
        raise Complaint("The model does not say what its target was called; name it with --target.")
    table = read_file(args.data, columns_of_text(estimator))
    pick(table, target, option="--target", path=args.data)
    if args.drop_unlabelled:
        table = labelled(table, target)
    weight = None
    if args.weight is not None:
        pick(table, args.weight, option="--weight", path=args.data)
        weight = numbers(table, args.weight, "weight")
    features = model_input(
        estimator, table, args.data, besides={target, args.weight, *args.ignore} - {None}
    )
    scores, per_class = scores_of(estimator, features, table, target, weight)

    screen.pairs(
        f"{args.model.name} on {amount(table.num_rows, 'row')} of {args.data.name}",
        {WORDS[name]: value for name, value in scores.items()},
    )
    if per_class:
        screen.line()
        screen.table("Each class", per_class)
    result: dict[str, Any] = {"task": estimator.model_.task, "target": target}
    result |= {"rows": table.num_rows, "scores": scores}
    screen.result(result | ({"classes": per_class} if per_class else {}))


def scores_of(
    estimator: Any,
    features: Any,
    table: Any,
    target: str,
    weight: npt.NDArray[np.float64] | None,
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return a model's figures on a table, and those of each class if it has classes."""
    if estimator.model_.task == "regression":
        y, classes, said = numbers(table, target, "target"), None, estimator.predict(features)
    else:
        y, classes = labels(table, target), estimator.classes_
        said = estimator.predict_proba(features)
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
