"""exp and log by operations that IEEE 754 rounds correctly, step by step with NumPy."""

import math

import numpy as np

LN2_HIGH = float.fromhex("0x1.62e42fefa0000p-1")
"""log 2 with 37 bits: its product with an exponent is exact."""
LN2_LOW = float.fromhex("0x1.cf79abc9e3b39p-40")
LOG_TERMS = 12
"""log m = 2 artanh s with |s| ≤ 0.172: the next term of the series is below 2^-60."""
EXP_TERMS = 14
"""e^r with |r| ≤ 0.347: the next term of the series is below 2^-60."""
LARGEST_POWER = 1100.0
"""2 to this power is infinite, and 2 to its negative is 0."""


def log(x):
    """Return log x of positive finite numbers."""
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    below = mantissa < math.sqrt(0.5)
    mantissa = np.where(below, 2.0 * mantissa, mantissa)
    power = (exponent - below).astype(np.float64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    series = np.zeros_like(s)
    for k in range(LOG_TERMS, 0, -1):
        series = (series + 1.0 / (2 * k + 1)) * square
    rest = 2.0 * s * series + power * LN2_LOW
    return np.asarray(power * LN2_HIGH + (2.0 * s + rest))


def exp(x):
    """Return e^x of finite numbers: inf and 0 where it is too large or too small."""
    x = np.asarray(x, dtype=np.float64)
    power = np.clip(np.rint(x * (1.0 / math.log(2.0))), -LARGEST_POWER, LARGEST_POWER)
    rest = (x - power * LN2_HIGH) - power * LN2_LOW
    rest = np.clip(rest, -1.0, 1.0)  # beyond only if the power is at its limit
    series = np.ones_like(rest)
    for k in range(EXP_TERMS, 0, -1):
        series = 1.0 + series * rest / k
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(series, power.astype(np.int32))
