"""``stagewise predict``: a model and a table in, a column of answers out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from stagewise.cli.errors import Complaint
from stagewise.cli.files import PARQUET, check_writable, pick, read_file, write_columns
from stagewise.cli.models import add_input_arguments, columns_of_text, model_input, open_model
from stagewise.cli.screen import Screen, amount

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "predict every row of a table with a saved model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("model", type=Path, help="a model file written by train")
    parser.add_argument("data", type=Path, help="a CSV or Parquet file")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="a .csv or .parquet file for the answers (default: CSV on standard output)",
    )
    parser.add_argument(
        "--proba", action="store_true", help="write the probability of every class as well"
    )
    parser.add_argument(
        "--keep", nargs="+", default=[], metavar="COLUMN", help="columns to copy to the answers"
    )
    add_input_arguments(parser)


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Predict, and write the answers."""
    if args.out is not None:
        check_writable(args.out, (".csv", *PARQUET))
    estimator = open_model(args.model, args.threads)
    table = read_file(args.data, columns_of_text(estimator))
    kept = {name: pick(table, name, option="--keep", path=args.data) for name in args.keep}
    for name in args.ignore:
        pick(table, name, option="--ignore", path=args.data)
    features = model_input(estimator, table, args.data, besides={*args.ignore, *args.keep})
    answers = _answers(estimator, features, args.proba)
    clash = [name for name in answers if name in kept]
    if clash:
        raise Complaint(f"--keep: {clash[0]!r} is the name of an answer; rename the column.")

    screen.say(f"Predicted {amount(table.num_rows, 'row')} of {args.data}.")
    summary = {"rows": table.num_rows, "columns": [*kept, *answers]}
    if args.out is not None:
        write_columns(kept | answers, args.out)
        screen.say(f"Answers: {args.out}")
        screen.result(summary | {"out": str(args.out)})
    elif screen.as_json:
        lists = {name: values.to_pylist() for name, values in kept.items()}
        screen.result(summary | lists | {name: list(v.tolist()) for name, v in answers.items()})
    else:
        write_columns(kept | answers, None)


def _answers(estimator: Any, features: Any, proba: bool) -> dict[str, Any]:
    """Return the columns to write: the prediction, and probabilities where asked for."""
    if not proba:
        said = estimator.predict(features)
        if said.ndim == 1:
            return {"prediction": said}
        names = estimator.model_.targets or range(said.shape[1])
        return {f"prediction_{name}": said[:, k] for k, name in enumerate(names)}
    if estimator.model_.task != "classification":
        raise Complaint("--proba is for classes, and this model predicts numbers; leave it out.")
    shares = estimator.predict_proba(features)
    answers = {"prediction": estimator.classes_[shares.argmax(axis=1)]}
    for k, label in enumerate(estimator.classes_.tolist()):
        answers[f"proba_{label}"] = shares[:, k]
    return answers
