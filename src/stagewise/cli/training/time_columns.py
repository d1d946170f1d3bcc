"""The columns of times until an event: a time with an event, or the ends of an interval."""

from __future__ import annotations

import argparse
from typing import Any

from stagewise.cli.columns import Roles
from stagewise.cli.errors import InputError
from stagewise.cli.hints import columns_of, nearest_first

__all__ = ["add_time_arguments", "check_intervals", "check_times", "time_roles"]

TIMES, INTERVALS = ("time", "event"), ("lower", "upper")
"""The two forms of times; the first column of each is the target."""
BESIDES = ("entry", "stratum")


def add_time_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options that name columns of times."""
    add = group.add_argument
    add("--time", metavar="COLUMN", help="the time of the event, or of the end of the observation")
    add("--event", metavar="COLUMN", help="whether the event happened: 1, or 0 for censored rows")
    intervals = "instead of --time and --event: the event was after this time, and until --upper "
    add("--lower", metavar="COLUMN", help=intervals + "(--loss aft)")
    upper = "the end of the interval; inf: the row is censored at --lower"
    add("--upper", metavar="COLUMN", help=upper)
    add("--entry", metavar="COLUMN", help="the time from which a row is observed")
    add("--stratum", metavar="COLUMN", help="rows of different strata have other baseline hazards")


def time_roles(args: argparse.Namespace) -> dict[str, Any]:
    """Return the columns of times besides the target, as arguments of `Roles`."""
    return {name: getattr(args, name) for name in ("event", "upper", *BESIDES)}


def check_times(args: argparse.Namespace, *, is_dataset: bool) -> None:
    """Raise unless the columns of times are those of the task; the time becomes the target."""
    named = [name for name in (*TIMES, *INTERVALS, *BESIDES) if getattr(args, name)]
    if named and args.task is None:
        args.task = "survival"
    if args.task != "survival":
        if named:
            raise InputError(f"--{named[0]} is for --task survival; leave it out.")
        if args.target is None:
            columns = columns_of(args.data[0])
            known = f"; the columns are {nearest_first('', columns)}" if columns else ""
            raise InputError(f"Name the column to predict with --target{known}.")
        return
    if args.target is not None:
        raise InputError(
            "--task survival has --time and --event, or --lower and --upper, instead of --target."
        )
    form = _form(named)
    if len({getattr(args, name) for name in named}) < len(named):
        *first, last = (f"--{name}" for name in (*form, *BESIDES))
        raise InputError(f"{', '.join(first)} and {last} must be different columns.")
    if is_dataset:
        raise InputError(
            "--task survival is for one file in memory, not for rows that are read in batches."
        )
    if args.drop_unlabelled:
        raise InputError("--drop-unlabelled is not for --task survival; leave it out.")
    args.target = getattr(args, form[0])


def _form(named: list[str]) -> tuple[str, str]:
    """Return the names of the two columns of times; raise unless they are those of one form."""
    of_time, of_interval = ([name for name in form if name in named] for form in (TIMES, INTERVALS))
    if of_time and of_interval:
        raise InputError(
            f"--{of_time[0]} cannot be combined with --{of_interval[0]}: times have --time and "
            "--event, intervals --lower and --upper; leave two of them out."
        )
    form = INTERVALS if of_interval else TIMES
    for name in form:
        if name not in named:
            other = "" if of_interval or of_time else " (of intervals --lower and --upper)"
            raise InputError(f"--task survival needs --{name} COLUMN{other}.")
    return form


def check_intervals(estimator: Any, roles: Roles) -> None:
    """Raise if the times are intervals, and the loss has none."""
    loss = str(getattr(estimator, "loss", ""))
    if roles.upper is not None and loss != "aft":
        raise InputError(
            f"--lower and --upper need the loss 'aft', which has intervals; it is {loss!r}. Add "
            "--loss aft."
        )
