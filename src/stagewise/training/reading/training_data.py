"""The rows of a fit: read, checked, and divided into training rows and held-out rows.

Rows are chosen by index before anything is learned. Rows of weight zero are absent, and everything
that is learned (categories, cuts, the scale of y, the best constant) comes from the training rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stagewise.boosting.monitor import HELD_OUT, TRAIN
from stagewise.data import match_targets
from stagewise.data.crosses import Cross
from stagewise.data.row_offset import NO_OFFSET, RowOffset, without_columns
from stagewise.training.reading.division import RowDivision
from stagewise.training.reading.eval_sets import (
    EvalSet,
    WatchedRows,
    read_eval_sets,
)
from stagewise.training.reading.folds import Folds, FoldSizes, fold_sizes, group_numbers
from stagewise.training.reading.row_set import RowSet, rows_with_weight
from stagewise.training.reading.target_reader import Target, TargetReader
from stagewise.training.specs import HoldOutSpec
from stagewise.validation.messages import warn_caller

__all__ = ["FitArguments", "TableReader", "TrainingData", "read_training_data"]

Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class FitArguments:
    """The arguments of `fit`."""

    X: Any
    y: Any
    sample_weight: Any = None
    X_val: Any = None
    y_val: Any = None
    sample_weight_val: Any = None
    groups: Any = None
    eval_set: Any = None
    offset: Any = None
    exposure: Any = None
    offset_val: Any = None
    exposure_val: Any = None

    @property
    def row_offset(self) -> RowOffset:
        """Which offsets the rows have."""
        return RowOffset.of(self.offset, self.exposure)

    @cached_property
    def feature_table(self) -> Any:
        """X without the columns that are offsets."""
        columns = self.row_offset.columns
        return without_columns(self.X, columns) if columns else self.X

    @cached_property
    def eval_sets(self) -> tuple[EvalSet, ...]:
        """The sets of `eval_set`."""
        return read_eval_sets(self.eval_set, self.X, self.y, self.sample_weight)

    @property
    def has_eval_rows(self) -> bool:
        """Whether any rows besides X are measured, or X itself as a set."""
        return self.X_val is not None or bool(self.eval_sets)

    @property
    def passed_sets(self) -> tuple[EvalSet, ...]:
        """All sets of evaluation rows: X_val and those of `eval_set`."""
        if self.X_val is None:
            return self.eval_sets
        held = EvalSet(
            HELD_OUT,
            self.X_val,
            self.y_val,
            self.sample_weight_val,
            self.offset_val,
            self.exposure_val,
        )
        return (held, *self.eval_sets)

    @property
    def deciding_set(self) -> EvalSet | None:
        """The set that stops a fit: X_val, or the first set of other rows than X."""
        sets = self.passed_sets
        return next((own for own in sets if own.name == HELD_OUT or own.X is not self.X), None)

    def check_validation(self) -> None:
        """Raise ValueError unless X_val and y_val come together."""
        if (self.X_val is None) != (self.y_val is None):
            raise ValueError("X_val and y_val go together; one of them was not passed.")
        if self.X_val is None and self.sample_weight_val is not None:
            raise ValueError("sample_weight_val was passed without X_val and y_val.")


class ReadTable(NamedTuple):
    """A table whose columns the model has learned.

    Attributes
    ----------
    features : Features or Header
        The description of the columns that the model keeps.
    columns : Columns, SparseColumns or UntouchedRows
        All rows that were passed.
    unknown : Counter
        The number of rows with an unknown category, by column.
    """

    features: Any
    columns: Any
    unknown: Counter[int]


class TableReader(Protocol):
    """Reads X into the columns of a learner."""

    def read(self, X: Any) -> Any:
        """Return the table of X, checked; it has `n_rows`."""

    def learn(self, table: Any, weight: Any, rows: Indices | None, held: Indices | None) -> Any:
        """Return the ReadTable of the training table; `rows` are learned from."""

    def read_validation(self, X: Any, features: Any) -> Any:
        """Return the table of evaluation rows, checked."""

    def match(self, table: Any, features: Any, rows: Indices | None) -> Any:
        """Return the ReadTable of evaluation rows."""

    def missing_counts(self, table: Any) -> Counter[int]:
        """Return the number of values that were taken as missing, by column."""


@dataclass(frozen=True)
class TrainingData:
    """The rows and targets that a trainer gets.

    Attributes
    ----------
    features : Features or Header
        The description of the columns.
    train : RowSet
        The training rows.
    valid : RowSet or None
        Held-out rows, which decide when the fit stops.
    folds : Folds or None
        The folds of cross-validation.
    classes : array or None
        The class labels; None: regression.
    target_names : tuple of str or None
        The names of several targets.
    groups : uint32 array or None
        The group number of every training row, if groups are sampled.
    n_rows : int
        The number of rows that were passed, with those of weight zero.
    missing, unknown : Counter
        The numbers of values taken as missing, and of unknown categories, by column.
    class_targets : tuple of arrays or None
        The class labels of each of several targets; then `classes` is None.
    start : StartLearner or None
        Learns F before the first round; None: it is a constant.
    valid_name : str
        The name of the held-out rows.
    eval_sets : tuple of WatchedRows
        Rows that are measured after every round; they may be `train`.
    row_offset : RowOffset
        The offsets that predictions need.
    calibration : RowSet or None
        Rows of X that the fit does not use.
    """

    features: Any
    train: RowSet
    valid: RowSet | None
    folds: Folds | None
    classes: npt.NDArray[Any] | None
    target_names: tuple[str, ...] | None
    groups: Indices | None
    n_rows: int
    missing: Counter[int] = field(default_factory=Counter)
    unknown: Counter[int] = field(default_factory=Counter)
    class_targets: tuple[npt.NDArray[Any], ...] | None = None
    start: Any = None
    valid_name: str = HELD_OUT
    eval_sets: tuple[WatchedRows, ...] = ()
    row_offset: RowOffset = NO_OFFSET
    calibration: RowSet | None = None

    def with_crosses(self, crosses: Sequence[Cross]) -> TrainingData:
        """Return the same rows with columns that are computed from two features."""
        features = self.features.with_crosses(crosses)
        train, valid = (
            None if rows is None else rows.with_columns(features.append_derived(rows.columns))
            for rows in (self.train, self.valid)
        )
        assert train is not None
        assert not self.eval_sets  # automatic models have none
        return replace(self, features=features, train=train, valid=valid)

    @property
    def fold_sizes(self) -> list[FoldSizes]:
        """The sizes of the folds; empty: there are none."""
        return fold_sizes(self.folds or [])

    @property
    def of_classes(self) -> bool:
        """Whether y has labels of classes."""
        return self.classes is not None or self.class_targets is not None

    @property
    def one_class(self) -> bool:
        """Whether y has only one class."""
        return self.classes is not None and len(self.classes) == 1


def read_training_data(
    arguments: FitArguments,
    table_reader: TableReader,
    target_reader: TargetReader,
    hold_out: HoldOutSpec,
    seed: int,
    *,
    sample_groups: bool = False,
) -> TrainingData:
    """Read the arguments of `fit`.

    Parameters
    ----------
    arguments : FitArguments
        As the caller passed them.
    table_reader, target_reader
        How X and y are read.
    hold_out : HoldOutSpec
        Which rows are held out.
    seed : int
        The key of that choice.
    sample_groups : bool
        Whether rounds draw entire groups.
    """
    table = table_reader.read(arguments.feature_table)
    target = target_reader.read(arguments.y, arguments.sample_weight, table.n_rows)
    division = RowDivision.of(target, hold_out, seed).with_calibration()
    arguments.check_validation()
    deciding = arguments.deciding_set if hold_out.uses_passed_rows else None
    if deciding is None and hold_out.kind == "fraction":
        division = division.with_held_out()
    features, columns, unknown = table_reader.learn(
        table, target.weight, division.train, division.unused
    )

    def row_set(rows: Indices | None) -> RowSet:
        return RowSet.choose(columns, rows, target.y, target.weight)

    train = row_set(division.train)
    reader = _EvalReader(table_reader, target_reader, target, features)
    valid, watched = _read_eval_sets(arguments, reader, train, deciding)
    valid = valid if division.held is None else row_set(division.held)
    groups = arguments.groups if target.groups is None else target.groups
    by_folds = hold_out.kind == "folds" and valid is None
    return TrainingData(
        features,
        train,
        valid,
        division.folds(train, groups) if by_folds else None,
        target.classes,
        target.names,
        group_numbers(groups, train, table.n_rows) if sample_groups else None,
        table.n_rows,
        table_reader.missing_counts(table),
        unknown + reader.unknown,
        valid_name=HELD_OUT if deciding is None else deciding.name,
        eval_sets=watched,
        class_targets=target.class_targets,
        calibration=None if division.calibration is None else row_set(division.calibration),
    )


def _read_eval_sets(
    arguments: FitArguments, reader: _EvalReader, train: RowSet, deciding: EvalSet | None
) -> tuple[RowSet | None, tuple[WatchedRows, ...]]:
    """Return the set that decides when the fit stops (None: none does), and the recorded ones."""
    valid = None
    if deciding is not None:
        valid = reader.read(deciding)
        _warn_of_training_rows(deciding, valid, train)
    watched = tuple(
        WatchedRows(own.name, train if own.name == TRAIN else reader.read(own))
        for own in arguments.passed_sets
        if deciding is None or own.name != deciding.name
    )
    return valid, watched


def _warn_of_training_rows(deciding: EvalSet, rows: RowSet, train: RowSet) -> None:
    """Warn if the set that decides when to stop seems to be a copy of the training rows."""
    if deciding.name != HELD_OUT and np.array_equal(rows.y, train.y):
        warn_caller(
            f"{deciding.label} decides when the fit stops, and its y is that of the training rows. "
            "Pass the rows that decide first, or as X_val and y_val; X and y of fit themselves are "
            "recognised and only recorded."
        )


@dataclass
class _EvalReader:
    """Reads sets of evaluation rows as the training rows were read.

    Attributes
    ----------
    unknown : Counter
        The unknown categories of all sets, by column.
    """

    table_reader: TableReader
    target_reader: TargetReader
    target: Target
    features: Any
    unknown: Counter[int] = field(default_factory=Counter)

    def read(self, passed: EvalSet) -> RowSet:
        """Return the rows of a set."""
        if passed.name == HELD_OUT:
            return self._read(passed, "In y_val or sample_weight_val")
        try:
            return self._read(passed, "In y or the weights")
        except (TypeError, ValueError) as error:
            raise type(error)(f"In {passed.label}: {error}") from None

    def _read(self, passed: EvalSet, where: str) -> RowSet:
        table = self.table_reader.read_validation(passed.X, self.features)
        if table.n_rows == 0:
            raise ValueError(f"{'X_val' if passed.name == HELD_OUT else 'X'} has no rows.")
        y = match_targets(passed.y, self.target.names)
        try:
            codes, weight = self.target_reader.read_validation(
                y,
                passed.sample_weight,
                table.n_rows,
                self.target.class_targets or self.target.classes,
            )
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}: {error}") from None
        rows = rows_with_weight(weight)
        try:
            _, columns, unknown = self.table_reader.match(table, self.features, rows)
        except ValueError as error:
            raise ValueError(f"In X{'_val' if passed.name == HELD_OUT else ''}: {error}") from None
        self.unknown += unknown
        return RowSet.choose(columns, rows, codes, weight)
