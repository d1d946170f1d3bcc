"""An algorithm as its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from stagewise.boosting import responses, steps
from stagewise.boosting.dropout import Dropout
from stagewise.boosting.responses import Response
from stagewise.boosting.sampling import RowFraction, Sampling
from stagewise.boosting.steps import Step
from stagewise.learners.learner import Learner
from stagewise.losses import Loss

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """loss × response × learner × step × sampling × dropout; f_m = f_(m-1) + ν · step(b_m).

    Parameters
    ----------
    loss : Loss
        What is minimised.
    learner : Learner
        What is fitted in every round.
    response : Response
        What it is fitted to; see `stagewise.boosting.responses`.
    step : callable
        How a fitted tree gets its leaf values; see `stagewise.boosting.steps`.
    sampling : Sampling
        Which rows a round sees.
    learning_rate : float
        ν.
    dropout : Dropout
        Which earlier rounds a round is fitted without.
    out_of_bag : bool
        Whether to measure how much each round improves the loss of the rows outside its bag.
    joint : bool
        Whether a round is one term with a value for each output, rather than a term for each.
    """

    loss: Loss
    learner: Learner
    response: Response = responses.newton
    step: Step = steps.newton
    sampling: Sampling = field(default_factory=RowFraction)
    learning_rate: float = 0.1
    dropout: Dropout = field(default_factory=Dropout)
    out_of_bag: bool = False
    joint: bool = False
