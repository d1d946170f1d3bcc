"""Vectors made orthogonal, one after the other, with the same bits everywhere.

The one idea: Gram-Schmidt, each vector against the ones before it and, where much of it went, once
more ("twice is enough", Giraud, Langou & Rozložník 2005), which is as stable as reflections are.
All it needs are products and sums of fixed blocks in a fixed order, so neither the number of
threads nor the BLAS that numpy was built with has a say. Must not know what the vectors are.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["inverse_of", "norm", "orthonormalise", "remove"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

BLOCK = 4096
"""Entries that are multiplied and added at a time; they stay in the cache."""
DEPENDENT = 1e-12
"""A vector of which no larger share is left is a combination of those before it."""


def norm(vector: Vector) -> float:
    """Return the length of a vector."""
    return math.sqrt(float(_products(vector[np.newaxis], vector)[0]))


def remove(basis: Matrix, vector: Vector) -> tuple[Vector, float]:
    """Take what lies along some orthonormal rows out of a vector, in place.

    Returns
    -------
    part : float64 array
        How much lay along each.
    left : float
        The length of what is left.
    """
    part, before = np.zeros(len(basis)), norm(vector)
    left = before
    for _ in range(2):
        along = _products(basis, vector)
        for begin in range(0, len(vector), BLOCK):
            block = slice(begin, begin + BLOCK)
            vector[block] -= (along[:, np.newaxis] * basis[:, block]).sum(axis=0)
        part += along
        left = norm(vector)
        if left > 0.5 * before:
            break
        before = left
    return part, left


def orthonormalise(vectors: Matrix, floor: Vector) -> tuple[Matrix, list[int]]:
    """Make an orthonormal basis of rows, in their place, first come first served.

    Parameters
    ----------
    vectors : float64 array of shape (k, n)
        Overwritten: its first r rows become the basis.
    floor : float64 array of shape (k,)
        A vector of which no more than this is left is a combination of those before it.

    Returns
    -------
    triangle : float64 array of shape (r, k)
        Every vector in terms of the basis.
    pivots : list of int
        The vectors that were no combinations; in their columns the triangle is one.
    """
    triangle = np.zeros((len(vectors), len(vectors)))
    pivots: list[int] = []
    for j, vector in enumerate(vectors):
        rank, least = len(pivots), max(DEPENDENT * norm(vector), float(floor[j]))
        triangle[:rank, j], left = remove(vectors[:rank], vector)
        if left <= least:
            continue
        triangle[rank, j] = left
        vectors[rank] = vector / left
        pivots.append(j)
    return triangle[: len(pivots)], pivots


def inverse_of(triangle: Matrix) -> Matrix:
    """Return the inverse of an upper triangular matrix, by back substitution."""
    inverse = np.eye(len(triangle))
    for i in range(len(triangle) - 1, -1, -1):
        known = (triangle[i, i + 1 :, np.newaxis] * inverse[i + 1 :]).sum(axis=0)
        inverse[i] = (inverse[i] - known) / triangle[i, i]
    return inverse


def _products(basis: Matrix, vector: Vector) -> Vector:
    """Return the scalar product of each row with a vector."""
    total = np.zeros(len(basis))
    for begin in range(0, len(vector), BLOCK):
        block = slice(begin, begin + BLOCK)
        total += (basis[:, block] * vector[block]).sum(axis=1)
    return total
