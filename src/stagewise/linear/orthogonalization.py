"""Gram-Schmidt orthogonalization with bit-identical results on every machine.

Each vector is orthogonalized against those before it, and again if most of it was removed ("twice
is enough", Giraud, Langou & Rozložník 2005), which is as stable as Householder reflections. Only
products and sums of fixed blocks in a fixed order are used, so the result depends neither on the
number of threads nor on the BLAS of numpy.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["inverse_of", "norm", "orthonormalise", "remove"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

BLOCK = 4096
"""The number of entries of a block, which stays in the cache."""
DEPENDENT = 1e-12
"""A vector is linearly dependent if no larger fraction of its norm remains."""


def norm(vector: Vector) -> float:
    """Return the Euclidean norm of a vector."""
    return math.sqrt(float(_products(vector[np.newaxis], vector)[0]))


def remove(basis: Matrix, vector: Vector) -> tuple[Vector, float]:
    """Subtract the projection on orthonormal rows from a vector, in place.

    Returns
    -------
    part : float64 array
        The coefficients of the projection.
    left : float
        The norm of the remaining vector.
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
    """Orthonormalise rows in place, in their order.

    Parameters
    ----------
    vectors : float64 array of shape (k, n)
        Overwritten: its first r rows become the basis.
    floor : float64 array of shape (k,)
        A vector is linearly dependent if the norm of its remaining part is at most this.

    Returns
    -------
    triangle : float64 array of shape (r, k)
        The coefficients of every vector in the basis.
    pivots : list of int
        The linearly independent vectors; these columns of `triangle` are upper triangular.
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
