"""A saved model with rows and targets: the input of ``evaluate`` and ``report``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.columns import drop_unlabelled, labels, numbers, ranking, time_name
from stagewise.cli.errors import InputError
from stagewise.cli.files import pick, read_file
from stagewise.cli.models import (
    add_input_arguments,
    model_input,
    open_model,
    saved_query_name,
    saved_target_name,
    saved_times,
    text_category_columns,
)
from stagewise.data import survival_target
from stagewise.estimators.bases.model_access import n_targets

__all__ = [
    "EvaluationData",
    "add_evaluation_arguments",
    "read_evaluation_data",
    "target_values",
    "time_values",
]


@dataclass(frozen=True, eq=False)
class EvaluationData:
    """A model, and rows with known targets.

    Attributes
    ----------
    estimator : fitted estimator
        The model.
    features : table
        The feature columns.
    y : array
        The targets: numbers or labels.
    weight : float64 array or None
        The sample weights.
    target : str
        The name of the target column.
    """

    estimator: Any
    features: Any
    y: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None
    target: str


def add_evaluation_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of both commands."""
    parser.add_argument("model", type=Path, help="a model file written by train")
    parser.add_argument("data", type=Path, help="a CSV or Parquet file with the target column")
    parser.add_argument(
        "--target", metavar="COLUMN", help="the target column (default: as in training)"
    )
    parser.add_argument("--weight", metavar="COLUMN", help="column with sample weights")
    queries = "the query column of a ranker (default: as in training)"
    parser.add_argument("--qid", metavar="COLUMN", help=queries)
    parser.add_argument(
        "--drop-unlabelled", action="store_true", help="leave out rows with a missing target"
    )
    add_input_arguments(parser)


def read_evaluation_data(args: argparse.Namespace) -> EvaluationData:
    """Load the model and read the rows."""
    estimator = open_model(args.model, args.threads, [args.data])
    if estimator.model_.task == "regression" and n_targets(estimator) > 1:
        raise InputError(
            f"The model predicts several targets, and {args.command} supports one. Use predict, or "
            "Python."
        )
    target = args.target or saved_target_name(args.model)
    if target is None:
        raise InputError("The model has no name of its target; name the column with --target.")
    query = _query_name(estimator, args)
    table = read_file(args.data, text_category_columns(estimator))
    if query is not None:
        pick(table, query, option="--qid", path=args.data)
    pick(table, target, option="--target", path=args.data)
    if args.drop_unlabelled:
        table = drop_unlabelled(table, target)
    weight = None
    if args.weight is not None:
        pick(table, args.weight, option="--weight", path=args.data)
        weight = numbers(table, args.weight, "weight")
    times = saved_times(args.model)
    for option, name in times.items():
        pick(table, name, option=f"--{option}", path=args.data)
    besides = {target, query, args.weight, *args.ignore, *times.values()} - {None}
    features = model_input(estimator, table, args.data, besides=besides)
    y = target_values(estimator, table, target, query, times)
    return EvaluationData(estimator, features, y, weight, target)


def _query_name(estimator: Any, args: argparse.Namespace) -> str | None:
    """Return the query column of a ranker; None: the model is no ranker."""
    if estimator.model_.task != "ranking":
        if args.qid is not None:
            raise InputError(
                f"--qid is for rankers, and the model is a {type(estimator).__name__}."
            )
        return None
    query: str | None = args.qid or saved_query_name(args.model)
    if query is None:
        raise InputError("The model has no name of its queries; name the column with --qid.")
    return query


def time_values(table: Any, time: str, times: Mapping[str, str]) -> npt.NDArray[Any]:
    """Return times until an event of a table; errors name the columns.

    Parameters
    ----------
    table : pyarrow.Table
        The rows.
    time : str
        The column of the times, or of the beginnings of intervals.
    times : mapping of str
        The columns of the event or of the ends of intervals, the entry and the stratum.
    """
    named = {time_name(times): time, **times}
    columns = {name: table.column(column) for name, column in named.items()}
    names = ", ".join(f"--{name} {column}" for name, column in named.items())
    try:
        return survival_target(**columns)
    except (TypeError, ValueError) as error:
        raise InputError(f"With {names}: {error}") from None


def target_values(
    estimator: Any,
    table: Any,
    target: str,
    query: str | None = None,
    times: Mapping[str, str] = MappingProxyType({}),
) -> npt.NDArray[Any]:
    """Return the target column as numbers or labels, with queries or with events, by the task."""
    if query is not None:
        return ranking(table, target, query)
    if estimator.model_.task == "survival":
        return time_values(table, target, times)
    if estimator.model_.task == "regression":
        return numbers(table, target, "target")
    return labels(table, target)
