"""Componentwise linear base learner, for forward stagewise linear regression.

The response is fitted by least squares to every column separately, and the column with the largest
reduction of the squared error becomes the term: for columns of equal variance, the one most
correlated with the residual. A term is a tree with one linear leaf, so the model has the same form
as any other. This module must not import losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.exact_sums import mean_rows
from stagewise.learners.tree_learner import NodeSums
from stagewise.linear.design import Design
from stagewise.linear.terms import linear_trees
from stagewise.trees.tree import Tree

__all__ = [
    "BoundComponents",
    "ComponentTable",
    "ComponentTerm",
    "ComponentwiseLinear",
    "is_constant",
]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

BLOCK = 4096
"""Sums are computed in blocks of this many rows, in the order of the rows."""


@dataclass(frozen=True, eq=False)
class ComponentTable:
    """A design matrix.

    Parameters
    ----------
    design : Design
        The description of the columns.
    matrix : float64 array of shape (n_columns, n_rows)
        The values, one row per column of the design.
    """

    design: Design
    matrix: Matrix


@dataclass(frozen=True, eq=False)
class ComponentTerm:
    """The term value · (x - centre) / size of one column x.

    Parameters
    ----------
    design, column : Design, int
        The design, and the position of the column in it.
    centre, size : float
        The mean and the standard deviation of the column.
    value : float64 array of shape (1,)
        The coefficient of the standardised column.
    share : float
        The fraction of the squared error that the fitted term removes.
    left : float
        The mean squared error before the term.
    """

    design: Design
    column: int
    centre: float
    size: float
    value: Vector
    share: float
    left: float

    @property
    def slope(self) -> float:
        """The coefficient of the column itself; infinite if it exceeds a float64."""
        with np.errstate(over="ignore"):
            return float(self.value[0] / self.size)

    @property
    def part(self) -> Tree:
        """The term as a tree, which the model stores."""
        slope, centre = np.array([self.slope]), np.array([self.centre])
        (tree,) = linear_trees(self.design, [self.column], slope, centre)
        return tree

    def with_values(self, value: Vector) -> ComponentTerm:
        """Return the same column with another value."""
        return replace(self, value=value)


@dataclass(frozen=True)
class ComponentwiseLinear:
    """The base learner: fits terms of one column each, always the best column."""

    def start(
        self,
        workers: Workers,
        table: ComponentTable,
        weight: Vector | None,
        classes: npt.NDArray[np.int32] | None,
        *,
        hessian_bound: float,
        hessian_is_weight: bool,
        outputs: int = 0,
        terms_per_round: int = 1,
    ) -> BoundComponents:
        """Return the learner bound to the rows of one fit."""
        if classes is not None or outputs:
            raise ValueError("a componentwise linear term needs one output and no classes.")
        curve = hessian_bound if hessian_is_weight else None
        return BoundComponents(table, weight, curve)


class BoundComponents:
    """Fits the terms of one fit, on centred columns that are divided by powers of two.

    `curve` is the hessian of every row, if it is the same for all rows; else None.
    """

    def __init__(self, table: ComponentTable, weight: Vector | None, curve: float | None) -> None:
        self._design = table.design
        n = table.matrix.shape[1]
        self._weight = np.ones(n) if weight is None else weight
        counted = None if weight is None else weight > 0.0
        some = None if counted is None else self._weight[counted]
        self._columns = np.empty_like(table.matrix)
        self._centre, self._size = np.zeros(len(table.matrix)), np.ones(len(table.matrix))
        self._power = np.zeros(len(table.matrix), dtype=np.intp)
        for j, x in enumerate(table.matrix):
            own = x if counted is None else x[counted]
            self._centre[j] = mean_rows(own, some)
            self._columns[j] = x - self._centre[j]
            # Squares of values between -1 and 1 cannot overflow, whatever the unit of the column.
            self._power[j] = math.frexp(float(np.abs(self._columns[j]).max()))[1]
            self._columns[j] = np.ldexp(self._columns[j], -self._power[j])
            scaled = self._columns[j] if counted is None else self._columns[j][counted]
            self._size[j] = 0.0 if is_constant(own) else _deviation(scaled, some)
        self._norms = None if curve is None else curve * self._squares(self._weight)
        self._column = 0

    def grow(
        self,
        derivatives: Gradients,
        bag: npt.NDArray[np.uint32] | None,
        seed: int,
        number: int,
    ) -> ComponentTerm:
        """Fit -g/h with weights h to each column; return the best term, value = -Σgz / Σhz²."""
        pairs = derivatives.pairs().astype(np.float64).reshape(-1, 2)
        weight, norms = self._weight, self._norms
        if bag is not None and len(bag) < np.count_nonzero(weight):
            weight = np.zeros_like(weight)
            weight[bag] = self._weight[bag]
            norms = None
        if norms is None:
            norms = self._squares(weight * pairs[:, 1])
        pull = self._sums(-weight * pairs[:, 0])
        flat = self._size == 0.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gain = np.where(flat | (norms <= 0.0), 0.0, pull / norms * pull)
        self._column = j = int(np.argmax(gain)) if len(gain) else -1
        left = weight * pairs[:, 0] * (pairs[:, 0] / pairs[:, 1])
        total = float(left.sum())
        if j < 0 or not gain[j] > 0.0:
            return ComponentTerm(self._design, j, 0.0, 1.0, np.zeros(1), 0.0, total)
        term = ComponentTerm(
            self._design,
            j,
            float(self._centre[j]),
            math.ldexp(float(self._size[j]), int(self._power[j])),
            np.array([pull[j] / norms[j] * self._size[j]]),
            gain[j] / total,
            total / float(weight.sum()),
        )
        self._design.check_slopes([j], np.array([term.slope]))
        return term

    def predictions(self, term: ComponentTerm, source: Any) -> Vector:
        """Return the predictions of the last term for the training rows."""
        size = math.ldexp(term.size, -int(self._power[term.column]))
        return np.asarray(float(term.value[0]) / size * self._columns[term.column])

    def node_sums(self, term: ComponentTerm, derivatives: Gradients) -> NodeSums:
        """Raise ValueError: a linear term has no regions."""
        raise ValueError("a linear term has no regions to sum over.")

    def add(self, term: ComponentTerm, source: Any, score: Vector) -> None:
        """Add the last term to the training scores."""
        score += self.predictions(term, source)

    def add_to_other_rows(
        self, term: ComponentTerm, table: ComponentTable, source: Any, score: Vector
    ) -> None:
        """Add a term to the scores of other rows."""
        score += term.slope * (table.matrix[term.column] - term.centre)

    def _sums(self, of_rows: Vector) -> Vector:
        """Return Σ_i x_ij v_i for every column j, in blocks of rows."""
        total = np.zeros(len(self._columns))
        for begin in range(0, len(of_rows), BLOCK):
            block = slice(begin, begin + BLOCK)
            total += (self._columns[:, block] * of_rows[block]).sum(axis=1)
        return total

    def _squares(self, weight: Vector) -> Vector:
        """Return Σ_i w_i x_ij² for every column j, in blocks of rows."""
        total = np.zeros(len(self._columns))
        for begin in range(0, len(weight), BLOCK):
            block = self._columns[:, begin : begin + BLOCK]
            total += (block * block * weight[begin : begin + BLOCK]).sum(axis=1)
        return total


def is_constant(x: Vector) -> bool:
    """Return whether the values of a column differ by no more than rounding."""
    away = float(np.abs(x - mean_rows(x)).max())
    return bool(away <= 4 * np.finfo(np.float64).eps * float(np.abs(x).max()))


def _deviation(away: Vector, weight: Vector | None) -> float:
    """Return the weighted root mean square of deviations from a mean."""
    largest = float(np.abs(away).max())
    away = away / largest
    return largest * math.sqrt(mean_rows(away * away, weight))
