"""Categories of features, to and from the sections of a model file.

The sections are called ``level_*``, after an earlier word for categories. Categories have exactly
one representation as arrays, so a reader unpacks them, packs them again and compares: categories
that are unsorted, repeated or stored in another type are found.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import Categories, Category
from stagewise.errors import ModelFormatError
from stagewise.model.file.checks import CATEGORICAL, check_starts
from stagewise.model.file.sections import CATEGORIES

__all__ = ["category_arrays", "pack_categories", "unpack_categories"]

Array = npt.NDArray[Any]

INT64, UINT64, FLOAT64, TEXT = 0, 1, 2, 3
"""The codes of the types of categories in a file."""

_AS_BITS = {INT64: struct.Struct("<q"), UINT64: struct.Struct("<Q"), FLOAT64: struct.Struct("<d")}


def category_arrays(values: Sequence[Category]) -> dict[str, Array]:
    """Return the type of each category, its 64 bits (for a text: its length), and all texts."""
    kinds = [_type_of(value) for value in values]
    texts = [value.encode("utf-8", "surrogatepass") for value in values if isinstance(value, str)]
    lengths = iter(map(len, texts))
    bits = [
        next(lengths) if kind == TEXT else int.from_bytes(_AS_BITS[kind].pack(value), "little")
        for kind, value in zip(kinds, values, strict=True)
    ]
    return {
        "level_type": np.array(kinds, dtype=np.uint8),
        "level_bits": np.array(bits, dtype=np.uint64),
        "level_text": np.frombuffer(b"".join(texts), dtype=np.uint8),
    }


def _type_of(category: Category) -> int:
    if isinstance(category, str):
        return TEXT
    if isinstance(category, float):
        return FLOAT64
    return INT64 if category < 2**63 else UINT64


def pack_categories(categories: Sequence[Categories | None]) -> dict[str, Array]:
    """Return the concatenated categories of all features; empty if none is categorical.

    Parameters
    ----------
    categories : sequence of Categories or None
        One per feature; None for one that is not categorical.
    """
    if all(its is None for its in categories):
        return {}
    values = [() if its is None else its.values for its in categories]
    return {
        "level_start": np.cumsum([0, *map(len, values)], dtype=np.uint64),
        **category_arrays([value for its in values for value in its]),
    }


def unpack_categories(arrays: Mapping[str, Array], kinds: Array) -> list[Categories | None]:
    """Return the checked categories of each feature; None for one that is not categorical.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.
    kinds : uint8 array
        The kinds of the features.

    Raises
    ------
    ModelFormatError
        If they are not the categories of exactly the categorical features.
    """
    given = {name: arrays[name] for name in CATEGORIES if name in arrays}
    categorical = (kinds == CATEGORICAL).tolist()
    if not any(categorical) and not given:
        return [None] * len(kinds)
    if given.keys() != CATEGORIES.keys() or len(given["level_start"]) != len(kinds) + 1:
        raise ModelFormatError("it does not have categories for each categorical feature")
    values = _values(given)
    bounds = check_starts(given["level_start"], len(values), "categories").tolist()
    categories: list[Categories | None] = []
    for its, (first, last) in zip(categorical, pairwise(bounds), strict=True):
        if last > first and not its:
            raise ModelFormatError("it has categories for a feature that is not categorical")
        categories.append(Categories.of(values[first:last]) if its else None)
    expected = pack_categories(categories)
    if expected.keys() != given.keys() or any(
        not np.array_equal(given[name], expected[name]) for name in expected
    ):
        raise ModelFormatError(
            "its categories are not in increasing order, or one has the wrong type"
        )
    return categories


def _values(given: Mapping[str, Array]) -> list[Category]:
    types, bits = given["level_type"], given["level_bits"]
    if len(types) != len(bits) or types.max(initial=0) > TEXT:
        raise ModelFormatError("the types of its categories are wrong")
    text = given["level_text"].tobytes()
    # Python integers do not overflow, so lengths cannot wrap around to the right sum.
    lengths: list[int] = bits[types == TEXT].tolist()
    if sum(lengths) != len(text):
        raise ModelFormatError("the lengths of its categories are wrong")
    if np.isnan(bits[types == FLOAT64].view(np.float64)).any():
        raise ModelFormatError("one of its categories is NaN")
    values: list[Category] = []
    end = 0
    for kind, its in zip(types.tolist(), bits.tolist(), strict=True):
        if kind == TEXT:
            begin, end = end, end + its
            try:
                values.append(text[begin:end].decode("utf-8", "surrogatepass"))
            except UnicodeDecodeError:
                raise ModelFormatError("one of its categories is not valid text") from None
        else:
            values.append(_AS_BITS[kind].unpack(its.to_bytes(8, "little"))[0])
    return values
