"""The error for columns that a model was fitted on and new data do not have."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["refuse_missing_names"]

NAMES_SHOWN = 5


def refuse_missing_names(
    names: Iterable[object], known: Iterable[str], where: str = "", remedy: str = ""
) -> None:
    """Raise ValueError if some known names are missing.

    Parameters
    ----------
    names : iterable
        The names in the new data.
    known : iterable of str
        The names that are required.
    where, remedy : str
        Sentences before and after the message.

    Raises
    ------
    ValueError
        The message lists the missing names, the names that are new, and those that are similar.
    """
    missing = sorted(set(known) - set(names))
    if not missing:
        return
    message = f"{where}The feature names should match those that were passed during fit.\n"
    unknown = sorted(map(str, set(names) - set(known)))
    if unknown:
        message += "Feature names unseen at fit time:\n" + _listed(unknown)
    message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    raise ValueError(message + _suggestion(unknown, missing[:NAMES_SHOWN]) + remedy)


def _suggestion(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """Return a line with the new names that are similar to missing ones, in any case."""
    by_lower = {name.lower(): name for name in unknown}
    pairs = []
    for name in missing:
        near = difflib.get_close_matches(name.lower(), by_lower, n=1)
        if near:
            pairs.append(f"{name!r} by {by_lower.pop(near[0])!r}")
    return f"Did you mean {' and '.join(pairs)}?\n" if pairs else ""


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:NAMES_SHOWN], "..."] if len(names) > NAMES_SHOWN else names
    return "".join(f"- {name}\n" for name in shown)
