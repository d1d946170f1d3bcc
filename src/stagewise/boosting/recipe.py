"""An algorithm as its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from stagewise.boosting.sampling import RowFraction
from stagewise.boosting.steps import Step, newton
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """loss × learner × step × sampling, with shrinkage: f_m = f_(m-1) + ν · step(b_m).

    Parameters
    ----------
    loss : Loss
        What is minimised.
    learner : HistogramTree
        What is fitted to the gradients of every round.
    step : callable
        How a fitted tree gets its leaf values; see `stagewise.boosting.steps`.
    sampling : RowFraction
        Which rows a round sees.
    learning_rate : float
        ν.
    """

    loss: Loss
    learner: HistogramTree
    step: Step = newton
    sampling: RowFraction = field(default_factory=RowFraction)
    learning_rate: float = 0.1
