"""The named algorithms, each one composition of the same parts.

The one idea: an algorithm differs from another only in what its learner is fitted to (response),
how far it then goes (step) and where it starts; the loss and the learner are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stagewise.boosting import responses
from stagewise.boosting.responses import Response
from stagewise.boosting.steps import (
    Step,
    log_odds,
    newton,
    region_optimum,
    step_for,
    symmetric,
    votes,
)
from stagewise.losses import Loss

__all__ = [
    "BY_RESPONSE",
    "DISCRETE",
    "GENTLE",
    "GRADIENT",
    "NEWTON",
    "REAL",
    "Method",
    "logit_boost",
]


@dataclass(frozen=True)
class Method:
    """How a loss is boosted.

    Parameters
    ----------
    step_name : str
        What the step is called in a recipe.
    response : Response
        What the learner is fitted to.
    step : callable
        From the loss and the largest step (0: any) to the step.
    from_zero : bool
        Whether F starts at 0 rather than at the best constant.
    """

    step_name: str
    response: Response
    step: Callable[[Loss, float], Step]
    from_zero: bool = False

    def describe(self, loss: Loss) -> str:
        """Return the response and the step in words."""
        if loss.leaf_quantile is not None:
            return "each leaf's own optimum"
        if self.response is responses.newton:
            return self.step_name
        return f"{self.response.name} x {self.step_name}"


NEWTON = Method("Newton steps", responses.newton, step_for)
"""Trees of -g/h with weights h; leaves -G/(H+λ) (Chen & Guestrin 2016)."""

GRADIENT = Method(
    "each leaf's own optimum", responses.gradient, lambda loss, most: region_optimum(most)
)
"""Trees of the negative gradient; then every region's own optimum (Friedman 2001)."""

GENTLE = Method("Newton steps", responses.newton, lambda loss, most: newton, from_zero=True)
"""Weighted means of the response, never its log odds (FHT 2000, Algorithm 4)."""

DISCRETE = Method("votes", responses.classes, lambda loss, most: votes, from_zero=True)
"""Trees of classes that vote (Freund & Schapire 1997, AdaBoost.M1; SAMME for K classes)."""

REAL = Method("log odds of leaves", responses.classes, lambda loss, most: log_odds, from_zero=True)
"""Trees of classes that say how sure they are (FHT 2000, Algorithm 2; SAMME.R for K classes)."""


BY_RESPONSE: Mapping[str, Method] = MappingProxyType({"newton": NEWTON, "gradient": GRADIENT})
"""What gradient boosting is called by its response."""


def logit_boost(limit: float) -> Method:
    """Return LogitBoost with responses of at most `limit` (FHT 2000, Algorithms 3 and 6)."""
    return Method(
        "Newton steps", responses.working(limit), lambda loss, most: symmetric, from_zero=True
    )
