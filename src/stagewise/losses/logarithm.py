"""The logarithm of a base score."""

from __future__ import annotations

from decimal import Context, Decimal

__all__ = ["exact_log"]


def exact_log(x: float) -> float:
    """Return log x, the same on every machine.

    NumPy and the C library choose among several logarithms by the processor they run on, and those
    differ in the last digit; the base score is part of a model's fingerprint.
    """
    return float(Decimal(x).ln(Context(prec=30)))
