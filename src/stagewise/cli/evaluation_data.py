"""A saved model beside rows with known answers: what ``evaluate`` and ``report`` begin with."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.columns import labelled, labels, numbers
from stagewise.cli.errors import Complaint
from stagewise.cli.files import pick, read_file
from stagewise.cli.models import (
    add_input_arguments,
    columns_of_text,
    model_input,
    open_model,
    remembered_target,
)

__all__ = ["Judged", "add_judged_arguments", "known_answers", "read_judged"]


@dataclass(frozen=True, eq=False)
class Judged:
    """A model, and rows whose answers are known.

    Attributes
    ----------
    estimator : fitted estimator
        The model.
    features : table
        What it predicts from.
    y : array
        The answers: numbers or labels.
    weight : float64 array or None
        How much each row counts.
    target : str
        What the column of answers is called.
    """

    estimator: Any
    features: Any
    y: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None
    target: str


def add_judged_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what both commands take."""
    parser.add_argument("model", type=Path, help="a model file written by train")
    parser.add_argument("data", type=Path, help="a CSV or Parquet file with the target column")
    parser.add_argument(
        "--target", metavar="COLUMN", help="the known answers (default: as in training)"
    )
    parser.add_argument("--weight", metavar="COLUMN", help="how much each row counts")
    parser.add_argument(
        "--drop-unlabelled", action="store_true", help="leave out rows whose target is missing"
    )
    add_input_arguments(parser)


def read_judged(args: argparse.Namespace) -> Judged:
    """Open the model, and read the rows."""
    estimator = open_model(args.model, args.threads)
    if estimator.model_.task == "regression" and estimator.model_.ensemble.n_outputs > 1:
        raise Complaint(
            f"The model predicts several targets, and {args.command} compares one. Use predict, or "
            "Python."
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
    return Judged(estimator, features, known_answers(estimator, table, target), weight, target)


def known_answers(estimator: Any, table: Any, target: str) -> npt.NDArray[Any]:
    """Return a column of answers as a model has them: numbers, or labels."""
    if estimator.model_.task == "regression":
        return numbers(table, target, "target")
    return labels(table, target)
