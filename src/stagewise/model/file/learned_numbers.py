"""The numbers that a fit learned besides the terms, to and from the sections of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import ModelFormatError
from stagewise.model.file.checks import check_starts
from stagewise.model.file.sections import LEARNED

__all__ = ["learned_by", "pack_learned", "unpack_learned"]

Array = npt.NDArray[Any]


def learned_by(learned: Mapping[str, Array], part: str) -> dict[str, Array]:
    """Return the numbers of a part, such as "loss", without its name."""
    prefix = f"{part}."
    return {n.removeprefix(prefix): own for n, own in learned.items() if n.startswith(prefix)}


def pack_learned(learned: Mapping[str, Array]) -> dict[str, Array]:
    """Return the sections of learned numbers, in the order of their names; empty if there are none.

    Raises
    ------
    ValueError
        If the numbers of a name are not finite, or not in one dimension.
    """
    if not learned:
        return {}
    names = sorted(learned)
    values = [np.asarray(learned[name], dtype=np.float64) for name in names]
    for name, own in zip(names, values, strict=True):
        if own.ndim != 1 or not np.isfinite(own).all():
            raise ValueError(f"the learned numbers {name!r} are not finite, or not a vector")
    texts = [name.encode() for name in names]
    return {
        "learned_name_start": np.cumsum([0, *map(len, texts)], dtype=np.uint64),
        "learned_names": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "learned_start": np.cumsum([0, *map(len, values)], dtype=np.uint64),
        "learned_values": np.concatenate(values),
    }


def unpack_learned(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the checked numbers by name.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.

    Raises
    ------
    ModelFormatError
        If they are not finite numbers with different names.
    """
    given = {name: arrays[name] for name in LEARNED if name in arrays}
    if not given:
        return {}
    if given.keys() != LEARNED.keys():
        raise ModelFormatError("it has only some of the sections of learned numbers")
    name_start, text, start, values = (given[name] for name in LEARNED)
    if len(name_start) != len(start) or len(start) < 2:
        raise ModelFormatError("its learned numbers and their names differ in number")
    letters = check_starts(name_start, len(text), "names of learned numbers").tolist()
    bounds = check_starts(start, len(values), "learned numbers").tolist()
    if not np.isfinite(values).all():
        raise ModelFormatError("its learned numbers are not finite")
    try:
        names = [text[a:b].tobytes().decode() for a, b in pairwise(letters)]
    except UnicodeDecodeError:
        raise ModelFormatError("the name of its learned numbers is not valid text") from None
    if names != sorted(set(names)):
        raise ModelFormatError("the names of its learned numbers are not in order")
    return {n: values[a:b] for n, (a, b) in zip(names, pairwise(bounds), strict=True)}
