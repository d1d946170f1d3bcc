"""``stagewise predict``: predict every row of a table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from stagewise.cli.errors import InputError
from stagewise.cli.files import PARQUET, check_writable, pick, read_file, write_columns
from stagewise.cli.models import add_input_arguments, model_input, open_model, text_category_columns
from stagewise.cli.screen import Screen, amount

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "predict every row of a table with a saved model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", type=Path, help="a model file written by train")
    parser.add_argument("data", type=Path, help="a CSV or Parquet file")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="a .csv or .parquet file for the predictions (default: CSV on standard output)",
    )
    parser.add_argument(
        "--proba", action="store_true", help="also write the probability of every class"
    )
    parser.add_argument(
        "--keep", nargs="+", default=[], metavar="COLUMN", help="columns to copy to the output"
    )
    add_input_arguments(parser)


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Predict, and write the predictions."""
    if args.out is not None:
        check_writable(args.out, (".csv", *PARQUET))
    estimator = open_model(args.model, args.threads)
    table = read_file(args.data, text_category_columns(estimator))
    kept = {name: pick(table, name, option="--keep", path=args.data) for name in args.keep}
    for name in args.ignore:
        pick(table, name, option="--ignore", path=args.data)
    features = model_input(estimator, table, args.data, besides={*args.ignore, *args.keep})
    predictions = _predict(estimator, features, args.proba)
    clash = [name for name in predictions if name in kept]
    if clash:
        raise InputError(
            f"--keep: {clash[0]!r} is the name of an output column; rename the column."
        )

    screen.message(f"Predicted {amount(table.num_rows, 'row')} of {args.data}.")
    summary = {"rows": table.num_rows, "columns": [*kept, *predictions]}
    if args.out is not None:
        write_columns(kept | predictions, args.out)
        screen.message(f"Predictions: {args.out}")
        screen.result(summary | {"out": str(args.out)})
    elif screen.as_json:
        lists = {name: values.to_pylist() for name, values in kept.items()}
        screen.result(summary | lists | {name: list(v.tolist()) for name, v in predictions.items()})
    else:
        write_columns(kept | predictions, None)


def _predict(estimator: Any, features: Any, with_proba: bool) -> dict[str, Any]:
    """Return the columns to write: predictions, and probabilities if requested."""
    if not with_proba:
        y_pred = estimator.predict(features)
        if y_pred.ndim == 1:
            return {"prediction": y_pred}
        names = estimator.model_.targets or range(y_pred.shape[1])
        return {f"prediction_{name}": y_pred[:, k] for k, name in enumerate(names)}
    if estimator.model_.task != "classification":
        raise InputError(
            "--proba needs a classifier, and this model predicts numbers; leave it out."
        )
    proba = estimator.predict_proba(features)
    predictions = {"prediction": estimator.classes_[proba.argmax(axis=1)]}
    for k, label in enumerate(estimator.classes_.tolist()):
        predictions[f"proba_{label}"] = proba[:, k]
    return predictions
