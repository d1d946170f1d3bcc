"""Feature crosses, to and from the sections of a model file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.crosses import OPERATIONS, Cross
from stagewise.errors import ModelFormatError
from stagewise.model.file.sections import CROSSES

__all__ = ["pack_crosses", "unpack_crosses"]

Array = npt.NDArray[Any]


def pack_crosses(crosses: Sequence[Cross]) -> dict[str, Array]:
    """Return the operations and the sources; empty if there are no crosses."""
    if not crosses:
        return {}
    return {
        "cross_operation": np.array([OPERATIONS.index(c.operation) for c in crosses], np.uint8),
        "cross_sources": np.array([c.sources for c in crosses], np.uint32).reshape(-1),
    }


def unpack_crosses(arrays: Mapping[str, Array], numeric: Collection[int]) -> list[Cross]:
    """Return the checked crosses.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.
    numeric : collection of int
        The positions of the features that may be crossed.

    Raises
    ------
    ModelFormatError
        If they are not crosses of these features.
    """
    given = {name: arrays[name] for name in CROSSES if name in arrays}
    if not given:
        return []
    if given.keys() != CROSSES.keys():
        raise ModelFormatError("it has only some of the sections of feature crosses")
    operations, sources = (given[name].tolist() for name in CROSSES)
    if not operations or len(sources) != 2 * len(operations):
        raise ModelFormatError("it does not have two features for each feature cross")
    if max(operations) >= len(OPERATIONS):
        raise ModelFormatError("it has a feature cross of an unknown operation")
    if not set(sources) <= set(numeric):
        raise ModelFormatError("it has a feature cross of something that is not a numeric feature")
    pairs = zip(sources[::2], sources[1::2], strict=True)
    crosses = [Cross(OPERATIONS[o], pair) for o, pair in zip(operations, pairs, strict=True)]
    if len(set(crosses)) < len(crosses):
        raise ModelFormatError("it has the same feature cross twice")
    return crosses
