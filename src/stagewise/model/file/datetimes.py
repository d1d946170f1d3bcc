"""What the numbers of features stand for, to and from the array of a model file.

The one idea: it decides nothing that is predicted, so a reader that does not know the section may
skip it; one that does believes no more of it than can be true. This file must not know features but
for their kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.cell import TEMPORAL_TYPES
from stagewise.data.reading.datetimes import TemporalType
from stagewise.errors import ModelFormatError
from stagewise.model.file.checks import CATEGORICAL, UINT64_CUTS

__all__ = ["pack_temporal_types", "unpack_temporal_types"]

Array = npt.NDArray[Any]

NUMBERED: tuple[TemporalType | None, ...] = (None, *TEMPORAL_TYPES)
"""The moments, as a file numbers them."""


def pack_temporal_types(temporal_types: Sequence[TemporalType | None]) -> dict[str, Array]:
    """Give the number of each feature's moment; nothing if no feature has one."""
    numbers = np.array(
        [NUMBERED.index(temporal_type) for temporal_type in temporal_types], dtype=np.uint8
    )
    return {"feature_moment": numbers} if numbers.any() else {}


def unpack_temporal_types(arrays: Mapping[str, Array], kinds: Array) -> list[TemporalType | None]:
    """Return what the numbers of each feature stand for, checking it on the way.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.
    kinds : uint8 array
        The kinds of the features.

    Raises
    ------
    ModelFormatError
        If something is said of no feature, is unknown, or is said of a feature whose numbers cannot
        be nanoseconds.
    """
    numbers = arrays.get("feature_moment")
    if numbers is None:
        return [None] * len(kinds)
    if len(numbers) != len(kinds) or not numbers.any() or numbers.max() >= len(NUMBERED):
        raise ModelFormatError("it does not say what the numbers of its features stand for")
    if numbers[(kinds == UINT64_CUTS) | (kinds == CATEGORICAL)].any():
        raise ModelFormatError("it has moments that are no signed integers")
    return [NUMBERED[number] for number in numbers.tolist()]
