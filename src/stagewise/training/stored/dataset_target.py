"""The targets and weights of a dataset: one pass reads them, and files keep them.

Rows of weight zero are absent: only the others have a number. Neither the sizes of the files nor
those of the batches change anything. On a cluster, each rank reads some of the rows; scales,
classes and sums are those of the rows of all ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cluster.peers import ALONE, Peers
from stagewise.data.target import FrequencyScale
from stagewise.exact_sums import ExactSums
from stagewise.training.reading.class_weights import class_factors
from stagewise.training.stored.placement import Placement
from stagewise.training.stored.row_parts import ABSENT, LEARNED, RowParts
from stagewise.training.stored.spool import BLOCK, Spool

__all__ = ["DatasetTarget"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DatasetTarget:
    """The targets and weights of some rows of positive weight.

    Attributes
    ----------
    y : Spool
        Of the rows that this rank reads: float64, or int32 codes of classes.
    weight : Spool or None
        The weights as the dataset has them; None: all ones.
    scale : FrequencyScale
        How they become frequencies.
    classes : array or None
        The labels in the order of their codes; None: regression.
    placement : Placement
        The numbers of the rows in the fit.
    n_read : int
        The number of rows that this rank reads in a pass, with those that are not in this set.
    row_parts : RowParts or None
        Which of them are in this set; None: all.
    peers : Peers
        The ranks of the fit.
    """

    y: Spool
    weight: Spool | None
    scale: FrequencyScale
    classes: npt.NDArray[Any] | None
    placement: Placement
    n_read: int
    row_parts: RowParts | None = None
    peers: Peers = ALONE

    @property
    def n_rows(self) -> int:
        """The number of rows of all ranks."""
        return self.placement.n_all

    def rows(self, begin: int, n: int) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the targets and the frequencies of n rows."""
        weight = None if self.weight is None else self.scale.apply(self.weight.read(begin, n))
        return self.y.read(begin, n), weight

    def blocks(self) -> Iterator[tuple[npt.NDArray[Any], Vector | None]]:
        """Read the targets and frequencies in blocks."""
        begin = 0
        for y in self.y.blocks():
            yield y, self.rows(begin, len(y))[1]
            begin += len(y)

    def chosen_rows(self, begin: int, n: int) -> npt.NDArray[np.uint32] | None:
        """Return which of n rows that this rank reads are in this set; None: all.

        Raises
        ------
        ValueError
            If the first pass had fewer rows.
        """
        self.check_rows(begin + n, complete=False)
        return None if self.row_parts is None else self.row_parts.rows(begin, n)

    def check_rows(self, n: int, *, complete: bool = True) -> None:
        """Raise unless a pass has had as many rows as the first one.

        With `complete=False` the pass goes on.
        """
        if n > self.n_read or (complete and n < self.n_read):
            raise ValueError(
                f"The rows of the dataset have changed between two passes: the first one had "
                f"{self.n_read:,} rows, and a later one has "
                f"{'more' if n > self.n_read else f'{n:,}'}. Fit again when the rows stay the same."
            )

    # Sums of all ranks are functions: before Python 3.12, a cached property holds a lock while it
    # waits for the other ranks.

    def total_weight(self) -> tuple[float, bool]:
        """Return the sum of the frequencies, and whether all of them are whole numbers."""
        if self.weight is None:
            return float(self.n_rows), True
        sums, whole = ExactSums.nothing(), True
        for block in self.weight.blocks():
            own = self.scale.apply(block)
            sums += ExactSums.of_rows(own)
            whole = whole and bool((own == np.floor(own)).all())
        return float(sums.over(self.peers).values[0]), all(self.peers.gather(whole))

    def class_weights(self) -> Vector:
        """Return the sum of the frequencies of each class."""
        assert self.classes is not None
        n = len(self.classes)
        sums = ExactSums.by_code(np.empty(0, np.int32), n)
        for codes, weight in self.blocks():
            sums += ExactSums.by_code(codes, n, weight)
        return sums.over(self.peers).values

    def everywhere(self) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the targets and frequencies of the rows of all ranks, in any order."""
        every = [block for blocks in self.peers.gather(list(self.blocks())) for block in blocks]
        y = np.concatenate([block for block, _ in every])
        weights = [weight for _, weight in every if weight is not None]
        return y, np.concatenate(weights) if weights else None

    # ---- other sets of rows ----------------------------------------------------------------------

    def part(self, row_parts: RowParts) -> DatasetTarget:
        """Return the rows of this set that are in some parts."""
        y = Spool(self.y.dtype, self.y.folder)
        weight = None if self.weight is None else Spool(np.float64, self.y.folder)
        counts = np.zeros(len(self.placement.own_partitions), dtype=np.int64)
        for read, first, own in self._reads():
            chosen = row_parts.mask(read, len(own))[own]
            np.add.at(counts, self.placement.partition_of(first + np.flatnonzero(chosen)), 1)
            y.append(self.y.read(first, len(chosen))[chosen])
            if self.weight is not None and weight is not None:
                weight.append(self.weight.read(first, len(chosen))[chosen])
        by_partition = dict(zip(self.placement.own_partitions, counts.tolist(), strict=True))
        placement = Placement.gather(by_partition, self.peers)
        found = replace(self, y=y, weight=weight, placement=placement, row_parts=row_parts)
        return found.without_ones()

    def divide(self, part_of: Callable[[npt.NDArray[Any], int, int], npt.NDArray[Any]]) -> Spool:
        """Return the part of every row that is read; rows that are not in this set are absent.

        `part_of` returns the parts of rows; it gets their targets, the first of them and their
        number.
        """
        parts = Spool(np.int8, self.y.folder)
        for _, first, own in self._reads():
            n = int(own.sum())
            block = np.full(len(own), ABSENT, dtype=np.int8)
            block[own] = part_of(self.y.read(first, n), first, n)
            parts.append(block)
        return parts

    def flags(self, row_parts: RowParts) -> Spool:
        """Return whether each row of this set is in some parts, as 1 or 0."""
        flags = Spool(np.int8, self.y.folder)
        for read, _, own in self._reads():
            flags.append(row_parts.mask(read, len(own))[own])
        return flags

    def _reads(self) -> Iterator[tuple[int, int, npt.NDArray[np.bool_]]]:
        """Divide a pass into blocks.

        Returns the first row of each block, the first row of it in this set, and which rows of the
        block are in this set.
        """
        first = 0
        for read in range(0, self.n_read, BLOCK):
            n = min(BLOCK, self.n_read - read)
            own = np.ones(n, bool) if self.row_parts is None else self.row_parts.mask(read, n)
            yield read, first, own
            first += int(own.sum())

    def without_ones(self) -> DatasetTarget:
        """Return the same rows without weights if all of them are 1."""
        if self.weight is None:
            return self
        ones = all((self.scale.apply(w) == 1.0).all() for w in self.weight.blocks())
        return replace(self, weight=None) if all(self.peers.gather(ones)) else self

    def weighted_by_class(self, class_weight: Any) -> DatasetTarget:
        """Return the rows with weights that are multiplied by the factors of their classes.

        A class with the factor 0 is absent; see `class_weighted`.
        """
        assert self.classes is not None
        factor = class_factors(class_weight, self.classes, self.class_weights())
        product = Spool(np.float64, self.y.folder)
        for codes, weight in self.blocks():
            product.append(factor[codes] if weight is None else factor[codes] * weight)
        scale = FrequencyScale.learn(product.blocks, self.total_weight()[0], self.peers)
        found, alive = replace(self, weight=product, scale=scale), factor > 0.0
        return found.without_ones() if alive.all() else found.of_classes(alive)

    def of_classes(self, alive: npt.NDArray[np.bool_]) -> DatasetTarget:
        """Return the rows of some classes."""
        assert self.classes is not None
        of_rows = self.divide(lambda y, _first, _n: np.where(alive[y], LEARNED, ABSENT))
        kept = self.part(RowParts(of_rows))
        renumbered = (np.cumsum(alive) - 1).clip(0).astype(np.int32)
        codes = Spool(np.int32, self.y.folder)
        for block in kept.y.blocks():
            codes.append(renumbered[block])
        return replace(kept, y=codes, classes=self.classes[alive])
