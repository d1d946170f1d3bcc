"""How the data layer speaks: names for places in the caller's data, and warnings that point there.

The one idea: a message names the column, the row and the value as the caller knows them, then the
remedy. This file must not decide what is allowed.
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

__all__ = ["CollectedWarning", "collect_warnings", "column_label", "short_repr", "warn_caller"]

PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep

CollectedWarning = tuple[str, type[Warning]]
"""The words and the category of a warning."""

_gathering: ContextVar[list[CollectedWarning] | None] = ContextVar("_gathering", default=None)


def column_label(names: Sequence[str] | None, position: int) -> str:
    """Say which column of X is meant: by name where it has one, else by its place."""
    return f"X column {position}" if names is None else f"X column {names[position]!r}"


def short_repr(value: object) -> str:
    """Show a value on one line of bounded length, whatever it is."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufcU":
        value = value.item()  # 0.5 rather than np.float64(0.5)
    return " ".join(reprlib.repr(value).split())


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside this package.

    The line is the one that passed the data; and Python shows a warning once for each line, so
    each place that passes such data is told once.
    """
    told = _gathering.get()
    if told is not None:
        told.append((message, category))
        return
    level = 1
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def collect_warnings() -> Iterator[list[CollectedWarning]]:
    """Gather the warnings of this package in a list, in this thread, instead of showing them.

    `warnings.catch_warnings` would do so for all threads at once.
    """
    told: list[CollectedWarning] = []
    before = _gathering.set(told)
    try:
        yield told
    finally:
        _gathering.reset(before)
