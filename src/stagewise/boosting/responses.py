"""The response: the target and weights that a learner is fitted to.

A regression tree solves weighted least squares, with targets -g/h and weights h, for one score at a
time, or with vector leaves for all scores at once. The response defines g and h: those of the loss
(Newton), the gradient with h = 1 (Friedman), or those of the loss with -g/h bounded (LogitBoost's
working response). A classification tree is fitted to the classes, with the row weights of the loss,
for all scores at once (AdaBoost).
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
    """How the target and weights of a learner follow from the derivatives of a loss.

    Parameters
    ----------
    name : str
        Its name in `recipe()`.
    limit : float
        The largest absolute -g/h; 0: no limit.
    unit_hessians : bool
        Whether every row has the hessian 1, so that the gradient alone is fitted.
    of_classes : bool
        Whether the target is the class, with row weights, for a classification tree.
    """

    name: str
    limit: float = 0.0
    unit_hessians: bool = False
    of_classes: bool = False

    def turns(self, loss: Loss, *, joint: bool) -> Sequence[Sequence[int]]:
        """Return the outputs that each term of a round adds to: one, or all if terms are joint."""
        every = range(loss.n_outputs)
        return [every] if self.of_classes or joint else [[output] for output in every]

    def of(
        self,
        bound: BoundLoss,
        output: int,
        workers: Workers,
        weight: npt.NDArray[np.float64] | None,
    ) -> Gradients:
        """Return the derivatives, or row weights, that the next term of an output is fitted to."""
        if self.of_classes:
            return bound.row_weights()
        derivatives = bound.gradients(output)
        if self.unit_hessians or self.limit > 0:
            derivatives.transform(workers, weight, self.limit, self.unit_hessians)
        return derivatives

    def hessian_bound(self, loss: Loss) -> float:
        """Return an upper bound of the hessian of a row of weight 1, or 0 if there is none."""
        return 1.0 if self.unit_hessians or self.of_classes else loss.hessian_bound

    def hessian_is_weight(self, loss: Loss, *, multiplied: bool) -> bool:
        """Return whether the hessian of every row equals that bound.

        If rows count more than once (`multiplied`), so do their hessians, except those of a
        classification tree, which count rows.
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
