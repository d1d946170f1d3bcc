"""How far to go: from a fitted tree to the values of its leaves.

The one idea: a step sees the bound loss, the tree and the residual scores, and returns node values
before shrinkage. `newton` keeps the tree's own -G/(H+λ); `region_optimum` takes each region's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.learners.histogram_tree import GrownTerm, TreeGrowth
from stagewise.losses import BoundLoss, Loss

__all__ = ["Step", "newton", "region_optimum", "step_for"]

Vector = npt.NDArray[np.float64]
Step = Callable[[BoundLoss, TreeGrowth, GrownTerm, npt.NDArray[Any], Vector], Vector]


def newton(
    bound: BoundLoss, growth: TreeGrowth, term: GrownTerm, y: npt.NDArray[Any], score: Vector
) -> Vector:
    """Return w = -G / (H + λ) of every node, as the tree was grown (Chen & Guestrin, eq. 5)."""
    return term.tree.value


def region_optimum(quantile: float, max_step: float) -> Step:
    """Return the step that takes each region's own optimum: γ_j = argmin Σ L(y, F + γ).

    Friedman (2001): a quantile of y - F (Algorithm 3), or from the median one step of the Huber
    loss (Algorithm 4); clipped to ±max_step (0: any).
    """

    def step(
        bound: BoundLoss, growth: TreeGrowth, term: GrownTerm, y: npt.NDArray[Any], score: Vector
    ) -> Vector:
        if bound.width is None:
            value = growth.leaf_quantiles(term, y - score, quantile)
        else:
            value = growth.leaf_huber_means(term, y - score, bound.width)
        return np.clip(value, -max_step, max_step) if max_step > 0 else value

    return step


def step_for(loss: Loss, max_step: float = 0.0) -> Step:
    """Return the step a loss calls for; a Newton tree has clipped its values itself."""
    return newton if loss.leaf_quantile is None else region_optimum(loss.leaf_quantile, max_step)
