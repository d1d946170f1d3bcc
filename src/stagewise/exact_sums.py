"""Sums over rows that do not depend on the order of the rows.

No addition is rounded; only the result is. So a sum is the same for any number of threads, for rows
that are read in pieces, and for rows on several machines, whose sums are merged by adding integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise._native import exact_sums, round_exact_sums
from stagewise.cluster.peers import ALONE, Peers

__all__ = ["Blocks", "ExactSums", "mean_of_blocks", "mean_rows", "sum_by_code", "sum_rows"]

Vector = npt.NDArray[np.float64]
Block = tuple[Vector, Vector | None]
Blocks = Callable[[], Iterable[Block]]
"""Returns (values, weights or None) of the blocks of a column, which can be read again."""
N_DIGITS = 70
"""The integers of a sum that are digits; see native/core/exact_sum.hpp."""
UNIT = 1074
"""The unit of a sum is 2^-1074, the least positive float64."""


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Several sums, not rounded.

    Parameters
    ----------
    integers : int64 array of shape (n_sums, n_integers)
        The digits of each sum, and how many of its terms are inf, -inf and NaN.
    """

    integers: npt.NDArray[np.int64]

    @classmethod
    def of_rows(cls, values: Vector, weight: Vector | None = None) -> ExactSums:
        """Return Σ w x, one sum.

        Parameters
        ----------
        values : float64 array
            The x of each row.
        weight : float64 array or None
            The w of each row; None: 1. Products are not rounded.
        """
        own = np.ascontiguousarray(values, dtype=np.float64)
        return cls(exact_sums(len(own), own, weight))

    @classmethod
    def nothing(cls, n_sums: int = 1) -> ExactSums:
        """Return sums over no rows."""
        return cls(np.repeat(exact_sums(0, np.empty(0), None), n_sums, axis=0))

    @classmethod
    def by_code(
        cls, codes: npt.NDArray[np.int32], n_codes: int, weight: Vector | None = None
    ) -> ExactSums:
        """Return the sum of the weights of the rows with each code.

        Parameters
        ----------
        codes : int32 array
            The code of each row, below n_codes.
        n_codes : int
            The number of sums.
        weight : float64 array or None
            The weight of each row; None: 1.
        """
        return cls(exact_sums(len(codes), None, weight, codes, n_codes))

    def __add__(self, other: ExactSums) -> ExactSums:
        """Return the sums over the rows of both."""
        return ExactSums(self.integers + other.integers)

    def over(self, peers: Peers) -> ExactSums:
        """Return the sums over the rows of all ranks."""
        integers = np.ascontiguousarray(self.integers).reshape(-1).copy()
        peers.sum(integers)
        return ExactSums(integers.reshape(self.integers.shape))

    @property
    def values(self) -> Vector:
        """The sums, rounded to the nearest float64."""
        return round_exact_sums(self.integers)

    def first(self) -> int:
        """Return the first sum, which must be finite, without rounding, in units of 2^-1074."""
        digits = enumerate(self.integers[0, :N_DIGITS].tolist())
        return sum(digit << (32 * place) for place, digit in digits if digit)


def sum_rows(values: Vector, weight: Vector | None = None) -> float:
    """Return Σ w x, rounded once; see `ExactSums.of_rows`."""
    return float(ExactSums.of_rows(values, weight).values[0])


def sum_by_code(codes: npt.NDArray[np.int32], n_codes: int, weight: Vector | None = None) -> Vector:
    """Return the sum of the weights of the rows with each code; see `ExactSums.by_code`."""
    if weight is None:
        return np.bincount(codes, minlength=n_codes).astype(np.float64)
    return ExactSums.by_code(codes, n_codes, weight).values


def mean_rows(values: Vector, weight: Vector | None = None) -> float:
    """Return Σ w x / Σ w, rounded once. Weight 2 and two copies of a row have the same mean.

    Parameters
    ----------
    values : float64 array
        The x of each row; at least one row.
    weight : float64 array or None
        The w of each row, not all 0; None: 1.
    """
    return mean_of_blocks([(values, weight)])


def mean_of_blocks(blocks: Iterable[Block], peers: Peers = ALONE) -> float:
    """Return the mean of rows that are read in blocks; see `mean_rows`.

    Parameters
    ----------
    blocks : iterable of (values, weights or None)
        The rows; neither their order nor the sizes of the blocks matter.
    peers : Peers
        The ranks that have further rows.
    """
    sums, total = ExactSums.nothing(), 0
    for values, weight in blocks:
        sums += ExactSums.of_rows(values, weight)
        total += len(values) << UNIT if weight is None else ExactSums.of_rows(weight).first()
    sums, total = sums.over(peers), sum(peers.gather(total))
    if sums.integers[0, N_DIGITS:].any():
        return float(sums.values[0]) / (total / (1 << UNIT))
    return sums.first() / total  # a quotient of integers is rounded once
