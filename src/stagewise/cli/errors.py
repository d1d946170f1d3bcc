"""Errors of the command line that the user can fix.

An error is one sentence with the problem and a remedy. A bug remains an ordinary exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["InputError", "did_you_mean", "listing", "row_name"]


class InputError(Exception):
    """A problem of the files or arguments that the user can fix."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name nearest to a wrong one.

    Returns
    -------
    str
        For example ``" (did you mean 'price'?)"``, or empty if no name is similar.
    """
    names = list(known)
    by_lower = {each.lower(): each for each in reversed(names)}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def listing(names: Sequence[str], most: int = 8) -> str:
    """Return quoted names, at most this many, and the number of the others."""
    shown = ", ".join(repr(name) for name in names[:most])
    left = len(names) - most
    return f"{shown} and {left} more" if left > 0 else shown


def row_name(row: int) -> str:
    """Return how a row is named in messages; `row` counts from 0.

    The line of a CSV file is that of an editor, unless cells before it have line breaks.
    """
    return f"row {row + 1:,} (line {row + 2:,} of a CSV file)"
