"""How far to go: from a fitted tree to the values of its leaves.

The one idea: a step sees the loss, the tree and the residual scores, and returns node values before
shrinkage. `newton` keeps the tree's own -G/(H+λ); `leaf_quantile` takes each region's own optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.learners.histogram_tree import GrownTerm, TreeGrowth
from stagewise.losses import Loss

__all__ = ["Step", "leaf_quantile", "newton", "step_for"]

Vector = npt.NDArray[np.float64]
Step = Callable[[Loss, TreeGrowth, GrownTerm, npt.NDArray[Any], Vector], Vector]


def newton(
    loss: Loss, growth: TreeGrowth, term: GrownTerm, y: npt.NDArray[Any], score: Vector
) -> Vector:
    """Return w = -G / (H + λ) of every node, as the tree was grown (Chen & Guestrin, eq. 5)."""
    return term.tree.value


def leaf_quantile(max_step: float) -> Step:
    """Return the step that takes each region's own optimum, a quantile of y - F.

    Friedman (2001), Algorithm 3; clipped to ±max_step (0: any).
    """

    def step(
        loss: Loss, growth: TreeGrowth, term: GrownTerm, y: npt.NDArray[Any], score: Vector
    ) -> Vector:
        assert loss.leaf_quantile is not None
        value = growth.leaf_quantiles(term, y - score, loss.leaf_quantile)
        return np.clip(value, -max_step, max_step) if max_step > 0 else value

    return step


def step_for(loss: Loss, max_step: float = 0.0) -> Step:
    """Return the step a loss calls for; a Newton tree has clipped its values itself."""
    return newton if loss.leaf_quantile is None else leaf_quantile(max_step)
