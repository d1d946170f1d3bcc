"""Packs arrays as compact text for a web page.

Numbers use the narrowest type that holds them, and the bytes are grouped (all first bytes, then all
second bytes, …), which compresses better.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["narrow", "pack"]

Array = npt.NDArray[Any]

WHOLE = (np.uint8, np.uint16, np.uint32)


def narrow(values: Array, *, exact: bool = True) -> Array:
    """Return numbers in the narrowest type that holds them.

    Parameters
    ----------
    values : array
        Numbers.
    exact : bool
        Whether non-integers must be exact. If not, float32 is used unless it overflows.
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    if not flat.size or (flat.min() >= 0 and np.array_equal(flat, np.floor(flat))):
        for kind in WHOLE:
            if flat.max(initial=0) <= np.iinfo(kind).max:
                return flat.astype(kind)
    if flat.dtype.kind != "f":
        raise ValueError("integers must be from 0 to 2**32 - 1")
    with np.errstate(over="ignore"):
        short = flat.astype(np.float32)
    fits = np.array_equal(short, flat) if exact else bool(np.isfinite(short).all())
    return short if fits else flat


def pack(arrays: Mapping[str, Array]) -> tuple[list[list[Any]], str]:
    """Pack arrays into one text.

    Parameters
    ----------
    arrays : mapping of str to array
        Arrays of types that a browser supports.

    Returns
    -------
    list of [name, type, length], str
        The layout, with numpy's type names without the byte order (little-endian); and the text:
        base64 of gzip of all arrays, each with its bytes grouped by significance.
    """
    places, parts = [], []
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array).reshape(-1)
        little = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
        places.append([name, little.dtype.str[1:], len(little)])
        parts.append(little.view(np.uint8).reshape(-1, little.itemsize).T.tobytes())
    # Without a time stamp: the same model always gives the same text.
    packed = gzip.compress(b"".join(parts), compresslevel=9, mtime=0)
    return places, base64.b64encode(packed).decode("ascii")
