"""The search for combinations of categorical columns to encode.

A combination is useful if its ordered target encoding reduces the squared error that remains after
the encodings of its parts. First the encoding of every single column is subtracted from the target,
each row encoded from the rows before it; then, greedily, the combination with the largest gain. The
search stops when no gain is significantly above 0. This module must not import losses or trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as combined

import numpy as np
import numpy.typing as npt

from stagewise._native import CategoryKeys, Columns, Workers
from stagewise.data.categories.target_encoding import Sources

__all__ = ["find_combinations"]

Pairs = npt.NDArray[np.float32]

MAX_COMBINATIONS = 8
"""The largest number of combinations."""
MAX_FEATURES = 4
"""The largest number of features in one combination."""
MAX_COLUMNS = 16
"""The largest number of columns to combine: those with the largest gains by themselves."""
MIN_STANDARD_ERRORS = 3.0
"""The number of standard errors by which a gain must exceed 0."""
MAX_KEYS = 2**62


def find_combinations(
    workers: Workers,
    table: Columns,
    n_categories: Sequence[int],
    pairs: Sequence[Pairs],
    seed: int,
) -> list[Sources]:
    """Return combinations of features, the first chosen first.

    Parameters
    ----------
    workers : Workers
        The threads.
    table : Columns
        The training rows.
    n_categories : sequence of int
        The number of categories of each feature; 0 for a numeric feature.
    pairs : sequence of float32 arrays
        For each output, (g, h) of these rows.
    seed : int
        Determines the permutation of the rows.

    Notes
    -----
    The gain of a combination is Σ h z² - Σ h (z - m)², where z = -g/h is the residual and m the
    encoding of the row, a mean over the rows before it; with several outputs, the sum over them.
    """
    residual = _Residual(
        workers, table, n_categories, [of_output.copy() for of_output in pairs], seed
    )
    alone: list[Sources] = [(f,) for f, n in enumerate(n_categories) if n > 1]
    if len(alone) > MAX_COLUMNS:
        gains = residual.gains(alone)
        alone = sorted(sorted(alone, key=lambda s: -gains[s][0])[:MAX_COLUMNS])
    for source in sorted(alone, key=lambda s: n_categories[s[0]]):
        residual.subtract(source)
    features = [f for (f,) in alone]
    chosen: list[Sources] = []
    candidates: set[Sources] = set(combined(features, 2))
    while len(chosen) < MAX_COMBINATIONS:
        gains = residual.gains(sorted(filter(residual.countable, candidates)))
        # A candidate without a gain is dropped for good: the residual only gets smaller.
        candidates = {c for c, (gain, _) in gains.items() if gain > 0}
        significant = [c for c in candidates if gains[c][0] > MIN_STANDARD_ERRORS * gains[c][1]]
        if not significant:
            break
        best = max(significant, key=lambda c: (gains[c][0], c))
        residual.subtract(best)
        chosen.append(best)
        candidates.discard(best)
        if len(best) < MAX_FEATURES:
            candidates |= {tuple(sorted((*best, f))) for f in features if f not in best}
            candidates -= set(chosen)
    return chosen


class _Residual:
    """The residual of the target, and the gains of combinations on it."""

    def __init__(
        self,
        workers: Workers,
        table: Columns,
        n_categories: Sequence[int],
        pairs: list[Pairs],
        seed: int,
    ) -> None:
        self._workers, self._table, self._n_categories = workers, table, n_categories
        self._pairs, self._seed = pairs, seed
        self._batches: list[tuple[list[Sources], CategoryKeys]] = []

    def countable(self, source: Sources) -> bool:
        """Return whether the keys of a combination can be numbered with 64 bits."""
        return int(np.prod([float(self._n_categories[f] + 2) for f in source])) < MAX_KEYS

    def gains(self, sources: Sequence[Sources]) -> dict[Sources, tuple[float, float]]:
        """Return the gain of each combination and its standard error."""
        new = sorted(set(sources) - {s for batch, _ in self._batches for s in batch})
        if new:
            self._batches.append((new, self._keys_of(new)))
        total: dict[Sources, tuple[float, float]] = {}
        for batch, keys in self._batches:
            if not set(batch) & set(sources):
                continue
            found = [keys.gains(self._workers, pairs, self._seed, 0) for pairs in self._pairs]
            for source, *each in zip(batch, *found, strict=True):
                gain, error = (list(of_outputs) for of_outputs in zip(*each, strict=True))
                total[source] = (sum(gain), float(np.hypot.reduce(error)))
        return {source: total[source] for source in sources}

    def subtract(self, source: Sources) -> None:
        """Subtract the ordered encoding of a combination from the residual."""
        keys = self._keys_of([source])
        for pairs in self._pairs:
            strength = keys.strengths(self._workers, pairs)
            if np.isfinite(strength[0]):
                encoded = keys.ordered_means(self._workers, pairs, strength, self._seed, 0)[0]
                pairs[::2] += pairs[1::2] * encoded

    def _keys_of(self, sources: Sequence[Sources]) -> CategoryKeys:
        given = [[(f, self._n_categories[f]) for f in source] for source in sources]
        return CategoryKeys(self._workers, self._table, given, None)
