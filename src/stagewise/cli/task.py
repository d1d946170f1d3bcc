"""Guesses from the target column whether the task is regression or classification.

The guess depends only on the type of the column and on the number of distinct values, and comes
with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stagewise.cli.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Guess", "guess_task"]

# Integers with at most MOST_CLASSES distinct values are class labels if there are at least
# ROWS_PER_CLASS rows per value: ten rows with ten ages are not ten classes.
MOST_CLASSES = 20
ROWS_PER_CLASS = 5

Task = Literal["regression", "classification"]


@dataclass(frozen=True)
class Guess:
    """A task and the reason for it."""

    task: Task
    reason: str


def guess_task(column: pa.ChunkedArray, name: str) -> Guess:
    """Guess the task from the target column.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The target.
    name : str
        Its name, for the reason.

    Returns
    -------
    Guess
    """
    from pyarrow import compute, types

    kind = column.type
    if types.is_boolean(kind):
        return Guess("classification", f"{name!r} has booleans")
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return Guess("classification", f"{name!r} has text")
    if not (types.is_integer(kind) or types.is_floating(kind)):
        raise InputError(
            f"The target {name!r} has {kind}, which is neither numbers nor labels; "
            "name another column with --target."
        )
    values = compute.unique(column.drop_null())
    if types.is_floating(kind):
        if len(values) == 2 and all(value.is_integer() for value in values.to_pylist()):
            return Guess("classification", f"{name!r} has only two values")
        return Guess("regression", f"{name!r} has floating-point numbers")
    few = len(values) <= MOST_CLASSES and len(column) >= ROWS_PER_CLASS * len(values)
    if few or len(values) == 2:
        return Guess("classification", f"{name!r} has only {len(values)} different integers")
    return Guess("regression", f"{name!r} has {len(values)} different integers")
