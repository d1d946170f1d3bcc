"""``stagewise train``: train a model on a table and save it."""

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
    drop_unlabelled,
    feature_table,
    labels,
    numbers,
    text_columns,
    unsupported_columns,
    unsupported_columns_error,
)
from stagewise.cli.errors import InputError, listing
from stagewise.cli.evaluate import SCORE_LABELS, model_scores
from stagewise.cli.evaluation_data import target_values
from stagewise.cli.files import check_writable, read_file
from stagewise.cli.methods import METHODS, has_parameter, uses_validation_rows
from stagewise.cli.models import learning_rate_of, n_categories_of, named_input, save_model
from stagewise.cli.parameters import read_parameters
from stagewise.cli.screen import Screen, amount
from stagewise.cli.task import Guess, guess_task

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "train a model on a table and save it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = parser.add_argument
    add("data", type=Path, help="a CSV or Parquet file, one row per sample")
    add("--target", required=True, metavar="COLUMN", help="the column to predict")
    add("--model", type=Path, metavar="FILE", help="the model file (default: name of DATA, .stgw)")
    tasks = ("regression", "classification")
    add("--task", choices=tasks, help="the task (default: guessed from the target)")
    _add_column_arguments(parser.add_argument_group("columns"))
    _add_training_arguments(parser.add_argument_group("training"))


def _add_column_arguments(group: argparse._ArgumentGroup) -> None:
    several: dict[str, Any] = {"nargs": "+", "default": [], "metavar": "COLUMN"}
    add = group.add_argument
    add("--weight", metavar="COLUMN", help="column with sample weights")
    add("--ignore", **several, help="columns to leave out")
    add(
        "--categorical",
        **several,
        help="categorical columns besides text columns, also as one,two; read from CSV as text",
    )
    add("--drop-text", action="store_true", help="leave out all columns that are not numbers")
    add("--drop-unlabelled", action="store_true", help="leave out rows with a missing target")


def _add_training_arguments(group: argparse._ArgumentGroup) -> None:
    methods = "; ".join(f"{name}: {method.description}" for name, method in METHODS.items())
    methods += " (default: boosting)"
    add = group.add_argument
    either = group.add_mutually_exclusive_group()
    either.add_argument("--method", choices=tuple(METHODS), default="boosting", help=methods)
    either.add_argument(
        "--auto", action="store_const", const="auto", dest="method", help="short for --method auto"
    )
    add("--quality", type=int, metavar="N", help="how much --auto tries, 1 to 5 (default: 4)")
    add("--time-limit", type=float, metavar="SECONDS", help="the largest time of the fit")
    add("--params", type=Path, metavar="FILE", help="a TOML file of lines such as max_depth = 6")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="a parameter of the estimator, or of an option, such as sampling__top=0.3; overrides "
        "--params; can be repeated",
    )
    valid = "a validation table: scored after training, and after each round if there are rounds"
    add("--valid", type=Path, metavar="FILE", help=valid)
    stopping = "stop when the loss on --valid (default: on held-out rows) no longer decreases"
    add("--early-stopping", action="store_true", help=stopping)
    add("--seed", type=int, metavar="N", help="the random_state (default: 0)")
    add("--threads", type=int, metavar="N", help="number of threads (default: all cores)")


@dataclass(frozen=True)
class Data:
    """A table with its features, target and weights."""

    table: pa.Table
    features: pa.Table
    y: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Read the table, train, save the model, and print a summary."""
    path = args.model or Path(args.data.name.partition(".")[0] + ".stgw")
    check_writable(path)
    categorical = tuple(name for word in args.categorical for name in word.split(","))
    roles = Roles(args.target, args.weight, tuple(args.ignore), categorical)
    table = _read(args.data, roles, categorical, args, screen)
    guess = _task(args, table, screen)
    # Parameters are checked before the data is converted.
    estimator = _estimator(guess.task, args, screen)
    names, dropped = _feature_names(roles, table, args, screen)
    data = Data(table, feature_table(table, names), *_target_and_weight(table, roles, guess.task))
    chosen = _choose_categorical(estimator, roles, data.features)
    valid = _validation(roles, guess.task, data.features, chosen, args, screen)
    screen.message(
        f"Training on {amount(table.num_rows, 'row')} and {amount(len(names), 'feature')} "
        f"of {args.data} …"
    )
    start = perf_counter()
    _fit(estimator, data, valid)
    seconds = perf_counter() - start
    _warn_of_many_categories(estimator, table.num_rows, screen)
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
        **_summary(estimator, valid, args),
    }
    _print_summary(result, args, screen)
    screen.result(result)


def _read(
    path: Path, roles: Roles, as_text: Collection[str], args: argparse.Namespace, screen: Screen
) -> pa.Table:
    """Read a table and check its columns; drop rows without a target if requested."""
    table = read_file(path, as_text)
    roles.check(table, path)
    if not args.drop_unlabelled:
        return table
    known = drop_unlabelled(table, roles.target)
    left_out = table.num_rows - known.num_rows
    if left_out:
        screen.warn(f"left out {amount(left_out, 'row')} of {path} without a target.")
    return known


def _summary(estimator: Any, valid: Data | None, args: argparse.Namespace) -> dict[str, Any]:
    """Return the summary of a trained model."""
    model, rate = estimator.model_, learning_rate_of(estimator)
    facts: dict[str, Any] = {
        **({"rounds": int(estimator.n_iter_)} if hasattr(estimator, "n_iter_") else {}),
        **({"learning_rate": rate} if rate is not None else {}),
        "categories": n_categories_of(estimator),
        "fingerprint": estimator.fingerprint(),
    }
    if hasattr(estimator, "leaderboard_"):
        facts["leaderboard"] = estimator.leaderboard_.records()
    for name, losses in (("train_loss", model.train_loss), ("validation_loss", model.valid_loss)):
        if len(losses):
            facts[name] = float(losses[_kept(estimator, len(losses))])
    if valid is not None:
        known = target_values(estimator, valid.table, args.target)
        facts["validation"], _ = model_scores(
            estimator, valid.features, known, args.target, valid.weight
        )
    return facts


def _kept(estimator: Any, n_losses: int) -> int:
    """Return the position of the loss of the model that was kept: of its last round.

    A single tree has a loss for each number of splits, or for each tree of its pruning path.
    """
    path = getattr(estimator, "pruning_path_", None)
    if path is not None:
        return min(int(np.searchsorted(path.alphas, estimator.ccp_alpha_)), n_losses - 1)
    n = estimator.get_n_leaves() if hasattr(estimator, "get_n_leaves") else estimator.n_iter_
    return min(max(int(n), 1), n_losses) - 1


def _task(args: argparse.Namespace, table: pa.Table, screen: Screen) -> Guess:
    if args.task:
        return Guess(args.task, "--task was given")
    guess = guess_task(table.column(args.target), args.target)
    screen.message(f"Task: {guess.task}, since {guess.reason} (--task overrides this).")
    return guess


def _estimator(task: str, args: argparse.Namespace, screen: Screen) -> Any:
    """Return an estimator with the parameters of the file and the command line."""
    method = METHODS[args.method]
    kind = method.estimator(task, args.method)
    parameters = {**method.parameters, **read_parameters(args.params, args.settings, kind)}
    given = {
        "early_stopping": ("--early-stopping", args.early_stopping or None),
        "quality": ("--quality", args.quality),
        "time_limit": ("--time-limit", args.time_limit),
        "random_state": ("--seed", args.seed),
        "n_jobs": ("--threads", args.threads),
    }
    for name, (option, value) in given.items():
        if value is None:
            continue
        if not has_parameter(kind, name):
            raise InputError(
                f"{option} is not available with --method {args.method}; leave it out."
            )
        parameters[name] = value
    if has_parameter(kind, "verbose"):
        parameters["verbose"] = 0 if screen.quiet or screen.as_json else 1
    return kind(**parameters)


def _feature_names(
    roles: Roles, table: pa.Table, args: argparse.Namespace, screen: Screen
) -> tuple[list[str], list[str]]:
    """Return the feature columns, and the columns dropped because they are not numbers."""
    features = roles.features(table)
    unsupported = unsupported_columns(features)
    if unsupported and not args.drop_text:
        raise unsupported_columns_error(features, unsupported)
    without = {*unsupported, *text_columns(features)} - {*roles.categorical}
    dropped = [name for name in features.column_names if args.drop_text and name in without]
    if dropped:
        screen.warn(
            f"left out {amount(len(dropped), 'column')} without numbers: {listing(dropped)}."
        )
    names = [name for name in features.column_names if name not in dropped]
    if not names:
        raise InputError(f"{str(args.data)!r} has no feature columns left; ignore fewer.")
    if "" in names:
        screen.warn("a column without a name (row numbers?) is used; --ignore '' leaves it out.")
    return names, dropped


def _choose_categorical(estimator: Any, roles: Roles, features: pa.Table) -> list[str]:
    """Set the categorical columns of the estimator, unless a parameter does; return them."""
    text = text_columns(features)
    if estimator.categorical_features != "from_dtype":
        if roles.categorical:
            raise InputError(
                "--categorical and the parameter categorical_features both set the categorical "
                "columns; leave one of them out."
            )
        return list(features.column_names)  # the estimator checks text columns
    chosen = [name for name in features.column_names if name in {*text, *roles.categorical}]
    if chosen:
        estimator.set_params(categorical_features=chosen)
    return chosen


def _warn_of_many_categories(estimator: Any, n_rows: int, screen: Screen) -> None:
    """Warn about categorical columns that look like identifiers of the rows."""
    many = [name for name, n in n_categories_of(estimator).items() if n > n_rows / 2]
    if many:
        screen.warn(
            f"{listing(many)} {'have' if len(many) > 1 else 'has'} a different category in most of "
            f"the {amount(n_rows, 'row')}; if these are identifiers, leave them out with "
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
    # Text columns of the training table stay text, even if all values look like numbers.
    as_text = [name for name in categorical if name in text_columns(trained)]
    table = _read(args.valid, replace(roles, ignore=(), categorical=()), as_text, args, screen)
    features = named_input(trained.column_names, table, args.valid, categorical)
    return Data(table, features, *_target_and_weight(table, roles, task))


def _fit(estimator: Any, data: Data, valid: Data | None) -> None:
    if valid is None or not uses_validation_rows(estimator):
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


def _print_summary(result: dict[str, Any], args: argparse.Namespace, screen: Screen) -> None:
    screen.pairs(
        f"Trained in {result['seconds']:.2f} s",
        {
            **({"rounds": result["rounds"]} if "rounds" in result else {}),
            **({"learning rate": result["learning_rate"]} if "learning_rate" in result else {}),
            **({"categories": result["categories"]} if result["categories"] else {}),
            **{
                name: result[name.replace(" ", "_")]
                for name in ("train loss", "validation loss")
                if name.replace(" ", "_") in result
            },
            **{
                f"{SCORE_LABELS[name]} on {args.valid.name}": value
                for name, value in result.get("validation", {}).items()
            },
            "fingerprint": result["fingerprint"][:16],
            "model": result["model"],
        },
    )
    if "leaderboard" in result:
        screen.table(
            "Leaderboard: losses of held-out rows",
            [{n.replace("_", " "): v for n, v in row.items()} for row in result["leaderboard"]],
        )
    screen.message(f"Next: stagewise show {result['model']}")
