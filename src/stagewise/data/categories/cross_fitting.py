"""Target encoding of many rows by cross fitting.

A hash of its number puts each training row into one of eight folds. The encoding of a training row
is computed from the rows of the other folds; that of any other row from all training rows. Sums are
whole numbers, so neither the order of the rows nor their division into blocks, threads and machines
changes an encoding. The module averages pairs (g, h) that the caller computes; it must not import
losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np
import numpy.typing as npt

from stagewise._native import (
    ENCODING_FOLDS,
    Columns,
    KeyIndices,
    Workers,
    add_key_sums,
    key_strength,
    look_up_keys,
)
from stagewise.cluster.peers import ALONE, Peers
from stagewise.data.categories.target_encoding import Sources, TargetEncoding, Values

__all__ = [
    "INDEX_BYTES",
    "KEY_BYTES",
    "NO_FOLD",
    "CrossFitting",
    "KeyedRows",
    "learn_cross_fitting",
]

NO_FOLD = ENCODING_FOLDS
"""The fold of a row that is not learned from."""
SUM_BITS = 61
"""A sum of whole numbers has at most this many bits."""
KEY_BYTES = (2 * 8 + 4) * (ENCODING_FOLDS + 1)
"""The memory of a key: its sums and its encodings, of one output."""
INDEX_BYTES = 80
"""The memory of a key in the index, which grows by doubling."""

Folds = npt.NDArray[np.uint8]
Vector = npt.NDArray[np.float64]
Sums = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KeyedRows:
    """A block of rows.

    Attributes
    ----------
    columns : Columns
        Their features.
    folds : uint8 array
        The fold of each row; `NO_FOLD`: it is not learned from.
    pairs : sequence of float32 arrays
        For each output, (g, h) of each row, weights included.
    """

    columns: Columns
    folds: Folds
    pairs: Sequence[Values]

    def learned(self) -> Columns:
        """Return the features of the rows that are learned from."""
        rows = np.flatnonzero(self.folds != NO_FOLD).astype(np.uint32)
        return self.columns if len(rows) == len(self.folds) else self.columns.take(rows)

    def terms(self, output: int) -> tuple[Vector, Vector, Vector]:
        """Return g and h of the rows that are learned from, and g²/h of those with h > 0."""
        g, h = self.pairs[output].reshape(-1, 2)[self.folds != NO_FOLD].T.astype(np.float64)
        some = h > 0
        return g, h, g[some] ** 2 / h[some]


Blocks = Callable[[], Iterable[KeyedRows]]
"""Returns the rows in blocks; they can be read again."""


@dataclass(frozen=True)
class CrossFitting:
    """The encodings of the keys of each kind, for the rows of each fold.

    Parameters
    ----------
    workers : Workers
        The threads.
    sources : sequence of tuple of int
        The features, and combinations of features, that are encoded.
    n_categories : sequence of int
        The number of categories of each feature.
    index : KeyIndices
        The keys of each kind.
    values : list of lists of float32 arrays of shape (n_folds + 1, n_keys + 1)
        For each kind and output: the encoding of each key for the rows of each fold, and in the
        last row, for rows that were not learned from. The last column, 0, is for unknown keys.
    """

    workers: Workers
    sources: Sequence[Sources]
    n_categories: Sequence[int]
    index: KeyIndices
    values: list[list[Values]] = field(default_factory=list)

    def encodings(self) -> list[TargetEncoding]:
        """Return the encodings computed from all training rows."""
        return [
            TargetEncoding(
                source,
                tuple(self.n_categories[f] for f in source),
                self.index.keys(kind),
                np.stack([of_output[NO_FOLD] for of_output in self.values[kind]]),
            )
            for kind, source in enumerate(self.sources)
        ]

    def columns(self, table: Columns, folds: Folds) -> list[Values]:
        """Return the encoded columns of rows, which have these folds; see `TargetEncodings`."""
        numbers = self.index.numbers(self.workers, table)
        return [
            look_up_keys(number, folds, of_output.reshape(-1))
            for number, of_outputs in zip(numbers, self.values, strict=True)
            for of_output in of_outputs
        ]


def learn_cross_fitting(
    workers: Workers,
    sources: Sequence[Sources],
    n_categories: Sequence[int],
    n_rows: int,
    n_outputs: int,
    blocks: Blocks,
    check: Callable[[int], None] | None = None,
    most_keys: int | None = None,
    peers: Peers = ALONE,
) -> CrossFitting:
    """Learn target encodings by cross fitting.

    Parameters
    ----------
    workers : Workers
        The threads.
    sources : sequence of tuple of int
        The features, and combinations of features, to encode.
    n_categories : sequence of int
        The number of categories of each feature.
    n_rows : int
        The number of rows, of all ranks; a bound is enough.
    n_outputs : int
        The number of outputs.
    blocks : callable
        Returns the rows of this rank in blocks.
    check : callable or None
        Gets a number of keys of all kinds, before memory is taken for their sums; it raises if
        there are too many.
    most_keys : int or None
        The search for keys ends at this number of them, and `check` gets it; None: no limit.
    peers : Peers
        The ranks, each with a part of the rows.
    """
    index = KeyIndices([[(f, n_categories[f]) for f in source] for source in sources])
    largest = np.zeros((n_outputs, 3))
    for block in blocks():
        index.find(workers, block.learned())
        for output in range(n_outputs):
            most = [np.abs(term).max(initial=0.0) for term in block.terms(output)]
            largest[output] = np.maximum(largest[output], most)
        if most_keys is not None and _n_keys(index, sources) > most_keys:
            break  # all ranks raise after the rows
    kinds = range(len(sources))
    if check is not None:
        check(max(peers.gather(_n_keys(index, sources))))
    _merge_keys(index, sources, peers)
    if check is not None:
        check(_n_keys(index, sources))
    largest = reduce(np.maximum, peers.gather(largest))
    scales = [[_scale(most, n_rows) for most in of_output] for of_output in largest.tolist()]
    sums = [_KeySums.empty(index, kinds) for _ in range(n_outputs)]
    for block in blocks():
        numbers = index.numbers(workers, block.columns)
        for output, (own, scale) in enumerate(zip(sums, scales, strict=True)):
            own.add(workers, numbers, block, output, scale)
    values = []
    for own, scale in zip(sums, scales, strict=True):
        own.merge(peers)
        values.append([own.means(kind, scale) for kind in kinds])
    by_kind = [list(of_kind) for of_kind in zip(*values, strict=True)]
    return CrossFitting(workers, sources, n_categories, index, by_kind)


def _n_keys(index: KeyIndices, sources: Sequence[Sources]) -> int:
    """Return the number of keys of all kinds."""
    return sum(index.n_keys(kind) for kind in range(len(sources)))


def _merge_keys(index: KeyIndices, sources: Sequence[Sources], peers: Peers) -> None:
    """Merge the combinations that the rows of the ranks have."""
    several = [kind for kind, source in enumerate(sources) if len(source) > 1]
    found = peers.gather([index.keys(kind) for kind in several])
    for kind, *keys in zip(several, *found, strict=True):
        index.set_keys(kind, np.unique(np.concatenate(keys)))


def _scale(largest: float, n_rows: int) -> float:
    """Return the power of two by which terms are multiplied before they are rounded."""
    if not math.isfinite(largest):
        raise ValueError(
            "The gradients of the loss at its best constant are beyond the range of a float32, so "
            "categories cannot be target-encoded. Rescale y, or set category_encoding='sets'."
        )
    bits = math.frexp(largest)[1] + n_rows.bit_length()
    return math.ldexp(1.0, min(SUM_BITS - bits, 1000))


@dataclass
class _KeySums:
    """The sums of one output.

    Attributes
    ----------
    pairs : list of int64 arrays of length n_folds * (n_keys + 1) * 2
        For each kind, the sums of g and h of each key in each fold.
    total : int64 array
        The sum of g²/h and the number of rows.
    """

    pairs: list[Sums]
    total: Sums

    @classmethod
    def empty(cls, index: KeyIndices, kinds: Iterable[int]) -> _KeySums:
        sizes = [ENCODING_FOLDS * (index.n_keys(kind) + 1) * 2 for kind in kinds]
        return cls([np.zeros(size, dtype=np.int64) for size in sizes], np.zeros(2, dtype=np.int64))

    def add(
        self,
        workers: Workers,
        numbers: Sequence[npt.NDArray[np.uint32]],
        block: KeyedRows,
        output: int,
        scale: Sequence[float],
    ) -> None:
        """Add a block of rows."""
        add_key_sums(
            workers, numbers, block.folds, block.pairs[output], scale[0], scale[1], self.pairs
        )
        squares = block.terms(output)[2]
        self.total += np.array([np.rint(squares * scale[2]).astype(np.int64).sum(), len(squares)])

    def merge(self, peers: Peers) -> None:
        """Add the sums of the other ranks."""
        for own in (*self.pairs, self.total):
            peers.sum(own)

    def means(self, kind: int, scale: Sequence[float]) -> Values:
        """Return the encodings of the keys of a kind; see `CrossFitting`."""
        of_folds = self.pairs[kind].reshape(ENCODING_FOLDS, -1, 2)
        whole = of_folds.sum(axis=0)
        target, unit = (np.ascontiguousarray(whole[:, i] / scale[i]) for i in range(2))
        squares, rows = self.total[0] / scale[2], float(self.total[1])
        strength = key_strength(-target, unit, float(squares), rows)
        mean = partial(_means, strength=strength, scale=scale)
        return np.stack([*(mean(whole - own) for own in of_folds), mean(whole)])


def _means(sums: Sums, strength: float, scale: Sequence[float]) -> Values:
    """Return -Σg / (Σh + strength) of each key; 0 without rows."""
    target, unit = sums[:, 0] / scale[0], sums[:, 1] / scale[1] + strength
    means = np.zeros(len(sums), dtype=np.float32)
    np.divide(-target, unit, out=means, where=unit > 0, casting="same_kind")
    return means
