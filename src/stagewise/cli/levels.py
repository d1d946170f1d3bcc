"""Levels of quantiles, and times of curves, in options of commands."""

from __future__ import annotations

import math

from stagewise.cli.errors import InputError

__all__ = ["read_curve_times", "read_levels"]


def read_levels(text: str | None) -> float | list[float] | None:
    """Return the level, or the levels, of text such as "0.9" or "0.05,0.5,0.95".

    >>> read_levels("0.05,0.5,0.95"), read_levels("0.9"), read_levels(None)
    ([0.05, 0.5, 0.95], 0.9, None)
    """
    if text is None:
        return None
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0.0 < level < 1.0 for level in found):
        raise InputError(
            f"--quantile must have numbers between 0 and 1, such as 0.05,0.5,0.95; got {text!r}."
        )
    if sorted(set(found)) != found:
        raise InputError(f"--quantile must have numbers that increase, each once; got {text!r}.")
    return found[0] if len(found) == 1 else found


def read_curve_times(text: str | None) -> tuple[float, ...]:
    """Return the times of text such as "30,90,365"; without text none.

    >>> read_curve_times("30,90,365"), read_curve_times(None)
    ((30.0, 90.0, 365.0), ())
    """
    if text is None:
        return ()
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0.0 <= time < math.inf for time in found):
        raise InputError(f"--times must have numbers from 0 on, such as 30,90,365; got {text!r}.")
    if sorted(set(found)) != found:
        raise InputError(f"--times must have numbers that increase, each once; got {text!r}.")
    return tuple(found)
