"""Pseudo-random numbers of rows that depend on their values alone, not on their places."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["uniform_of_rows"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


def uniform_of_rows(values: Matrix, seed: int) -> Vector:
    """Return a number in [0, 1) for each row, by a hash of the bits of its values.

    The hash is SplitMix64 (Steele, Lea & Flood 2014), one step for each value.

    Parameters
    ----------
    values : float64 array of shape (n_rows, n_values)
        The values; 0.0 and -0.0 are the same.
    seed : int
        The seed.
    """
    n = len(values)
    bits = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    columns = bits.view(np.uint64).reshape(n, bits.size // max(1, n))
    state = _mix(np.full(n, seed, dtype=np.uint64))
    for column in columns.T:
        state = _mix(state ^ column)
    return np.asarray((state >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _mix(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
