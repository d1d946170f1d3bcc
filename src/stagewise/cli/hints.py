"""Hints for arguments of the command line that do not exist, and for those that were left out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from stagewise.cli.errors import InputError, did_you_mean, listing

__all__ = ["columns_of", "command_hint", "nearest_first", "option_hint", "with_repeated_set"]

COMMANDS = {
    "fit": "train",
    "learn": "train",
    "score": "evaluate",
    "test": "evaluate",
    "eval": "evaluate",
    "infer": "predict",
    "transform": "predict",
    "info": "show",
    "inspect": "show",
    "explain": "report",
    "profile": "describe",
}
"""Names of other programs for commands."""
OPTIONS = {
    "-t": ("--target",),
    "-y": ("--target",),
    "-m": ("--model",),
    "-o": ("--out", "--model"),
    "--output": ("--out", "--model"),
    "-j": ("--threads",),
    "-v": ("--debug",),
    "-q": ("--quiet",),
}
"""Short options of other programs, and the first of ours that the command has."""
SETTING = re.compile(r"[A-Za-z_]\w*=.")


def command_hint(word: str, commands: Iterable[str]) -> str:
    """Return a hint with the command that was meant, or an empty string."""
    ours = COMMANDS.get(word)
    return f" (here it is {ours!r})" if ours else did_you_mean(word, commands)


def option_hint(word: str, options: Sequence[str], value: str = "VALUE") -> str:
    """Return a hint with the option, or the parameter, that was meant; empty: there is none.

    Parameters
    ----------
    word : str
        What is unknown, such as ``--n-estimators``.
    options : sequence of str
        The options of the command.
    value : str
        The word that follows it.
    """
    name, _, own = word.partition("=")
    ours = next((each for each in OPTIONS.get(name, ()) if each in options), "")
    if ours:
        return f" (did you mean {ours!r}?)"
    parameter = _parameter(name.lstrip("-").replace("-", "_"))
    if "--set" in options and name.startswith("--") and parameter:
        return f" (a parameter is set by --set {parameter}={own or value})"
    return did_you_mean(name, options)


def _parameter(name: str) -> str:
    """Return the parameter of gradient boosting of this name, or of ours for it; empty: none."""
    from inspect import signature

    from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
    from stagewise.validation.foreign_names import FOREIGN_NAMES

    kinds = (GradientBoostingClassifier, GradientBoostingRegressor)
    foreign = FOREIGN_NAMES.get(name)
    ours = foreign.ours if foreign is not None and not foreign.usage else name
    return ours if any(ours in signature(kind).parameters for kind in kinds) else ""


def with_repeated_set(argv: Sequence[str]) -> list[str]:
    """Return arguments with ``--set`` before each of several settings that follow one.

    >>> with_repeated_set(["--set", "max_depth=3", "subsample=0.5", "--seed", "1"])
    ['--set', 'max_depth=3', '--set', 'subsample=0.5', '--seed', '1']
    """
    found: list[str] = []
    sets = False
    for word in argv:
        if word.startswith("-"):
            sets = word == "--set"
        elif sets and found[-1] != "--set":
            sets = SETTING.match(word) is not None and not Path(word).exists()
            found += ["--set"] if sets else []
        found.append(word)
    return found


def columns_of(source: str) -> list[str]:
    """Return the columns of a file, a folder or a pattern; empty: it cannot be read."""
    from stagewise.cli.files import open_tables

    try:
        return list(open_tables([source]).source.schema.names)
    except (
        InputError,
        OSError,
        ValueError,
    ):  # the error of the file is raised when the command opens it
        return []


def nearest_first(name: str, columns: Sequence[str]) -> str:
    """Return a listing of columns, those with names similar to a wrong one first."""

    def distance(column: str) -> float:
        return -difflib.SequenceMatcher(None, name.lower(), column.lower()).ratio()

    return listing(sorted(columns, key=distance) if name else columns)
