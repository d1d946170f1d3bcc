"""Logarithms and powers that decide about a model, with the same result on every machine.

NumPy and the C library have several implementations, which depend on the processor and differ in
the last digit; these functions round correctly.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt

__all__ = ["MAX_LOG_RATIO", "MAX_STEP", "bounded_log_ratio", "exact_log", "portable_exp"]

MAX_LOG_RATIO = 4.0
"""The bound of leaf values in closed form, which are infinite in regions with one class only.
LogitBoost bounds its response by the same number."""


MAX_STEP = 16.0
"""The bound of Newton steps, in units of log odds or of a log mean; e^16 is far beyond any odds or
ratio of means that occurs in data."""


def exact_log(x: float) -> float:
    """Return log x, correctly rounded."""
    return float(Decimal(x).ln(Context(prec=30)))


def bounded_log_ratio(
    above: npt.NDArray[np.float64], below: npt.NDArray[np.float64], most: float = MAX_LOG_RATIO
) -> npt.NDArray[np.float64]:
    """Return log(above / below) of non-negative sums, clipped to ±most; log(0/0) is 0."""
    far = math.exp(most)

    def one(a: float, b: float) -> float:
        if a <= 0.0 and b <= 0.0:
            return 0.0
        if a >= b * far or b >= a * far:
            return math.copysign(most, a - b)
        return exact_log(a / b)

    return np.array([one(a, b) for a, b in zip(above.tolist(), below.tolist(), strict=True)])


LOG_2_HIGH, LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 as a sum; the first part has 33 bits, so that its product with a whole number is exact."""


def portable_exp(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return e^x for |x| ≤ 700 by sums and products, which every machine rounds in the same way.

    x = k log 2 + r with |r| ≤ ½ log 2, and e^r is the sum of fourteen terms of its series.
    """
    k = np.rint(x / math.log(2.0))
    r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
    total = np.ones_like(r)
    for n in range(13, 0, -1):
        total = 1.0 + total * r / n
    return np.asarray(np.ldexp(total, k.astype(np.int32)))
