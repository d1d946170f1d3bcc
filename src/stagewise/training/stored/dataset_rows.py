"""The rows of a dataset: the features that a pass over them learns, and their place in a store.

Categories are the union of those of the batches; cuts come from the rows that a hash of the row
number samples, as for a table in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers, category_bins, learn_cuts, sample_rows
from stagewise.cluster.peers import Peers
from stagewise.data import Features, Table
from stagewise.data.bins import SAMPLE_LIMIT, core_columns
from stagewise.data.categories.categories import Category
from stagewise.data.reading.column import Array, Column
from stagewise.data.reading.wide_integers import (
    SAMPLE_SEED,
    integer_cuts,
    ranks,
    round_up_to_floats,
)
from stagewise.datasets.arrow import release_memory
from stagewise.datasets.batch import Batch
from stagewise.datasets.dataset import Dataset
from stagewise.datasets.memory import format_bytes
from stagewise.training.reading.feature_reader import FeatureReader
from stagewise.training.stored.dataset_target import DatasetTarget

__all__ = ["DatasetRows", "DatasetSample", "learn_features"]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]
Codings = list[npt.NDArray[np.float64] | npt.NDArray[np.uint32]]

COLUMNS_AT_ONCE = 16
"""The columns whose sampled values are copied at once, to learn their cuts."""
ALL_ROWS = 2**62
"""A sample is not sampled again."""
WEIGHT_UNIT = 2.0**20
"""The units of a weight of 1 if weights are not whole; see native/core/row_weights.cpp."""


@dataclass
class SampledRows:
    """Rows that are sampled from the batches of a dataset.

    Attributes
    ----------
    batches : dict of int to list of Column
        By the number of the first row of a batch: its sampled values of each column; of a
        categorical column none.
    weight : dict of int to float64 array
        Their weights; empty: all ones.
    """

    batches: dict[int, list[Column]] = field(default_factory=dict)
    weight: dict[int, Vector] = field(default_factory=dict)

    def add(self, other: SampledRows) -> None:
        """Add the rows of other batches."""
        self.batches |= other.batches
        self.weight |= other.weight

    def weights(self) -> Vector | None:
        """Return the weights in the order of the rows; None: all ones."""
        if not self.weight:
            return None
        return np.concatenate([self.weight[first] for first in sorted(self.weight)])

    def parts(self, place: int) -> list[Column]:
        """Return the values of a column, batch by batch, in the order of the rows."""
        return [self.batches[first][place] for first in sorted(self.batches)]

    def floats(self, place: int, cuts: Array | None) -> Array:
        """Return the values of a column as trees read them; `cuts`: of wide integers."""
        read = _as_floats if cuts is None else lambda part: ranks(part, cuts)
        return np.concatenate([read(part) for part in self.parts(place)])

    def integers(self, place: int) -> Column:
        """Return the values of a column of wide integers; those of a batch may be floats."""
        parts = self.parts(place)
        unsigned = any(part.values.dtype == np.uint64 for part in parts)
        missing = [_missing(part) for part in parts]
        values = [
            np.where(gone, part.values.dtype.type(0), part.values)
            for part, gone in zip(parts, missing, strict=True)
        ]
        dtype = np.uint64 if unsigned else np.int64
        return Column(np.concatenate([v.astype(dtype) for v in values]), np.concatenate(missing))


def _missing(column: Column) -> npt.NDArray[np.bool_]:
    if column.values.dtype.kind == "f":
        return np.asarray(np.isnan(column.values))
    return np.zeros(len(column.values), bool) if column.missing is None else column.missing


def _as_floats(column: Column) -> Array:
    if column.values.dtype.kind == "f":
        return column.values
    return round_up_to_floats(column)  # exact: no integer is wide


@dataclass
class DatasetSample:
    """What a pass over the features finds.

    Attributes
    ----------
    rows, integer_rows : SampledRows
        The rows that cuts are learned from, and those that the cuts of wide integers are learned
        from.
    has_missing, has_values, wide : bool array
        Whether each column has a missing value, another value, and integers beyond 2**53.
    totals : list of Counter
        Of each categorical column, the weight of the rows of each category, in units.
    missing : Counter
        The number of values that were taken as missing, by column.
    """

    has_missing: npt.NDArray[np.bool_]
    has_values: npt.NDArray[np.bool_]
    wide: npt.NDArray[np.bool_]
    totals: list[Counter[Category]]
    rows: SampledRows = field(default_factory=SampledRows)
    integer_rows: SampledRows = field(default_factory=SampledRows)
    missing: Counter[int] = field(default_factory=Counter)

    @classmethod
    def empty(cls, n: int) -> DatasetSample:
        """Return the sample of no rows of n columns."""
        has_missing, has_values, wide = np.zeros((3, n), dtype=bool)
        return cls(has_missing, has_values, wide, [Counter() for _ in range(n)])

    def release(self) -> None:
        """Forget the sampled values, after cuts were learned from them."""
        self.rows, self.integer_rows = SampledRows(), SampledRows()

    def over(self, peers: Peers) -> DatasetSample:
        """Return the sample of the rows of all ranks."""
        if peers.size == 1:
            return self
        whole = DatasetSample.empty(len(self.totals))
        for one in peers.gather(self):
            whole.rows.add(one.rows)
            whole.integer_rows.add(one.integer_rows)
            whole.has_missing |= one.has_missing
            whole.has_values |= one.has_values
            whole.wide |= one.wide
            whole.missing.update(one.missing)
            for total, own in zip(whole.totals, one.totals, strict=True):
                total.update(own)
        return whole

    def codings(self, workers: Workers, features: Features, max_bins: int, seed: int) -> Codings:
        """Return the coding of each column, as `learn_codings` does of a table in memory."""
        weight, codings = self.rows.weights(), Codings()
        none = np.zeros(sum(len(columns[0].values) for columns in self.rows.batches.values()))
        for first in range(0, len(features), COLUMNS_AT_ONCE):
            columns: Any = core_columns(
                [
                    none if f.kind == "categorical" else self.rows.floats(first + i, f.cuts)
                    for i, f in enumerate(features[first : first + COLUMNS_AT_ONCE])
                ]
            )
            codings += learn_cuts(workers, columns, weight, max_bins, ALL_ROWS, seed)
        for place in features.categorical:
            categories = features[place].categories
            assert categories is not None
            total = np.array([self.totals[place][c] for c in categories.values], dtype=np.int64)
            codings[place] = category_bins(total, max(1, max_bins - 1))
        return codings

    def with_integer_cuts(self, features: Features, max_bins: int) -> Features:
        """Return the features with the cuts of wide integers."""
        own, weight = list(features), self.integer_rows.weights()
        for place in np.flatnonzero(self.wide).tolist():
            cuts = integer_cuts(self.integer_rows.integers(place), weight, max_bins)
            own[place] = replace(own[place], kind="wide_integer", cuts=cuts)
        return Features(own, features.missing_values)


@dataclass(frozen=True)
class DatasetRows:
    """The training or validation rows of a fit that are in a dataset; see `RowSet`.

    Attributes
    ----------
    dataset : Dataset
        The rows.
    target : DatasetTarget
        Their targets and weights.
    read : callable
        Returns the columns of a batch, as the model reads them; it gets the batch and its rows that
        are in this set (None: all).
    sample : DatasetSample or None
        Of training rows: what cuts are learned from.
    """

    dataset: Dataset
    target: DatasetTarget
    read: Callable[[Batch, Indices | None], Any]
    sample: DatasetSample | None = None
    is_sparse = False
    n_targets = 1

    @property
    def n_rows(self) -> int:
        """The number of rows of positive weight, of all ranks."""
        return self.target.n_rows

    def has_constant_target(self) -> bool:
        """Return whether all rows, of all ranks, have the same target."""
        ends = [(y.min(), y.max()) for y, _ in self.target.blocks() if len(y)]
        both = [end for own in self.target.peers.gather(ends) for end in own]
        return bool(min(low for low, _ in both) == max(high for _, high in both))

    def total_weight(self) -> float:
        """Return the sum of the weights, of all ranks."""
        return self.target.total_weight()[0]

    def columns(self) -> Iterator[tuple[Any, Indices | None]]:
        """Read the columns of each batch, and which of its rows are in this set (None: all)."""
        for batch, rows in _feature_batches(self.dataset, self.target):
            with batch.locate_errors():
                columns = self.read(batch, rows)
            yield columns, rows


def _feature_batches(
    dataset: Dataset, target: DatasetTarget
) -> Iterator[tuple[Batch, Indices | None]]:
    """Read the features; return each batch with its rows that are in a set (None: all)."""
    read = 0
    with closing(dataset.batches(columns=dataset.features)) as batches:
        for batch in batches:
            yield batch, target.chosen_rows(read, batch.n_rows)
            read += batch.n_rows
    target.check_rows(read)
    release_memory()


def learn_features(
    dataset: Dataset, target: DatasetTarget, reader: FeatureReader, seed: int
) -> tuple[Features, DatasetSample]:
    """Return the features of the rows of all ranks, and the sample of these rows.

    Parameters
    ----------
    dataset : Dataset
        The training rows.
    target : DatasetTarget
        Their weights.
    reader : FeatureReader
        How tables are read.
    seed : int
        The seed of the sample.
    """
    _check_sample_fits(dataset, target)
    features: Features | None = None
    sample = DatasetSample.empty(len(dataset.features))
    _, whole_weights = target.total_weight()
    first = 0
    every, integers = range(len(dataset.features)), integer_columns(dataset)
    for batch, rows in _feature_batches(dataset, target):
        with batch.locate_errors():
            table = reader.read(dataset.features_of(batch))
            own = Features.learn(table, rows=rows)
            features = own if features is None else features.merged(own)
        n = batch.n_rows if rows is None else len(rows)
        present = _PresentRows(table, rows, target.rows(first, n)[1], whole=whole_weights)
        present.add_facts(sample, own)
        if n:
            number = target.placement.number(first)
            chosen = sample_rows(n, number, target.n_rows, SAMPLE_LIMIT, seed)
            present.add_values(sample.rows, number, chosen, every)
            chosen = sample_rows(n, number, target.n_rows, SAMPLE_LIMIT, SAMPLE_SEED)
            present.add_values(sample.integer_rows, number, chosen, integers)
        first += n
    merged = [own for own in target.peers.gather(features) if own is not None]
    whole = sample.over(target.peers)
    return whole.with_integer_cuts(reduce(Features.merged, merged), reader.spec.max_bins), whole


def _check_sample_fits(dataset: Dataset, target: DatasetTarget) -> None:
    """Raise unless the sample from which cuts are learned fits into the memory limit."""
    needed = min(target.n_rows, SAMPLE_LIMIT) * dataset.row_bytes()
    spare = dataset.limit() - dataset.reading_bytes() - needed
    if spare < 0:
        raise ValueError(
            f"memory_limit is {format_bytes(dataset.limit())}, but the cuts of "
            f"{len(dataset.features):,} features are learned from a sample of rows that needs "
            f"{format_bytes(needed)}. Raise memory_limit by at least {format_bytes(-spare)}, or "
            "choose fewer columns."
        )


@dataclass(frozen=True)
class _PresentRows:
    """The rows of a batch that are in a set.

    Attributes
    ----------
    table : Table
        The batch.
    rows : uint32 array or None
        These rows; None: all.
    weight : float64 array or None
        Their frequencies.
    whole : bool
        Whether the frequencies of the dataset are counts.
    """

    table: Table
    rows: Indices | None
    weight: Vector | None
    whole: bool

    def column(self, place: int) -> Column:
        """Return the values of a numeric column."""
        column = self.table.column(place)
        return column if self.rows is None else column.take(self.rows)

    def add_values(
        self, sampled: SampledRows, number: int, chosen: Indices, places: Collection[int]
    ) -> None:
        """Add values and weights of the chosen rows of the batch from a row number on."""
        if self.weight is not None:
            sampled.weight[number] = self.weight[chosen]
        none = Column(np.zeros(len(chosen)), None)
        sampled.batches[number] = [
            _copy(self.column(place).take(chosen))
            if place in places and place not in self.table.factors
            else none
            for place in range(self.table.n_features)
        ]

    def add_facts(self, sample: DatasetSample, features: Sequence[Any]) -> None:
        """Add missing values, wide integers and the weights of categories."""
        sample.missing.update(self.table.taken_as_missing)
        for place, feature in enumerate(features):
            sample.wide[place] |= feature.kind == "wide_integer"
            if place in self.table.factors:
                self._add_categories(sample, place)
            else:
                missing = _missing(self.column(place))
                sample.has_missing[place] |= bool(missing.any())
                sample.has_values[place] |= not missing.all()

    def _add_categories(self, sample: DatasetSample, place: int) -> None:
        factor, unit = self.table.factors[place], 1.0 if self.whole else WEIGHT_UNIT
        codes = factor.codes if self.rows is None else factor.codes[self.rows]
        sample.has_missing[place] |= bool((codes < 0).any())
        sample.has_values[place] |= bool((codes >= 0).any())
        units = None if self.weight is None else np.floor(self.weight * unit + 0.5)
        totals = np.bincount(codes + 1, weights=units, minlength=len(factor.values) + 1)[1:]
        for value, total in zip(factor.values, totals.tolist(), strict=True):
            if total:
                sample.totals[place][value] += int(total)


def integer_columns(dataset: Dataset) -> set[int]:
    """Return the columns that may have integers beyond 2**53: those that are not floats."""
    import pyarrow as pa

    types = [dataset.schema.field(name).type for name in dataset.features]
    return {place for place, kind in enumerate(types) if not pa.types.is_floating(kind)}


def _copy(column: Column) -> Column:
    """Return values that keep no batch in memory."""
    return Column(np.array(column.values), column.missing)
