"""The exponential function, the logarithm and related functions, with the same result everywhere.

NumPy, SciPy and the C library have several implementations, which depend on the processor and
differ in the last digit. The native ones use only operations that IEEE 754 rounds correctly. The
error of exp, log, expm1 and log1p is at most two units in the last place, that of the others about
1e-15, relative to the larger of 1 and the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import digamma, exp, expm1, log, log1p, log_gamma, scaled_erfc, trigamma

__all__ = [
    "extended_log",
    "log_sigmoid",
    "log_sum_exp",
    "normal_cdf",
    "normal_log_cdf",
    "portable_digamma",
    "portable_exp",
    "portable_expm1",
    "portable_log",
    "portable_log1p",
    "portable_log_gamma",
    "portable_power",
    "portable_trigamma",
    "sigmoid",
    "softplus",
]

Array = npt.NDArray[np.float64]
SQRT_HALF = math.sqrt(0.5)


def portable_log(x: npt.ArrayLike) -> Array:
    """Return log x of positive finite numbers, in the shape of x."""
    return _apply(log, x)


def extended_log(x: npt.ArrayLike) -> Array:
    """Return log x of any numbers: -inf for 0, inf for inf, and NaN below 0."""
    numbers = np.asarray(x, dtype=np.float64)
    inside = (numbers > 0.0) & (numbers < np.inf)
    found = portable_log(np.where(inside, numbers, 1.0))
    outside = np.where(numbers == 0.0, -np.inf, np.where(numbers > 0.0, np.inf, np.nan))
    return np.where(inside, found, outside)


def portable_exp(x: npt.ArrayLike) -> Array:
    """Return e^x: inf and 0 where it is too large or too small."""
    return _apply(exp, x)


def portable_expm1(x: npt.ArrayLike) -> Array:
    """Return e^x - 1, exact near 0."""
    return _apply(expm1, x)


def portable_log1p(x: npt.ArrayLike) -> Array:
    """Return log(1 + x) of finite numbers above -1, exact near 0."""
    return _apply(log1p, x)


def portable_power(x: npt.ArrayLike, exponent: float) -> Array:
    """Return x^exponent of numbers from 0 on."""
    return portable_exp(exponent * extended_log(x)) if exponent else np.ones(np.shape(x))


def portable_log_gamma(x: npt.ArrayLike) -> Array:
    """Return log Γ(x) of positive numbers."""
    return _apply(log_gamma, x)


def portable_digamma(x: npt.ArrayLike) -> Array:
    """Return the derivative of log Γ(x) of positive numbers."""
    return _apply(digamma, x)


def portable_trigamma(x: npt.ArrayLike) -> Array:
    """Return the second derivative of log Γ(x) of positive numbers."""
    return _apply(trigamma, x)


def sigmoid(x: npt.ArrayLike) -> Array:
    """Return 1 / (1 + e^-x)."""
    numbers = np.asarray(x, dtype=np.float64)
    decay = portable_exp(-np.abs(numbers))
    return np.asarray(np.where(numbers < 0.0, decay, 1.0) / (1.0 + decay))


def softplus(x: npt.ArrayLike) -> Array:
    """Return log(1 + e^x)."""
    numbers = np.asarray(x, dtype=np.float64)
    return np.asarray(np.maximum(numbers, 0.0) + portable_log1p(portable_exp(-np.abs(numbers))))


def log_sigmoid(x: npt.ArrayLike) -> Array:
    """Return log(1 / (1 + e^-x))."""
    return -softplus(-np.asarray(x, dtype=np.float64))


def log_sum_exp(x: Array) -> Array:
    """Return log Σ e^x of each row of a matrix, shape (n_rows, 1)."""
    top = x.max(axis=1, keepdims=True)
    return np.asarray(top + portable_log(_row_sums(portable_exp(x - top))))


def normal_cdf(x: npt.ArrayLike) -> Array:
    """Return the distribution function of the standard normal distribution."""
    numbers = np.asarray(x, dtype=np.float64)
    size = np.abs(numbers)
    scaled: Array = _apply(scaled_erfc, size * SQRT_HALF)
    near = size.astype(np.float32).astype(np.float64)  # its square is exact
    rest = portable_exp(0.5 * (near - size) * (near + size))
    tail = 0.5 * scaled * portable_exp(-0.5 * near * near) * rest
    return np.asarray(np.where(numbers < 0.0, tail, 1.0 - tail))


def normal_log_cdf(x: npt.ArrayLike) -> Array:
    """Return the logarithm of the distribution function of the standard normal distribution."""
    numbers = np.asarray(x, dtype=np.float64)
    scaled: Array = _apply(scaled_erfc, np.abs(numbers) * SQRT_HALF)
    below = extended_log(0.5 * scaled) - 0.5 * numbers * numbers
    return np.asarray(np.where(numbers < 0.0, below, portable_log1p(-normal_cdf(-numbers))))


def _row_sums(x: Array) -> Array:
    """Return the sums of the rows, added column by column: in the same order for any layout."""
    total = x[:, :1].copy()
    for column in range(1, x.shape[1]):
        total += x[:, column : column + 1]
    return total


def _apply(function: Callable[[Any], Array], x: npt.ArrayLike) -> Array:
    """Return a function of every number; the result has the memory order of x."""
    numbers = np.asarray(x, dtype=np.float64)
    order: Any = "F" if numbers.flags.fnc else "C"
    return function(np.ravel(numbers, order)).reshape(numbers.shape, order=order)
