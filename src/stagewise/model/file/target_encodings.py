"""Target encodings, to and from the sections of a model file.

The sections are called ``statistic_*``, after an earlier word for target encodings. The encodings
are concatenated, and the length of each part follows from the features, so everything is checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.target_encoding import TargetEncoding
from stagewise.errors import ModelFormatError
from stagewise.model.file.checks import check_starts
from stagewise.model.file.sections import TARGET_ENCODINGS

__all__ = ["pack_target_encodings", "unpack_target_encodings"]

Array = npt.NDArray[Any]

MOST_KEYS = 2**63


def pack_target_encodings(encodings: Sequence[TargetEncoding]) -> dict[str, Array]:
    """Return the concatenated encodings; empty if there are none."""
    if not encodings:
        return {}
    return {
        "statistic_start": _starts([s.sources for s in encodings]),
        "statistic_sources": np.concatenate([np.array(s.sources, np.uint32) for s in encodings]),
        "statistic_key_start": _starts([s.keys for s in encodings]),
        "statistic_keys": np.concatenate([s.keys for s in encodings]),
        "statistic_values": np.concatenate([s.values.reshape(-1) for s in encodings]),
    }


def _starts(items: Sequence[Any]) -> npt.NDArray[np.uint64]:
    return np.cumsum([0, *map(len, items)], dtype=np.uint64)


def unpack_target_encodings(
    arrays: Mapping[str, Array], n_categories: Sequence[int], n_outputs: int
) -> list[TargetEncoding]:
    """Return the checked target encodings.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.
    n_categories : sequence of int
        The number of categories of each feature; 0 for one that is not categorical.
    n_outputs : int
        The number of scores per row.

    Raises
    ------
    ModelFormatError
        If they are not encodings of these features.
    """
    given = {name: arrays[name] for name in TARGET_ENCODINGS if name in arrays}
    if not given:
        return []
    if given.keys() != TARGET_ENCODINGS.keys() or len(given["statistic_start"]) < 2:
        raise ModelFormatError("it has only some of the sections of target encodings")
    sources, keys, values = (given[f"statistic_{part}"] for part in ("sources", "keys", "values"))
    of_sources = check_starts(given["statistic_start"], len(sources), "target encodings").tolist()
    of_keys = check_starts(given["statistic_key_start"], len(keys), "keys").tolist()
    if len(of_keys) != len(of_sources):
        raise ModelFormatError("it does not have keys for each target encoding")
    if not np.isfinite(values).all():
        raise ModelFormatError("it has a target encoding that is not finite")
    made, end = [], 0
    for (first, last), (begin, stop) in zip(pairwise(of_sources), pairwise(of_keys), strict=True):
        own = tuple(sources[first:last].tolist())
        counts = _check_sources(own, n_categories)
        its_keys = keys[begin:stop]
        _check_keys(its_keys, counts)
        n_keys = counts[0] + 2 if len(own) == 1 else len(its_keys)
        start, end = end, end + n_outputs * (n_keys + 1)
        if end > len(values):
            raise ModelFormatError("it does not have a value for each key of its target encodings")
        table = values[start:end].reshape(n_outputs, n_keys + 1)
        made.append(TargetEncoding(own, counts, its_keys, table))
    if end != len(values):
        raise ModelFormatError("it has more values than keys of its target encodings")
    return made


def _check_sources(own: tuple[int, ...], n_categories: Sequence[int]) -> tuple[int, ...]:
    """Return the number of categories of each source."""
    if not own or any(a >= b for a, b in pairwise(own)) or own[-1] >= len(n_categories):
        raise ModelFormatError("it has a target encoding of features that do not exist")
    counts = tuple(n_categories[f] for f in own)
    if not all(counts):
        raise ModelFormatError("it has a target encoding of a feature that is not categorical")
    return counts


def _check_keys(keys: npt.NDArray[np.uint64], counts: tuple[int, ...]) -> None:
    if len(counts) == 1:
        if len(keys):
            raise ModelFormatError("it has keys for a target encoding of one feature")
        return
    places = math.prod(count + 2 for count in counts)
    if places >= MOST_KEYS or (keys[1:] <= keys[:-1]).any() or int(keys.max(initial=0)) >= places:
        raise ModelFormatError("the keys of a target encoding are not increasing, or too large")
