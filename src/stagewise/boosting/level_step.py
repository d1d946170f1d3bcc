"""The step of losses of several levels: the leaf values of all quantiles or expectiles.

Each level moves by its own optimum, the τ-quantile or τ-expectile of y - F_k in the leaf. A further
level moves by at most LARGEST_STEP times its distance to the middle one, since the rows of a leaf
in a heavy tail are few and their values of any size.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients
from stagewise.boosting.step_input import Step, StepInput, StepResult, newton, tree_of
from stagewise.learners.tree_learner import BoundTree, GrownTerm
from stagewise.losses.levels import Expectiles, LevelsBoundLoss, LevelsLoss

__all__ = ["level_step"]

Vector = npt.NDArray[np.float64]

LARGEST_STEP = 4.0
"""The largest step of a level before shrinkage, in distances to the middle level."""
LEAST_DISTANCE = 1.0 / 16.0
"""The least distance, as a share of the spread of the levels of y: equal levels can part."""
N_STEPS = 3
"""The number of fixed-point steps to the expectile of a leaf."""


def level_step(max_step: float = 0.0) -> Step:
    """Return the step for a `LevelsLoss`; all levels are clipped to ±max_step (0: not)."""

    def step(given: StepInput) -> StepResult:
        learner, term = tree_of(given)
        return StepResult(_Leaves(given, learner, term, max_step).values())

    return step


class _Leaves:
    """The leaves of one tree, with the levels that rows have before it."""

    def __init__(
        self, given: StepInput, learner: BoundTree, term: GrownTerm, max_step: float
    ) -> None:
        loss, bound = given.loss, given.bound
        assert isinstance(loss, LevelsLoss)
        assert isinstance(bound, LevelsBoundLoss)
        self._given, self._learner, self._term, self._loss = given, learner, term, loss
        self._max_step = max_step
        self._levels = loss.mean(given.score)
        self._least = LEAST_DISTANCE * bound.spread
        self._by_quantile = not isinstance(loss, Expectiles)

    def values(self) -> list[Vector]:
        """Return the node values of each output of the term."""
        given, found = self._given, []
        for k, fitted in zip(given.outputs, newton(given).values, strict=True):
            value = self._optimum(fitted, given.y - given.score[:, k], self._loss.levels[k])
            if k != self._loss.location:
                largest = self._largest_steps(fitted, k)
                value = np.clip(value, -largest, largest)
            if self._max_step:
                value = np.clip(value, -self._max_step, self._max_step)
            found.append(value)
        return found

    def _largest_steps(self, fitted: Vector, k: int) -> Vector:
        """Return the largest step of a level in every leaf: of the median of its distances."""
        distance = np.abs(self._levels[:, k] - self._levels[:, self._loss.location])
        times = self._given.bag.multiplier
        median = self._learner.leaf_quantiles(np.zeros_like(fitted), distance, 0.5, times)
        return LARGEST_STEP * np.maximum(median, self._least)

    def _optimum(self, fitted: Vector, residual: Vector, level: float) -> Vector:
        """Return `fitted` with the quantile or expectile of the residuals in each leaf."""
        residual = np.ascontiguousarray(residual)
        if self._by_quantile:
            times = self._given.bag.multiplier
            return self._learner.leaf_quantiles(fitted, residual, level, times)
        return self._expectiles(fitted, residual, level)

    def _expectiles(self, fitted: Vector, residual: Vector, level: float) -> Vector:
        """Return the expectiles of residuals by fixed-point steps: means with weights a."""
        given, nodes = self._given, self._learner.nodes_of_rows(self._term)
        found, pairs = fitted.copy(), Gradients(len(residual))
        found[self._term.tree.feature < 0] = 0.0
        for _ in range(N_STEPS):
            centre = found[nodes]
            own = np.where(residual > centre, level, 1.0 - level)
            pairs.assign(given.workers, own * (centre - residual), own, given.weight)
            scaled = given.bag.multiply(pairs, given.workers, given.weight, hessians=True)
            sums = self._learner.node_sums(self._term, scaled)
            leaves = sums.leaves[sums.hessian[sums.leaves] > 0]
            found[leaves] -= sums.gradient[leaves, 0] / sums.hessian[leaves]
        return found
