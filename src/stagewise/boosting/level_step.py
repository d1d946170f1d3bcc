"""The step of losses of several levels: leaf values by which quantiles or expectiles keep order.

The middle level moves by its own optimum, and each further level by the factor of its gap that is
best when the levels inside of it have moved: by the τ-quantile of (y - Q_inner) / gap with the
weights of the gaps, since ρ(y - Q_inner - t gap) = gap ρ((y - Q_inner) / gap - t).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients
from stagewise.boosting.step_input import Step, StepInput, StepResult, newton, tree_of
from stagewise.learners.tree_learner import BoundTree, GrownTerm
from stagewise.losses.levels import Expectiles, LevelsLoss

__all__ = ["level_step"]

Vector = npt.NDArray[np.float64]

LEAST_FACTOR, LARGEST_FACTOR = 2.0 / 3.0, 16.0
"""The factors by which a tree may change a gap before shrinkage; a region's optimum may be 0."""
N_STEPS = 3
"""The number of fixed-point steps to the expectile of a leaf."""


def level_step(max_step: float = 0.0) -> Step:
    """Return the step for a `LevelsLoss`; the middle level is clipped to ±max_step (0: not)."""

    def step(given: StepInput) -> StepResult:
        learner, term = tree_of(given)
        return StepResult(_Leaves(given, learner, term, max_step).values())

    return step


class _Leaves:
    """The leaves of one tree, with the levels that rows have before it."""

    def __init__(
        self, given: StepInput, learner: BoundTree, term: GrownTerm, max_step: float
    ) -> None:
        loss = given.loss
        assert isinstance(loss, LevelsLoss)
        self._given, self._learner, self._term, self._loss = given, learner, term, loss
        self._max_step = max_step
        self._levels = loss.mean(given.score)
        self._moved: dict[int, Vector] = {}  # levels after their full step
        self._by_quantile = not isinstance(loss, Expectiles)

    def values(self) -> list[Vector]:
        """Return the node values of each output of the term."""
        given, middle = self._given, self._loss.location
        inner = dict(zip(given.outputs, newton(given).values, strict=True))
        nodes = self._learner.nodes_of_rows(self._term) if len(inner) > 1 else None
        found: dict[int, Vector] = {}
        if middle in inner:
            level = np.ascontiguousarray(self._levels[:, middle])
            value = self._optimum(inner[middle], given.y - level, middle, None)
            value = np.clip(value, -self._max_step, self._max_step) if self._max_step else value
            found[middle] = self._learner.enforce_monotone(value)
            if nodes is not None:
                self._moved[middle] = level + found[middle][nodes]
        for k, neighbour in self._loss.outward:
            if k in inner:
                found[k] = self._log_factors(inner[k], k, neighbour)
                if nodes is not None:
                    factor = np.exp(found[k])[nodes]
                    gap = factor * self._loss.gaps(given.score, k)
                    start = self._moved[neighbour]
                    self._moved[k] = start + gap if k > neighbour else start - gap
        return [found[k] for k in given.outputs]

    def _log_factors(self, inner: Vector, k: int, neighbour: int) -> Vector:
        """Return the logarithms of the factors of a gap."""
        gap, sign = self._loss.gaps(self._given.score, k), 1.0 if k > neighbour else -1.0
        start = self._moved.get(neighbour, self._levels[:, neighbour])
        ratio = sign * (self._given.y - start) / gap
        best = self._optimum(np.ones(len(inner)), ratio, k, gap, sign)
        return np.asarray(np.log(np.clip(best, LEAST_FACTOR, LARGEST_FACTOR)))

    def _optimum(
        self, value: Vector, residual: Vector, k: int, gap: Vector | None, sign: float = 1.0
    ) -> Vector:
        """Return `value` with the best constant of the residuals in each leaf."""
        level = self._loss.levels[k] if sign > 0 else 1.0 - self._loss.levels[k]
        times = self._given.bag.multiplier
        if self._by_quantile:
            if gap is not None:
                own = gap / gap.max()
                times = (own if times is None else own * times).astype(np.float32)
            residual = np.ascontiguousarray(residual)
            return self._learner.leaf_quantiles(value, residual, level, times)
        squares = None if gap is None else np.square(gap / gap.max())
        return self._expectiles(value, residual, level, squares)

    def _expectiles(
        self, value: Vector, residual: Vector, level: float, factor: Vector | None
    ) -> Vector:
        """Return the expectiles of residuals by fixed-point steps: means with weights a."""
        given, nodes = self._given, self._learner.nodes_of_rows(self._term)
        found, pairs = value.copy(), Gradients(len(residual))
        found[self._term.tree.feature < 0] = 0.0 if factor is None else 1.0
        for _ in range(N_STEPS):
            centre = found[nodes]
            own = np.where(residual > centre, level, 1.0 - level)
            own = own if factor is None else own * factor
            pairs.assign(given.workers, own * (centre - residual), own, given.weight)
            scaled = given.bag.multiply(pairs, given.workers, given.weight, hessians=True)
            sums = self._learner.node_sums(self._term, scaled)
            leaves = sums.leaves[sums.hessian[sums.leaves] > 0]
            found[leaves] -= sums.gradient[leaves, 0] / sums.hessian[leaves]
        return found
