"""A loss that is given by a function of its derivatives.

The function has no value of the loss. A fit needs one for its history and for early stopping, so it
is the integral of the gradient along the scores of the rounds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers
from stagewise.errors import InvalidParameterError
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss, NumpyBoundLoss
from stagewise.losses.logarithm import MAX_STEP
from stagewise.losses.scores import Matrix, Vector, repeat_score, squeeze_outputs

__all__ = ["FunctionLoss", "function_name", "needs_value", "zero_of", "zeros_of"]

MAX_STEPS = 200
"""Steps of the search for the best constant; a bisection of doubles takes fewer."""

_SCORES = {"preds", "pred", "predt", "y_pred", "y_hat", "yhat", "score", "scores", "approxes"}
_TARGETS = {
    "y",
    "y_true",
    "labels",
    "label",
    "target",
    "targets",
    "train_data",
    "dtrain",
    "dataset",
}


class FunctionLoss(Loss):
    """A loss by a function ``(y, score) -> (gradient, hessian)``, the derivatives for every row.

    Domain: that of the function. Link: identity; for classes, that of log loss.

    The function returns derivatives of rows of weight 1; the fit multiplies them by the weights.
    y has class codes 0, 1, … for a classifier, and scores are log odds then. The loss that a fit
    reports is the integral of the gradient from the first scores to those of the round, by
    trapezoids: L(y, F_m) - L(y, F_0), and 0 before the first round. The best constant is the zero
    of the sum of the gradients, by Newton's method from 0.

    Parameters
    ----------
    function : callable
        Gets y and the scores, of shape (n_rows,), or (n_rows, n_classes) with more than two
        classes; returns two arrays of the shape of the scores.
    link : Loss or None, default=None
        The loss of classes whose link and number of scores are used; None: one score, which is the
        prediction.
    name : str, default="custom"
        The name that the function was registered by.
    """

    needs_all_rows = (
        "it is a function of derivatives, whose loss is an integral over the rounds; derive a "
        "class from stagewise.Loss, or use Loss.from_formula"
    )

    def __init__(
        self,
        function: Callable[..., Any],
        link: Loss | None = None,
        name: str = "custom",
    ) -> None:
        _check_signature(function)
        self.function, self.name, self._link = function, name, link
        self.n_outputs = 1 if link is None else link.n_outputs

    def __repr__(self) -> str:
        return function_name(self.function)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        raise needs_value_error(self, "This")

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        found: tuple[Matrix, Matrix] = self.function(y, score)
        return found

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return the scores at which the gradients sum to 0, by Newton's method from 0.

        With one score, steps that leave the interval in which the sum changes its sign are replaced
        by its middle. With several, steps are limited to ±MAX_STEP and halved until the sums fall.
        """
        return self.best_constant_with_offset(y, weight, np.zeros((len(y), self.n_outputs)))

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        def sums(constant: Vector) -> tuple[Vector, Vector]:
            scores = np.asfortranarray(repeat_score(constant, len(y)) + offset)
            with np.errstate(over="ignore", invalid="ignore"):
                found = self.derivatives(y, squeeze_outputs(scores))
                g, h = (np.asarray(part, dtype=np.float64).reshape(len(y), -1) for part in found)
                return (
                    np.array([mean_rows(g[:, k], weight) for k in range(self.n_outputs)]),
                    np.array([mean_rows(h[:, k], weight) for k in range(self.n_outputs)]),
                )

        return zero_of(sums) if self.n_outputs == 1 else zeros_of(sums, self.n_outputs)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        return np.asarray(score) if self._link is None else self._link.mean(score)

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        return np.asarray(mean) if self._link is None else self._link.link(mean)

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _FunctionBoundLoss(self, workers, y, weight, f"the loss {self!r}")


class _FunctionBoundLoss(NumpyBoundLoss):
    """Adds the integral of the gradient from the scores of one evaluation to those of the next."""

    _last: tuple[Matrix, Matrix] | None = None

    def start(self, score: Matrix) -> None:
        self.evaluate(score)

    def _losses(self, scores: Matrix) -> Vector:
        score = np.array(scores, order="F").reshape(len(scores), -1, order="F")
        if self._last is None:
            self._integral = np.zeros(len(score))
        else:
            before, gradient = self._last
            mean = 0.5 * (gradient + self._gradient)
            self._integral = self._integral + (mean * (score - before)).sum(axis=1)
        self._last = score, self._gradient
        return self._integral


def needs_value(loss: Loss, what: str) -> None:
    """Raise InvalidParameterError if the loss of a row has no value; `what` begins the message."""
    one = getattr(loss, "one", loss)  # of several targets
    if isinstance(one, FunctionLoss):
        raise needs_value_error(one, what)


def needs_value_error(loss: FunctionLoss, what: str) -> InvalidParameterError:
    """Return the error for a loss that is a function of derivatives."""
    return InvalidParameterError(
        f"{what} needs the loss of every row, but {loss!r} is a function that returns derivatives "
        "only. Derive a class from stagewise.Loss with the methods `loss` and `derivatives`."
    )


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function, or the class of another callable."""
    return str(getattr(function, "__name__", type(function).__name__))


def zero_of(sums: Callable[[Vector], tuple[Vector, Vector]]) -> Vector:
    """Return the zero of an increasing function, from its values and slopes."""
    at, low, high, last = 0.0, -np.inf, np.inf, np.inf
    for _ in range(MAX_STEPS):
        gradient, hessian = (float(part[0]) for part in sums(np.array([at])))
        if gradient == 0.0:
            break
        low, high = (at, high) if gradient < 0.0 else (low, at)
        step = -gradient / hessian if hessian > 0.0 else np.nan
        if np.isfinite(low) and np.isfinite(high):
            if not (low < at + step < high and abs(step) <= 0.5 * last):
                step = 0.5 * (low + high) - at
        elif not np.isfinite(step):
            step = float(-np.sign(gradient)) * (2.0 * last if np.isfinite(last) else 1.0)
        if at + step in (low, high):
            break
        at, last = at + step, abs(step)
    return np.array([at])


def zeros_of(sums: Callable[[Vector], tuple[Vector, Vector]], n_outputs: int) -> Vector:
    """Return the zero of a gradient, from its values and the diagonal of its slopes."""
    at = np.zeros(n_outputs)
    gradient, hessian = sums(at)
    for _ in range(MAX_STEPS):
        step = np.zeros(n_outputs)
        np.divide(-gradient, hessian, out=step, where=hessian > 0.0)
        step = np.clip(step, -MAX_STEP, MAX_STEP)
        size = float(np.abs(gradient).sum())
        while np.abs(step).max() > 1e-15 * max(1.0, float(np.abs(at).max())):
            new_gradient, new_hessian = sums(at + step)
            if np.abs(new_gradient).sum() < size:
                break
            step = 0.5 * step
        else:
            break
        at, gradient, hessian = at + step, new_gradient, new_hessian
    return at


def _check_signature(function: Callable[..., Any]) -> None:
    """Raise InvalidParameterError unless a function can be called with y and the scores."""
    if isinstance(function, type):
        raise InvalidParameterError(
            f"loss={function.__name__} is a class; pass an object of it: "
            f"loss={function.__name__}()."
        )
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a compiled function without a signature
        return
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in kinds]
    needed = [p.name for p in parameters if p.kind in kinds and p.default is p.empty]
    several = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    label = function_name(function)
    if len(needed) > 2:
        raise InvalidParameterError(
            f"A function as loss has the arguments (y, score); {label} needs "
            f"({', '.join(needed)}). The fit multiplies gradients and hessians by the weights "
            "of the rows, so the function needs none: return the derivatives of rows of weight 1."
        )
    if len(names) < 2 and not several:
        raise InvalidParameterError(
            f"A function as loss has the arguments (y, score); {label} has ({', '.join(names)})."
        )
    if len(names) > 1 and names[0].lower() in _SCORES and names[1].lower() in _TARGETS:
        raise InvalidParameterError(
            f"A function as loss has the arguments (y, score), in this order; {label} has "
            f"({', '.join(names[:2])}). Exchange them; y is an array of the targets."
        )
