"""What the options of ``stagewise train`` choose: the estimator and the feature columns."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from stagewise.cli.columns import (
    Roles,
    text_columns,
    unsupported_columns,
    unsupported_columns_error,
)
from stagewise.cli.errors import InputError, listing
from stagewise.cli.levels import read_levels
from stagewise.cli.methods import METHODS, has_parameter
from stagewise.cli.parameters import read_parameters
from stagewise.cli.screen import Screen, amount

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["choose_categorical", "feature_names", "make_estimator"]


def make_estimator(task: str, args: argparse.Namespace, screen: Screen) -> Any:
    """Return an estimator with the parameters of the file and the command line."""
    method = METHODS[args.method]
    kind = method.estimator(task, args.method)
    parameters = {**method.parameters, **read_parameters(args.params, args.settings, kind)}
    levels = read_levels(args.quantile)
    given = {
        "loss": ("--loss", args.loss or (None if levels is None else "quantile")),
        "quantile": ("--quantile", levels),
        "early_stopping": ("--early-stopping", args.early_stopping or None),
        "eval_metric": ("--eval-metric", _metrics(args.eval_metric)),
        "conformal": ("--conformal", args.conformal),
        "calibration": ("--calibration", args.calibration),
        "quality": ("--quality", args.quality),
        "time_limit": ("--time-limit", args.time_limit),
        "random_state": ("--seed", args.seed),
        "n_jobs": ("--threads", args.threads),
    }
    for name, (option, value) in given.items():
        if value is None or (option == "--loss" and args.loss is None and "loss" in parameters):
            continue
        if not has_parameter(kind, name):
            raise InputError(
                f"{option} is not available with --method {args.method} ({kind.__name__}); leave "
                "it out."
            )
        parameters[name] = value
    if has_parameter(kind, "verbose"):
        parameters["verbose"] = 0 if screen.quiet or screen.as_json else 1
    return kind(**parameters)


def _metrics(words: list[str] | None) -> str | list[str] | None:
    """Return the metrics of --eval-metric: one, several, or None."""
    names = [name.strip() for word in words or [] for name in word.split(",")]
    return names[0] if len(names) == 1 else names or None


def feature_names(
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
        raise InputError(f"{' '.join(args.data)!r} has no feature columns left; ignore fewer.")
    if "" in names:
        screen.warn("a column without a name (row numbers?) is used; --ignore '' leaves it out.")
    return names, dropped


def choose_categorical(estimator: Any, roles: Roles, features: pa.Table) -> list[str]:
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
