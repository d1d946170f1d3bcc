"""Names of columns in options of commands.

An option can have several names, several times, and names can be separated by commas: ``--ignore a
b``, ``--ignore=a --ignore=b`` and ``--ignore a,b`` are the same. A name that has a comma is written
in double quotes: ``--ignore '"income, net"'``.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["add_column_names", "with_files_first"]


def add_column_names(
    group: argparse._ActionsContainer,
    option: str,
    help: str,  # noqa: A002
) -> None:
    """Add an option with names of columns; repeated options add up."""
    group.add_argument(
        option,
        nargs="+",
        action=_ColumnNames,
        default=[],
        metavar="COLUMN",
        help=f"{help}; also as one,two; can be repeated",
    )


class _ColumnNames(argparse.Action):
    """Add names to those of earlier options of the same name, each once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        words = [values] if isinstance(values, str) else list(values or ())
        found = [*getattr(namespace, self.dest), *_split(words)]
        setattr(namespace, self.dest, list(dict.fromkeys(found)))


def _split(words: Sequence[str]) -> list[str]:
    """Return the names of words that may have several.

    >>> _split(["age", "city,job", '"income, net"'])
    ['age', 'city', 'job', 'income, net']
    """
    return [name for line in csv.reader(words, skipinitialspace=True) for name in line if name]


def with_files_first(argv: Sequence[str]) -> list[str] | None:
    """Return arguments with the files that an option took as names of columns before this option.

    None: no option with several values ends with an existing file.
    """
    starts = [place for place, word in enumerate(argv) if word.startswith("--")]
    ends = [*starts[1:], len(argv)]
    for start, end in zip(starts, ends, strict=False):  # without an option there is no start
        first = end
        while first > start + 2 and Path(argv[first - 1]).is_file():
            first -= 1
        if first < end:
            return [*argv[:start], *argv[first:end], *argv[start:first], *argv[end:]]
    return None
