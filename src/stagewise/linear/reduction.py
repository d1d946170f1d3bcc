"""The QR reduction of a least-squares problem.

With an orthonormal basis Q of the columns, the squared error of any coefficients is that of the
triangular system R = Q'X with the response Q'y, plus the squared norm of the rest of y. So the rows
are read once, and every fit of a subset of the columns is a small problem. Columns are first
centred (if there is an intercept) and divided by powers of two, so units do not matter and nothing
overflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.data.target_scale import TargetScale
from stagewise.exact_sums import mean_rows
from stagewise.linear.least_squares import LeastSquares
from stagewise.linear.orthogonalization import inverse_of, norm, orthonormalise, remove

__all__ = ["Reduction"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Reduction:
    """A reduced least-squares problem; weights are frequencies.

    Attributes
    ----------
    triangle : float64 array of shape (r, k)
        R: the coefficients of the columns in an orthonormal basis.
    response, ones : float64 array of shape (r,)
        The coefficients of the target and, without an intercept, of the constant 1 in that basis.
    rest, ones_rest : float
        The squared norms of their parts that are orthogonal to the basis.
    centre, size : float64 array of shape (k,)
        The columns are used as (x - centre) / size.
    floor : float64 array of shape (k,)
        A bound of the rounding error of each column.
    target : TargetScale
        Offset and scale of the target.
    squares, mean : float
        Σ w z² and the mean of the scaled target z.
    weight : float
        The sum of the weights.
    intercept : bool
        Whether fits have an intercept.
    """

    triangle: Matrix
    response: Vector
    ones: Vector
    rest: float
    ones_rest: float
    centre: Vector
    size: Vector
    floor: Vector
    target: TargetScale
    squares: float
    mean: float
    weight: float
    intercept: bool

    @classmethod
    def of(cls, X: Matrix, y: Vector, weight: Vector | None, *, intercept: bool) -> Reduction:
        """Return the reduction of a least-squares problem.

        Parameters
        ----------
        X : float64 array of shape (k, n)
            One row per column of the problem; finite. Overwritten.
        y : float64 array of shape (n,)
            The target.
        weight : float64 array of shape (n,) or None
            The weights of the rows, above 0; None: 1.
        intercept : bool
            Whether fits have an intercept.
        """
        k, n = X.shape
        root = None if weight is None else np.sqrt(weight)
        total = float(n) if weight is None else float(weight.sum())
        centre, size, floor = np.zeros(k), np.ones(k), np.zeros(k)
        for j, x in enumerate(X):
            largest = float(np.abs(x).max())
            if intercept:
                centre[j] = mean_rows(x, weight)
                x -= centre[j]
            spread = float(np.abs(x).max())
            # The mean is rounded, so a constant column need not be exactly 0 here.
            if spread <= 4 * EPSILON * largest:
                x[:] = spread = 0.0
            # There is no power of two above the largest doubles; half of it is used.
            size[j] = math.ldexp(1.0, min(math.frexp(spread)[1], 1023)) if spread > 0 else 1.0
            x /= size[j]
            floor[j] = 4 * EPSILON * math.sqrt(total) * (largest / size[j])
            if root is not None:
                x *= root
        target = TargetScale.learn(y, weight)
        if not intercept:
            # Nearly constant targets may be far from 0 in units of their standard deviation.
            farthest, unit = float(np.abs(y).max()), target.scale
            if farthest > unit * 2.0**400:
                unit = math.ldexp(1.0, math.frexp(farthest)[1] - 1)
            target = TargetScale(0.0, unit, target.spread)
        z = target.standardise(y)
        mean = 0.0 if intercept else mean_rows(z, weight)
        one = np.ones(n) if root is None else root.copy()
        z = z if root is None else z * root
        squares = norm(z) ** 2
        triangle, pivots = orthonormalise(X, floor)
        response, rest = remove(X[: len(pivots)], z)
        ones, ones_rest = (np.zeros(len(pivots)), 0.0)
        if not intercept:
            ones, ones_rest = remove(X[: len(pivots)], one)
        return cls(
            triangle,
            response,
            ones,
            rest**2,
            ones_rest**2,
            centre,
            size,
            floor,
            target,
            squares,
            mean,
            total,
            intercept,
        )

    @property
    def all_constant(self) -> bool:
        """Whether all columns are constant or, without an intercept, 0."""
        return len(self.triangle) == 0

    def fit(self, columns: Sequence[int]) -> LeastSquares:
        """Return the least-squares fit of some columns, with minimal norm if it is not unique.

        The coefficients of minimal norm are β = X⁺y, with the pseudo-inverse of the original
        columns, preceded by a column of ones if there is an intercept; (X'X)⁺ = X⁺X⁺' replaces
        (X'X)⁻¹.
        """
        chosen = np.array(columns, dtype=np.intp)
        basis, triangle, pivots = self._basis(chosen)
        response = self.response.copy()
        part, left = remove(basis, response)
        inverse = inverse_of(triangle[:, pivots])
        k, first = len(chosen), int(self.intercept)
        size, centre = self.size[chosen], self.centre[chosen]
        # The estimate: the value at the centres, then one slope per column.
        estimate, root = np.zeros(first + k), np.zeros((first + k, first + len(pivots)))
        at = first + np.array(pivots, dtype=np.intp)
        with np.errstate(over="ignore", under="ignore"):  # Design.check_slopes raises
            estimate[at] = (inverse * part).sum(axis=1) * (self.target.scale / size[pivots])
        root[at, first:] = inverse
        if self.intercept:
            estimate[0], root[0, 0] = self.target.offset, 1.0 / math.sqrt(self.weight)
        others = [j for j in range(k) if j not in set(pivots)]
        relations = np.zeros((len(others), k))  # of the columns in units of their sizes
        for row, j in enumerate(others):
            relations[row, j] = 1.0
            relations[row, pivots] = -(inverse * triangle[:, j]).sum(axis=1)
        if others:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                estimate, root = _of_minimal_norm(estimate, root, relations, centre, size, first)
        return LeastSquares(
            columns=chosen.astype(np.uint32),
            intercept=self.intercept,
            target_mean=float(estimate[0]) if self.intercept else 0.0,
            slope=estimate[first:],
            centre=centre,
            size=size,
            covariance=_products(root),
            dependent=_dependencies(relations, others),
            weight=self.weight,
            rank=first + len(pivots),
            rss=self.rest + left**2,
            tss=self._total(basis),
            centred=self._centred(basis),
            scale=self.target.scale,
        )

    def error(self, columns: Sequence[int]) -> tuple[float, int]:
        """Return the squared error of the fit of some columns, in units of `target.scale` squared.

        Returns
        -------
        rss : float
        rank : int
            The number of linearly independent columns, the intercept included.
        """
        basis, _, pivots = self._basis(np.array(columns, dtype=np.intp))
        _, left = remove(basis, self.response.copy())
        return self.rest + left**2, int(self.intercept) + len(pivots)

    def error_of(self, fit: LeastSquares) -> float:
        """Return the squared error of a fit to other rows, in units of `target.scale` squared."""
        unit = self.target.scale
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            of_columns = fit.slope / unit * self.size[fit.columns]
            left = self.response - (self.triangle[:, fit.columns] * of_columns).sum(axis=1)
            error = self.rest + float((left * left).sum())
            if self.intercept:
                shift = self.centre[fit.columns] - fit.centre
                predicted = fit.target_mean + float((fit.slope * shift).sum())
                difference = (self.target.offset - predicted) / unit
                error += self.weight * (difference * difference)
        return math.inf if math.isnan(error) else error

    def _basis(self, chosen: npt.NDArray[np.intp]) -> tuple[Matrix, Matrix, list[int]]:
        vectors = np.ascontiguousarray(self.triangle[:, chosen].T)
        triangle, pivots = orthonormalise(vectors, self.floor[chosen])
        return vectors[: len(pivots)], triangle, pivots

    def _centred(self, basis: Matrix) -> bool:
        """Return whether the columns, with the intercept if there is one, span the constant."""
        if self.intercept:
            return True
        _, left = remove(basis, self.ones.copy())
        return self.ones_rest + left**2 <= 1e-20 * self.weight

    def _total(self, basis: Matrix) -> float:
        if self.intercept or not self._centred(basis):
            return self.squares
        return max(0.0, self.squares - self.weight * self.mean**2)


def _of_minimal_norm(
    estimate: Vector, root: Matrix, relations: Matrix, centre: Vector, size: Vector, first: int
) -> tuple[Vector, Matrix]:
    """Remove the null-space part from an estimate and from a root of its covariance.

    The null space is orthonormalised in the original units of the columns; values at the centres
    are converted to intercepts for it, and back. The root is in units of the sizes. Vectors are
    scaled by powers of two before they are projected, so that squares do not overflow. Results
    beyond a double are not finite.
    """
    power = np.frexp(size)[1] - 1
    null = np.zeros((len(relations), len(estimate)))
    for row, own in zip(null, relations, strict=True):
        largest = int(power[own != 0.0].min())  # 1 / size is largest where size is smallest
        row[first:] = np.ldexp(own, largest - power)
        row[:first] = -(row[first:] * centre).sum()  # 0 at the centres
    null /= np.abs(null).max(axis=1, keepdims=True)
    basis = null[: len(orthonormalise(null, np.zeros(len(null)))[1])]
    sizes = np.concatenate([np.ones(first), size])
    columns = np.column_stack([estimate, root / sizes[:, np.newaxis]]).T.copy()
    columns[:, :first] -= (columns[:, first:] * centre).sum(axis=1, keepdims=True)
    for column in columns:
        unit = int(np.frexp(np.abs(column).max())[1])
        scaled = np.ldexp(column, -unit)
        remove(basis, scaled)
        column[:] = np.ldexp(scaled, unit)
    columns[:, :first] += (columns[:, first:] * centre).sum(axis=1, keepdims=True)
    return columns[0], columns[1:].T * sizes[:, np.newaxis]


def _products(root: Matrix) -> Matrix:
    """Return root · root'."""
    return np.stack([(root * row).sum(axis=1) for row in root]) if len(root) else np.empty((0, 0))


def _dependencies(relations: Matrix, others: list[int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return each linearly dependent column, and the columns that it depends on."""
    scaled = np.abs(relations)
    return tuple(
        (j, tuple(i for i in np.flatnonzero(row > 1e-9 * row.max()).tolist() if i != j))
        for j, row in zip(others, scaled, strict=True)
    )
