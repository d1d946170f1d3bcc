"""The arguments of `fit` as partitions: a table for each, made by a short task.

The order of the partitions is the order of the rows. X, y and the weights have the same partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed

from stagewise.dask.partition_fit import Roles
from stagewise.dask.partition_table import make_table
from stagewise.validation.messages import short_repr

__all__ = ["Partitions", "check_rows", "is_collection", "partitions_of", "read_partitions"]


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


def check_rows(X: Any, name: str = "X") -> None:
    """Raise ValueError unless a collection has rows and features; nothing is computed.

    The parts of a list are checked when they are computed.
    """
    if isinstance(X, dd.Series) or (isinstance(X, da.Array) and X.ndim != 2):
        remedy = "Pass rows and features"
        if X.ndim == 1:
            one = "to_frame()" if isinstance(X, dd.Series) else "reshape(-1, 1)"
            remedy += f"; {name}.{one} has one feature"
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: {name} is a "
            f"dask.{'dataframe.Series' if isinstance(X, dd.Series) else 'array.Array'} of shape "
            f"{X.shape}. {remedy}."
        )


def read_partitions(
    X: Any, y: Any, weight: Any, suffix: str = "", *, optional_weight: bool = False
) -> Partitions:
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
    optional_weight : bool
        Whether X may have no column `weight`, if that is a name.

    Raises
    ------
    TypeError
        If an argument is something else.
    ValueError
        If the numbers of partitions differ, or a column does not exist. The columns of a list are
        unknown here: the tasks of its parts raise.
    """
    if isinstance(X, Partitions):
        return X
    if not is_collection(X):
        raise TypeError(
            f"X{suffix} must be a dask.dataframe.DataFrame, a dask.array.Array or a list of "
            f"delayed parts; got {short_repr(X)}. The estimators of stagewise fit tables in memory."
        )
    if y is None:
        raise TypeError(f"y{suffix} is missing: pass the targets, or the name of their column.")
    check_rows(X, f"X{suffix}")
    parts = partitions_of(X)
    optional = [weight] if optional_weight else []
    names, columns = [], []
    for argument, values in ((f"y{suffix}", y), (f"sample_weight{suffix}", weight)):
        if isinstance(values, str) and values not in optional:
            _check_name(argument, values, X)
        name, own = _column(argument, values, len(parts))
        names.append(name)
        columns.append(own)
    target, has_names = names[0], not isinstance(X, da.Array)
    assert target is not None
    if target == names[1]:
        raise ValueError(f"{target!r} cannot be both the target and the weight; name two columns.")
    tables = [
        dask.delayed(make_table, pure=True)(
            part, names, [own[i] for own in columns], i, has_names=has_names, optional=optional
        )
        for i, part in enumerate(parts)
    ]
    return Partitions(tables, Roles(target, names[1], has_names, optional_weight))


def partitions_of(values: Any) -> list[Delayed]:
    """Return the partitions of a collection; of a matrix, each has all columns."""
    if isinstance(values, da.Array):
        if values.ndim == 2:
            values = values.rechunk({1: -1})
        return [part for row in values.to_delayed().tolist() for part in np.ravel(row)]
    return list(values) if isinstance(values, (list, tuple)) else values.to_delayed()


def _check_name(argument: str, name: str, X: Any) -> None:
    """Raise ValueError if X has no such column, and is not a list of parts."""
    if isinstance(X, da.Array):
        raise ValueError(
            f"{argument} is {name!r}, but X is an array, whose columns have no names. Pass a "
            "dask.array.Array."
        )
    if isinstance(X, dd.DataFrame) and name not in map(str, X.columns):
        raise ValueError(f"{argument} is {name!r}, but X has no such column.")


def _has_columns(values: Any) -> bool:
    """Return whether targets have several columns, or are several names."""
    if isinstance(values, (list, tuple)):
        return len(values) > 1 and all(isinstance(name, str) for name in values)
    if isinstance(values, dd.DataFrame):
        return len(values.columns) > 1
    return isinstance(values, da.Array) and values.ndim == 2 and values.shape[1] != 1


def _column(argument: str, values: Any, n: int) -> tuple[str | None, Sequence[Any]]:
    """Return the name of a column in the tables, and its parts; None: X has it.

    The columns of a list of parts are unknown here, so the name is one that they do not have.
    """
    if values is None or isinstance(values, str):
        return values, [None] * n
    if argument.startswith("y") and _has_columns(values):
        raise ValueError(
            f"{argument} has several targets, and a cluster trains a model of one. Fit a model for "
            "each column, or the estimator of stagewise to a table in memory."
        )
    if not is_collection(values) or isinstance(values, dd.DataFrame):
        raise TypeError(
            f"{argument} must be a column name, a dask.dataframe.Series, a dask.array.Array or a "
            f"list of delayed parts, as X; got {short_repr(values)}."
        )
    if isinstance(values, da.Array) and values.ndim != 1 and values.shape[1:] != (1,):
        raise ValueError(
            f"{argument} should be a 1d array, got an array of shape {values.shape} instead. Pass "
            "one value for each row."
        )
    parts = partitions_of(values)
    if len(parts) != n:
        raise ValueError(
            f"{argument} has {len(parts)} partitions, and X has {n}; they must be the same rows. "
            "Repartition one of them."
        )
    return f"{argument} (argument of fit)", parts
