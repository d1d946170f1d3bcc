"""What a model remembers of the columns it was trained on, and how new data are held to it.

The one idea: columns are matched by name where both sides have names, else by place; then each is
given to the core as floats, wide integers as their ranks. This file must not read cells itself
(`table` does) nor know about bins or trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from stagewise.data.column import Array, is_wide
from stagewise.data.frame import Frame, open_frame
from stagewise.data.messages import warn_caller
from stagewise.data.missing_values import ONLY_NAN, MissingValues
from stagewise.data.table import Table, read_array, read_frame
from stagewise.data.wide import doubles_not_below, learn_cuts, ranks

__all__ = ["Feature", "Features"]

NAMES_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Feature:
    """One column of the training data.

    Parameters
    ----------
    name : str or None
        Its name, if it had one.
    kind : {"real", "wide_integer"}
        A real column is used as it is. A wide_integer column held integers beyond 2**53 and is
        replaced by the number of cuts below each value.
    cuts : int64 or uint64 array, or None
        Increasing; only for a wide_integer column.
    """

    name: str | None
    kind: Literal["real", "wide_integer"]
    cuts: Array | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Feature):
            return NotImplemented
        if (self.name, self.kind) != (other.name, other.kind):
            return False
        if self.cuts is None or other.cuts is None:
            return self.cuts is other.cuts
        return self.cuts.dtype == other.cuts.dtype and np.array_equal(self.cuts, other.cuts)

    def __hash__(self) -> int:
        return hash((self.name, self.kind))


class Features(Sequence[Feature]):
    """The features of a model, in the order in which its trees number them.

    Parameters
    ----------
    features : iterable of Feature
        All of them with a name, or none.
    missing_values : MissingValues
        What is a missing cell besides NaN, in all columns.
    """

    def __init__(
        self, features: Iterable[Feature], missing_values: MissingValues = ONLY_NAN
    ) -> None:
        self._features = tuple(features)
        self.missing_values = missing_values
        names = [feature.name for feature in self._features if feature.name is not None]
        if names and len(names) != len(self._features):
            raise ValueError("some features have names and some have none")
        self._names = names or None
        self._wide = any(feature.kind == "wide_integer" for feature in self._features)
        # What `match` asks first, on every call: may an array be used as it is?
        self._as_is = self._names is None and not self._wide and not missing_values
        self._width = len(self._features)

    @classmethod
    def learn(
        cls,
        table: Table,
        *,
        max_bins: int = 255,
        rows: npt.NDArray[np.uint32] | None = None,
        weight: npt.NDArray[np.float64] | None = None,
    ) -> Features:
        """Take note of a training table.

        Parameters
        ----------
        table : Table
            The training data.
        max_bins : int
            How many ranges of a wide integer column to tell apart.
        rows : uint32 array, or None
            The rows to learn from; the others have no say, not even in what is wide. None: all.
        weight : float64 array, or None
            How often each row of the table counts.

        Returns
        -------
        Features
        """
        names: Sequence[str | None] = table.names or [None] * table.n_features
        if rows is not None and weight is not None:
            weight = weight[rows]
        features = []
        for position, name in enumerate(names):
            column, cuts = table.column(position), None
            if column.values.dtype.kind in "iu":
                column = column if rows is None else column.take(rows)
                cuts = learn_cuts(column, weight, max_bins) if is_wide(column.values) else None
            features.append(Feature(name, "real" if cuts is None else "wide_integer", cuts))
        return cls(features, table.missing_values)

    @property
    def n(self) -> int:
        """How many features there are."""
        return self._width

    @property
    def names(self) -> list[str] | None:
        """The features' names, or None if they have none."""
        return None if self._names is None else list(self._names)

    def match(self, X: Any, caller: str) -> Array | list[Array]:
        """Read new data, and put its columns in the order of the features.

        Parameters
        ----------
        X : array-like or data frame
            What `read_table` reads; it may have no rows. Columns of a frame are found by name:
            their order does not matter, and columns that are no features are not looked at.
        caller : str
            The estimator's name, for messages.

        Returns
        -------
        array of shape (n_rows, n), or list of n arrays of shape (n_rows,)
            float32 or float64; perhaps the caller's own memory.

        Raises
        ------
        ValueError
            If a feature is missing, or the number of columns differs.
        """
        # One row is answered in microseconds, so the common case comes before everything else.
        if self._as_is and type(X) is np.ndarray and X.ndim == 2 and X.shape[1] == self._width:
            dtype, flags = X.dtype, X.flags
            if dtype.char in "df" and dtype.isnative and flags.c_contiguous and flags.aligned:
                return X
        return self.columns(self._read(X, caller))

    def columns(self, table: Table) -> Array | list[Array]:
        """Give a table's columns as floats, wide integers as their ranks.

        The table must have the features' columns, in their order: it is the training table, or
        `match` has put them so.

        Parameters
        ----------
        table : Table
            The data.

        Returns
        -------
        array of shape (n_rows, n), or list of n arrays of shape (n_rows,)
            float32 or float64.
        """
        if not self._wide and not isinstance(table.columns, list):
            return table.columns
        return [self._column(table, position) for position in range(self._width)]

    def _column(self, table: Table, position: int) -> Array:
        column, cuts = table.column(position), self._features[position].cuts
        if cuts is not None:
            return ranks(column, cuts)
        return column.values if column.values.dtype.kind == "f" else doubles_not_below(column)

    def _read(self, X: Any, caller: str) -> Table:
        frame = open_frame(X, caller)
        names = None if frame is None else frame.names
        if frame is not None and names is not None and self._names is not None:
            chosen = self._select(frame, names)
            return read_frame(chosen, caller, self.missing_values, allow_empty=True)
        if names is not None:
            warn_caller(f"X has feature names, but {caller} was fitted without feature names")
        if frame is not None:
            self._check_width(frame.shape[1], caller)
            table = read_frame(frame, caller, self.missing_values, allow_empty=True)
        else:
            table = read_array(X, caller, self.missing_values, allow_empty=True)
            self._check_width(table.n_features, caller)
        if names is None and self._names is not None:
            warn_caller(
                f"X does not have valid feature names, but {caller} was fitted with feature names"
            )
        return table

    def _select(self, frame: Frame, names: list[str]) -> Frame:
        assert self._names is not None
        missing = sorted(set(self._names) - set(names))
        if missing:
            message = "The feature names should match those that were passed during fit.\n"
            unseen = sorted(set(names) - set(self._names))
            if unseen:
                message += "Feature names unseen at fit time:\n" + _listed(unseen)
            message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
            raise ValueError(message)
        return frame.select(self._names)

    def _check_width(self, n_columns: int, caller: str) -> None:
        if n_columns != self._width:
            raise ValueError(
                f"X has {n_columns} features, but {caller} is expecting {self._width} features "
                "as input."
            )

    @overload
    def __getitem__(self, position: int) -> Feature: ...

    @overload
    def __getitem__(self, position: slice) -> tuple[Feature, ...]: ...

    def __getitem__(self, position: int | slice) -> Feature | tuple[Feature, ...]:
        return self._features[position]

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._features)

    def __len__(self) -> int:
        return self._width

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Features)
            and self._features == other._features
            and self.missing_values == other.missing_values
        )

    def __hash__(self) -> int:
        return hash((self._features, self.missing_values))

    def __repr__(self) -> str:
        return f"Features({list(self._features)!r}, {self.missing_values!r})"


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:NAMES_SHOWN], "..."] if len(names) > NAMES_SHOWN else names
    return "".join(f"- {name}\n" for name in shown)
