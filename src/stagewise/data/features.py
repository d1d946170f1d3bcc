"""The features of a model, and the conversion of new data to them.

Columns are matched by name if both the model and the data have names, else by position. Each column
is then converted to floats: wide integers to their ranks, categories to their codes. This module
must not read cells itself (`table` does that) and must not import bins or trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse

from stagewise.data.categories.categorical_features import ColumnSource
from stagewise.data.categories.categories import Categories
from stagewise.data.categories.factor import Factor
from stagewise.data.categories.target_encoding import TargetEncoding
from stagewise.data.categories.unknown import HandleUnknown, UnknownCategories
from stagewise.data.crosses import Cross
from stagewise.data.feature import Feature
from stagewise.data.few_rows import FewRows
from stagewise.data.reading.column import Array, is_wide
from stagewise.data.reading.column_names import refuse_missing_names
from stagewise.data.reading.datetimes import TemporalType
from stagewise.data.reading.frame import Frame, open_frame
from stagewise.data.reading.missing_values import ONLY_NAN, MissingValues
from stagewise.data.reading.records import open_records, refuse_records
from stagewise.data.reading.sparse import SparseCells
from stagewise.data.reading.table import Table, read_array, read_frame, read_records
from stagewise.data.reading.wide_integers import learn_integer_cuts, ranks, round_up_to_floats
from stagewise.data.temporal_features import TEXT_CONVERSIONS, check_temporal_types
from stagewise.validation.messages import column_label, warn_caller

__all__ = ["Features", "check_width", "select_by_name", "warn_of_names"]


class Features(Sequence[Feature]):
    """The features of a model, in the order in which its trees number them.

    Parameters
    ----------
    features : iterable of Feature
        Either all of them have a name, or none has.
    missing_values : MissingValues
        The values that count as missing besides NaN, in all columns.
    target_encodings : iterable of TargetEncoding
        The target-encoded columns, which follow all others.
    crosses : iterable of Cross
        The columns that are computed from two features; they follow the columns of the features.
    """

    def __init__(
        self,
        features: Iterable[Feature],
        missing_values: MissingValues = ONLY_NAN,
        target_encodings: Iterable[TargetEncoding] = (),
        crosses: Iterable[Cross] = (),
    ) -> None:
        self._features = tuple(features)
        self.missing_values = missing_values
        self.target_encodings = tuple(target_encodings)
        self.crosses = tuple(crosses)
        names = [feature.name for feature in self._features if feature.name is not None]
        if names and len(names) != len(self._features):
            raise ValueError("some features have names and some have none")
        self._names = names or None
        types = enumerate(feature.temporal_type for feature in self._features)
        self._temporal = {position: kind for position, kind in types if kind is not None}
        self._categorical = frozenset(
            j for j, feature in enumerate(self._features) if feature.kind == "categorical"
        )
        self._real = frozenset(
            j for j, f in enumerate(self._features) if f.kind == "real" and f.temporal_type is None
        )
        self._replaced = any(feature.kind != "real" for feature in self._features)
        # Checked first by `match`, on every call: an array may be used unchanged.
        changed = self._replaced or missing_values or self._temporal
        self._as_is = self._names is None and not changed
        self._width = len(self._features)
        encodes_few = not missing_values and FewRows.supports(self._features)
        self._few_rows = FewRows(self._features) if encodes_few else None

    @classmethod
    def learn(
        cls,
        table: Table,
        *,
        max_bins: int = 255,
        rows: npt.NDArray[np.uint32] | None = None,
        weight: npt.NDArray[np.float64] | None = None,
    ) -> Features:
        """Return the features of a training table.

        Parameters
        ----------
        table : Table
            The training data.
        max_bins : int
            The largest number of bins of a wide integer column.
        rows : uint32 array, or None
            The training rows; None: all. Other rows affect nothing, neither the categories nor
            whether a column is wide.
        weight : float64 array, or None
            The weight of each row of the table.

        Returns
        -------
        Features
        """
        names: Sequence[str | None] = table.names or [None] * table.n_features
        if rows is not None and weight is not None:
            weight = weight[rows]
        if isinstance(table.columns, SparseCells):
            return cls([Feature(name, "real") for name in names], table.missing_values)
        features = []
        for position, name in enumerate(names):
            if position in table.factors:
                categories = table.factors[position].categories(rows, weight)
                features.append(Feature(name, "categorical", None, categories))
                continue
            column, cuts = table.column(position), None
            if column.values.dtype.kind in "iu":
                column = column if rows is None else column.take(rows)
                cuts = (
                    learn_integer_cuts(column, weight, max_bins) if is_wide(column.values) else None
                )
            kind: Literal["real", "wide_integer"] = "real" if cuts is None else "wide_integer"
            features.append(Feature(name, kind, cuts, temporal_type=column.temporal_type))
        return cls(features, table.missing_values)

    def merged(self, other: Features) -> Features:
        """Return the features of the rows of both, which have the same columns.

        Categories are the union of both; no column has wide integers.
        """
        return Features(
            [
                mine
                if mine.categories is None or theirs.categories is None
                else replace(
                    mine,
                    categories=Categories.from_distinct(
                        {*mine.categories.values, *theirs.categories.values}
                    ),
                )
                for mine, theirs in zip(self._features, other, strict=True)
            ],
            self.missing_values,
        )

    @property
    def n(self) -> int:
        """The number of features."""
        return self._width

    @property
    def derived(self) -> tuple[Cross | TargetEncoding, ...]:
        """What is computed from features, in the order of its columns."""
        return (*self.crosses, *self.target_encodings)

    @property
    def sources(self) -> list[tuple[int, ...]]:
        """The features of each column that trees use; several for a cross or a combination."""
        derived = [d.sources for d in self.derived for _ in range(d.n_columns)]
        return [*((j,) for j in range(self._width)), *derived]

    def column_name(self, column: int) -> str:
        """Return the name of a column that trees use; "x0" for a feature without a name."""
        names = self._names or [f"x{j}" for j in range(self._width)]
        if column < self._width:
            return names[column]
        of_column = [d for d in self.derived for _ in range(d.n_columns)][column - self._width]
        return of_column.label([names[j] for j in of_column.sources])

    def with_target_encodings(self, target_encodings: Iterable[TargetEncoding]) -> Features:
        """Return the same features and crosses with target-encoded columns."""
        return Features(self._features, self.missing_values, target_encodings, self.crosses)

    def with_crosses(self, crosses: Iterable[Cross]) -> Features:
        """Return the same features and target encodings with crosses."""
        return Features(self._features, self.missing_values, self.target_encodings, crosses)

    def append_derived(self, columns: Any) -> Any:
        """Append crosses and target-encoded columns to those that `match` or `columns` returned."""
        return _append(columns, self.derived)

    def append_encoded(self, columns: Any) -> Any:
        """Append target-encoded columns to columns that have the crosses already."""
        return _append(columns, self.target_encodings)

    @property
    def names(self) -> list[str] | None:
        """The features' names, or None if they have none."""
        return None if self._names is None else list(self._names)

    def n_categories_per_feature(self) -> list[int]:
        """Return the number of categories of each feature; 0 for a numeric feature."""
        return [0 if f.categories is None else len(f.categories) for f in self._features]

    def n_categories_per_column(self) -> list[int]:
        """Return the number of categories of each column that trees use; 0 if it is numeric."""
        own = self.n_categories_per_feature()
        return own + [0] * (len(self.sources) - len(own))

    @property
    def categorical(self) -> frozenset[int]:
        """The positions of the categorical features."""
        return self._categorical

    def match(
        self, X: Any, caller: str, handle_unknown: HandleUnknown = "missing"
    ) -> Array | list[Array] | SparseCells:
        """Read new data and return its columns in the order of the features.

        Parameters
        ----------
        X : array-like, data frame, or rows with names
            As for `read_table`, or one row with names; it may have no rows. Columns with names are
            matched by name: their order does not matter, and those that are not features are
            ignored.
        caller : str
            The estimator's name, for messages.
        handle_unknown : {"missing", "error", "prior"}
            How unknown categories are handled: as missing values, with a warning; as an error; or
            with the code L, which no category has.

        Returns
        -------
        array of shape (n_rows, n), list of n arrays of shape (n_rows,), or Cells
            float32 or float64; perhaps the caller's own memory.

        Raises
        ------
        ValueError
            If a feature is missing, the number of columns differs, or a numeric column holds a
            cell that is not a number.
        """
        # A prediction for one row takes microseconds, so the common case is checked first.
        if self._as_is and type(X) is np.ndarray and X.ndim == 2 and X.shape[1] == self._width:
            dtype, flags = X.dtype, X.flags
            if dtype.char in "df" and dtype.isnative and flags.c_contiguous and flags.aligned:
                return X
        few = None if self._few_rows is None else self._few_rows.encode(X)
        if few is not None:
            return few
        unknown = UnknownCategories(handle_unknown)
        columns = self.columns(self.read(X, caller), unknown)
        unknown.refuse(self._names)
        unknown.warn(self._names)
        return columns

    def columns(
        self, table: Table, unknown: UnknownCategories
    ) -> Array | list[Array] | SparseCells:
        """Return a table's columns as floats, wide integers as ranks, categories as codes.

        The columns of the table must be the features, in their order: it is the training table or
        comes from `read`.

        Parameters
        ----------
        table : Table
            The data.
        unknown : UnknownCategories
            Gives unknown categories their code, and records them.

        Returns
        -------
        array of shape (n_rows, n), list of n arrays of shape (n_rows,), or Cells
            float32 or float64.
        """
        if self._replaced and isinstance(table.columns, SparseCells):
            self._refuse_sparse()
        if self.crosses and isinstance(table.columns, SparseCells):
            return table.columns.dense()  # models with crosses were fitted to dense tables
        if not self._replaced and not isinstance(table.columns, list):
            return table.columns
        return [self._column(table, position, unknown) for position in range(self._width)]

    def _refuse_sparse(self) -> NoReturn:
        position = next(j for j, feature in enumerate(self._features) if feature.kind != "real")
        kind = "categorical" if position in self._categorical else "integers beyond 2**53"
        raise ValueError(
            f"{column_label(self._names, position)} was {kind} when the model was fitted, and a "
            "sparse matrix cannot hold that. Pass a data frame or a dense array: X.toarray()."
        )

    def _column(self, table: Table, position: int, unknown: UnknownCategories) -> Array:
        column, feature = table.column(position), self._features[position]
        if feature.categories is not None:
            return self._category_codes(
                table.factors[position], feature.categories, position, unknown
            )
        if feature.cuts is not None:
            return ranks(column, feature.cuts)
        return column.values if column.values.dtype.kind == "f" else round_up_to_floats(column)

    def _category_codes(
        self, factor: Factor, categories: Categories, position: int, unknown: UnknownCategories
    ) -> npt.NDArray[np.float64]:
        """Return the code of each row's category; NaN where the cell is missing."""
        numbers = categories.encode(factor.values)
        new = np.isnan(numbers)
        if new.any():
            unknown.record(position, factor, new, categories)
            numbers[new] = unknown.code(len(categories))
        # The code of a missing value, -1, selects the last entry.
        return np.append(numbers, np.nan)[factor.codes]

    def read(self, X: Any, caller: str) -> Table:
        """Read new data as a table with the columns in the order of the features; see `match`."""
        table = self._read(X, caller)
        check_temporal_types(table, self._temporal, self._real, self._names, caller)
        return table

    def _read(self, X: Any, caller: str) -> Table:
        known = _AsFitted(self.categorical, self._temporal, caller)
        if self._names is None:
            refuse_records(X, caller)
        records = open_records(X, self._names)
        if records is not None:
            return read_records(records, caller, self.missing_values, known, allow_empty=True)
        frame = open_frame(X, caller)
        names = None if frame is None else frame.names
        if frame is not None and names is not None and self._names is not None:
            chosen = select_by_name(frame, self._names)
            return read_frame(chosen, caller, self.missing_values, known, allow_empty=True)
        if names is not None:
            warn_of_names(caller, fitted_with=False)
        if frame is not None:
            check_width(frame.shape[1], self._width, caller)
            table = read_frame(frame, caller, self.missing_values, known, allow_empty=True)
        else:
            if self._categorical and scipy.sparse.issparse(X):
                self._refuse_sparse()
            table = read_array(X, caller, self.missing_values, known, allow_empty=True)
            check_width(table.n_features, self._width, caller)
        if names is None and self._names is not None:
            warn_of_names(caller, fitted_with=True)
        return table

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
            and self.derived == other.derived
        )

    def __hash__(self) -> int:
        return hash((self._features, self.missing_values))

    def __repr__(self) -> str:
        return f"Features({list(self._features)!r}, {self.missing_values!r})"


def _append(columns: Any, derived: Iterable[Cross | TargetEncoding]) -> Any:
    """Return columns, followed by those that are computed from them."""
    found = [column for d in derived for column in d.columns(columns)]
    return columns.extended(found) if found else columns


@dataclass(frozen=True)
class _AsFitted:
    """Selects the columns that were categorical in training."""

    categorical: frozenset[int]
    temporal: Mapping[int, TemporalType]
    caller: str
    learns_categories = False
    uses_types = False

    @property
    def dates(self) -> frozenset[int]:
        return frozenset(j for j, kind in self.temporal.items() if kind == "date")

    def positions(self, source: ColumnSource) -> frozenset[int]:
        return self.categorical

    def remedy(self, names: Sequence[str] | None, position: int) -> str:
        if position in self.temporal:
            kind = self.temporal[position]
            if kind == "date":
                return (
                    f"It was a column of type date when {self.caller} was fitted: correct the "
                    "cell, or convert dates of another format first, for instance by "
                    "pandas.to_datetime(..., dayfirst=...) (True or False, by their format)"
                )
            return (
                f"It was a column of type {kind} when {self.caller} was fitted; convert the values "
                f"first, by {TEXT_CONVERSIONS[kind]}"
            )
        return (
            f"It was a numeric column when {self.caller} was fitted; pass numbers, or fit again "
            "with the column in categorical_features"
        )


def select_by_name(frame: Frame, known: Sequence[str]) -> Frame:
    """Return the columns of a frame that a model was fitted on, in the model's order.

    Raises
    ------
    ValueError
        If some are missing; the message lists them, and the columns that are new.
    """
    refuse_missing_names(frame.names or [], known)
    return frame.select(known)


def check_width(n_columns: int, known: int, caller: str) -> None:
    """Raise ValueError unless the number of columns is that of the training data."""
    if n_columns != known:
        raise ValueError(
            f"X has {n_columns} features, but {caller} is expecting {known} features as input."
        )


def warn_of_names(caller: str, *, fitted_with: bool) -> None:
    """Warn that only one of the data and the model has feature names."""
    if fitted_with:
        warn_caller(
            f"X does not have valid feature names, but {caller} was fitted with feature names"
        )
    else:
        warn_caller(f"X has feature names, but {caller} was fitted without feature names")
