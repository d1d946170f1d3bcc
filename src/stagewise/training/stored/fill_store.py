"""Writes the targets, weights and codes of the rows that a rank reads to the stores of the ranks.

A row goes to the rank that stores its block, see `Placement`. Rows of other ranks' blocks are sent
to them once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stagewise._native import BinLayout, RowStore, Workers
from stagewise.training.stored.dataset_rows import DatasetRows
from stagewise.training.stored.placement import BLOCK_ROWS, Segment
from stagewise.training.stored.spool import Spool

__all__ = ["Append", "fill_store", "fill_weights"]

Array = npt.NDArray[Any]
Append = Callable[[Any, npt.NDArray[np.uint32] | None, int], Any]

TARGET_ROWS = 1 << 16
"""The rows whose targets are read at once."""


class _Piece(NamedTuple):
    """A field of some rows that another rank stores, from the number of a row on."""

    field: str
    number: int
    values: Array


def fill_store(
    store: RowStore,
    rows: DatasetRows,
    layout: BinLayout,
    scale: Callable[[Array], Array],
    append: Append,
    workers: Workers,
) -> None:
    """Write the rows of all ranks to their stores; weights only if they are not all 1.

    Parameters
    ----------
    store : RowStore
        The store of this rank; it has the blocks of the placement of the rows.
    rows : DatasetRows
        The rows that this rank reads.
    layout : BinLayout
        How values become codes.
    scale : callable
        Returns targets in the units of the loss.
    append : callable
        Appends the columns that are computed from those of a batch; it also gets which of its rows
        are stored (None: all), and the first of these, among the rows that this rank reads.
    workers : Workers
        The threads.
    """
    filler = _Filler(store, rows)
    filler.write_targets(scale)
    if rows.target.weight is not None:
        filler.write_weights(None)
    filler.write_codes(layout, append, workers)
    filler.send()


def fill_weights(store: RowStore, rows: DatasetRows, factor: Spool | None) -> None:
    """Write the weights of the rows of all ranks to their stores, anew.

    Parameters
    ----------
    store : RowStore
        The store of this rank; it must have weights.
    rows : DatasetRows
        The rows that this rank reads.
    factor : Spool or None
        A factor of the weight of each row; None: 1.
    """
    filler = _Filler(store, rows)
    filler.write_weights(factor)
    filler.send()


class _Filler:
    def __init__(self, store: RowStore, rows: DatasetRows) -> None:
        self.store, self.rows = store, rows
        self.placement, self.peers = rows.target.placement, rows.target.peers
        self.pieces: list[list[_Piece]] = [[] for _ in range(self.peers.size)]

    def write_targets(self, scale: Callable[[Array], Array]) -> None:
        for begin, n in self._blocks():
            self._write_block("target", begin, scale(self.rows.target.y.read(begin, n)))

    def write_weights(self, factor: Spool | None) -> None:
        for begin, n in self._blocks():
            weight = self.rows.target.rows(begin, n)[1]
            own = np.ones(n) if weight is None else weight
            own = own if factor is None else own * factor.read(begin, n)
            self._write_block("weight", begin, own)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        n = len(self.rows.target.y)
        return ((begin, min(TARGET_ROWS, n - begin)) for begin in range(0, n, TARGET_ROWS))

    def _write_block(self, field: str, begin: int, values: Array) -> None:
        for segment in self.placement.segments(begin, len(values)):
            first = segment.begin - begin
            self._write(segment, field, values[first : first + segment.n])

    def write_codes(self, layout: BinLayout, append: Append, workers: Workers) -> None:
        first = 0
        for batch, present in self.rows.columns():
            columns = append(batch, present, first)
            n = columns.n_rows if present is None else len(present)
            for segment in self.placement.segments(first, n):
                rows = np.arange(segment.n, dtype=np.uint32) + np.uint32(segment.begin - first)
                rows = rows if present is None else present[rows]
                own = columns if segment.n == columns.n_rows else columns.take(rows)
                self._write_codes(segment, own, layout, workers)
            first += n

    def send(self) -> None:
        """Send the rows that other ranks store, and store those that they send."""
        for received in self.peers.swap(self.pieces):
            for piece in received:
                self._store(piece.field, self.placement.position(piece.number), piece.values)

    def _write_codes(
        self, segment: Segment, columns: Any, layout: BinLayout, workers: Workers
    ) -> None:
        if segment.owner == self.placement.rank:
            position = self.placement.position(segment.number)
            self.store.write_codes(workers, layout, columns, position)
            return
        widths = [layout.row_bytes, *[0] * 8]
        alone = RowStore(segment.n, segment.n, BLOCK_ROWS, widths, 0, None, 1)
        alone.write_codes(workers, layout, columns, 0)
        self._write(segment, "codes", alone.read_codes(0, segment.n))

    def _write(self, segment: Segment, field: str, values: Array) -> None:
        """Store a field of rows, or keep it for the rank that stores it."""
        if segment.owner == self.placement.rank:
            self._store(field, self.placement.position(segment.number), values)
        else:
            self.pieces[segment.owner].append(_Piece(field, segment.number, values.copy()))

    def _store(self, field: str, position: int, values: Array) -> None:
        if field == "codes":
            self.store.copy_codes(position, values)
        elif field == "weight":
            self.store.write_weight(position, values)
        else:
            self.store.write_target(position, values)
