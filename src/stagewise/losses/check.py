"""A check of a loss that was written by a user: its derivatives, best constant and attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.losses.base import Loss
from stagewise.losses.function import FunctionLoss
from stagewise.losses.scores import Matrix, Vector, repeat_score, squeeze_outputs

__all__ = ["check_loss"]

N_ROWS = 50
STEP = 2.0**-17
"""The step of differences, relative to the scores; the cube root of a double's precision."""
TOLERANCE = 1e-4
"""The largest relative error of a derivative. Differences have errors of about 1e-10."""


def check_loss(
    loss: Loss | Callable[..., Any], y: Any = None, score: Any = None, *, random_state: int = 0
) -> None:
    """Check a loss, and raise ValueError with the first row that is wrong.

    The gradient is compared with central differences of `loss`, at the scores and at smaller and
    larger ones. Hessians must not be negative, and not below the second derivative, except at
    kinks: a larger hessian gives smaller steps, a smaller one steps that are too large. The
    gradients must sum to 0 at `best_constant`, `degree` must hold, and `link` must be the inverse
    of `mean`. Of a function (y, score) -> (gradient, hessian), the hessian is compared with
    differences of the gradient.

    Parameters
    ----------
    loss : Loss or function
        The loss.
    y : array-like or None, default=None
        Targets in the domain of the loss; class codes for a loss of classes. None: 50 numbers
        between 0.5 and 4.
    score : array-like or None, default=None
        Scores, of shape (n_rows,) or (n_rows, n_outputs); None: random numbers.
    random_state : int, default=0
        The seed of these numbers.
    """
    own = loss if isinstance(loss, Loss) else FunctionLoss(loss)
    random = np.random.default_rng(random_state)
    targets = random.uniform(0.5, 4.0, N_ROWS) if y is None else np.asarray(y)
    own.check(targets)
    shape = (len(targets), own.n_outputs) if own.n_outputs > 1 else (len(targets),)
    given = random.normal(size=shape) if score is None else np.asarray(score, dtype=np.float64)
    if given.shape != shape:
        raise ValueError(f"score has the shape {given.shape}; expected {shape}.")
    for factor in (1.0, 0.1, 3.0):
        _check_derivatives(own, targets, factor * given)
    if not isinstance(own, FunctionLoss):
        _check_best_constant(own, targets)
        _check_degree(own, targets, given)
    _check_link(own, given)


def _check_derivatives(loss: Loss, y: npt.NDArray[Any], score: Matrix) -> None:
    gradient, hessian = _derivatives(loss, y, score)
    if hessian.min() < 0.0:
        _fail(loss, "hessian", hessian < 0.0, hessian, "0 or more", y, score)
    for k in range(loss.n_outputs):
        at = (slice(None), k) if score.ndim > 1 else slice(None)
        step = STEP * np.maximum(1.0, np.abs(score[at]))
        sides = [score.copy(), score.copy()]
        sides[0][at] -= step
        sides[1][at] += step
        below, above = (_derivatives(loss, y, side)[0][at] for side in sides)
        kink = np.abs(above - below) > np.maximum(1.0, np.abs(gradient[at])) * 0.1
        if not isinstance(loss, FunctionLoss):
            low, high = (np.asarray(loss.loss(y, side), dtype=np.float64) for side in sides)
            _check_shape(loss, "loss", low, (len(y),))
            slope = (high - low) / (2.0 * step)
            rounding = 1e-14 * np.maximum(np.abs(low), np.abs(high)) / step
            wrong = np.abs(slope - gradient[at]) > TOLERANCE * np.maximum(1.0, np.abs(slope))
            wrong &= (np.abs(slope - gradient[at]) > rounding) & ~kink
            if wrong.any():
                _fail(loss, "gradient", wrong, gradient[at], slope, y, score)
        slope = (above - below) / (2.0 * step)
        wrong = (hessian[at] < slope - 10 * TOLERANCE * np.maximum(1.0, np.abs(slope))) & ~kink
        if wrong.any():
            _fail(loss, "hessian", wrong, hessian[at], slope, y, score)


def _derivatives(loss: Loss, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
    found: Any = loss.derivatives(y, score)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise ValueError(f"The derivatives of {loss!r} must be two arrays; got {type(found)}.")
    gradient, hessian = (np.asarray(part, dtype=np.float64) for part in found)
    _check_shape(loss, "gradient", gradient, score.shape)
    _check_shape(loss, "hessian", hessian, score.shape)
    return gradient, hessian


def _check_shape(loss: Loss, what: str, found: Vector, shape: tuple[int, ...]) -> None:
    if found.shape != shape:
        raise ValueError(
            f"The {what} of {loss!r} has the shape {found.shape}; expected {shape}, that of the "
            f"{'rows' if what == 'loss' else 'scores'}."
        )
    if not np.isfinite(found).all():
        raise ValueError(
            f"The {what} of {loss!r} is not finite in row {_first(~np.isfinite(found))}."
        )


def _fail(
    loss: Loss,
    what: str,
    wrong: npt.NDArray[np.bool_],
    found: Vector,
    expected: Any,
    y: npt.NDArray[Any],
    score: Matrix,
) -> None:
    row = _first(wrong)
    value = np.ravel(found[row])[0]
    right = expected if isinstance(expected, str) else f"{np.ravel(expected[row])[0]:g}"
    if what == "hessian" and not isinstance(expected, str):
        right += ", the second derivative, or a larger bound"
    raise ValueError(
        f"The {what} of {loss!r} is {value:g} in row {row}, at y = {y[row]} and the score "
        f"{np.ravel(score[row]).tolist()}; expected {right}."
    )


def _first(wrong: npt.NDArray[np.bool_]) -> int:
    return int(np.argmax(wrong.reshape(len(wrong), -1).any(axis=1)))


def _check_best_constant(loss: Loss, y: npt.NDArray[Any]) -> None:
    constant = loss.checked_best_constant(y, None)

    def total(at: Vector) -> float:
        return float(np.mean(loss.loss(y, np.array(squeeze_outputs(repeat_score(at, len(y)))))))

    least = total(constant)
    for k in range(loss.n_outputs):
        for step in (-0.05, 0.05):
            moved = constant.copy()
            moved[k] += step * max(1.0, abs(moved[k]))
            if total(moved) < least - TOLERANCE * max(1e-6, abs(least)):
                raise ValueError(
                    f"{type(loss).__name__}.best_constant returned {constant.tolist()} with the "
                    f"mean loss {least:g}, but {moved.tolist()} has {total(moved):g}."
                )


def _check_degree(loss: Loss, y: npt.NDArray[Any], score: Matrix) -> None:
    if loss.degree is None:
        return
    scaled = loss.in_units(3.0).loss(3.0 * y + 2.0, 3.0 * score + 2.0)
    if not np.allclose(scaled, 3.0**loss.degree * loss.loss(y, score), rtol=TOLERANCE):
        raise ValueError(
            f"{loss!r} has degree {loss.degree}, but L(3 y + 2, 3 F + 2) is not "
            f"{3**loss.degree} L(y, F). Remove the attribute."
        )


def _check_link(loss: Loss, score: Matrix) -> None:
    try:
        again = loss.link(np.asarray(loss.mean(score)))
    except NotImplementedError:
        return
    if np.shape(again) != score.shape or loss.n_outputs > 1:  # softmax has no unique inverse
        return
    if not np.allclose(again, score, rtol=TOLERANCE, atol=TOLERANCE):
        raise InvalidParameterError(f"{type(loss).__name__}.link is not the inverse of `mean`.")
