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

from stagewise.data.reading.cell import MOMENTS
from stagewise.data.reading.datetimes import Moment
from stagewise.errors import ModelFormatError
from stagewise.model.file.checks import CATEGORICAL, UINT64_CUTS

__all__ = ["pack_moments", "unpack_moments"]

Array = npt.NDArray[Any]

NUMBERED: tuple[Moment | None, ...] = (None, *MOMENTS)
"""The moments, as a file numbers them."""


def pack_moments(moments: Sequence[Moment | None]) -> dict[str, Array]:
    """Give the number of each feature's moment; nothing if no feature has one."""
    numbers = np.array([NUMBERED.index(moment) for moment in moments], dtype=np.uint8)
    return {"feature_moment": numbers} if numbers.any() else {}


def unpack_moments(arrays: Mapping[str, Array], kinds: Array) -> list[Moment | None]:
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
