"""Rows, reduced to all that least squares needs to know of them.

The one idea: with Q an orthonormal basis of the columns, the squared error of any coefficients is
that of the triangle R = Q'X against Q'y, and what is left of y besides. So rows are looked at once,
and every fit of some of the columns is a small problem. Columns are centred (with an intercept) and
divided by powers of two first: units do not matter, and nothing overflows. Must not know names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.data.target_scale import TargetScale, exact_mean
from stagewise.linear.least_squares import LeastSquares
from stagewise.linear.orthogonalization import inverse_of, norm, orthonormalise, remove

__all__ = ["Reduction"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Reduction:
    """The normal form of a least-squares problem with weights that are frequencies.

    Attributes
    ----------
    triangle : float64 array of shape (r, k)
        The columns, in terms of an orthonormal basis of them.
    response, ones : float64 array of shape (r,)
        The target and, without an intercept, the constant 1 in terms of that basis.
    rest, ones_rest : float
        The squares of what is left of them.
    centre, size : float64 array of shape (k,)
        A column is (x - centre) / size in the triangle.
    floor : float64 array of shape (k,)
        How much of a column may be rounding.
    target : TargetScale
        Offset and scale of the target.
    squares, mean : float
        Σ w z² and the mean of the target z in these units.
    weight : float
        The number of rows, each as often as it counts.
    intercept : bool
        Whether fits have one.
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
        """Reduce rows.

        Parameters
        ----------
        X : float64 array of shape (k, n)
            A row for each column of the problem; finite. Overwritten.
        y : float64 array of shape (n,)
            The target.
        weight : float64 array of shape (n,) or None
            How often each row counts, above 0; None: once.
        intercept : bool
            Whether fits have one.
        """
        k, n = X.shape
        root = None if weight is None else np.sqrt(weight)
        total = float(n) if weight is None else float(weight.sum())
        centre, size, floor = np.zeros(k), np.ones(k), np.zeros(k)
        for j, x in enumerate(X):
            largest = float(np.abs(x).max())
            if intercept:
                centre[j] = exact_mean(x, weight)
                x -= centre[j]
            spread = float(np.abs(x).max())
            # Its mean is rounded, so a constant need not be 0 here.
            if spread <= 4 * EPSILON * largest:
                x[:] = spread = 0.0
            # There is no power of two above the largest doubles; half of it will do.
            size[j] = math.ldexp(1.0, min(math.frexp(spread)[1], 1023)) if spread > 0 else 1.0
            x /= size[j]
            floor[j] = 4 * EPSILON * math.sqrt(total) * (largest / size[j])
            if root is not None:
                x *= root
        target = TargetScale.learn(y, weight)
        if not intercept:
            # Targets that hardly differ may be far from 0, in units of their differences.
            farthest, unit = float(np.abs(y).max()), target.scale
            if farthest > unit * 2.0**400:
                unit = math.ldexp(1.0, math.frexp(farthest)[1] - 1)
            target = TargetScale(0.0, unit, target.spread)
        z = target.standardise(y)
        mean = 0.0 if intercept else exact_mean(z, weight)
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
        """Whether no column has two values, or without an intercept one that is not 0."""
        return len(self.triangle) == 0

    def fit(self, columns: Sequence[int]) -> LeastSquares:
        """Return the least-squares fit of some columns, of minimal norm where it is not unique.

        Coefficients of minimal norm are those of the pseudo-inverse of the matrix with a column of
        ones (if there is an intercept) and the columns as they came: β = X⁺y, and
        (X'X)⁺ = X⁺X⁺' in the place of (X'X)⁻¹.
        """
        chosen = np.array(columns, dtype=np.intp)
        basis, triangle, pivots = self._basis(chosen)
        response = self.response.copy()
        part, left = remove(basis, response)
        inverse = inverse_of(triangle[:, pivots])
        k, first = len(chosen), int(self.intercept)
        size, centre = self.size[chosen], self.centre[chosen]
        # What is estimated: the value at the centres, then a slope for each column.
        estimate, root = np.zeros(first + k), np.zeros((first + k, first + len(pivots)))
        at = first + np.array(pivots, dtype=np.intp)
        with np.errstate(over="ignore", under="ignore"):  # whoever names columns asks for finite
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
            dependent=_plain(relations, others),
            weight=self.weight,
            rank=first + len(pivots),
            rss=self.rest + left**2,
            tss=self._total(basis),
            centred=self._centred(basis),
            scale=self.target.scale,
        )

    def error(self, columns: Sequence[int]) -> tuple[float, int]:
        """Return the squared error of the fit of some columns, in squares of `target.scale`.

        Returns
        -------
        rss : float
        rank : int
            How many coefficients it has, those that are combinations of others left out.
        """
        basis, _, pivots = self._basis(np.array(columns, dtype=np.intp))
        _, left = remove(basis, self.response.copy())
        return self.rest + left**2, int(self.intercept) + len(pivots)

    def error_of(self, fit: LeastSquares) -> float:
        """Return the squared error of a fit to other rows, in squares of `target.scale`."""
        unit = self.target.scale
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            of_columns = fit.slope / unit * self.size[fit.columns]
            left = self.response - (self.triangle[:, fit.columns] * of_columns).sum(axis=1)
            error = self.rest + float((left * left).sum())
            if self.intercept:
                ahead = self.centre[fit.columns] - fit.centre
                said = fit.target_mean + float((fit.slope * ahead).sum())
                away = (self.target.offset - said) / unit
                error += self.weight * (away * away)
        return math.inf if math.isnan(error) else error

    def _basis(self, chosen: npt.NDArray[np.intp]) -> tuple[Matrix, Matrix, list[int]]:
        vectors = np.ascontiguousarray(self.triangle[:, chosen].T)
        triangle, pivots = orthonormalise(vectors, self.floor[chosen])
        return vectors[: len(pivots)], triangle, pivots

    def _centred(self, basis: Matrix) -> bool:
        """Return whether the constant is among the fits, with an intercept or without."""
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
    """Take out of an estimate, and of a root of its covariance, what the data cannot see.

    The columns of the null space are made orthonormal as they are in the units of the columns;
    values at the centres are turned into intercepts for it, and back. The root is in units of the
    sizes. Vectors are projected in powers of two of their own, so that squares stay in range;
    what a double cannot hold is not finite.
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


def _plain(relations: Matrix, others: list[int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return each column that is a combination of others, and of which."""
    scaled = np.abs(relations)
    return tuple(
        (j, tuple(i for i in np.flatnonzero(row > 1e-9 * row.max()).tolist() if i != j))
        for j, row in zip(others, scaled, strict=True)
    )
