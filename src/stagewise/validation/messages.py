"""Parts of error messages and warnings.

A message names the column, the row and the value as in the caller's data, and then the remedy. A
warning points to the caller's line, outside this package.
"""

from __future__ import annotations

import inspect
import os
import reprlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

__all__ = [
    "CollectedWarning",
    "collect_warnings",
    "column_label",
    "merge_warnings",
    "refused_word",
    "short_repr",
    "warn_caller",
    "warnings_are_collected",
]

PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep

CollectedWarning = tuple[str, type[Warning]]
"""The message and the category of a warning."""

_collected: ContextVar[list[CollectedWarning] | None] = ContextVar("_collected", default=None)


def column_label(names: Sequence[str] | None, position: int) -> str:
    """Return the label of a column of X: its name if it has one, otherwise its position."""
    return f"X column {position}" if names is None else f"X column {names[position]!r}"


def short_repr(value: object) -> str:
    """Return the repr of any value on one line of bounded length."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufcU":
        value = value.item()  # 0.5 rather than np.float64(0.5)
    if isinstance(value, np.random.RandomState):
        return "RandomState"  # its repr is an address in memory
    return " ".join(reprlib.repr(value).split())


def refused_word(parameter: str, owner: str, value: object, allowed: str, hint: str) -> str:
    """Return the message for a word that a parameter does not have; the remedy comes first.

    Parameters
    ----------
    parameter, owner : str
        The parameter and its estimator; an empty owner is not named.
    value : object
        What was passed.
    allowed : str
        The values that are allowed.
    hint : str
        A sentence with the word that was meant, after a space; empty: there is none.
    """
    start = f"{parameter}={short_repr(value)}:{hint} " if hint else ""
    whose = f" of {owner}" if owner else ""
    return f"{start}The parameter {parameter!r}{whose} must be {allowed}; got {short_repr(value)}."


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside this package.

    This is the line that passed the data. Python shows a warning once for each line.
    """
    collected = _collected.get()
    if collected is not None:
        collected.append((message, category))
        return
    level = 1
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def collect_warnings() -> Iterator[list[CollectedWarning]]:
    """Collect the warnings of this package in a list, in this thread, instead of showing them.

    `warnings.catch_warnings` would do so in all threads.
    """
    collected: list[CollectedWarning] = []
    before = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(before)


def warnings_are_collected() -> bool:
    """Return whether `collect_warnings` collects the warnings of this thread."""
    return _collected.get() is not None


@contextmanager
def merge_warnings() -> Iterator[None]:
    """Show warnings that the batches of a dataset share once, with the number of the others."""
    collected: list[CollectedWarning] = []
    try:
        with collect_warnings() as collected:
            yield
    finally:
        batches: dict[tuple[type[Warning], str], list[str]] = {}
        for message, category in collected:
            # Messages differ in the numbers of rows, which follow this word.
            batches.setdefault((category, message.split(" in ")[0]), []).append(message)
        for (category, _), (first, *others) in batches.items():
            n = sum(other != first for other in others)
            warn_caller(first + f" ({n} more batches have such a warning.)" * bool(n), category)
