"""What the levels of categorical columns say about the target, as columns of numbers.

The one idea: what a level says to a training row comes from other rows only, those before it in an
order that is drawn (Prokhorenkova et al. 2018, section 3.2), and to any other row from all training
rows. There can be several orders: a tree sees one of these *versions* of the columns, the next tree
another. Must not know losses: what is averaged are pairs (g, h) of whatever the caller has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise._native import CategoryKeys, Columns, Workers, encode_keys

__all__ = ["Sources", "TargetEncoding", "TargetEncodings"]

Values = npt.NDArray[np.float32]
Rows = npt.NDArray[np.uint32]
Sources = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TargetEncoding:
    """What the levels of a feature, or combinations of levels of several, say.

    Parameters
    ----------
    sources : tuple of int
        The places of the features, increasing.
    levels : tuple of int
        How many levels each of them has.
    keys : uint64 array
        Of several sources the combinations that training rows had, increasing. The place of a
        level is its number, that of a value which is no level L, that of a missing one L + 1; a key
        is made of places as a number is of digits, the last source being the last digit. Empty with
        one source, whose keys are all L + 2 places.
    values : float32 array of shape (n_outputs, n_keys + 1)
        What each key says about each output, and last what is said where a key is not known: 0.
    """

    sources: Sources
    n_categories: tuple[int, ...]
    keys: npt.NDArray[np.uint64]
    values: Values

    def columns(self, table: Columns) -> list[Values]:
        """Return what is said to the rows of a table, a column for each output."""
        number = encode_keys(
            table, list(zip(self.sources, self.n_categories, strict=True)), self.keys
        )
        return [values[number] for values in self.values]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TargetEncoding):
            return NotImplemented
        return (
            (self.sources, self.n_categories) == (other.sources, other.n_categories)
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.values, other.values)
        )

    def __hash__(self) -> int:
        return hash((self.sources, self.n_categories))


class TargetEncodings:
    """The statistics of the rows of one table.

    A key says -Σg / (Σh + s) of its rows, the step that a leaf of these rows would take from the
    best constant. s is the variance within keys over that between keys, so that means of few rows
    are taken for what they are worth (empirical Bayes; Efron & Morris 1975).

    Parameters
    ----------
    workers : Workers
        The threads.
    columns : Columns
        All rows that were given, rows to learn from and others.
    sources : sequence of tuple of int
        What to average by.
    levels : sequence of int
        How many levels each feature has.
    rows : uint32 array or None
        The rows to learn from; None: all.
    pairs : sequence of float32 arrays
        For each output (g, h) of the rows to learn from, weights included.
    """

    def __init__(
        self,
        workers: Workers,
        columns: Columns,
        sources: Sequence[Sources],
        n_categories: Sequence[int],
        rows: Rows | None,
        pairs: Sequence[Values],
    ) -> None:
        self._workers, self._columns, self._pairs = workers, columns, pairs
        self._sources, self._n_categories = sources, n_categories
        given = [[(f, n_categories[f]) for f in source] for source in sources]
        self._keys = CategoryKeys(workers, columns, given, rows)
        self._strengths = [self._keys.strengths(workers, of_output) for of_output in pairs]

    def encodings(self) -> list[TargetEncoding]:
        """Return what all rows to learn from say."""
        means = [
            self._keys.means(self._workers, of_output, strength)
            for of_output, strength in zip(self._pairs, self._strengths, strict=True)
        ]
        return [
            TargetEncoding(
                source,
                tuple(self._n_categories[f] for f in source),
                self._keys.keys(place),
                np.stack([of_output[place] for of_output in means]),
            )
            for place, source in enumerate(self._sources)
        ]

    def version(self, seed: int, number: int) -> Columns:
        """Return the table with its statistics behind it.

        Rows to learn from are told what those before them say, in an order keyed by the seed and
        the number of the version.
        """
        told = [
            self._keys.ordered_means(self._workers, of_output, strength, seed, number)
            for of_output, strength in zip(self._pairs, self._strengths, strict=True)
        ]
        places = range(len(self._sources))
        return self._columns.extended([of_output[i] for i in places for of_output in told])
