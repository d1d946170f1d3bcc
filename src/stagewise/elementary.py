"""The exponential function and the logarithm, with the same result on every machine.

NumPy and the C library have several implementations, which depend on the processor and differ in
the last digit. The native ones use only operations that IEEE 754 rounds correctly. Their error is
at most two units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import exp, log

__all__ = ["portable_exp", "portable_log"]

Array = npt.NDArray[np.float64]


def portable_log(x: npt.ArrayLike) -> Array:
    """Return log x of positive finite numbers, in the shape of x."""
    return _apply(log, x)


def portable_exp(x: npt.ArrayLike) -> Array:
    """Return e^x of finite numbers: inf and 0 where it is too large or too small."""
    return _apply(exp, x)


def _apply(function: Callable[[Any], Array], x: npt.ArrayLike) -> Array:
    """Return a function of every number; the result has the memory order of x."""
    numbers = np.asarray(x, dtype=np.float64)
    order: Any = "F" if numbers.flags.fnc else "C"
    return function(np.ravel(numbers, order)).reshape(numbers.shape, order=order)
