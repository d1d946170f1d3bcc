"""Serializes the data of a report as JSON for a web page.

Data classes, arrays, numbers and text each have one JSON form. Text from data is only ever a value,
never a key, so a column name cannot be mistaken for a key of the format.
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
"""Arrays with at most this many numbers become JSON lists."""
KINDS = {"f4": "f4", "f8": "f8", "i4": "i4", "i8": "f8", "u1": "u1", "b1": "u1"}
"""The packed type of each dtype; 64-bit integers become doubles, which represent counts exactly."""


def compact(values: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return numbers as float32 if a plot of them stays the same; otherwise unchanged.

    float32 has seven digits, which is not enough for numbers that differ in the eighth, and a
    maximum of 3e38.
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
    """Return data as dictionaries, lists, numbers and strings.

    An array becomes ``{"$": kind, "of": base64, "shape": […]}``, its bytes little-endian in C
    order; a number that JSON does not support becomes ``{"$": "number", "of": "inf"}``.
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
    raise TypeError(f"{type(value).__name__} cannot be serialized")


def _array(array: npt.NDArray[Any]) -> Any:
    if array.ndim == 1 and array.size <= SHORT:
        return [plain(v) for v in array.tolist()]
    kind = KINDS[f"{array.dtype.kind}{array.dtype.itemsize}"]
    packed = np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<"))
    text = base64.b64encode(packed.tobytes()).decode("ascii")
    return {"$": kind, "of": text, "shape": list(array.shape)}


def as_json(value: Any) -> str:
    """Return JSON text that is safe inside a script element: it has no ``<``, ``>`` or ``&``."""
    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))
    # These occur only inside strings, where JSON allows escapes.
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
