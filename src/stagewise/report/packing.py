"""Arrays as text that a page can carry, and a browser unpack.

The one idea: numbers take no more bytes than they need, and the bytes of a kind lie side by side
(all first bytes, then all second bytes), where gzip finds what they have in common. Must not know
what the arrays are about.
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
        Of any numbers.
    exact : bool
        Of numbers that are not whole: whether all their digits count. If not, float32 will do
        wherever it does not overflow.
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    if not flat.size or (flat.min() >= 0 and np.array_equal(flat, np.floor(flat))):
        for kind in WHOLE:
            if flat.max(initial=0) <= np.iinfo(kind).max:
                return flat.astype(kind)
    if flat.dtype.kind != "f":
        raise ValueError("only numbers from 0 to 2**32 - 1 have a narrow type")
    with np.errstate(over="ignore"):
        short = flat.astype(np.float32)
    fits = np.array_equal(short, flat) if exact else bool(np.isfinite(short).all())
    return short if fits else flat


def pack(arrays: Mapping[str, Array]) -> tuple[list[list[Any]], str]:
    """Return what is in which place, and all of it as text.

    Parameters
    ----------
    arrays : mapping of str to array
        Of types that a browser knows as well.

    Returns
    -------
    list of [name, type, length], str
        Types as numpy writes them without the order of bytes, which is little-endian; the text is
        the base64 form of the gzip form of the arrays, each with its bytes by kind.
    """
    places, parts = [], []
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array).reshape(-1)
        little = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
        places.append([name, little.dtype.str[1:], len(little)])
        parts.append(little.view(np.uint8).reshape(-1, little.itemsize).T.tobytes())
    # No time of making: the same model is always the same text.
    packed = gzip.compress(b"".join(parts), compresslevel=9, mtime=0)
    return places, base64.b64encode(packed).decode("ascii")
