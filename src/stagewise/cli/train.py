"""``stagewise train``: a table and the name of its target in, a model file out."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.columns import (
    Roles,
    feature_table,
    labelled,
    labels,
    numbers,
    refuse_columns,
    strange_columns,
    text_columns,
)
from stagewise.cli.errors import Complaint, listing
from stagewise.cli.evaluate import WORDS, scores_of
from stagewise.cli.evaluation_data import known_answers
from stagewise.cli.files import check_writable, read_file
from stagewise.cli.methods import METHODS, takes, watches
from stagewise.cli.models import learning_rate_of, levels_of, named_input, save_model
from stagewise.cli.parameters import read_parameters
from stagewise.cli.screen import Screen, amount
from stagewise.cli.task import Guess, guess_task

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "train a model on a table and save it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("data", type=Path, help="a CSV or Parquet file, a row an example")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="what to predict")
    parser.add_argument(
        "--model", type=Path, metavar="FILE", help="where to save (default: the data's name, .stgw)"
    )
    parser.add_argument(
        "--task",
        choices=("regression", "classification"),
        help="learn numbers or classes (default: guessed from the target)",
    )
    columns = parser.add_argument_group("columns")
    columns.add_argument("--weight", metavar="COLUMN", help="how much each row counts")
    columns.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"
    )
    columns.add_argument(
        "--categorical",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of categories besides text, also as one,two; from CSV as they are written",
    )
    columns.add_argument(
        "--drop-text", action="store_true", help="leave out every column that holds no numbers"
    )
    columns.add_argument(
        "--drop-unlabelled", action="store_true", help="leave out rows whose target is missing"
    )
    learning = parser.add_argument_group("learning")
    learning.add_argument(
        "--method",
        choices=tuple(METHODS),
        default="boosting",
        help="; ".join(f"{name}: {method.words}" for name, method in METHODS.items())
        + " (default: boosting)",
    )
    learning.add_argument(
        "--params", type=Path, metavar="FILE", help="a TOML file of lines such as max_depth = 6"
    )
    learning.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="one parameter, as in the estimators; overrides --params; may be repeated",
    )
    learning.add_argument(
        "--valid", type=Path, metavar="FILE", help="a table to measure on, if there are rounds each"
    )
    learning.add_argument(
        "--early-stopping",
        action="store_true",
        help="stop when the loss on --valid (or else on rows held out) no longer falls",
    )
    learning.add_argument("--seed", type=int, metavar="N", help="the random_state (default: 0)")
    learning.add_argument("--threads", type=int, metavar="N", help="threads to use (default: all)")


@dataclass(frozen=True)
class Data:
    """A table with its columns in their parts."""

    table: pa.Table
    features: pa.Table
    y: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Read, train, save, and tell."""
    path = args.model or Path(args.data.name.partition(".")[0] + ".stgw")
    check_writable(path)
    categorical = tuple(name for word in args.categorical for name in word.split(","))
    roles = Roles(args.target, args.weight, tuple(args.ignore), categorical)
    table = _read(args.data, roles, categorical, args, screen)
    guess = _task(args, table, screen)
    # Parameters are looked at before the data: their mistakes are cheaper to find.
    estimator = _estimator(guess.task, args, screen)
    names, dropped = _feature_names(roles, table, args, screen)
    data = Data(table, feature_table(table, names), *_target_and_weight(table, roles, guess.task))
    chosen = _choose_categorical(estimator, roles, data.features)
    valid = _validation(roles, guess.task, data.features, chosen, args, screen)
    screen.say(
        f"Training on {amount(table.num_rows, 'row')} and {amount(len(names), 'feature')} "
        f"of {args.data} …"
    )
    start = perf_counter()
    _fit(estimator, data, valid)
    seconds = perf_counter() - start
    _warn_of_many_levels(estimator, table.num_rows, screen)
    save_model(estimator, path, args.target)
    result = {
        "model": str(path),
        "method": args.method,
        "task": guess.task,
        "reason": guess.reason,
        "target": args.target,
        "rows": table.num_rows,
        "features": len(names),
        "dropped": dropped,
        "seconds": seconds,
        **_learned(estimator, valid, args),
    }
    _tell(result, args, screen)
    screen.result(result)


def _read(
    path: Path, roles: Roles, as_text: Collection[str], args: argparse.Namespace, screen: Screen
) -> pa.Table:
    """Return a table that has the target and the weight, without rows it was told to leave out."""
    table = read_file(path, as_text)
    roles.check(table, path)
    if not args.drop_unlabelled:
        return table
    known = labelled(table, roles.target)
    left_out = table.num_rows - known.num_rows
    if left_out:
        screen.warn(f"left out {amount(left_out, 'row')} of {path} without a target.")
    return known


def _learned(estimator: Any, valid: Data | None, args: argparse.Namespace) -> dict[str, Any]:
    """Return what is to be told about a model just trained."""
    model, rate = estimator.model_, learning_rate_of(estimator)
    facts: dict[str, Any] = {
        **({"rounds": int(estimator.n_iter_)} if hasattr(estimator, "n_iter_") else {}),
        **({"learning_rate": rate} if rate is not None else {}),
        "levels": levels_of(estimator),
        "fingerprint": estimator.fingerprint(),
    }
    for name, losses in (("train_loss", model.train_loss), ("validation_loss", model.valid_loss)):
        if len(losses):
            facts[name] = float(losses[-1])
    if valid is not None:
        known = known_answers(estimator, valid.table, args.target)
        facts["validation"], _ = scores_of(
            estimator, valid.features, known, args.target, valid.weight
        )
    return facts


def _task(args: argparse.Namespace, table: pa.Table, screen: Screen) -> Guess:
    if args.task:
        return Guess(args.task, "as --task says")
    guess = guess_task(table.column(args.target), args.target)
    screen.say(f"Task: {guess.task}, since {guess.reason} (--task overrides this).")
    return guess


def _estimator(task: str, args: argparse.Namespace, screen: Screen) -> Any:
    """Return an estimator with the parameters of file and command line."""
    method = METHODS[args.method]
    kind = method.estimator(task, args.method)
    parameters = {**method.own, **read_parameters(args.params, args.settings, kind)}
    given = {
        "early_stopping": ("--early-stopping", args.early_stopping or None),
        "random_state": ("--seed", args.seed),
        "n_jobs": ("--threads", args.threads),
    }
    for name, (option, value) in given.items():
        if value is None:
            continue
        if not takes(kind, name):
            raise Complaint(f"{option} has no use with --method {args.method}; leave it out.")
        parameters[name] = value
    if takes(kind, "verbose"):
        parameters["verbose"] = 0 if screen.quiet or screen.as_json else 1
    return kind(**parameters)


def _feature_names(
    roles: Roles, table: pa.Table, args: argparse.Namespace, screen: Screen
) -> tuple[list[str], list[str]]:
    """Return the columns to learn from, and those dropped because they hold no numbers."""
    features = roles.features(table)
    strange = strange_columns(features)
    if strange and not args.drop_text:
        raise refuse_columns(features, strange)
    without = {*strange, *text_columns(features)} - {*roles.categorical}
    dropped = [name for name in features.column_names if args.drop_text and name in without]
    if dropped:
        screen.warn(
            f"left out {amount(len(dropped), 'column')} without numbers: {listing(dropped)}."
        )
    names = [name for name in features.column_names if name not in dropped]
    if not names:
        raise Complaint(f"{str(args.data)!r} has no column left to learn from; ignore fewer.")
    if "" in names:
        screen.warn("a column without a name (row numbers?) is used; --ignore '' leaves it out.")
    return names, dropped


def _choose_categorical(estimator: Any, roles: Roles, features: pa.Table) -> list[str]:
    """Tell the estimator which columns are categorical, unless a parameter does; return them."""
    text = text_columns(features)
    if estimator.categorical_features != "from_dtype":
        if roles.categorical:
            raise Complaint(
                "--categorical and the parameter categorical_features both say which columns are "
                "categorical; leave one of them out."
            )
        return list(features.column_names)  # whether text is meant is for the estimator to say
    chosen = [name for name in features.column_names if name in {*text, *roles.categorical}]
    if chosen:
        estimator.set_params(categorical_features=chosen)
    return chosen


def _warn_of_many_levels(estimator: Any, n_rows: int, screen: Screen) -> None:
    """Say which columns look like names or numbers of the rows, from which nothing is learned."""
    many = [name for name, levels in levels_of(estimator).items() if levels > n_rows / 2]
    if many:
        screen.warn(
            f"{listing(many)} {'have' if len(many) > 1 else 'has'} a level of its own for most of "
            f"the {amount(n_rows, 'row')}; if these are only names of rows, leave them out with "
            f"--ignore {shlex.join(many)}."
        )


def _target_and_weight(
    table: pa.Table, roles: Roles, task: str
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
    y = (
        numbers(table, roles.target, "target")
        if task == "regression"
        else labels(table, roles.target)
    )
    return y, None if roles.weight is None else numbers(table, roles.weight, "weight")


def _validation(
    roles: Roles,
    task: str,
    trained: pa.Table,
    categorical: list[str],
    args: argparse.Namespace,
    screen: Screen,
) -> Data | None:
    if args.valid is None:
        return None
    # What was text in training stays text, even if all of it looks like numbers here.
    as_text = [name for name in categorical if name in text_columns(trained)]
    table = _read(args.valid, replace(roles, ignore=(), categorical=()), as_text, args, screen)
    features = named_input(trained.column_names, table, args.valid, categorical)
    return Data(table, features, *_target_and_weight(table, roles, task))


def _fit(estimator: Any, data: Data, valid: Data | None) -> None:
    if valid is None or not watches(estimator):
        estimator.fit(data.features, data.y, data.weight)
    else:
        estimator.fit(
            data.features,
            data.y,
            data.weight,
            X_val=valid.features,
            y_val=valid.y,
            sample_weight_val=valid.weight,
        )


def _tell(result: dict[str, Any], args: argparse.Namespace, screen: Screen) -> None:
    screen.pairs(
        f"Trained in {result['seconds']:.2f} s",
        {
            **({"rounds": result["rounds"]} if "rounds" in result else {}),
            **({"learning rate": result["learning_rate"]} if "learning_rate" in result else {}),
            **({"levels": result["levels"]} if result["levels"] else {}),
            **{
                name: result[name.replace(" ", "_")]
                for name in ("train loss", "validation loss")
                if name.replace(" ", "_") in result
            },
            **{
                f"{WORDS[name]} on {args.valid.name}": value
                for name, value in result.get("validation", {}).items()
            },
            "fingerprint": result["fingerprint"][:16],
            "model": result["model"],
        },
    )
    screen.say(f"Next: stagewise show {result['model']}")
