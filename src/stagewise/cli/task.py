"""Guesses from the target column whether the task is regression or classification.

The guess depends only on the type of the column and on the number of distinct values, and comes
with a reason.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stagewise.cli.errors import InputError
from stagewise.datasets import Dataset

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Guess", "guess_task", "guess_task_of_dataset"]

# Integers with at most MOST_CLASSES distinct values are class labels if there are at least
# ROWS_PER_CLASS rows per value: ten rows with ten ages are not ten classes.
MOST_CLASSES = 20
ROWS_PER_CLASS = 5

Task = Literal["regression", "classification", "ranking", "survival"]


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
    from pyarrow import compute

    known = _by_type(column.type, name)
    if known is not None:
        return known
    values = compute.unique(column.drop_null())
    return _by_values(values, len(column), name)


def guess_task_of_dataset(dataset: Dataset, name: str) -> Guess:
    """Guess the task from the target column of a dataset, as of a column in memory.

    Rows are read until there are too many distinct values for classes.
    """
    import pyarrow as pa
    from pyarrow import compute

    kind = dataset.source.schema.field(name).type
    known = _by_type(kind, name)
    if known is not None:
        return known
    values = pa.array([], kind)
    with closing(dataset.batches(columns=[name])) as batches:
        for batch in batches:
            found = batch.table.column(name).drop_null()
            values = compute.unique(pa.chunked_array([values, *found.chunks]))
            if len(values) > MOST_CLASSES:
                break
    return _by_values(values, dataset.n_rows, name)


def _by_type(kind: pa.DataType, name: str) -> Guess | None:
    """Return the task that the type of a target determines; None: its values do."""
    from pyarrow import types

    if types.is_boolean(kind):
        return Guess("classification", f"{name!r} has booleans")
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return Guess("classification", f"{name!r} has text")
    if not (types.is_integer(kind) or types.is_floating(kind)):
        raise InputError(
            f"The target {name!r} has {kind}, which is neither numbers nor labels; "
            "name another column with --target."
        )
    return None


def _by_values(values: pa.Array, n_rows: int, name: str) -> Guess:
    """Return the task of a target with these distinct numbers."""
    from pyarrow import types

    if types.is_floating(values.type):
        if len(values) == 2 and all(value.is_integer() for value in values.to_pylist()):
            return Guess("classification", f"{name!r} has only two values")
        return Guess("regression", f"{name!r} has floating-point numbers")
    if len(values) > MOST_CLASSES:
        return Guess("regression", f"{name!r} has more than {MOST_CLASSES} different integers")
    if n_rows >= ROWS_PER_CLASS * len(values) or len(values) == 2:
        return Guess("classification", f"{name!r} has only {len(values)} different integers")
    return Guess("regression", f"{name!r} has {len(values)} different integers")
