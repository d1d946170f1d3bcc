"""Temporal types of features, to and from the section ``feature_moment`` of a model file.

They do not affect predictions, so a reader that does not know the section may skip it. A reader
that has it checks it against the kinds of the features.
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
"""The temporal types by their numbers in a file."""


def pack_temporal_types(temporal_types: Sequence[TemporalType | None]) -> dict[str, Array]:
    """Return the number of each feature's temporal type; empty if no feature has one."""
    numbers = np.array(
        [NUMBERED.index(temporal_type) for temporal_type in temporal_types], dtype=np.uint8
    )
    return {"feature_moment": numbers} if numbers.any() else {}


def unpack_temporal_types(arrays: Mapping[str, Array], kinds: Array) -> list[TemporalType | None]:
    """Return the checked temporal type of each feature; None for one that has none.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.
    kinds : uint8 array
        The kinds of the features.

    Raises
    ------
    ModelFormatError
        If the number of entries is wrong, a type is unknown, or a feature cannot hold nanoseconds.
    """
    numbers = arrays.get("feature_moment")
    if numbers is None:
        return [None] * len(kinds)
    if len(numbers) != len(kinds) or not numbers.any() or numbers.max() >= len(NUMBERED):
        raise ModelFormatError("the temporal types of its features are wrong")
    if numbers[(kinds == UINT64_CUTS) | (kinds == CATEGORICAL)].any():
        raise ModelFormatError("it has a temporal feature that does not hold signed integers")
    return [NUMBERED[number] for number in numbers.tolist()]
