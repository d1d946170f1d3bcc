"""The arguments of `fit` as partitions: a table for each, made by a short task.

The order of the partitions is the order of the rows. X, y and the weights have the same partitions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed

from stagewise.dask.partition_fit import Roles
from stagewise.datasets.array_partition import ArrayPartition
from stagewise.datasets.frame_partition import FramePartition
from stagewise.datasets.partition_source import Partition
from stagewise.validation.messages import short_repr

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Partitions", "is_collection", "partitions_of", "read_partitions"]


@dataclass(frozen=True)
class Partitions:
    """The rows of a fit.

    Attributes
    ----------
    tables : list of Delayed
        The tables, in row order.
    roles : Roles
        Their columns.
    """

    tables: list[Delayed]
    roles: Roles


def is_collection(X: Any) -> bool:
    """Return whether X is a collection of Dask, or a list of delayed parts."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(isinstance(part, Delayed) for part in X)
    return isinstance(X, (dd.DataFrame, dd.Series, da.Array))


def read_partitions(X: Any, y: Any, weight: Any, suffix: str = "") -> Partitions:
    """Return the partitions of the arguments of `fit`.

    Parameters
    ----------
    X : dask.dataframe.DataFrame, dask.array.Array, list of Delayed, or Partitions
        The features. Parts of a list are data frames. Partitions are returned as they are.
    y : str, dask.dataframe.Series, dask.array.Array, or list of Delayed
        The targets; a str: a column of X.
    weight : as y, or None
        The weights of the rows.
    suffix : str
        The end of the names of arguments in messages.

    Raises
    ------
    TypeError
        If an argument is something else.
    ValueError
        If the numbers of partitions differ.
    """
    if isinstance(X, Partitions):
        return X
    if not is_collection(X) or isinstance(X, dd.Series):
        raise TypeError(
            f"X{suffix} must be a dask.dataframe.DataFrame, a dask.array.Array or a list of "
            f"delayed parts; got {short_repr(X)}. The estimators of stagewise fit tables in memory."
        )
    if y is None:
        raise TypeError(f"y{suffix} is missing: pass the targets, or the name of their column.")
    parts = partitions_of(X)
    taken = [str(name) for name in X.columns] if isinstance(X, dd.DataFrame) else []
    names, columns = [], []
    for argument, values in ((f"y{suffix}", y), (f"sample_weight{suffix}", weight)):
        name, own = _column(argument, values, len(parts), taken)
        names.append(name)
        columns.append(own)
        taken.append(name or "")
    has_names = not isinstance(X, da.Array)
    tables = [
        dask.delayed(make_table, pure=True)(
            part, names, [own[i] for own in columns], i, has_names=has_names
        )
        for i, part in enumerate(parts)
    ]
    target = names[0]
    assert target is not None
    return Partitions(tables, Roles(target, names[1], has_names))


def partitions_of(values: Any) -> list[Delayed]:
    """Return the partitions of a collection; of a matrix, each has all columns."""
    if isinstance(values, da.Array):
        if values.ndim == 2:
            values = values.rechunk({1: -1})
        return [part for row in values.to_delayed().tolist() for part in np.ravel(row)]
    return list(values) if isinstance(values, (list, tuple)) else values.to_delayed()


def _column(
    argument: str, values: Any, n: int, taken: Sequence[str]
) -> tuple[str | None, Sequence[Any]]:
    """Return the name of a column in the tables, and its parts; None: X has it."""
    if values is None or isinstance(values, str):
        if values is not None and values not in taken:
            raise ValueError(f"{argument} is {values!r}, but X has no such column.")
        return values, [None] * n
    if not is_collection(values) or isinstance(values, dd.DataFrame):
        raise TypeError(
            f"{argument} must be a column name, a dask.dataframe.Series, a dask.array.Array or a "
            f"list of delayed parts, as X; got {short_repr(values)}."
        )
    parts = partitions_of(values)
    if len(parts) != n:
        raise ValueError(
            f"{argument} has {len(parts)} partitions, and X has {n}; they must be the same rows. "
            "Repartition one of them."
        )
    name = argument
    while name in taken:
        name += "_"
    return name, parts


def make_table(
    X: Any,
    names: Sequence[str | None],
    columns: Sequence[Any],
    number: int,
    *,
    has_names: bool,
) -> Partition:
    """Return a partition as a table, without a copy of numbers.

    Parameters
    ----------
    X : data frame or array
        The features, perhaps with the target and the weights.
    names : sequence of str or None
        The names of the target and of the weights.
    columns : sequence
        Their values; None: X has them, or there are none.
    number : int
        The number of the partition, for messages.
    has_names : bool
        Whether X must be a data frame.
    """
    if has_names and isinstance(X, np.ndarray):
        raise TypeError(
            f"Part {number} of X is an array; parts of a list must be data frames. Use "
            "dask.array.from_delayed for arrays."
        )
    if isinstance(X, np.ndarray):
        table = ArrayPartition.of(X.reshape(len(X), math.prod(X.shape[1:])))
    elif hasattr(X, "to_arrow"):
        table = X.to_arrow()
    else:
        table = FramePartition.of(X)
    for name, values in zip(names, columns, strict=True):
        if values is None or name is None:
            continue
        if len(values) != table.num_rows:
            raise ValueError(
                f"Partition {number} has {table.num_rows} rows of X, but {len(values)} of {name}."
            )
        table = table.append_column(name, _array(values))
    return table


def _array(values: Any) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, np.ndarray):
        return pa.array(values.reshape(len(values)))
    found = pa.Array.from_pandas(values)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
