"""Writes the targets, weights and codes of the rows that a rank reads to the stores of the ranks.

A row goes to the rank that stores its block, see `Placement`. Rows of other ranks' blocks are sent
to them once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stagewise._native import BinLayout, RowStore, Workers
from stagewise.training.stored.dataset_rows import DatasetRows
from stagewise.training.stored.placement import BLOCK_ROWS, Segment

__all__ = ["fill_store"]

Array = npt.NDArray[Any]

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
    workers: Workers,
) -> None:
    """Write the rows of all ranks to their stores.

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
    workers : Workers
        The threads.
    """
    _Filler(store, rows, layout, workers).fill(scale)


class _Filler:
    def __init__(
        self, store: RowStore, rows: DatasetRows, layout: BinLayout, workers: Workers
    ) -> None:
        self.store, self.rows, self.layout, self.workers = store, rows, layout, workers
        self.placement, self.peers = rows.target.placement, rows.target.peers
        self.pieces: list[list[_Piece]] = [[] for _ in range(self.peers.size)]

    def fill(self, scale: Callable[[Array], Array]) -> None:
        target = self.rows.target
        for begin in range(0, len(target.y), TARGET_ROWS):
            y, weight = target.rows(begin, min(TARGET_ROWS, len(target.y) - begin))
            fields = {"target": scale(y)} | ({} if weight is None else {"weight": weight})
            for segment in self.placement.segments(begin, len(y)):
                first = segment.begin - begin
                for field, values in fields.items():
                    self._write(segment, field, values[first : first + segment.n])
        first = 0
        for columns, present in self.rows.columns():
            n = columns.n_rows if present is None else len(present)
            target.check_rows(first + n, complete=False)
            for segment in self.placement.segments(first, n):
                rows = np.arange(segment.n, dtype=np.uint32) + np.uint32(segment.begin - first)
                rows = rows if present is None else present[rows]
                self._write_codes(segment, columns, rows)
            first += n
        self.rows.target.check_rows(first)
        for received in self.peers.swap(self.pieces):
            for piece in received:
                self._store(piece.field, self.placement.position(piece.number), piece.values)

    def _write_codes(self, segment: Segment, columns: Any, rows: npt.NDArray[np.uint32]) -> None:
        own = columns if segment.n == columns.n_rows else columns.take(rows)
        if segment.owner == self.placement.rank:
            position = self.placement.position(segment.number)
            self.store.write_codes(self.workers, self.layout, own, position)
            return
        widths = [self.layout.row_bytes, *[0] * 6]
        alone = RowStore(segment.n, segment.n, BLOCK_ROWS, widths, 0, None, 1)
        alone.write_codes(self.workers, self.layout, own, 0)
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
