"""Guesses from a target column whether to learn numbers or classes.

The one idea: a guess is worth nothing without its reason, so the two come together. The rules look
at the type of the column and at how many different values it holds, and at nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stagewise.cli.errors import Complaint

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Guess", "guess_task"]

# Whole numbers with at most so many different values are class labels, if each value is met
# often enough that it could be one: a table of ten rows and ten ages is not ten classes.
MOST_CLASSES = 20
ROWS_PER_CLASS = 5

Task = Literal["regression", "classification"]


@dataclass(frozen=True)
class Guess:
    """A task, and why it was chosen."""

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
        return Guess("classification", f"{name!r} holds true and false")
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return Guess("classification", f"{name!r} holds text")
    if not (types.is_integer(kind) or types.is_floating(kind)):
        raise Complaint(
            f"The target {name!r} holds {kind}, which is neither numbers nor labels; "
            "name another column with --target."
        )
    values = compute.unique(column.drop_null())
    if types.is_floating(kind):
        if len(values) == 2 and all(value.is_integer() for value in values.to_pylist()):
            return Guess("classification", f"{name!r} holds only two values")
        return Guess("regression", f"{name!r} holds floating-point numbers")
    few = len(values) <= MOST_CLASSES and len(column) >= ROWS_PER_CLASS * len(values)
    if few or len(values) == 2:
        return Guess("classification", f"{name!r} holds only {len(values)} different whole numbers")
    return Guess("regression", f"{name!r} holds {len(values)} different whole numbers")
