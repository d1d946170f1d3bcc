"""Fully corrective boosting: the coefficients of all terms are fitted again, jointly.

    c = argmin_c Σ_i w_i L(y_i, f_0(x_i) + Σ_m c_m b_m(x_i))

A stagewise fit never changes earlier terms; a fully corrective one changes their coefficients after
every round, or once after the last one (Shalev-Shwartz, Srebro & Zhang 2010). For least squares it
is orthogonal matching pursuit. The terms themselves stay as they were fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.exact_sums import sum_rows
from stagewise.losses import Loss
from stagewise.losses.logarithm import MAX_STEP
from stagewise.losses.scores import squeeze_outputs

__all__ = ["TermAmounts", "fit_coefficients"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

MAX_ITERATIONS = 100
TOLERANCE = 1e-13
"""The fit ends when an iteration decreases the loss by less than this share of it."""


class TermAmounts:
    """The amounts that each term of a fit adds to the scores of its rows.

    Parameters
    ----------
    samples : sequence of EncodedRows
        The training rows, and the held-out rows if there are any; before the first round.
    """

    def __init__(self, samples: Sequence[Any]) -> None:
        self._samples = samples
        self._start = [rows.score.copy() for rows in samples]
        self._amounts: list[list[Vector]] = [[] for _ in samples]
        self._outputs: list[int] = []

    def append(self, output: int, learner: Any, term: Any) -> None:
        """Record the newest term, which adds to one output."""
        self._outputs.append(output)
        for place, (rows, amounts) in enumerate(zip(self._samples, self._amounts, strict=True)):
            amount = np.zeros(rows.n_rows)
            if place == 0:
                learner.add(term, rows.source, amount)
            else:
                learner.add_to_other_rows(term, rows.table, rows.source, amount)
            amounts.append(amount)

    def truncate(self, n_terms: int) -> None:
        """Forget all terms after the first `n_terms`."""
        del self._outputs[n_terms:]
        for amounts in self._amounts:
            del amounts[n_terms:]

    def refit(self, loss: Loss) -> Vector:
        """Return the best coefficient of each term for the training rows, and set the scores."""
        train = self._samples[0]
        found = fit_coefficients(
            loss, train.y, train.weight, self._start[0], self._outputs, self._amounts[0]
        )
        for rows, start, amounts in zip(self._samples, self._start, self._amounts, strict=True):
            for amount, coefficient in zip(amounts, found, strict=True):
                amount *= coefficient
            rows.score[:] = _scores(start, self._outputs, amounts, np.ones(len(found)))
        return found


def fit_coefficients(
    loss: Loss,
    y: npt.NDArray[Any],
    weight: Vector | None,
    start: Matrix,
    outputs: Sequence[int],
    amounts: Sequence[Vector],
) -> Vector:
    """Return argmin_c Σ w L(y, start + Σ c_m b_m) by Newton's method, from c = 1.

    The hessian of several outputs is block-diagonal. A step is halved until it decreases the loss.
    Where the loss has no minimum, such as for separated classes, no score moves by more than
    MAX_STEP.

    Parameters
    ----------
    loss : Loss
        With a curvature.
    y, weight
        The targets and weights of the rows.
    start : float64 array of shape (n_rows, n_outputs)
        The scores without any term.
    outputs : sequence of int
        The output that each term adds to.
    amounts : sequence of float64 array
        b_m of all rows, for each term.
    """
    blocks = [[m for m, o in enumerate(outputs) if o == k] for k in range(loss.n_outputs)]
    bases = [np.column_stack([amounts[m] for m in block]) for block in blocks]

    def total(coefficients: Vector) -> float:
        scores = _scores(start, outputs, amounts, coefficients)
        with np.errstate(over="ignore", invalid="ignore"):
            found = sum_rows(loss.loss(y, squeeze_outputs(scores)), weight)
        return found if np.isfinite(found) else np.inf

    coefficients = np.ones(len(outputs))
    value = total(coefficients)
    for _ in range(MAX_ITERATIONS):
        scores = _scores(start, outputs, amounts, coefficients)
        gradient, hessian = loss.derivatives(y, squeeze_outputs(scores))
        step = np.zeros_like(coefficients)
        for k, (block, basis) in enumerate(zip(blocks, bases, strict=True)):
            g, h = (d if d.ndim == 1 else d[:, k] for d in (gradient, hessian))
            if weight is not None:
                g, h = g * weight, h * weight
            curvature = (basis * h[:, np.newaxis]).T @ basis
            step[block] = np.linalg.lstsq(curvature, -(basis.T @ g), rcond=None)[0]
        if loss.degree is None:
            moved = _scores(start, outputs, amounts, coefficients + step - 1.0) - start
            step *= min(1.0, MAX_STEP / max(float(np.abs(moved).max()), MAX_STEP))
        before = value
        coefficients, value = _halved(total, coefficients, step, value)
        if before - value <= TOLERANCE * abs(before):
            break
    return coefficients


def _halved(total: Any, coefficients: Vector, step: Vector, value: float) -> tuple[Vector, float]:
    """Return the coefficients after the longest halved step that decreases the loss."""
    for halvings in range(30):
        tried = coefficients + 0.5**halvings * step
        found = total(tried)
        if found < value:
            return tried, found
    return coefficients, value


def _scores(
    start: Matrix, outputs: Sequence[int], amounts: Sequence[Vector], coefficients: Vector
) -> Matrix:
    scores = start.copy(order="F")
    for output, amount, coefficient in zip(outputs, amounts, coefficients, strict=True):
        scores[:, output] += coefficient * amount
    return scores
