"""Ordered target encoding of categorical columns.

The encoding of a training row is computed from the rows before it in a random permutation only
(Prokhorenkova et al. 2018, section 3.2); the encoding of any other row from all training rows. With
several permutations there are several *versions* of the encoded columns, and trees use them in
turn. The module averages pairs (g, h) that the caller computes; it must not import losses.
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
    """The target encoding of a feature, or of a combination of features.

    Parameters
    ----------
    sources : tuple of int
        The positions of the features, increasing.
    n_categories : tuple of int
        The number of categories of each of them.
    keys : uint64 array
        With several sources, the combinations that occur in the training rows, increasing. A known
        category has the digit of its code, an unknown category the digit L, a missing value
        L + 1; a key is the number with these digits, the last source being the last digit. Empty
        with one source, whose keys are the digits 0 to L + 1.
    values : float32 array of shape (n_outputs, n_keys + 1)
        The encoding of each key for each output; the last column, 0, is for unknown keys.
    """

    sources: Sources
    n_categories: tuple[int, ...]
    keys: npt.NDArray[np.uint64]
    values: Values

    @property
    def n_columns(self) -> int:
        """The number of columns: one per output."""
        return len(self.values)

    def label(self, names: Sequence[str]) -> str:
        """Return the name of the columns, from the names of the sources."""
        return f"target encoding of {' × '.join(names)}"

    def columns(self, table: Columns) -> list[Values]:
        """Return the encoded columns of a table, one per output."""
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
    """The target encodings of the rows of one table.

    The encoding of a key is -Σg / (Σh + s) over its rows: the value that a leaf with these rows
    would have after one Newton step from the best constant. The smoothing s is the variance within
    keys divided by the variance between keys, so means of few rows are shrunk towards 0 (empirical
    Bayes; Efron & Morris 1975).

    Parameters
    ----------
    workers : Workers
        The threads.
    columns : Columns
        All rows, training rows and others.
    sources : sequence of tuple of int
        The features, and combinations of features, to encode.
    n_categories : sequence of int
        The number of categories of each feature.
    rows : uint32 array or None
        The training rows; None: all.
    pairs : sequence of float32 arrays
        For each output, (g, h) of the training rows, weights included.
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
        """Return the encodings computed from all training rows."""
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
        """Return the table with the encoded columns appended.

        A training row is encoded from the rows before it, in a permutation that depends on the
        seed and the number of the version.
        """
        encoded = [
            self._keys.ordered_means(self._workers, of_output, strength, seed, number)
            for of_output, strength in zip(self._pairs, self._strengths, strict=True)
        ]
        places = range(len(self._sources))
        return self._columns.extended([of_output[i] for i in places for of_output in encoded])
