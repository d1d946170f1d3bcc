"""Equality of the values of parameters, which may be arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["equal_values"]


def equal_values(a: Any, b: Any) -> bool:
    """Return whether two values are equal; arrays, also inside lists and mappings, by elements.

    An array is equal to a list with the same elements.
    """
    if a is b:
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(equal_values(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(equal_values, a, b))
    if hasattr(a, "__array__") or hasattr(b, "__array__"):
        try:
            return bool(np.array_equal(np.asarray(a), np.asarray(b)))
        except ValueError:  # a ragged list
            return False
    return bool(a == b)
