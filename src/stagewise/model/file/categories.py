"""Levels of categorical features, to and from the arrays of a model file.

The one idea: levels have one form as arrays, so a reader takes them apart, puts them together again
and compares; whatever is out of order, twice there or written in another type shows. This file must
not know features but for their kinds.
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
"""The types of levels, as a file numbers them."""

_AS_BITS = {INT64: struct.Struct("<q"), UINT64: struct.Struct("<Q"), FLOAT64: struct.Struct("<d")}


def category_arrays(values: Sequence[Category]) -> dict[str, Array]:
    """Give the type of each level, its 64 bits (of a text: its length), and all texts."""
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
    """Put the levels of all features behind one another; nothing if no feature has any.

    Parameters
    ----------
    levels : sequence of Levels or None
        For each feature; None for one that is not categorical.
    """
    if all(its is None for its in categories):
        return {}
    values = [() if its is None else its.values for its in categories]
    return {
        "level_start": np.cumsum([0, *map(len, values)], dtype=np.uint64),
        **category_arrays([value for its in values for value in its]),
    }


def unpack_categories(arrays: Mapping[str, Array], kinds: Array) -> list[Categories | None]:
    """Take the levels of each feature apart, checking them on the way.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.
    kinds : uint8 array
        The kinds of the features.

    Raises
    ------
    ModelFormatError
        If they are not the levels of the categorical features and of no others.
    """
    given = {name: arrays[name] for name in CATEGORIES if name in arrays}
    categorical = (kinds == CATEGORICAL).tolist()
    if not any(categorical) and not given:
        return [None] * len(kinds)
    if given.keys() != CATEGORIES.keys() or len(given["level_start"]) != len(kinds) + 1:
        raise ModelFormatError("it does not have levels for each categorical feature")
    values = _values(given)
    bounds = check_starts(given["level_start"], len(values), "levels").tolist()
    categories: list[Categories | None] = []
    for its, (first, last) in zip(categorical, pairwise(bounds), strict=True):
        if last > first and not its:
            raise ModelFormatError("it has levels for a feature that needs none")
        categories.append(Categories.of(values[first:last]) if its else None)
    expected = pack_categories(categories)
    if expected.keys() != given.keys() or any(
        not np.array_equal(given[name], expected[name]) for name in expected
    ):
        raise ModelFormatError("it has levels that do not rise, or one of another type")
    return categories


def _values(given: Mapping[str, Array]) -> list[Category]:
    types, bits = given["level_type"], given["level_bits"]
    if len(types) != len(bits) or types.max(initial=0) > TEXT:
        raise ModelFormatError("it does not say of which type its levels are")
    text = given["level_text"].tobytes()
    # Python integers do not overflow, so lengths cannot wrap around to the right sum.
    lengths: list[int] = bits[types == TEXT].tolist()
    if sum(lengths) != len(text):
        raise ModelFormatError("the lengths of its levels are wrong")
    if np.isnan(bits[types == FLOAT64].view(np.float64)).any():
        raise ModelFormatError("it has a level that is not a number")
    values: list[Category] = []
    end = 0
    for kind, its in zip(types.tolist(), bits.tolist(), strict=True):
        if kind == TEXT:
            begin, end = end, end + its
            try:
                values.append(text[begin:end].decode("utf-8", "surrogatepass"))
            except UnicodeDecodeError:
                raise ModelFormatError("a level in it is not text") from None
        else:
            values.append(_AS_BITS[kind].unpack(its.to_bytes(8, "little"))[0])
    return values
