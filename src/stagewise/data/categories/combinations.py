"""Which categorical columns, and which combinations of them, are worth a statistic.

The one idea: a combination is worth one if it tells rows something that its parts do not, measured
on rows that had no say in it. First every column takes its part of the target away, each row told
the mean of the rows before it; then, again and again, the combination that explains most of what is
left. Combinations that chance explains as well are left out. Must not know losses or trees.
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

MOST = 8
"""Combinations that are kept."""
MOST_TOGETHER = 4
"""Features in one combination."""
MOST_COLUMNS = 16
"""Columns that are combined; of more, those that explain most by themselves."""
SURE = 3.0
"""Standard errors that a gain must be above 0."""
MOST_KEYS = 2**62


def find_combinations(
    workers: Workers,
    table: Columns,
    n_categories: Sequence[int],
    pairs: Sequence[Pairs],
    seed: int,
) -> list[Sources]:
    """Return combinations of features, the most telling first.

    Parameters
    ----------
    workers : Workers
        The threads.
    table : Columns
        The rows to learn from.
    levels : sequence of int
        How many levels each feature has; 0: a number.
    pairs : sequence of float32 arrays
        For each output (g, h) of these rows.
    seed : int
        Keys the order of the rows.

    Notes
    -----
    The gain of a combination is Σ [h (z - m)² before - after], z = -g/h being what is left and m
    the mean of the rows before; with several outputs, the sum over them.
    """
    left = _Left(workers, table, n_categories, [of_output.copy() for of_output in pairs], seed)
    alone: list[Sources] = [(f,) for f, n in enumerate(n_categories) if n > 1]
    if len(alone) > MOST_COLUMNS:
        gains = left.gains(alone)
        alone = sorted(sorted(alone, key=lambda s: -gains[s][0])[:MOST_COLUMNS])
    for source in sorted(alone, key=lambda s: n_categories[s[0]]):
        left.take(source)
    features = [f for (f,) in alone]
    chosen: list[Sources] = []
    candidates: set[Sources] = set(combined(features, 2))
    while len(chosen) < MOST:
        gains = left.gains(sorted(filter(left.countable, candidates)))
        # What says nothing now will not when less is left.
        candidates = {c for c, (gain, _) in gains.items() if gain > 0}
        sure = [c for c in candidates if gains[c][0] > SURE * gains[c][1]]
        if not sure:
            break
        best = max(sure, key=lambda c: (gains[c][0], c))
        left.take(best)
        chosen.append(best)
        candidates.discard(best)
        if len(best) < MOST_TOGETHER:
            candidates |= {tuple(sorted((*best, f))) for f in features if f not in best}
            candidates -= set(chosen)
    return chosen


class _Left:
    """What is left of the target, and how much of it each kind of keys explains."""

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
        """Whether there are not too many combinations to number them."""
        return int(np.prod([float(self._n_categories[f] + 2) for f in source])) < MOST_KEYS

    def gains(self, sources: Sequence[Sources]) -> dict[Sources, tuple[float, float]]:
        """Return gain and standard error of each."""
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

    def take(self, source: Sources) -> None:
        """Take away what these keys explain, each row told by those before it."""
        keys = self._keys_of([source])
        for pairs in self._pairs:
            strength = keys.strengths(self._workers, pairs)
            if np.isfinite(strength[0]):
                encoded = keys.ordered_means(self._workers, pairs, strength, self._seed, 0)[0]
                pairs[::2] += pairs[1::2] * encoded

    def _keys_of(self, sources: Sequence[Sources]) -> CategoryKeys:
        given = [[(f, self._n_categories[f]) for f in source] for source in sources]
        return CategoryKeys(self._workers, self._table, given, None)
