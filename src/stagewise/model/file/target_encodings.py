"""Statistics of levels, to and from the arrays of a model file.

The one idea: all statistics lie behind one another, and how long each part is follows from the
features; so there is nothing to believe that is not checked. This file must not know trees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.target_encoding import Statistic
from stagewise.errors import ModelFormatError
from stagewise.model.file.checks import check_starts
from stagewise.model.file.sections import STATISTICS

__all__ = ["pack_statistics", "unpack_statistics"]

Array = npt.NDArray[Any]

MOST_KEYS = 2**63


def pack_statistics(statistics: Sequence[Statistic]) -> dict[str, Array]:
    """Put statistics behind one another; nothing if there are none."""
    if not statistics:
        return {}
    return {
        "statistic_start": _starts([s.sources for s in statistics]),
        "statistic_sources": np.concatenate([np.array(s.sources, np.uint32) for s in statistics]),
        "statistic_key_start": _starts([s.keys for s in statistics]),
        "statistic_keys": np.concatenate([s.keys for s in statistics]),
        "statistic_values": np.concatenate([s.values.reshape(-1) for s in statistics]),
    }


def _starts(items: Sequence[Any]) -> npt.NDArray[np.uint64]:
    return np.cumsum([0, *map(len, items)], dtype=np.uint64)


def unpack_statistics(
    arrays: Mapping[str, Array], levels: Sequence[int], n_outputs: int
) -> list[Statistic]:
    """Take statistics apart, checking them on the way.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.
    levels : sequence of int
        How many levels each feature has; 0: it is not categorical.
    n_outputs : int
        How many scores a row has.

    Raises
    ------
    ModelFormatError
        If they are not statistics of these features.
    """
    given = {name: arrays[name] for name in STATISTICS if name in arrays}
    if not given:
        return []
    if given.keys() != STATISTICS.keys() or len(given["statistic_start"]) < 2:
        raise ModelFormatError("it has a part of the sections of statistics only")
    sources, keys, values = (given[f"statistic_{part}"] for part in ("sources", "keys", "values"))
    of_sources = check_starts(given["statistic_start"], len(sources), "statistics").tolist()
    of_keys = check_starts(given["statistic_key_start"], len(keys), "keys").tolist()
    if len(of_keys) != len(of_sources):
        raise ModelFormatError("it does not have keys for each statistic")
    if not np.isfinite(values).all():
        raise ModelFormatError("it has a statistic that is not a number")
    made, end = [], 0
    for (first, last), (begin, stop) in zip(pairwise(of_sources), pairwise(of_keys), strict=True):
        own = tuple(sources[first:last].tolist())
        counts = _check_sources(own, levels)
        its_keys = keys[begin:stop]
        _check_keys(its_keys, counts)
        n_keys = counts[0] + 2 if len(own) == 1 else len(its_keys)
        start, end = end, end + n_outputs * (n_keys + 1)
        if end > len(values):
            raise ModelFormatError("it does not have a value for each key of its statistics")
        table = values[start:end].reshape(n_outputs, n_keys + 1)
        made.append(Statistic(own, counts, its_keys, table))
    if end != len(values):
        raise ModelFormatError("it has more values than keys of its statistics")
    return made


def _check_sources(own: tuple[int, ...], levels: Sequence[int]) -> tuple[int, ...]:
    """Return how many levels each source has."""
    if not own or any(a >= b for a, b in pairwise(own)) or own[-1] >= len(levels):
        raise ModelFormatError("it has a statistic of features that it does not have")
    counts = tuple(levels[f] for f in own)
    if not all(counts):
        raise ModelFormatError("it has a statistic of a feature that is not categorical")
    return counts


def _check_keys(keys: npt.NDArray[np.uint64], counts: tuple[int, ...]) -> None:
    if len(counts) == 1:
        if len(keys):
            raise ModelFormatError("it has keys for a statistic that needs none")
        return
    places = math.prod(count + 2 for count in counts)
    if places >= MOST_KEYS or (keys[1:] <= keys[:-1]).any() or int(keys.max(initial=0)) >= places:
        raise ModelFormatError("it has keys of a statistic that do not rise, or are too large")
