"""What the command line says when it cannot go on.

The one idea: a complaint is one sentence that names what is wrong and what to do about it. It is
for mistakes a user can mend; a bug stays an ordinary exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["Complaint", "did_you_mean", "listing"]


class Complaint(Exception):  # noqa: N818 - it is not a fault of the program
    """Something in the user's files or arguments that the user can mend."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name nearest to a mistaken one.

    Returns
    -------
    str
        For example ``" (did you mean 'price'?)"``, or nothing when no name comes near.
    """
    names = list(known)
    by_lower = {each.lower(): each for each in reversed(names)}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def listing(names: Sequence[str], most: int = 8) -> str:
    """Return names in quotes, at most so many of them, and how many were left out."""
    shown = ", ".join(repr(name) for name in names[:most])
    left = len(names) - most
    return f"{shown} and {left} more" if left > 0 else shown
