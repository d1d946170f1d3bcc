"""Losses of class codes by their margins: focal, Brier, hinge, and one class against the rest.

Two classes have one score F, and the margin is F of the second class and -F of the first one. The
loss of two classes is a formula, so that it is computed by the core. Each docstring: domain, link,
formula, hessian.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, softmax

from stagewise._native import Gradients, Workers
from stagewise.exact_sums import ExactSums, mean_rows, sum_by_code
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.formula import FormulaLoss
from stagewise.losses.function import zero_of, zeros_of
from stagewise.losses.kernel import KernelBoundLoss
from stagewise.losses.logarithm import exact_log
from stagewise.losses.scores import Matrix, Vector

__all__ = ["Brier", "Focal", "Hinge", "OneVsRest"]

LARGEST_LOG_ODDS = 36.0
SMALLEST = 1e-300
BISECTIONS = 60


class _MarginLoss(Loss):
    """The base class: a formula for two classes, and NumPy for more.

    Parameters
    ----------
    n_classes : int, default=2
        The number of classes.
    """

    def __init__(self, n_classes: int = 2) -> None:
        self.n_outputs = n_classes if n_classes > 2 else 1

    @abstractmethod
    def _formula(self) -> FormulaLoss:
        """Return the loss of two classes."""

    @abstractmethod
    def _loss_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        """Return the loss of more than two classes."""

    @abstractmethod
    def _derivatives_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return its derivatives."""

    def for_classes(self, n_classes: int) -> Self:
        """Return the loss for a number of classes."""
        own = {name: getattr(self, name) for name in self.parameter_names}
        return type(self)(n_classes=n_classes, **own)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        if self.n_outputs == 1:
            return self._formula().loss(y, score)
        return self._loss_of_classes(y, score)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        if self.n_outputs == 1:
            return self._formula().derivatives(y, score)
        return self._derivatives_of_classes(y, score)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return the scores of the frequencies of the classes."""
        n = max(self.n_outputs, 2)
        counts = sum_by_code(y, n, weight)
        return np.asarray(self.link((counts / counts.sum())[np.newaxis, :])).reshape(-1)

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        """Return the scores at which the gradients sum to 0, by Newton's method."""

        def sums(constant: Vector) -> tuple[Vector, Vector]:
            score = offset + constant
            own = score[:, 0] if self.n_outputs == 1 else score
            g, h = (part.reshape(len(y), -1) for part in self.derivatives(y, own))
            each = range(self.n_outputs)
            return (
                np.array([mean_rows(np.ascontiguousarray(g[:, k]), weight) for k in each]),
                np.array([mean_rows(np.ascontiguousarray(h[:, k]), weight) for k in each]),
            )

        if self.n_outputs == 1:
            return np.clip(zero_of(sums), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        return zeros_of(sums, self.n_outputs)

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        if self.n_outputs == 1:
            return self._formula().bind(workers, y, weight)
        return super().bind(workers, y, weight)

    def _indicators(self, y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        return np.asarray(y[:, np.newaxis] == np.arange(self.n_outputs))

    def _both(self, score: Matrix) -> Matrix:
        """Return a score for each class; those of two classes are 0 and F."""
        if self.n_outputs > 1:
            return score
        return np.column_stack([np.zeros(len(score)), np.asarray(score).reshape(-1)])


def _own_scores(logs: Matrix, n_outputs: int) -> Matrix:
    """Return log probabilities as scores: log odds of two classes, or with the mean 0."""
    if n_outputs == 1:
        return np.clip(logs[:, 1] - logs[:, 0], -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    logs = np.maximum(logs, logs.max(axis=1, keepdims=True) - LARGEST_LOG_ODDS)
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


class Focal(_MarginLoss):
    """The focal loss: rows that are classified well weigh less (Lin, Goyal, Girshick et al. 2017).

    Domain: y in {0, …, K-1}. Link: q = softmax(F), of two classes q = (σ(-F), σ(F)); then
    p_k ∝ q_k / w(q_k), since q itself is no probability: its extremes are too cautious
    (Charoenphakdee, Vongkulbhisal, Chairatanakul & Sugiyama 2021, theorem 11).

        L(y, F) = -(1 - q_y)^γ log q_y
        ∂L/∂F_k = w(q_y) (q_k - [y = k]),    w(q) = (1 - q)^γ - γ q (1 - q)^(γ-1) log q

    Hessian: the second derivative, or w(q_y) q_k (1 - q_k) if that is more (of two classes,
    (1 - q_y)^γ q (1 - q)); the loss is not convex. With γ = 0 it is the log loss.

    Parameters
    ----------
    gamma : float, default=2.0
        γ, from 0 to 10.
    n_classes : int, default=2
        K.
    """

    name = "focal"
    parameter_names = ("gamma",)
    learns = True
    learns_from_rows = False

    def __init__(self, gamma: float = 2.0, n_classes: int = 2) -> None:
        if isinstance(gamma, bool) or not 0.0 <= float(gamma) <= 10.0:
            raise ValueError(f"gamma of the focal loss must lie between 0 and 10; got {gamma!r}.")
        super().__init__(n_classes)
        self.gamma = float(gamma)

    def learn(self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix) -> dict[str, Any]:
        """Return γ, which predictions depend on."""
        return {"gamma": np.array([self.gamma])}

    def with_learned(self, learned: Mapping[str, Vector]) -> Self:
        """Return the loss with the γ of a fit."""
        gamma = float(learned["gamma"][0]) if "gamma" in learned else self.gamma
        return type(self)(gamma, max(self.n_outputs, 2))

    def _formula(self) -> FormulaLoss:
        return _focal_formula(self.gamma)

    def _parts(self, score: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Return q, 1 - q, log q, and w(q) of each class."""
        logs = log_softmax(self._both(score), axis=1)
        q = np.exp(logs)
        top = q.argmax(axis=1)[:, np.newaxis]
        others = q.copy()
        np.put_along_axis(others, top, 0.0, axis=1)
        rest = 1.0 - q
        np.put_along_axis(rest, top, others.sum(axis=1, keepdims=True), axis=1)
        rest = np.maximum(rest, SMALLEST)
        return q, rest, logs, rest**self.gamma * (1.0 - self.gamma * q * logs / rest)

    def _loss_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        _, rest, logs, _ = (part[np.arange(len(y)), y] for part in self._parts(score))
        return np.asarray(-(rest**self.gamma) * logs)

    def _derivatives_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        q, rest, logs, w = self._parts(score)
        own = np.arange(len(y)), y
        own_q, own_rest, own_log, own_w = (part[own][:, np.newaxis] for part in (q, rest, logs, w))
        distance = q - self._indicators(y)
        distance[own] = -rest[own]
        curved = own_w * q * rest
        slope = own_w * own_rest + own_rest**self.gamma * (own_log + own_rest)
        bent = own_q * self.gamma * slope * (distance / own_rest) ** 2
        return own_w * distance, curved + np.maximum(bent, 0.0)

    def region_optimum(self, gradient: Vector, hessian: Vector) -> Vector:
        """Return a Newton step; of K > 2 classes it is multiplied by (K-1)/K, as of log loss."""
        factor = 1.0 if self.n_outputs == 1 else (self.n_outputs - 1) / self.n_outputs
        return factor * super().region_optimum(gradient, hessian)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return p_k ∝ q_k / w(q_k)."""
        _, rest, logs, _ = self._parts(score)
        q = np.exp(logs)
        log_w = self.gamma * np.log(rest) + np.log1p(-self.gamma * q * logs / rest)
        return np.asarray(softmax(logs - log_w, axis=1))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the scores of probabilities, by bisection: q_k / w(q_k) = c p_k with Σ q_k = 1."""
        logs = np.log(np.maximum(mean, np.exp(-LARGEST_LOG_ODDS)))
        low, high = np.full((len(mean), 1), -60.0), np.full((len(mean), 1), 200.0)
        z = np.zeros_like(logs)
        for _ in range(BISECTIONS):
            shift = 0.5 * (low + high)
            z = _focal_logit(logs + shift, self.gamma)
            over = expit(z).sum(axis=1, keepdims=True) > 1.0
            low, high = np.where(over, low, shift), np.where(over, shift, high)
        return _own_scores(-np.logaddexp(0.0, -z), self.n_outputs)


def _focal_logit(wanted: Matrix, gamma: float) -> Matrix:
    """Return z with log(q / w(q)) equal to a number, q = σ(z)."""
    low, high = np.full(wanted.shape, -80.0), np.full(wanted.shape, 80.0)
    for _ in range(BISECTIONS):
        z = 0.5 * (low + high)
        log_q, log_rest = -np.logaddexp(0.0, -z), -np.logaddexp(0.0, z)
        found = log_q - gamma * log_rest - np.log1p(-gamma * np.exp(log_q - log_rest) * log_q)
        low, high = np.where(found < wanted, z, low), np.where(found < wanted, high, z)
    return np.asarray(0.5 * (low + high))


@cache
def _focal_formula(gamma: float) -> FormulaLoss:
    p, q = "sigmoid(y*f)", "sigmoid(-y*f)"
    second = f"{q}*(1 + 2*g) - g*softplus(-y*f)*({q} - g*{p})"
    return FormulaLoss(
        f"{q}**g * softplus(-y*f)", "±1", {"g": gamma}, f"{q}**g * {p} * max({second}, {q})"
    )


class Brier(_MarginLoss):
    """The Brier score of probabilities: squared error that is bounded (Brier 1950).

    Domain: y in {0, …, K-1}. Link: p = softmax(F), of two classes p = (σ(-F), σ(F)).

        L(y, F) = Σ_k (p_k - [y = k])², of two classes half of it, (p - y)²
        ∂L/∂F_k = 2 p_k (e_k - Σ_l p_l e_l),    e_k = p_k - [y = k];    of two: 2 (p - y) p (1 - p)

    Hessian: the second derivative, or |∂L/∂F_k| / 2 if that is more; the loss is not convex.

    Parameters
    ----------
    n_classes : int, default=2
        K.
    """

    name = "brier"

    def _formula(self) -> FormulaLoss:
        return _brier_formula()

    def _loss_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(((softmax(score, axis=1) - self._indicators(y)) ** 2).sum(axis=1))

    def _derivatives_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        p = softmax(score, axis=1)
        e = p - self._indicators(y)
        centre = (p * e).sum(axis=1, keepdims=True)
        gradient = 2.0 * p * (e - centre)
        moved = p * ((e + p) - (p * (e + p)).sum(axis=1, keepdims=True))
        second = (1.0 - p) * gradient + 2.0 * p * (p * (1.0 - p) - moved)
        return gradient, np.maximum(second, 0.5 * np.abs(gradient))

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of all classes, shape (n_rows, K)."""
        if self.n_outputs == 1:
            own = np.asarray(score).reshape(-1)
            return np.column_stack([expit(-own), expit(own)])
        return np.asarray(softmax(score, axis=1))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return log odds, or log p_k less their mean."""
        return _own_scores(np.log(np.maximum(mean, SMALLEST)), self.n_outputs)


@cache
def _brier_formula() -> FormulaLoss:
    p, q = "sigmoid(y*f)", "sigmoid(-y*f)"
    return FormulaLoss(f"{q}**2", "±1", None, f"{p}*{q}**2 * max(2*(3*{p} - 1), 1)")


class Hinge(_MarginLoss):
    """The squared hinge loss, of support vector machines (Zhang 2004); margins above 1 cost 0.

    Domain: y in {0, …, K-1}; s_k = 1 for the class y, else -1. Link: linear, p = (1 + F) / 2
    clipped to [0, 1], since the minimiser is 2 p - 1 for each class; more than two are divided by
    their sum.

        L(y, F) = ½ Σ_k max(0, 1 - s_k F_k)²; of two classes the term of the second one
        ∂L/∂F_k = -s_k max(0, 1 - s_k F_k)        ∂²L/∂F_k² = [s_k F_k < 1]

    Hessian: exact.

    Parameters
    ----------
    n_classes : int, default=2
        K.
    """

    name = "hinge"
    hessian_bound = 1.0

    def _formula(self) -> FormulaLoss:
        return _hinge_formula()

    def _signs(self, y: npt.NDArray[Any]) -> Matrix:
        return np.where(self._indicators(y), 1.0, -1.0)

    def _loss_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(0.5 * (np.maximum(0.0, 1.0 - self._signs(y) * score) ** 2).sum(axis=1))

    def _derivatives_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        signs = self._signs(y)
        short = np.maximum(0.0, 1.0 - signs * score)
        return -signs * short, (short > 0.0).astype(np.float64)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return (1 + F) / 2 within [0, 1]; of more than two classes divided by the sum."""
        p = np.clip(0.5 + 0.5 * np.asarray(score), 0.0, 1.0)
        if self.n_outputs == 1:
            own = p.reshape(-1)
            return np.column_stack([1.0 - own, own])
        total = p.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, p, 1.0) / np.where(total > 0, total, self.n_outputs))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return 2 p - 1."""
        return 2.0 * (mean[:, 1] if self.n_outputs == 1 else mean) - 1.0


@cache
def _hinge_formula() -> FormulaLoss:
    return FormulaLoss("max(0, 1 - y*f)**2 / 2", "±1")


class OneVsRest(_MarginLoss):
    """The log loss of each class against the rest: K losses of two classes that share no score.

    Domain: y in {0, …, K-1}. Link: logit, σ(F_k); `normalised`: divided by their sum. Two classes
    have one score, and the loss is the log loss.

        L(y, F) = Σ_k log(1 + e^(F_k)) - F_y    ∂L/∂F_k = σ(F_k) - [y = k]
        ∂²L/∂F_k² = σ(F_k) (1 - σ(F_k)) ≤ ¼

    Hessian: exact.

    Parameters
    ----------
    normalised : bool, default=True
        Whether predicted probabilities are divided by their sum. False: a row may belong to no
        class, and its probabilities are all small.
    n_classes : int, default=2
        K.
    """

    name = "one_vs_rest"
    parameter_names = ("normalised",)
    hessian_bound = 0.25
    learns = True
    learns_from_rows = False

    def __init__(self, normalised: bool = True, n_classes: int = 2) -> None:
        if normalised not in (True, False):
            raise ValueError(f"normalised must be True or False; got {normalised!r}.")
        super().__init__(n_classes)
        self.normalised = bool(normalised)

    def learn(self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix) -> dict[str, Any]:
        """Return whether probabilities are normalised, which predictions depend on."""
        return {"normalised": np.array([float(self.normalised)])}

    def with_learned(self, learned: Mapping[str, Vector]) -> Self:
        """Return the loss with the parameter of a fit."""
        own = bool(learned["normalised"][0]) if "normalised" in learned else self.normalised
        return type(self)(own, max(self.n_outputs, 2))

    def _formula(self) -> FormulaLoss:
        return _log_loss_formula()

    def _loss_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        own = np.take_along_axis(score, y[:, np.newaxis], axis=1)[:, 0]
        return np.asarray(np.logaddexp(0.0, score).sum(axis=1) - own)

    def _derivatives_of_classes(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        p = expit(score)
        return p - self._indicators(y), p * (1.0 - p)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        counts = sum_by_code(y, max(self.n_outputs, 2), weight)
        total, bound = counts.sum(), 2.0**53
        odds = [float(c / (total - c)) if c < total else bound for c in counts]
        logs = [exact_log(min(max(own, 1.0 / bound), bound)) for own in odds]
        return np.array(logs[1:] if self.n_outputs == 1 else logs)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return σ(F_k), of more than two classes divided by the sum if normalised."""
        if self.n_outputs == 1:
            own = np.asarray(score).reshape(-1)
            return np.column_stack([expit(-own), expit(own)])
        if not self.normalised:
            return np.asarray(expit(score))
        return np.asarray(softmax(-np.logaddexp(0.0, -score), axis=1))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the log odds of each class."""
        p = np.clip(mean, np.exp(-LARGEST_LOG_ODDS), 1.0 - 2.0**-53)
        logs = np.log(p) - np.log1p(-p)
        return np.asarray(logs[:, 1] if self.n_outputs == 1 else logs)

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        if self.n_outputs == 1:
            return KernelBoundLoss("logistic", workers, y, weight)
        return _OneVsRestBoundLoss(self.n_outputs, workers, y, weight)


@cache
def _log_loss_formula() -> FormulaLoss:
    return FormulaLoss("log(1 + exp(-y*f))", "±1")


class _OneVsRestBoundLoss(BoundLoss):
    """A bound log loss of each class."""

    def __init__(
        self, n_classes: int, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        codes = [(y == k).astype(np.int32) for k in range(n_classes)]
        self._each = [KernelBoundLoss("logistic", workers, own, weight) for own in codes]

    def evaluate(self, score: Matrix) -> float:
        return sum(one.evaluate(score[:, k : k + 1]) for k, one in enumerate(self._each))

    def loss_sums(self, score: Matrix) -> ExactSums:
        own = [one.loss_sums(score[:, k : k + 1]) for k, one in enumerate(self._each)]
        return ExactSums(np.concatenate([sums.integers for sums in own]))

    def gradients(self, output: int) -> Gradients:
        return self._each[output].gradients(0)
