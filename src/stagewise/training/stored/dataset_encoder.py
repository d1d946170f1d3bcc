"""The target encodings of a dataset: those that `TargetEncoder` learns of the rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, draw_encoding_folds, learn_cuts, sample_rows
from stagewise.data import Features
from stagewise.data.bins import SAMPLE_LIMIT
from stagewise.data.categories.combinations import find_combinations
from stagewise.data.categories.cross_fitting import (
    INDEX_BYTES,
    KEY_BYTES,
    NO_FOLD,
    CrossFitting,
    Folds,
    KeyedRows,
    learn_cross_fitting,
)
from stagewise.training.stored.category_codes import CategoryCodes
from stagewise.training.stored.dataset_rows import ALL_ROWS, DatasetRows, Indices, Vector
from stagewise.training.stored.dataset_target import DatasetTarget
from stagewise.training.stored.needs_memory import NeedsRowsInMemoryError
from stagewise.training.stored.spool import Spool
from stagewise.training.target_encoder import TargetEncoder, combination_rows, few_cuts

__all__ = ["DatasetEncoder", "EncodedColumns"]

Array = npt.NDArray[Any]
Scale = Callable[[Array], Array]
MEMORY_SHARE = 6
"""Keys may have this part of the memory limit; if rows are held out, there are two sets of them."""


@dataclass(frozen=True)
class EncodedColumns:
    """The target-encoded columns of training rows.

    Attributes
    ----------
    fitted : CrossFitting
        The encodings of the keys.
    folds : callable
        Returns the folds of n training rows that this rank reads; it gets the first of them and n.
    cuts : list of float64 arrays
        The cuts of each column.
    """

    fitted: CrossFitting
    folds: Callable[[int, int], Folds]
    cuts: list[Vector]

    def append(self, columns: Columns, present: Indices | None, first: int) -> Columns:
        """Append the encoded columns to those of a batch.

        Parameters
        ----------
        columns : Columns
            All rows of the batch.
        present : uint32 array or None
            Those that are training rows; None: all.
        first : int
            The first of them, among the training rows that this rank reads.
        """
        n = columns.n_rows if present is None else len(present)
        folds = np.full(columns.n_rows, NO_FOLD, dtype=np.uint8)
        folds[slice(None) if present is None else present] = self.folds(first, n)
        return columns.extended(self.fitted.columns(columns, folds))


@dataclass(frozen=True)
class DatasetEncoder:
    """Learns the target encodings of the rows of a dataset.

    Parameters
    ----------
    encoder : TargetEncoder
        The features and combinations to encode.
    rows : DatasetRows
        The training rows.
    codes : CategoryCodes
        Their categories.
    features : Features
        The description of the columns.
    scale : callable
        Returns targets in the units of the loss.
    max_bins : int
        The largest number of bins of a feature.
    sample_weight : float64 array or None
        The weights of the rows that cuts are learned from; None: all ones.
    """

    encoder: TargetEncoder
    rows: DatasetRows
    codes: CategoryCodes
    features: Features
    scale: Scale
    max_bins: int
    sample_weight: Vector | None

    @classmethod
    def choose(
        cls,
        encoder: TargetEncoder,
        alone: list[tuple[int, ...]],
        rows: DatasetRows,
        features: Features,
        scale: Scale,
        best: Vector,
        max_bins: int,
    ) -> DatasetEncoder:
        """Choose the combinations to encode besides single features; see `TargetEncoder.choose`.

        Parameters
        ----------
        encoder : TargetEncoder
            Without sources.
        alone : list of tuple of int
            The features that are encoded.
        rows, features, scale, max_bins
            See `DatasetEncoder`.
        best : float64 array
            The best constant.
        """
        assert rows.sample is not None
        own = cls(
            encoder,
            rows,
            CategoryCodes.read(rows, features),
            features,
            scale,
            max_bins,
            rows.sample.rows.weights(),
        )
        some, n_outputs = combination_rows(rows.n_rows), encoder.loss.n_outputs

        def chosen(number: int, n: int) -> Array:
            low, high = np.searchsorted(some, [number, number + n])
            return (some[low:high] - number).astype(np.uint32)

        def facts(table: Columns, first: int, at: Indices) -> list[Array]:
            y, weight = own._target(first, table.n_rows)
            pairs = encoder.pairs(y[at], None if weight is None else weight[at], best)
            part = table.take(at)
            columns = [part.column(f) for f in range(part.n_features)]
            return [*columns, *(p.reshape(-1, 2) for p in pairs)]

        found = own._sample(chosen, facts)
        columns, pairs = found[:-n_outputs], found[-n_outputs:]
        combined = find_combinations(
            encoder.workers,
            Columns(columns),
            features.n_categories_per_feature(),
            [np.ascontiguousarray(p.reshape(-1)) for p in pairs],
            encoder.seed,
        )
        return replace(own, encoder=replace(encoder, sources=[*alone, *combined]))

    def learn(self, learned: DatasetTarget | None, best: Vector) -> EncodedColumns:
        """Learn the encodings.

        Parameters
        ----------
        learned : DatasetTarget or None
            The training rows to learn from; None: all.
        best : float64 array
            Their best constant.
        """
        encoder, target = self.encoder, self.rows.target
        parts = None if learned is None else learned.row_parts
        flags = None if parts is None else target.flags(parts)
        folds = partial(self._folds, flags)

        def blocks() -> Iterator[KeyedRows]:
            for first, table in self.codes.blocks():
                pairs = encoder.pairs(*self._target(first, table.n_rows), best)
                yield KeyedRows(table, folds(first, table.n_rows), pairs)

        most_keys = self._most_keys()
        fitted = learn_cross_fitting(
            encoder.workers,
            encoder.sources,
            self.features.n_categories_per_feature(),
            self.rows.n_rows if learned is None else learned.n_rows,
            encoder.loss.n_outputs,
            blocks,
            partial(self._check_memory, most_keys),
            most_keys,
            target.peers,
        )
        return EncodedColumns(fitted, folds, self._cuts(fitted, folds))

    def _most_keys(self) -> int:
        """Return the largest number of keys for which every rank has memory."""
        limit = min(self.rows.target.peers.gather(self.rows.dataset.limit()))
        own = INDEX_BYTES + KEY_BYTES * self.encoder.loss.n_outputs
        return int(limit // MEMORY_SHARE // own)

    def _check_memory(self, most_keys: int, n_keys: int) -> None:
        """Raise unless the keys fit into the memory limit."""
        if n_keys > most_keys:
            raise NeedsRowsInMemoryError(
                f"target encoding of at least {n_keys:,} categories and combinations of categories",
                "set category_encoding='sets'",
            )

    def _cuts(self, fitted: CrossFitting, folds: Callable[[int, int], Folds]) -> list[Vector]:
        """Return the cuts of the encoded columns, from the rows that those of others come from."""
        encoder = self.encoder

        def chosen(number: int, n: int) -> Indices:
            return sample_rows(n, number, self.rows.n_rows, SAMPLE_LIMIT, encoder.seed)

        def facts(table: Columns, first: int, at: Indices) -> list[Array]:
            return list(fitted.columns(table.take(at), folds(first, table.n_rows)[at]))

        columns, weight = Columns(self._sample(chosen, facts)), self.sample_weight
        return few_cuts(
            learn_cuts(encoder.workers, columns, weight, self.max_bins, ALL_ROWS, encoder.seed)
        )

    def _sample(
        self,
        chosen: Callable[[int, int], Indices],
        facts: Callable[[Columns, int, Indices], list[Array]],
    ) -> list[Array]:
        """Return facts of some rows of all ranks, in the order of the rows.

        `chosen` returns positions; it gets the number in the fit of the first of some rows, and
        how many there are. `facts` returns arrays; it gets a block, its first row, and positions.
        """
        placement, numbers, found = self.rows.target.placement, [], []
        for first, table in self.codes.blocks():
            before, at, own = 0, [], []
            for number, n in placement.runs(first, table.n_rows):
                places = chosen(number, n)
                at.append(places + np.uint32(before))
                own.append(places + np.int64(number))
                before += n
            numbers.append(np.concatenate(own))
            found.append(facts(table, first, np.concatenate(at)))
        merged = self.rows.target.peers.gather((numbers, found))
        order = np.argsort(np.concatenate([n for own, _ in merged for n in own]))
        blocks = [block for _, own in merged for block in own]
        return [np.concatenate(column)[order] for column in zip(*blocks, strict=True)]

    def _target(self, first: int, n: int) -> tuple[Array, Vector | None]:
        y, weight = self.rows.target.rows(first, n)
        return self.scale(y), weight

    def _folds(self, flags: Spool | None, first: int, n: int) -> Folds:
        """Return the folds of n rows that this rank reads; `flags`: those that are learned from."""
        runs = self.rows.target.placement.runs(first, n)
        each = [draw_encoding_folds(rows, number, self.encoder.seed, 0) for number, rows in runs]
        folds = np.concatenate([np.empty(0, np.uint8), *each])
        return folds if flags is None else np.where(flags.read(first, n) == 1, folds, NO_FOLD)
