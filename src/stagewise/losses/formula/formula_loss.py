"""A loss from a formula: its derivatives, its link and its best constant are derived.

A model file has the formula, which is read by `parse`; it never has code.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.errors import InvalidParameterError
from stagewise.exact_sums import ExactSums, mean_rows, sum_by_code
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.formula.curvature import Curvature, curvature_of
from stagewise.losses.formula.domain import DOMAINS, Domain
from stagewise.losses.formula.expression import (
    Expression,
    call,
    derivative,
    divide,
    names_of,
    negate,
    number,
    substitute,
    symbol,
    text,
)
from stagewise.losses.formula.parse import FUNCTIONS, parse
from stagewise.losses.formula.program import Program, compile_expressions
from stagewise.losses.function import zero_of
from stagewise.losses.logarithm import exact_log
from stagewise.losses.scores import Matrix, Vector
from stagewise.validation.parameters import nearest_name

__all__ = ["FormulaLoss"]

F = symbol("f")
PROBES = np.concatenate([np.linspace(-8.0, 8.0, 65), [-30.0, -15.0, 15.0, 30.0]])
"""Scores at which derivatives are compared with differences, and convexity is checked."""
UNITS = (2.0**-10, 2.0**10)
"""The units of y, besides 1 and the parameters, in which the degree of a loss is found."""
LARGEST_SCORE = 300.0
STEP = 2.0**-17
TOLERANCE = 1e-5
ROUNDING = 1e-9


class FormulaLoss(Loss):
    """A loss L(y, F) that is written as a formula of y and f.

    Domain: `y`. Link: derived. If the gradient is a(F) + b(F) y, the prediction is the mean
    -a(F) / b(F), as e^F of Poisson's loss; of two classes it is the probability with which F is the
    best score, p = L'(-1, F) / (L'(-1, F) - L'(+1, F)); else it is F.

        ∂L/∂F and ∂²L/∂F² are derived, simplified and compiled to a program of vectorised steps.

    Hessian: exact, or the formula `hessian`. The best constant is the zero of the sum of the
    gradients, by Newton's method.

    Parameters
    ----------
    formula : str
        + - * / **, numbers, y, f, the names of the parameters, pi, and the functions abs, cosh,
        exp, expm1, log, log1p, log_cosh, max, min, sigmoid, sign, sinh, softplus, sqrt and tanh.
    y : {"real", "positive", "non_negative", "count", "0/1", "±1"}, default="real"
        The targets. With "0/1" and "±1" it is a loss of two classes.
    parameters : mapping of str to float, or None
        The numbers that the formula has by name.
    hessian : str or None
        A formula of an upper bound of the second derivative, such as "1". It is needed if the loss
        is not convex, or has no curvature.
    """

    name = "formula"
    parameter_names = ("formula", "y", "parameters", "hessian")

    def __init__(
        self,
        formula: str,
        y: str = "real",
        parameters: Mapping[str, float] | None = None,
        hessian: str | None = None,
    ) -> None:
        self.formula, self.y, self.hessian = formula, y, hessian
        self.parameters = _checked_parameters(parameters or {})
        self._domain = _domain(y)
        names = {"y": symbol("y"), "f": F}
        names |= {name: number(value) for name, value in self.parameters.items()}
        value = self._simplified(parse(formula, names))
        if derivative(value, "f") == number(0.0):
            raise ValueError(f"The formula {formula!r} does not depend on f, the score.")
        gradient = self._simplified(derivative(value, "f"))
        curved = self._simplified(derivative(gradient, "f"))
        own = curved if hessian is None else self._simplified(parse(hessian, names))
        self._expressions = value, gradient, own
        self._program = compile_expressions(self._expressions)
        self._rule: Curvature = curvature_of(value, {"y": self._domain.sign})
        self._check(compile_expressions([value, gradient, curved]))
        self._predicts_mean = self._is_linear_in_y(gradient)
        self._mean = self._derived_mean(gradient)
        self.log_link = self._mean == call("exp", F)
        self.largest_offset = 60.0 if self.log_link else Loss.largest_offset
        self.mean_is_best = False
        self.degree, self._with_unit = self._find_degree()

    def __reduce__(self) -> Any:
        return type(self), (self.formula, self.y, self.parameters, self.hessian)

    # ---- what is derived -------------------------------------------------------------------------

    def _simplified(self, a: Expression) -> Expression:
        return self._domain.simplified(a)

    def _is_linear_in_y(self, gradient: Expression) -> bool:
        """Return whether the gradient is a(F) + b(F) y, so that it is 0 at the mean."""
        slope = derivative(gradient, "y")
        return not self._domain.of_classes and slope != number(0.0) and "y" not in names_of(slope)

    def _derived_mean(self, gradient: Expression) -> Expression:
        """Return the prediction as an expression of f; f itself if there is no other."""
        if not self._predicts_mean:
            return F
        slope = derivative(gradient, "y")
        rest = substitute(gradient, {"y": number(0.0)})
        return negate(divide(rest, slope))

    def _find_degree(self) -> tuple[int | None, tuple[str, ...]]:
        """Return the degree, and the parameters that are in units of y; None: there is none."""
        if self.y != "real" or self._mean != F:
            return None, ()
        y, score = np.random.default_rng(0).normal(size=(2, 200))
        # Where residuals are small beside a width, a loss looks like their square.
        widths = {abs(value) for value in self.parameters.values() if value}
        unit = np.repeat(sorted({1.0, *UNITS, *widths}), len(y))
        y, score = (unit * np.resize(own, len(unit)) for own in (y, score))
        loss = self._program.run(y, score)[0]
        if not np.allclose(self._program.run(y + 3.0 * unit, score + 3.0 * unit)[0], loss, 1e-9):
            return None, ()
        for size in range(len(self.parameters) + 1):
            for names in combinations(self.parameters, size):
                scaled = self._scaled_program(names, 4.0).run(4.0 * y, 4.0 * score)[0]
                for degree in (1, 2) if size == 0 else (1, 2, 0):
                    if np.allclose(scaled, 4.0**degree * loss, rtol=1e-9, atol=0.0):
                        return degree, names
        return None, ()

    def _scaled_program(self, names: tuple[str, ...], unit: float) -> Program:
        values = {n: v * unit if n in names else v for n, v in self.parameters.items()}
        known = {"y": symbol("y"), "f": F} | {n: number(v) for n, v in values.items()}
        return compile_expressions([self._simplified(parse(self.formula, known))])

    @property
    def convexity(self) -> str:
        """Whether the loss is convex in F, and how that was found."""
        if self._rule in ("affine", "convex"):
            return "convex"
        if self.hessian is not None:
            return "not known to be convex; steps have the given hessian"
        return f"convex at {len(PROBES)} scores for each of {len(self._domain.values)} targets"

    def derived(self) -> dict[str, str]:
        """Return the loss, its derivatives and the prediction as formulas."""
        value, gradient, hessian = map(text, self._expressions)
        mean = "L'(-1, f) / (L'(-1, f) - L'(1, f))" if self.of_classes else text(self._mean)
        return {"loss": value, "gradient": gradient, "hessian": hessian, "prediction": mean}

    @property
    def of_classes(self) -> bool:
        """Whether it is a loss of two classes."""
        return self._domain.of_classes

    # ---- checks ----------------------------------------------------------------------------------

    def _check(self, exact: Program) -> None:
        """Raise ValueError unless derivatives are finite, and the hessian is a bound."""
        for y in self._domain.values:
            loss, gradient, curved = exact.run(y, PROBES)
            hessian = self._program.run(y, PROBES)[2]
            inside = np.abs(PROBES) <= 8.0
            if not np.isfinite(np.stack([loss, gradient, hessian])[:, inside]).all():
                own = np.isfinite(np.stack([loss, gradient, hessian])).all(axis=0)
                at = PROBES[int(np.argmax(~own & inside))]
                raise ValueError(
                    f"The formula {self.formula!r} or a derivative is not finite at y = {y:g} and "
                    f"f = {at:g}. Write it so that it is defined for every score."
                )
            self._check_differences(y, gradient, exact)
            if self.hessian is None:
                self._check_convex(y, curved)
            elif (hessian[inside] < 0.0).any():
                at = PROBES[int(np.argmax((hessian < 0.0) & inside))]
                raise ValueError(
                    f"hessian={self.hessian!r} is negative at y = {y:g} and f = {at:g}. Give an "
                    "upper bound of the second derivative that is not negative, such as '1'."
                )
        every = [exact.run(y, PROBES)[2] for y in self._domain.values]
        if self.hessian is None and not (np.nan_to_num(np.stack(every)) > 1e-12).any():
            raise ValueError(
                f"The second derivative of {self.formula!r} is 0 everywhere, so there is no Newton "
                "step. Give hessian='1', which makes the steps those of gradient boosting."
            )

    def _check_convex(self, y: float, curved: Vector) -> None:
        wrong = curved < -ROUNDING * max(1.0, float(np.nanmax(np.abs(curved))))
        if self._rule not in ("affine", "convex") and wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"The formula {self.formula!r} is not convex in f: its second derivative is "
                f"{curved[at]:.3g} at y = {y:g} and f = {PROBES[at]:g}. Give an upper bound of it, "
                "hessian='...', such as hessian='1'."
            )

    def _check_differences(self, y: float, gradient: Vector, exact: Program) -> None:
        """Compare the gradient with central differences of the loss, away from kinks."""
        step = STEP * np.maximum(1.0, np.abs(PROBES))
        low, high = exact.run(y, PROBES - step), exact.run(y, PROBES + step)
        with np.errstate(all="ignore"):
            slope = (high[0] - low[0]) / (2.0 * step)
            size = np.maximum(1.0, np.abs(slope))
            between = np.abs(high[1] - low[1])
            kink = between > 0.01 * size
            rounding = 1e-14 * (np.abs(low[0]) + np.abs(high[0])) / step
            # Both lie between the gradients of the two ends, also where the curvature jumps.
            wrong = np.abs(slope - gradient) > np.maximum(TOLERANCE * size, rounding) + between
        if (wrong & ~kink & np.isfinite(slope)).any():
            at = int(np.argmax(wrong & ~kink & np.isfinite(slope)))
            raise ValueError(
                f"The gradient of {self.formula!r} is {gradient[at]:g} at y = {y:g} and "
                f"f = {PROBES[at]:g}, but differences of the loss give {slope[at]:g}. Write the "
                "formula without differences of large numbers."
            )

    def check(self, y: npt.NDArray[Any]) -> None:
        """Raise ValueError unless the targets are in the domain."""
        self._domain.check(y)

    # ---- the interface of a loss -----------------------------------------------------------------

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return self._program.run(self._domain.coded(y), score)[0]

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        _, gradient, hessian = self._program.run(self._domain.coded(y), score)
        return gradient, np.maximum(hessian, 0.0)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return the score of the mean, if the prediction is one, or that of two classes."""
        if self.of_classes:
            shares = sum_by_code(np.asarray(y, dtype=np.int32), 2, weight)
            both = np.arange(2, dtype=np.int32)
            return self.best_constant_with_offset(both, shares, np.zeros((2, 1)))
        if self._predicts_mean:
            mean = mean_rows(np.asarray(y, dtype=np.float64), weight)
            if self._mean == F:
                return np.array([mean])
            if self.log_link and mean > 0.0:
                return np.array([exact_log(mean)])
        return self.best_constant_with_offset(y, weight, np.zeros((len(y), 1)))

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        """Return the zero of the sum of the gradients, by Newton's method from 0."""

        def sums(constant: Vector) -> tuple[Vector, Vector]:
            g, h = self.derivatives(y, offset[:, 0] + constant[0])
            return np.array([mean_rows(g, weight)]), np.array([mean_rows(h, weight)])

        found = zero_of(sums)
        return np.clip(found, -LARGEST_SCORE, LARGEST_SCORE) if self.degree is None else found

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the predictions: the mean, the probabilities of two classes, or the scores."""
        score = np.asarray(score, dtype=np.float64)
        if not self.of_classes:
            return np.array(score) if self._mean == F else self._mean_program.run(0.0, score)[0]
        p = self._probability(score)
        return np.column_stack([1.0 - p, p])

    @property
    def _mean_program(self) -> Program:
        return compile_expressions([self._mean])

    def _probability(self, score: Vector) -> Vector:
        """Return the probability of the second class with which the score is the best one."""
        at = np.clip(score, -LARGEST_SCORE, LARGEST_SCORE)
        low, high = (self._program.run(y, at)[1] for y in self._domain.values)
        with np.errstate(all="ignore"):
            p = low / (low - high)
        return np.where(np.isfinite(p), np.clip(p, 0.0, 1.0), np.where(score > 0, 1.0, 0.0))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the scores of predictions, by bisection unless the link is log or identity."""
        if self._mean == F and not self.of_classes:
            return np.asarray(mean)
        if self.log_link:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(np.log(mean))
        wanted = mean[:, 1] if self.of_classes else np.asarray(mean)
        low = np.full(len(wanted), -40.0)
        high = -low

        def value(at: Vector) -> Vector:
            return self._probability(at) if self.of_classes else self.mean(at)

        rises = bool(value(np.array([1.0]))[0] > value(np.array([-1.0]))[0])
        for _ in range(100):
            middle = 0.5 * (low + high)
            below = (value(middle) < wanted) == rises
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))

    def in_units(self, unit: float) -> Self:
        """Return the same loss of targets that are multiplied by a unit."""
        if not self._with_unit or unit == 1.0:
            return self
        scaled = {n: v * unit if n in self._with_unit else v for n, v in self.parameters.items()}
        return type(self)(self.formula, self.y, scaled, self.hessian)

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _FormulaBoundLoss(self, workers, self._domain.coded(y), weight)


class _FormulaBoundLoss(BoundLoss):
    """Runs the program in the core."""

    def __init__(
        self, loss: FormulaLoss, workers: Workers, y: Vector, weight: Vector | None
    ) -> None:
        self._loss, self._workers, self._y, self._weight = loss, workers, y, weight
        self._arguments = loss._program.arguments  # noqa: SLF001
        self._gradients = Gradients(len(y))
        self._score = np.empty(0)
        self._filled = False

    def evaluate(self, score: Matrix) -> float:
        self._score = score[:, 0]
        return self._fill()

    def loss_sums(self, score: Matrix) -> ExactSums:
        self.evaluate(score)
        return ExactSums(self._gradients.exact_sums().reshape(3, -1)[:1])

    def gradients(self, output: int) -> Gradients:
        if not self._filled:
            self._fill()
        self._filled = False  # the caller may change them
        return self._gradients

    def _fill(self) -> float:
        self._filled = True
        rows = self._workers, self._y, self._score, self._weight
        found = self._gradients.formula(*rows, *self._arguments)
        if not np.isfinite(found):
            self._refuse()
        return found

    def _refuse(self) -> None:
        """Raise for the first row whose loss or derivatives are not finite."""
        numbers = np.stack(self._loss._program.run(self._y, self._score))  # noqa: SLF001
        wrong = ~(np.abs(numbers) <= np.finfo(np.float32).max).all(axis=0)
        row = int(np.argmax(wrong))
        raise ValueError(
            f"The formula {self._loss.formula!r} or a derivative is not finite, or beyond float32, "
            f"in row {row}, at y = {self._y[row]:g} and the score {self._score[row]:g}. Rescale y, "
            "or set max_step."
        )


def _domain(name: str) -> Domain:
    if name not in DOMAINS:
        known = ", ".join(map(repr, DOMAINS))
        raise InvalidParameterError(
            f"y of a formula must be one of {known}; got {name!r}."
            f"{nearest_name(str(name), DOMAINS)}"
        )
    return DOMAINS[name]


def _checked_parameters(parameters: Mapping[str, Any]) -> dict[str, float]:
    if not isinstance(parameters, Mapping):
        raise TypeError(f"The parameters of a formula are a mapping; got {parameters!r}.")
    found = {}
    for name, value in parameters.items():
        if not str(name).isidentifier() or name in {"y", "f", "pi"}:
            raise ValueError(f"{name!r} cannot be the name of a parameter of a formula.")
        if name in FUNCTIONS:
            raise ValueError(f"{name!r} is a function of formulas, and cannot be a parameter.")
        number_like: Any = value
        if isinstance(number_like, bool) or not isinstance(number_like, (int, float, np.number)):
            raise ValueError(
                f"The parameter {name!r} of a formula must be a number; got {value!r}."
            )
        if not np.isfinite(value):
            raise ValueError(f"The parameter {name!r} of a formula must be finite; got {value!r}.")
        found[name] = float(value)
    return found
