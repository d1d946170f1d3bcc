"""The base class of loss functions.

A `Loss` is a function of (y, score): its value, its derivatives with respect to the score, the best
constant, and the inverse link. A fit *binds* a loss to its rows (`bound_loss.py`). This module must
not import trees, boosting or estimators.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from stagewise._native import Workers
from stagewise.exact_sums import mean_rows
from stagewise.losses.bound_loss import BoundLoss, NumpyBoundLoss
from stagewise.losses.logarithm import MAX_STEP
from stagewise.losses.scores import Matrix, Vector
from stagewise.validation.equality import equal_values

__all__ = ["Loss"]

# The step of numerical derivatives: the fourth root of a double's precision.
DIFFERENCE = 2.0**-13


class Loss(ABC):
    """A loss function L(y, F) for boosting. Losses of one class with equal parameters are equal.

    To define one, derive from this class and define `loss` and `derivatives`; without `derivatives`
    they are computed numerically. `stagewise.losses.check_loss` checks it, and
    `stagewise.register_loss` gives it a name in model files. Scores have the shape (n_rows,) if
    there is one output, else (n_rows, n_outputs), as those of `decision_function`.

    Attributes
    ----------
    name : str
        The name in parameters and model files; "custom" for a loss that is not registered.
    task : str or None
        "ranking" for losses of queries, "survival" for losses of times; None: regression or
        classification, by the target.
    n_outputs : int
        The number of scores per row.
    degree : int or None
        The d with L(a·y + b, a·F + b) = a^d · L(y, F), or None. With it, targets are standardised
        before the fit, so their scale and offset do not matter. Without it, targets so small or so
        large that the core could not add up their gradients are an error.
    hessian_bound : float
        An upper bound of the hessian of a row of weight 1, or 0 if none is known.
    hessian_is_weight : bool
        Whether the hessian equals that bound for every row.
    mean_is_best : bool
        Whether the best constant is the weighted mean of y, and so 0 for centred targets.
    leaf_quantile : float or None
        The quantile of y - F that is the best constant of a region; None: a Newton step is used.
    kernel : (str, float) or None
        The native kernel that computes the loss of rows in chunks, and its parameter; None: the
        loss is bound to each chunk.
    needs_all_rows : str
        Why the rows of a fit must be in memory together, and what else can be used; empty: the
        derivatives of a row depend on this row alone.
    parameter_names : tuple of str
        The names of the parameters of the constructor.
    log_link : bool
        Whether the prediction is e^F, so that rows may have an exposure.
    largest_offset : float
        The largest absolute offset of a row: with a larger one, gradients would overflow.
    ordered : bool
        Whether the loss is one of ordered classes, any number of which share one score.
    learns : bool
        Whether predictions need numbers that `learn` computes.
    learns_from_rows : bool
        Whether `learn` reads the rows; otherwise it returns parameters of the loss.
    location : int or None
        Of several scores that describe one target, the one that has the offset of a row and the
        monotone constraints; None: all are equal.
    offset_outputs : tuple of int
        The scores that have the offset, if it is not the location alone.
    log_scale_outputs : tuple of int
        The scores that are logarithms of a scale of the target, in units of the scaled targets.
    output_names, prediction_names : tuple of str
        The names of several scores that describe one target, and of several predictions of it.
    shares_trees : bool
        Whether leaves="auto" is "vector": one tree per round for all scores.
    has_distribution : bool
        Whether scores are parameters of a distribution, which `distribution` returns.
    """

    name: str = "custom"
    task: Literal["ranking", "survival"] | None = None
    n_outputs: int = 1
    degree: int | None = None
    hessian_bound: float = 0.0
    hessian_is_weight: bool = False
    mean_is_best: bool = False
    leaf_quantile: float | None = None
    kernel: tuple[str, float] | None = None
    needs_all_rows: str = ""
    parameter_names: tuple[str, ...] = ()
    log_link: bool = False
    largest_offset: float = math.inf
    ordered: bool = False
    learns: bool = False
    learns_from_rows: bool = True
    location: int | None = None
    offset_outputs: tuple[int, ...] = ()
    log_scale_outputs: tuple[int, ...] = ()
    output_names: tuple[str, ...] = ()
    prediction_names: tuple[str, ...] = ()
    shares_trees: bool = False
    has_distribution: bool = False

    def __repr__(self) -> str:
        names = self.parameter_names
        if self.name == "custom" and not names:
            names = tuple(name for name in vars(self) if not name.startswith("_"))
        own = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({own})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and equal_values(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self))))  # values may be arrays, which have no hash

    @staticmethod
    def from_formula(
        formula: str, y: str = "real", hessian: str | None = None, **parameters: float
    ) -> Loss:
        """Return the loss of a formula, such as "log(1 + exp(-y*f))" with y="±1".

        Its derivatives, its link and its best constant are derived; see docs/formula-losses.md.

        Parameters
        ----------
        formula : str
            L(y, F) with the names y and f, numbers, + - * / **, functions such as exp and log, and
            names of parameters.
        y : {"real", "positive", "non_negative", "count", "0/1", "±1"}, default="real"
            The targets. With "0/1" and "±1" it is a loss of two classes.
        hessian : str or None, default=None
            A formula of an upper bound of the second derivative, for a loss that is not convex or
            has no curvature.
        **parameters
            The numbers that the formula has by name.
        """
        from stagewise.losses.formula import FormulaLoss

        return FormulaLoss(formula, y, parameters, hessian)

    @property
    def prediction_limits(self) -> tuple[float, float]:
        """The numbers between which all targets lie, and so the ends of prediction intervals."""
        return (0.0 if self.log_link else -math.inf), math.inf

    @abstractmethod
    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        """Return L(y, F) for every row."""

    def loss_with_delta(self, y: npt.NDArray[Any], score: Matrix, delta: float | None) -> Vector:
        """Return L(y, F) for every row with the δ of a `BoundLoss`; other losses ignore it."""
        return self.loss(y, score)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return ∂L/∂F and ∂²L/∂F² (its diagonal), each of the shape of score.

        Unless overridden they are central differences, which take three evaluations of the loss
        per output. A loss that is not convex or has no curvature anywhere is an error.
        """
        gradient, hessian = np.empty_like(score), np.empty_like(score)
        middle = np.asarray(self.loss(y, score), dtype=np.float64)
        for k in range(self.n_outputs):
            output = ... if score.ndim == 1 else (slice(None), k)
            step = DIFFERENCE * np.maximum(1.0, np.abs(score[output]))
            moved = score.copy(order="K")
            moved[output] = score[output] + step
            above = np.asarray(self.loss(y, moved), dtype=np.float64)
            moved[output] = score[output] - step
            below = np.asarray(self.loss(y, moved), dtype=np.float64)
            gradient[output] = (above - below) / (2 * step)
            hessian[output] = (above - middle + (below - middle)) / step**2
        return gradient, self._curvature(hessian, middle)

    def _curvature(self, hessian: Matrix, loss: Vector) -> Matrix:
        # The rounding error of a second derivative that is 0.
        noise = 1e-15 / DIFFERENCE**2 * np.maximum(1.0, np.abs(loss))
        noise = noise if hessian.ndim == 1 else noise[:, np.newaxis]
        method = f"{type(self).__name__}.loss"
        if (hessian < -noise).any():
            raise ValueError(
                f"{method} is not convex in the score (its second derivative falls to "
                f"{hessian.min():g}). Define `derivatives` and return a non-negative hessian."
            )
        if not (hessian > noise).any():
            raise ValueError(
                f"{method} has the second derivative 0 everywhere, so there is no Newton step. "
                "Define `derivatives` with a hessian of 1, and `leaf_quantile` if the best "
                "constant is a quantile."
            )
        return np.maximum(hessian, 0.0)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return argmin_c Σ w L(y, c), one number per output; numerically unless overridden.

        A loss with several outputs must override this method.
        """
        if self.n_outputs != 1:
            raise NotImplementedError(f"{type(self).__name__} must define best_constant")

        centre = mean_rows(y, weight)
        spread = math.sqrt(mean_rows((y - centre) ** 2, weight)) or 1.0

        def total(step: float) -> float:
            losses = self.loss(y, np.full(len(y), centre + spread * step))
            return mean_rows(losses, weight)

        # In units of the standard deviation, since the tolerance of the search is absolute.
        found = minimize_scalar(total, bracket=(-1.0, 1.0))
        return np.array([centre + spread * found.x])

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        """Return argmin_c Σ w L(y, offset + c), one number per output.

        Unless overridden it is found numerically, and a loss with several outputs has none. A loss
        with a `degree` needs no such method: its offset is subtracted from y.

        Parameters
        ----------
        y, weight
            The targets and weights of the rows.
        offset : float64 array of shape (n_rows, n_outputs)
            Scores that are added to those of the model.
        """
        if self.n_outputs != 1:
            raise ValueError(
                f"{type(self).__name__} has {self.n_outputs} scores per row and no method "
                "best_constant_with_offset, which an offset needs. Define it, or set init='zero'."
            )
        own = offset[:, 0]
        centre = float(self.checked_best_constant(y, weight)[0]) - mean_rows(own, weight)
        spread = math.sqrt(mean_rows((own - mean_rows(own, weight)) ** 2, weight)) or 1.0

        def total(step: float) -> float:
            return mean_rows(self.loss(y, own + (centre + spread * step)), weight)

        found = minimize_scalar(total, bracket=(-1.0, 1.0))
        return np.array([centre + spread * found.x])

    def checked_best_constant(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix | None = None
    ) -> Vector:
        """Return the best constant, or raise ValueError if it is not a number for each output."""
        if offset is None:
            best = self.best_constant(y, weight)
        else:
            best = self.best_constant_with_offset(y, weight, offset)
        found = np.asarray(best, dtype=np.float64)
        if found.size != self.n_outputs or not np.isfinite(found).all():
            raise ValueError(
                f"{type(self).__name__}.best_constant returned {found.tolist()}; expected an array "
                f"of {self.n_outputs} finite number{'' if self.n_outputs == 1 else 's'}, one for "
                "each output."
            )
        return found.reshape(self.n_outputs)

    def region_optimum(self, gradient: Vector, hessian: Vector) -> Vector:
        """Return argmin_γ Σ L(y, F + γ) of regions, from their sums of derivatives G and H.

        Unless overridden it is one Newton step, -G/H, as if the optimum had no closed form
        (Friedman 2001, section 4.5); 0 where H is 0. For losses without a `degree`, whose scores
        do not have the unit of the target, it is limited to ±MAX_STEP, since H can be tiny.
        """
        steps = np.zeros_like(gradient)
        with np.errstate(over="ignore"):
            np.divide(-gradient, hessian, out=steps, where=hessian > 0)
        return np.clip(steps, -MAX_STEP, MAX_STEP) if self.degree is None else steps

    def sampling_unit(self, y: npt.NDArray[Any], weight: Vector | None) -> float:
        """Return the order of g/h, which is the unit of random draws of rows.

        Losses with a `degree` do not need it: their targets are scaled.
        """
        return 1.0

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the predictions of scores: the inverse link.

        Unless overridden it is the identity. A loss with a `degree` must not override it: its
        scores are scaled back to the target.
        """
        return np.asarray(score)

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Any:
        """Return the distributions of start + scale · z, where z has those of the scores.

        Only for losses with `has_distribution`; without a `degree`, start is 0 and scale is 1.
        """
        raise NotImplementedError(f"{type(self).__name__} has no distributions.")

    def target(self, y: npt.NDArray[Any], output: int) -> npt.NDArray[Any]:
        """Return the target of one output, for residuals; unless overridden, y itself."""
        return y

    def residual_weight(self, y: npt.NDArray[Any], output: int) -> Vector | None:
        """Return the factor of each row's weight in the `leaf_quantile`; None: 1."""
        return None

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the scores of predictions: the inverse of `mean`, within ±MAX_STEP.

        Unless overridden it is the identity, and an error if `mean` is not.
        """
        if type(self).mean is not Loss.mean:
            raise NotImplementedError(
                f"{type(self).__name__} defines `mean`, the predictions of scores, but not `link`, "
                "the scores of predictions, which init=an estimator needs. Define `link`."
            )
        return np.asarray(mean)

    def decide(self, score: Matrix) -> npt.NDArray[np.intp]:
        """Return the codes of the predicted classes, from scores of shape (n_rows, n_outputs).

        Unless overridden, one score is compared with 0, and several with each other.
        """
        codes = score[:, 0] > 0 if score.shape[1] == 1 else score.argmax(axis=1)
        return np.asarray(codes, dtype=np.intp)

    def learn(self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix) -> dict[str, Vector]:
        """Return the numbers that predictions need besides the scores, by name.

        It is called at the end of a fit, if the loss `learns`. The model has the result, so it also
        contains the parameters that change predictions.

        Parameters
        ----------
        y, weight
            The targets and weights of the training rows.
        score : float64 array of shape (n_rows, n_outputs)
            Their scores by the terms that are kept.
        """
        return {}

    def with_learned(self, learned: Mapping[str, Vector]) -> Loss:
        """Return the loss of a fitted model, with the numbers of `learn`."""
        return self

    def deviation(self, mean: Vector) -> Vector:
        """Return the standard deviation of y that the loss assumes, up to a constant factor."""
        return np.ones_like(mean)

    def check(self, y: npt.NDArray[Any]) -> None:  # noqa: B027 (every y is valid, unless overridden)
        """Raise ValueError if y is outside the domain of the loss."""

    def for_classes(self, n_classes: int) -> Loss:
        """Return the same loss for a number of classes; losses of numbers are the same."""
        return self

    def in_units(self, unit: float) -> Loss:
        """Return the same loss of targets that are multiplied by a unit.

        Only a loss with a parameter in units of the target is another one then.
        """
        return self

    def evaluation(self) -> Loss:
        """Return the loss of rows that are measured and not fitted; unless overridden, itself."""
        return self

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        """Return the loss bound to the rows of one fit."""
        return NumpyBoundLoss(self, workers, y, weight)
