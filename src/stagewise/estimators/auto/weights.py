"""The weights of models in a sum, chosen by the loss of held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from stagewise.estimators.auto.held_out_losses import HeldOutLosses

__all__ = ["choose_factor", "choose_weights"]

Vector = npt.NDArray[np.float64]
RowLosses = Callable[[Vector], Vector]
"""The loss of every held-out row, from scores of shape (n_rows, n_outputs)."""

FARTHEST = 2.0
"""The number of standard errors beyond which a model has no weight."""
LEAST_FACTOR = 0.25
"""The factor of scores is between 1/4 and 1."""


def choose_weights(losses: Sequence[HeldOutLosses], members: int) -> Vector:
    """Return weights with sum 1: the more a model is worse than the best one, the smaller.

    The weight is proportional to exp(-z²/2), where z is the mean difference of the losses of
    held-out rows to those of the best model, in standard errors. So models whose losses hardly
    differ have about the same weight. Models beyond `FARTHEST` have none.

    Parameters
    ----------
    losses : sequence of HeldOutLosses
        The losses of each model, of the same rows.
    members : int
        The largest number of models with a positive weight.
    """
    best = min(losses, key=lambda own: own.mean)
    distances = np.array([own.distance_to(best) for own in losses])
    order = np.argsort(distances, kind="stable")
    weight = np.where(distances < FARTHEST, np.exp(-(distances**2) / 2.0), 0.0)
    weight[order[members:]] = 0.0
    return np.asarray(weight / weight.sum())


def choose_factor(score: Vector, losses: RowLosses, weight: Vector) -> float:
    """Return the factor of scores that makes probabilities less extreme; 1 unless it clearly helps.

    It is the inverse of a temperature (Guo et al. 2017). It is used if the mean decrease of the
    loss of the held-out rows is above its standard error. It is at most 1: held-out rows without
    an error would make scores as large as possible.

    Parameters
    ----------
    score : float64 array of shape (n_rows, n_outputs)
        The scores of held-out rows.
    losses : callable
        Returns the loss of every row.
    weight : float64 array
        The weights of these rows.
    """
    found = minimize_scalar(
        lambda power: float(np.average(losses(np.exp(power) * score), weights=weight)),
        bounds=(float(np.log(LEAST_FACTOR)), 0.0),
        method="bounded",
    )
    factor = float(np.exp(found.x))
    gain = HeldOutLosses(losses(score) - losses(factor * score), weight)
    return factor if gain.mean > gain.standard_error else 1.0
