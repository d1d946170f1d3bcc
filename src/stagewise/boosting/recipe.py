"""An algorithm as its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from stagewise.boosting import responses, steps
from stagewise.boosting.responses import Response
from stagewise.boosting.sampling import RowFraction
from stagewise.boosting.steps import Step
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """loss × response × learner × step × sampling, with shrinkage: f_m = f_(m-1) + ν · step(b_m).

    Parameters
    ----------
    loss : Loss
        What is minimised.
    learner : HistogramTree
        What is fitted in every round.
    response : Response
        What it is fitted to; see `stagewise.boosting.responses`.
    step : callable
        How a fitted tree gets its leaf values; see `stagewise.boosting.steps`.
    sampling : RowFraction
        Which rows a round sees.
    learning_rate : float
        ν.
    """

    loss: Loss
    learner: HistogramTree
    response: Response = responses.newton
    step: Step = steps.newton
    sampling: RowFraction = field(default_factory=RowFraction)
    learning_rate: float = 0.1
