"""An algorithm as its parts: the response, the step, the sampling of rows and the dropout.

Named algorithms differ in the response, the step and the start only. The loss and the learner
belong to the fit, not to the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from stagewise.boosting import responses
from stagewise.boosting.dropout import Dropout
from stagewise.boosting.responses import Response
from stagewise.boosting.sampling import RowFraction, Sampling
from stagewise.boosting.steps import (
    Step,
    log_odds,
    newton,
    optimum_for,
    step_for,
    symmetric,
    votes,
)
from stagewise.errors import InvalidParameterError
from stagewise.learners.learner import Learner
from stagewise.losses import Loss
from stagewise.losses.levels import LevelsLoss

__all__ = [
    "BY_RESPONSE",
    "DISCRETE",
    "GENTLE",
    "GRADIENT",
    "NEWTON",
    "REAL",
    "ZERO",
    "BoundRecipe",
    "Recipe",
    "logit_boost",
]


Vector = npt.NDArray[np.float64]

ZERO = (0.0,)
"""F starts at 0."""


@dataclass(frozen=True)
class Recipe:
    """response × step × sampling × dropout; f_m = f_(m-1) + ν · step(b_m).

    Parameters
    ----------
    step_name : str
        The name of the step in descriptions.
    response : Response
        The target and weights of the learner; see `stagewise.boosting.responses`.
    step : callable
        Takes the loss and the largest step (0: no limit) and returns the step; see
        `stagewise.boosting.steps`.
    start : tuple of float or None
        F before the first round, in the units of the target: one number for all outputs, or one for
        each. None: the best constant of the loss.
    learning_rate : float
        ν.
    sampling : Sampling
        Which rows a round uses.
    dropout : Dropout
        Which earlier rounds are removed while a round is fitted.
    correction : {None, "each_round", "end"}
        When the coefficients of all terms are fitted again, jointly; None: never.
    out_of_bag : bool
        Whether to measure how much each round improves the loss of its out-of-bag rows.
    """

    step_name: str
    response: Response
    step: Callable[[Loss, float], Step]
    start: tuple[float, ...] | None = None
    learning_rate: float = 0.1
    sampling: Sampling = field(default_factory=RowFraction)
    dropout: Dropout = field(default_factory=Dropout)
    correction: str | None = None
    out_of_bag: bool = False

    @property
    def changes_terms(self) -> bool:
        """Whether a round changes the terms of earlier rounds."""
        return self.dropout.rate > 0 or self.correction == "each_round"

    def start_of(self, loss: Loss) -> Vector | None:
        """Return F before the first round, a number per output; None: the best constant."""
        if self.start is None:
            return None
        if len(self.start) > 1 and loss.location is not None and loss.degree is not None:
            raise InvalidParameterError(
                f"The parameter 'init' has {len(self.start)} numbers, and loss={loss.name!r} has "
                "one location. Pass one number, or init='mean'."
            )
        if len(self.start) not in (1, loss.n_outputs):
            raise InvalidParameterError(
                f"The parameter 'init' has {len(self.start)} numbers, but the model has "
                f"{loss.n_outputs} score{'' if loss.n_outputs == 1 else 's'} per row. Pass one "
                "number, or one for each score."
            )
        return np.resize(np.array(self.start), loss.n_outputs)

    def describe(self, loss: Loss) -> str:
        """Return the names of the response and of the step."""
        if loss.leaf_quantile is not None or isinstance(loss, LevelsLoss):
            return "each leaf's own optimum"
        if self.response is responses.newton:
            return self.step_name
        return f"{self.response.name} x {self.step_name}"


@dataclass(frozen=True)
class BoundRecipe:
    """A recipe with the loss, the learner and the units of one fit.

    Parameters
    ----------
    recipe : Recipe
        The algorithm.
    loss : Loss
        The loss to minimise.
    learner : Learner
        The learner that is fitted in every round.
    step : callable
        The step of the recipe for this loss.
    joint : bool
        Whether a round is one term with a value for each output, rather than a term for each.
    spread : float
        The spread of the scaled target, or 1.
    groups : uint32 array or None
        The group number of every row, if groups are sampled.
    """

    recipe: Recipe
    loss: Loss
    learner: Learner
    step: Step
    joint: bool = False
    spread: float = 1.0
    groups: npt.NDArray[np.uint32] | None = None


NEWTON = Recipe("Newton steps", responses.newton, step_for)
"""Trees of -g/h with weights h; leaves -G/(H+λ) (Chen & Guestrin 2016)."""

GRADIENT = Recipe("each leaf's own optimum", responses.gradient, optimum_for)
"""Trees of the negative gradient, then the optimum of every region (Friedman 2001)."""

GENTLE = Recipe("Newton steps", responses.newton, lambda loss, max_step: newton, start=ZERO)
"""Weighted means of the response instead of log odds (FHT 2000, Algorithm 4)."""

DISCRETE = Recipe("votes", responses.classes, lambda loss, max_step: votes, start=ZERO)
"""Classification trees that vote (Freund & Schapire 1997, AdaBoost.M1; SAMME for K classes)."""

REAL = Recipe("log odds of leaves", responses.classes, lambda loss, max_step: log_odds, start=ZERO)
"""Classification trees with log odds as values (FHT 2000, Algorithm 2; SAMME.R for K classes)."""


BY_RESPONSE: Mapping[str, Recipe] = MappingProxyType({"newton": NEWTON, "gradient": GRADIENT})
"""Gradient boosting by the name of its response."""


def logit_boost(z_max: float) -> Recipe:
    """Return LogitBoost with working responses of at most `z_max` (FHT 2000, Algorithms 3, 6)."""
    return Recipe(
        "Newton steps", responses.working(z_max), lambda loss, max_step: symmetric, start=ZERO
    )
