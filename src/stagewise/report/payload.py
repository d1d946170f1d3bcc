"""Facts as text that a web page reads.

The one idea: facts are dataclasses, and every array, number and text in them has one form in JSON.
What comes from data is only ever a value, never a name, so no column can be taken for a sign of
ours. Must not know any particular fact.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["as_json", "compact", "plain"]

SHORT = 24
"""Arrays with at most this many numbers are written out."""
KINDS = {"f4": "f4", "f8": "f8", "i4": "i4", "i8": "f8", "u1": "u1", "b1": "u1"}
"""How an array is packed, by its type; whole numbers of 64 bits as doubles, which hold counts."""


def compact(values: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return numbers in half the bytes, if a picture of them stays the same; else as they are.

    Single precision has seven digits, which is nothing for numbers that differ in the eighth, and
    ends at 3e38.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        small = values.astype(np.float32)
        lost = np.abs(small - values)
    finite = values[np.isfinite(values)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    worst = float(np.max(lost, initial=0.0, where=np.isfinite(values)))
    kept = worst <= 1e-4 * spread and np.isfinite(small[np.isfinite(values)]).all()
    return small if kept else values


def plain(value: Any) -> Any:
    """Return facts as dictionaries, lists, numbers and texts.

    An array becomes ``{"$": kind, "of": base64, "shape": […]}``, its bytes little-endian in the
    order of rows; a number that JSON does not know becomes ``{"$": "number", "of": "inf"}``.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): plain(v) for name, v in value.items()}
    if isinstance(value, (list, tuple, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$": "number", "of": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} has no form in a page")


def _array(array: npt.NDArray[Any]) -> Any:
    if array.ndim == 1 and array.size <= SHORT:
        return [plain(v) for v in array.tolist()]
    kind = KINDS[f"{array.dtype.kind}{array.dtype.itemsize}"]
    packed = np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<"))
    words = base64.b64encode(packed.tobytes()).decode("ascii")
    return {"$": kind, "of": words, "shape": list(array.shape)}


def as_json(value: Any) -> str:
    """Return facts as JSON that can stand inside a script element: it has no ``<`` and no ``&``."""
    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))
    # Inside strings only can these occur, where JSON lets any sign be written by its number.
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
