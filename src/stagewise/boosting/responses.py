"""What a learner is fitted to.

The one idea: a tree of numbers always solves weighted least squares, with targets -g/h and weights
h, for one score at a time, or with a vector in every leaf for all of them. A response says which g
and h these are: the loss's own (Newton), the gradient alone with h = 1 (Friedman), or the loss's
own with -g/h bounded (LogitBoost's working response). A tree of classes is fitted to the classes
themselves, with the loss's weights of the rows, for all scores at once (AdaBoost).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.losses import BoundLoss, Loss

__all__ = ["Response", "classes", "gradient", "newton", "working"]


@dataclass(frozen=True)
class Response:
    """How the derivatives of a loss become what a learner is fitted to.

    Parameters
    ----------
    name : str
        What it is called in a recipe.
    limit : float
        The largest absolute -g/h; 0: no limit.
    unit_hessians : bool
        Whether every row has the weight 1, so that the gradient alone is fitted.
    of_classes : bool
        Whether classes are told apart, with weights, rather than numbers fitted.
    """

    name: str
    limit: float = 0.0
    unit_hessians: bool = False
    of_classes: bool = False

    def turns(self, loss: Loss, *, joint: bool) -> Sequence[Sequence[int]]:
        """Return the outputs that each term of a round adds to: one, or if joint all."""
        every = range(loss.n_outputs)
        return [every] if self.of_classes or joint else [[output] for output in every]

    def of(
        self,
        bound: BoundLoss,
        output: int,
        workers: Workers,
        weight: npt.NDArray[np.float64] | None,
    ) -> Gradients:
        """Return what the next term of an output is fitted to."""
        if self.of_classes:
            return bound.row_weights()
        derivatives = bound.gradients(output)
        if self.unit_hessians or self.limit > 0:
            derivatives.transform(workers, weight, self.limit, self.unit_hessians)
        return derivatives

    def hessian_bound(self, loss: Loss) -> float:
        """Return the most that a hessian can be, or 0 if nothing is known."""
        return 1.0 if self.unit_hessians or self.of_classes else loss.hessian_bound

    def hessian_is_weight(self, loss: Loss, *, multiplied: bool) -> bool:
        """Return whether every hessian is that bound.

        Where rows count more than once their hessians do too, unless these count rows of classes.
        """
        if self.of_classes:
            return True
        return not multiplied and (self.unit_hessians or loss.hessian_is_weight)


newton = Response("Newton")
"""g and h of the loss: z = -g/h with weights h (Newton boosting)."""

gradient = Response("gradient", unit_hessians=True)
"""g of the loss, h = 1: the negative gradient by least squares (Friedman 2001, Algorithm 1)."""

classes = Response("classes", of_classes=True)
"""The classes, with the weights that the exponential loss gives the rows (AdaBoost)."""


def working(limit: float) -> Response:
    """Return Newton's response with z = -g/h no larger than `limit` (FHT 2000, section 4.2)."""
    return Response(f"working response up to ±{limit:g}", limit=limit)
