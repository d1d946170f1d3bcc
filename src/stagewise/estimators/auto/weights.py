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

STEPS = 25
"""The largest number of steps of the greedy search: weights are multiples of 1/25 at least."""
LEAST_FACTOR = 0.25
"""The factor of scores is between 1/4 and 1."""


def choose_weights(
    scores: Sequence[Vector], losses: RowLosses, weight: Vector, members: int
) -> Vector:
    """Return weights with sum 1 that make the loss of held-out rows small.

    In every step the model whose addition reduces the loss of the average most is added once more;
    the search ends when no addition reduces it (forward selection with replacement, Caruana et al.
    2004). Few steps from the best single model keep the weights from fitting the held-out rows.

    Parameters
    ----------
    scores : sequence of float64 arrays of shape (n_rows, n_outputs)
        The scores of held-out rows by each model.
    losses : callable
        Returns the loss of every row.
    weight : float64 array
        The weights of these rows.
    members : int
        The largest number of models with a positive weight.
    """
    counts, total, best = np.zeros(len(scores)), np.zeros_like(scores[0]), np.inf
    for step in range(1, STEPS + 1):
        allowed = [m for m in range(len(scores)) if counts[m] or np.count_nonzero(counts) < members]
        found = [
            float(np.average(losses((total + scores[m]) / step), weights=weight)) for m in allowed
        ]
        place = int(np.argmin(found))
        if found[place] >= best:
            break
        best, chosen = found[place], allowed[place]
        counts[chosen] += 1
        total = total + scores[chosen]
    return np.asarray(counts / counts.sum())


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
