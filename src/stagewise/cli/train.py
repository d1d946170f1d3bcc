"""``stagewise train``: train a model on a table and save it.

One file is read into memory. Several files, folders and patterns, and files with a memory limit or
a checkpoint, are read in batches; with ``--cluster``, by the workers of a Dask cluster.
"""

from __future__ import annotations

import argparse
import glob
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from stagewise.cli.columns import Roles
from stagewise.cli.errors import InputError
from stagewise.cli.files import check_writable
from stagewise.cli.methods import METHODS
from stagewise.cli.models import learning_rate_of, n_categories_of, save_model
from stagewise.cli.names import add_column_names
from stagewise.cli.screen import Screen, amount, format_value
from stagewise.cli.task import Guess
from stagewise.cli.training.choices import choose_categorical, feature_names, make_estimator
from stagewise.cli.training.cluster import Cluster
from stagewise.cli.training.column_checks import warn_of_columns
from stagewise.cli.training.dataset_rows import DatasetRows
from stagewise.cli.training.rows import HeldOutScores, TrainingRows
from stagewise.cli.training.table_rows import TableRows
from stagewise.cli.training.time_columns import (
    add_time_arguments,
    check_intervals,
    check_times,
    time_roles,
)
from stagewise.errors import ColumnWarning
from stagewise.inspection.quality.round_choice import describe_chosen_rounds
from stagewise.losses import REGRESSION_LOSSES, Loss
from stagewise.losses.words import loss_words

__all__ = ["add_arguments", "run"]

WITH_REPORT = tuple(name for name in METHODS if name not in ("linear", "stepwise", "stagewise"))
"""The methods whose models have trees, and so a report."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = parser.add_argument
    add(
        "data",
        nargs="+",
        help="a CSV or Parquet file, one row per sample; several files, folders and patterns such "
        "as 'in/*.parquet' are read in batches",
    )
    add("--target", metavar="COLUMN", help="the column to predict")
    add(
        "--model",
        type=Path,
        metavar="FILE",
        help="the model file (default: name of DATA, .stgw; of several files model.stgw)",
    )
    tasks = ("regression", "classification", "ranking", "survival")
    add("--task", choices=tasks, help="the task (default: guessed from the target)")
    _add_column_arguments(parser.add_argument_group("columns"))
    add_time_arguments(parser.add_argument_group("times until an event (--task survival)"))
    _add_training_arguments(parser.add_argument_group("training"))
    _add_large_table_arguments(parser.add_argument_group("large tables"))
    _add_cluster_arguments(parser.add_argument_group("a Dask cluster"))


def _add_column_arguments(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--weight", metavar="COLUMN", help="column with sample weights")
    exposure = (
        "column with exposures, such as years, that multiply the prediction; it is no feature"
    )
    add("--exposure", metavar="COLUMN", help=f"{exposure} (--set loss=poisson, gamma or tweedie)")
    add("--offset", metavar="COLUMN", help="column with scores that are added; it is no feature")
    queries = "column with the query of each row, for a ranking by --target; it is no feature"
    add("--qid", metavar="COLUMN", help=queries)
    add_column_names(group, "--ignore", "columns to leave out")
    text = "categorical columns besides text columns; read from CSV as text"
    add_column_names(group, "--categorical", text)
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
    losses = "the loss, such as poisson, normal or negative_binomial; short for --set loss=NAME"
    add("--loss", metavar="NAME", help=losses)
    levels = "predict a quantile, such as 0.9, or several, such as 0.05,0.5,0.95, a column for each"
    add("--quantile", metavar="LEVELS", help=levels)
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
    add("--valid", metavar="FILE", help=valid + "; with rows in batches also a folder or a pattern")
    add(
        "--hold-out",
        type=float,
        metavar="FRACTION",
        help="the fraction of the rows, such as 0.2, that are scored and not trained on",
    )
    stopping = "stop when the loss on --valid (default: on held-out rows) no longer decreases"
    add("--early-stopping", action="store_true", help=stopping)
    metrics = "metrics of held-out rows after each round, as auc,log_loss; the first one, not the "
    add(
        "--eval-metric",
        action="append",
        metavar="NAME",
        help=metrics + "loss, decides when to stop; can be repeated",
    )
    conformal = "keep conformity scores for predict --interval: cv, cv+, split, or oob of a forest"
    add("--conformal", metavar="METHOD", help=conformal)
    maps = "calibrate probabilities by rows that are not trained on: temperature, beta, isotonic "
    add("--calibration", metavar="MAP", help=maps + "or auto")
    add("--seed", type=int, metavar="N", help="the random_state (default: 0)")
    add("--threads", type=int, metavar="N", help="number of threads (default: all cores)")


def _add_large_table_arguments(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    limit = "the memory for rows, such as 4GB; the rows are read in batches, and what exceeds it "
    add("--memory-limit", metavar="SIZE", help=limit + "is kept in a file")
    cache = "the folder of that file (default: the folder of temporary files)"
    add("--cache", type=Path, metavar="FOLDER", help=cache)
    checkpoint = "a folder for the rounds so far; after an interruption, the same command resumes"
    add("--checkpoint", type=Path, metavar="FOLDER", help=checkpoint)


def _add_cluster_arguments(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    cluster = "the scheduler of a Dask cluster, such as tcp://host:8786, whose workers read the "
    add("--cluster", metavar="ADDRESS", help=cluster + "files and fit the model")
    add("--tls-ca-file", type=Path, metavar="FILE", help="the certificate authority, for tls://")
    add("--tls-cert", type=Path, metavar="FILE", help="the certificate, for tls://")
    add("--tls-key", type=Path, metavar="FILE", help="the private key, for tls://")


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Open the rows, train, save the model, and print a summary."""
    path = args.model or _default_model(args.data)
    check_writable(path)
    check_times(args, is_dataset=_is_dataset(args))
    columns = args.target, args.weight, tuple(args.ignore), tuple(args.categorical)
    roles = Roles(*columns, args.offset, args.exposure, args.qid, **time_roles(args))
    with _open_rows(roles, args, screen) as rows:
        guess = _task(rows, args, screen)
        # Parameters are checked before the data is converted.
        estimator = make_estimator(guess.task, args, screen)
        rows.check(estimator)
        _check_exposure(estimator, roles)
        check_intervals(estimator, roles)
        names, dropped = feature_names(roles, rows.columns, args, screen)
        n_features = len(names) - len(roles.offsets)
        features = rows.choose(names, guess.task)
        rows.open_validation(choose_categorical(estimator, roles, features))
        screen.message(
            f"Training on {amount(rows.n_rows, 'row')} and {amount(n_features, 'feature')} "
            f"of {' '.join(args.data)} …"
        )
        start = perf_counter()
        # Here the remedies are options and commands.
        for own in (".*like an identifier", ".*is text with dates", ".*days as numbers"):
            warnings.filterwarnings("ignore", own, ColumnWarning)
        estimator = rows.fit(estimator)
        seconds = perf_counter() - start
        warn_of_columns(estimator, rows, names, args, screen)
        save_model(estimator, path, args.target, args.qid, roles.times)
        scores = rows.scores(estimator)
        result = {
            "model": str(path),
            "method": args.method,
            "task": guess.task,
            "reason": guess.reason,
            "target": args.target,
            "rows": rows.n_rows,
            "features": n_features,
            **roles.offsets,
            "dropped": dropped,
            "seconds": seconds,
            **rows.finish(),
            **_summary(estimator),
            **({} if scores is None else scores.facts()),
        }
    _print_summary(result, scores, args, screen)
    screen.result(result)


@contextmanager
def _open_rows(roles: Roles, args: argparse.Namespace, screen: Screen) -> Iterator[TrainingRows]:
    """Open the training rows: a table in memory, a dataset, or a dataset on a cluster."""
    _refuse_combinations(args)
    if args.cluster is not None:
        cluster = Cluster(args)
        try:
            yield DatasetRows(roles, args, cluster)
        finally:
            cluster.close()
    elif _is_dataset(args):
        yield DatasetRows(roles, args, None)
    else:
        yield TableRows(roles, args, screen)


def _is_dataset(args: argparse.Namespace) -> bool:
    """Return whether the rows are read in batches."""
    limits = (args.memory_limit, args.cache, args.checkpoint, args.cluster)
    if len(args.data) > 1 or any(value is not None for value in limits):
        return True
    tables = [*args.data, *([] if args.valid is None else [args.valid])]
    return any(Path(table).is_dir() or _is_pattern(table) for table in tables)


def _is_pattern(table: str) -> bool:
    return glob.has_magic(table) and not Path(table).exists()


def _refuse_combinations(args: argparse.Namespace) -> None:
    """Raise if options cannot be combined, before any file is read."""
    if args.hold_out is not None:
        _check_hold_out(args)
    _check_queries(args)
    for option in ("offset", "exposure"):
        if getattr(args, option) is None:
            continue
        if args.method != "boosting":
            raise InputError(f"--{option} is for --method boosting; leave one of them out.")
        if args.cluster is not None:
            raise InputError(f"--{option} cannot be combined with --cluster; leave it out.")
    if args.drop_unlabelled and _is_dataset(args):
        raise InputError(
            "--drop-unlabelled is for one file in memory, not for rows that are read in batches; "
            "write files without these rows, or with weight 0 for them (--weight)."
        )
    tls = {"--tls-ca-file": args.tls_ca_file, "--tls-cert": args.tls_cert}
    tls["--tls-key"] = args.tls_key
    if not (args.cluster or "").startswith("tls://"):
        for option, value in tls.items():
            if value is not None:
                raise InputError(f"{option} is for --cluster tls://…; leave it out.")
    if args.cluster is None:
        return
    for option, value, reason in (
        ("--memory-limit", args.memory_limit, "workers use half of their own memory limit"),
        ("--cache", args.cache, "workers use their own folder"),
        ("--threads", args.threads, "workers use all of their threads"),
    ):
        if value is not None:
            raise InputError(f"{option} cannot be combined with --cluster: {reason}; leave it out.")


def _check_queries(args: argparse.Namespace) -> None:
    """Raise unless a ranking has queries, and they are those of a table in memory."""
    if args.task == "ranking" and args.qid is None:
        raise InputError("--task ranking needs the query of each row: name its column with --qid.")
    if args.qid is None:
        return
    if args.task not in (None, "ranking"):
        raise InputError(
            f"--qid is for --task ranking, and the task is {args.task}; leave one out."
        )
    if _is_dataset(args):
        raise InputError(
            "--qid is for one file in memory, not for rows that are read in batches: a query may "
            "not be divided. Leave out --memory-limit, --cache, --checkpoint and --cluster."
        )
    if args.exposure is not None:
        raise InputError("--exposure is for losses with a log link, not for --qid; leave it out.")


def _check_exposure(estimator: Any, roles: Roles) -> None:
    """Raise if the loss has no log link, which an exposure needs."""
    own = getattr(estimator, "loss", "")
    loss = own if isinstance(own, Loss) else REGRESSION_LOSSES.get(str(own))
    if roles.exposure is not None and (loss is None or not loss.log_link):
        raise InputError(
            "--exposure needs a loss with a log link; add --set loss=poisson for counts, or gamma "
            "or tweedie for amounts."
        )


def _check_hold_out(args: argparse.Namespace) -> None:
    """Raise unless a fraction of a table in memory can be held out."""
    if not 0.0 < args.hold_out < 1.0:
        raise InputError(f"--hold-out must be a fraction between 0 and 1; got {args.hold_out:g}.")
    if args.valid is not None:
        raise InputError("--hold-out and --valid both name the rows to score; leave one out.")
    if _is_dataset(args):
        raise InputError(
            "--hold-out is for one file in memory, not for rows that are read in batches; write "
            "the rows to score into a file of their own, and name it with --valid."
        )


def _default_model(data: Sequence[str]) -> Path:
    """Return the model file of a table: its name; of several files model.stgw."""
    if len(data) > 1 or _is_pattern(data[0]):
        return Path("model.stgw")
    name = Path(data[0]).name or Path(data[0]).resolve().name
    return Path(name.partition(".")[0] + ".stgw")


def _task(rows: TrainingRows, args: argparse.Namespace, screen: Screen) -> Guess:
    if args.task:
        return Guess(args.task, "--task was given")
    if args.qid is not None:
        return Guess("ranking", "--qid was given")
    if args.exposure is not None:
        return Guess("regression", "--exposure was given")
    guess = rows.guess_task()
    screen.message(f"Task: {guess.task}, since {guess.reason} (--task overrides this).")
    return guess


def _summary(estimator: Any) -> dict[str, Any]:
    """Return the summary of a trained model."""
    model, rate = estimator.model_, learning_rate_of(estimator)
    facts: dict[str, Any] = {
        **({"rounds": int(estimator.n_iter_)} if hasattr(estimator, "n_iter_") else {}),
        **({"learning_rate": rate} if rate is not None else {}),
        **{n: v for n, v in estimator.fit_report_.items() if n == "stop_reason"},
        "categories": n_categories_of(estimator),
        "fingerprint": estimator.fingerprint(),
    }
    if hasattr(estimator, "leaderboard_"):
        facts["leaderboard"] = estimator.leaderboard_.records()
    if getattr(estimator, "eval_metric", None) is not None:
        facts["best_score"] = estimator.best_score_
    facts["loss"] = model.loss
    if chosen := describe_chosen_rounds(estimator):
        facts["rounds_chosen"] = chosen
    for name, losses in (("train_loss", model.train_loss), ("validation_loss", model.valid_loss)):
        if len(losses):
            facts[name] = float(losses[_kept(estimator, len(losses))])
    return facts


def _set_words(name: str) -> str:
    """Return which rows a metric was measured on."""
    return {"valid": "held-out rows", "oob": "out-of-bag rows"}.get(name, name)


def _kept(estimator: Any, n_losses: int) -> int:
    """Return the position of the loss of the model that was kept: of its last round.

    A single tree has a loss for each number of splits, or for each tree of its pruning path.
    """
    path = getattr(estimator, "pruning_path_", None)
    if path is not None:
        return min(int(np.searchsorted(path.alphas, estimator.ccp_alpha_)), n_losses - 1)
    n = estimator.get_n_leaves() if hasattr(estimator, "get_n_leaves") else estimator.n_iter_
    return min(max(int(n), 1), n_losses) - 1


def _print_summary(
    result: dict[str, Any], scores: HeldOutScores | None, args: argparse.Namespace, screen: Screen
) -> None:
    screen.pairs(
        f"Trained in {result['seconds']:.2f} s",
        {
            **({"rounds": result["rounds"]} if "rounds" in result else {}),
            **({"stop reason": result["stop_reason"]} if "stop_reason" in result else {}),
            **({"learning rate": result["learning_rate"]} if "learning_rate" in result else {}),
            **({"categories": result["categories"]} if result["categories"] else {}),
            **{
                name: f"{format_value(result[name.replace(' ', '_')])} "
                f"({loss_words(result['loss'])})"
                for name in ("train loss", "validation loss")
                if name.replace(" ", "_") in result
            },
            **{
                name: result[name.replace(" ", "_")]
                for name in ("resumed after round", "checkpoint")
                if name.replace(" ", "_") in result
            },
            **{
                f"{metric.replace('_', ' ')}, {_set_words(name)}": value
                for name, values in result.get("best_score", {}).items()
                for metric, value in values.items()
                if metric != "loss"
            },
            "fingerprint": result["fingerprint"][:16],
            "model": result["model"],
        },
    )
    if "rounds_chosen" in result:
        screen.message(result["rounds_chosen"])
    if "leaderboard" in result:
        screen.table(
            "Leaderboard: losses of held-out rows",
            [{n.replace("_", " "): v for n, v in row.items()} for row in result["leaderboard"]],
        )
    screen.line()
    if scores is None:
        screen.line(f"No scores: no rows were held out. {_scores_remedy(args)}")
    else:
        chose = "; they chose the number of rounds" if _chose_rounds(result, scores) else ""
        scores.table.show(f"Scores of {scores.where}{chose}", screen)
    screen.message(_next_command(result["model"], args))


def _chose_rounds(result: dict[str, Any], scores: HeldOutScores) -> bool:
    """Return whether the scored rows also chose the number of rounds, which flatters the scores."""
    if scores.kind == "folds":
        return "rounds_chosen" in result
    if scores.kind == "fraction":
        return "rounds" in result
    return scores.kind == "file" and "validation_loss" in result


def _scores_remedy(args: argparse.Namespace) -> str:
    """Return how the scores of rows that are not trained on are obtained."""
    if _is_dataset(args):
        return "Name a table of other rows with --valid."
    return "Name a table of other rows with --valid, or set --hold-out 0.2."


def _next_command(model: str, args: argparse.Namespace) -> str:
    """Return the suggested next command, with the files of this one."""
    if args.conformal is not None:
        table = args.valid or args.data[0]
        return f"Next: {shlex.join(['stagewise', 'predict', model, table, '--interval', '0.9'])}"
    if args.valid is not None and not _is_dataset(args):
        command = "report" if args.method in WITH_REPORT else "evaluate"
        return f"Next: {shlex.join(['stagewise', command, model, args.valid])}"
    return f"Next: {shlex.join(['stagewise', 'show', model])}"
