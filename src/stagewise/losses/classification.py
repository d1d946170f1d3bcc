"""Losses for class codes 0, 1, …, K-1. Each docstring: domain, link, formula, hessian."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, logsumexp, softmax

from stagewise._native import Gradients, StateLoss, Workers, exponential_state
from stagewise.elementary import portable_exp
from stagewise.exact_sums import ExactSums, mean_rows, sum_by_code
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import KernelBoundLoss, NativeBoundLoss
from stagewise.losses.logarithm import MAX_LOG_RATIO, MAX_STEP, bounded_log_ratio, exact_log
from stagewise.losses.logit_link import (
    CONSTANT_TOLERANCE,
    bounded_log_odds,
    log_odds_beside_offset,
)
from stagewise.losses.scores import Matrix, Vector

__all__ = ["ClassExponential", "Exponential", "Logistic", "Multinomial"]

MAX_SCALING_STEPS = 200
"""The largest number of steps to the best constants beside offsets."""


class Logistic(Loss):
    """Binomial deviance for two classes, as negative log-likelihood.

    Domain: y in {0, 1}. Link: logit, p = 1 / (1 + e^-F).

        L(y, F) = log(1 + e^F) - y F        ∂L/∂F = p - y        ∂²L/∂F² = p (1 - p) ≤ ¼

    Hessian: exact. With labels ±1 and f = F/2 the loss is log(1 + e^(-2 y f)), as in Friedman,
    Hastie & Tibshirani (2000).
    """

    name = "log_loss"
    kernel = ("logistic", 0.0)
    hessian_bound = 0.25

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(-np.where(y == 1, log_expit(score), log_expit(-score)))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        p = expit(score)
        return p - y, p * (1 - p)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([_log_odds(y, weight)])

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        """Return the constant with which the mean probability is the frequency of the class."""
        logit, share = _log_odds(y, weight), mean_rows(y.astype(np.float64), weight)
        return np.array([log_odds_beside_offset(logit, share, weight, offset[:, 0])])

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n_rows, 2)."""
        return np.column_stack([expit(-score), expit(score)])

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the log odds, log(p / (1 - p))."""
        logs = _bounded_logs(mean)
        return np.asarray(logs[:, 1] - logs[:, 0])

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("logistic", workers, y, weight)


class Exponential(Loss):
    """The loss of AdaBoost for two classes (Friedman, Hastie & Tibshirani 2000).

    Domain: y in {0, 1}, coded as s = -1 and +1. Link: half the logit, p = 1 / (1 + e^(-2F)), since
    the population minimiser is half the log odds.

        L(y, F) = e^(-s F)        ∂L/∂F = -s e^(-s F)        ∂²L/∂F² = e^(-s F)

    Hessian: exact; it equals the loss.
    """

    name = "exponential"
    largest_offset = 30.0

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(np.exp(np.where(y == 1, -score, score)))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        e = np.exp(np.where(y == 1, -score, score))
        return np.where(y == 1, -e, e), e

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([0.5 * _log_odds(y, weight)])

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        factor = portable_exp(np.where(y == 1, -offset[:, 0], offset[:, 0]))
        return self.best_constant(y, factor if weight is None else weight * factor)

    def region_optimum(self, gradient: Vector, hessian: Vector) -> Vector:
        """Return half the log odds of the weights: W± = (H ∓ G) / 2 (Schapire & Singer 1999)."""
        return 0.5 * bounded_log_ratio(hessian - gradient, hessian + gradient, 2 * MAX_LOG_RATIO)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n_rows, 2)."""
        return np.column_stack([expit(-2 * score), expit(2 * score)])

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return half the log odds."""
        logs = _bounded_logs(mean)
        return np.asarray(0.5 * (logs[:, 1] - logs[:, 0]))

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _ExponentialBoundLoss("exponential", workers, y, weight)


SUMMED_ROWS = 1024
"""The rows whose sums the core rounds; native/core/threads.hpp has this number, kRowBlock."""
SMALLEST_SUM_OF_WEIGHTS = 2.0**-60
"""AdaBoost's weights with a smaller sum are multiplied by a constant, so that the core, which adds
them as integers, keeps their digits."""


class _ExponentialBoundLoss(KernelBoundLoss):
    _sum = 1.0

    def evaluate(self, score: Matrix) -> float:
        self._sum = super().evaluate(score)
        return self._sum

    def row_weights(self) -> Gradients:
        if self._sum < SMALLEST_SUM_OF_WEIGHTS:  # e^c w has the largest weight 1
            margins = np.where(self._y == 1, self._score, -self._score)
            c = float(margins.min())
            super().evaluate(np.where(self._y == 1, self._score - c, self._score + c)[:, None])
        weights = self.gradients(0)
        weights.transform(self._workers, self._weight, unit_hessians=True, absolute=True)
        return weights


def _log_odds(y: npt.NDArray[Any], weight: Vector | None) -> float:
    counts = sum_by_code(y, 2, weight)
    return bounded_log_odds(counts[1], counts[0])  # with one class only, the optimum is infinite


def _bounded_logs(probability: npt.NDArray[np.float64]) -> Matrix:
    """Return log p, at least -MAX_STEP."""
    return np.log(np.maximum(probability, math.exp(-MAX_STEP)))


def _centred_logs(y: npt.NDArray[Any], weight: Vector | None, n_classes: int) -> Vector:
    """Return log p_k - mean log p for the class frequencies p, all of which must be positive."""
    counts = sum_by_code(y, n_classes, weight)
    logs = [exact_log(count) for count in counts.tolist()]
    centre = math.fsum(logs) / len(logs)
    return np.array([log - centre for log in logs])


class Multinomial(Loss):
    """Multinomial deviance for K classes, with one score per class.

    Domain: y in {0, …, K-1}. Link: softmax, p_k = e^(F_k) / Σ_l e^(F_l).

        L(y, F) = log Σ_l e^(F_l) - F_y    ∂L/∂F_k = p_k - [y = k]    ∂²L/∂F_k² = p_k (1 - p_k) ≤ ¼

    Hessian: only its diagonal is used.

    Parameters
    ----------
    n_classes : int
        K.
    """

    name = "log_loss"
    kernel = ("softmax", 0.0)
    hessian_bound = 0.25

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = n_classes

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        own = np.take_along_axis(score, y[:, np.newaxis], axis=1)[:, 0]
        return np.asarray(logsumexp(score, axis=1) - own)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        p = softmax(score, axis=1)
        return p - (y[:, np.newaxis] == np.arange(self.n_outputs)), p * (1 - p)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return log p_k less their mean: the scores are defined up to a common constant."""
        return _centred_logs(y, weight, self.n_outputs)

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        """Return the constants with which mean probabilities are the frequencies of the classes.

        Each step multiplies the odds of a class by the ratio of both (iterative scaling, Darroch &
        Ratcliff 1972), so the likelihood never decreases.
        """
        counts = sum_by_code(y, self.n_outputs, weight)
        shares, found = counts / counts.sum(), np.zeros(self.n_outputs)
        for _ in range(MAX_SCALING_STEPS):
            scores = offset + found
            p = portable_exp(scores - scores.max(axis=1, keepdims=True))
            total = sum(p.T)  # column by column: the order of the additions is fixed
            means = [mean_rows(column / total, weight) for column in p.T]
            logs = [exact_log(s / m) for s, m in zip(shares.tolist(), means, strict=True)]
            found = found + np.array(logs)
            if max(map(abs, logs)) <= CONSTANT_TOLERANCE:
                break
        return np.asarray(found - math.fsum(found.tolist()) / self.n_outputs)

    def region_optimum(self, gradient: Vector, hessian: Vector) -> Vector:
        """Return (K-1)/K · Σr / Σ|r|(1-|r|) with r = [y = k] - p_k (Friedman 2001, Algorithm 6)."""
        return (self.n_outputs - 1) / self.n_outputs * super().region_optimum(gradient, hessian)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of all classes, shape (n_rows, K)."""
        return np.asarray(softmax(score, axis=1))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return log p_k less their mean."""
        logs = _bounded_logs(mean)
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return NativeBoundLoss(workers, StateLoss(workers, y, weight, self.n_outputs))


class ClassExponential(Loss):
    """AdaBoost's loss for K classes, one score each (Zhu, Zou, Rosset & Hastie 2009).

    Domain: y in {0, …, K-1}, coded as Y_k = 1 for the class y and -1/(K-1) for the others. Link:
    p = softmax(F / (K-1)), since with ΣF = 0 the population minimiser is
    F_k = (K-1) (log p_k - mean log p). Only differences of scores matter. For K = 2 this is the
    exponential loss of the score F_1.

        L(y, F) = e^(-Y·F / K) = e^(-(F_y - mean F) / (K-1)) = w
        ∂L/∂F_k = -Y_k w / K        ∂²L/∂F_k² = Y_k² w / K²

    Hessian: K times the diagonal is used, which bounds the full matrix. All K scores enter the same
    exponent, so simultaneous Newton steps with the diagonal itself would be K times too long.

    Parameters
    ----------
    n_classes : int
        K.
    """

    name = "exponential"
    largest_offset = 30.0

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = n_classes

    def _codes(self, y: npt.NDArray[Any]) -> Matrix:
        own = y[:, np.newaxis] == np.arange(self.n_outputs)
        return np.where(own, 1.0, -1.0 / (self.n_outputs - 1))

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return np.asarray(np.exp(-(self._codes(y) * score).sum(axis=1) / self.n_outputs))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        w, codes = self.loss(y, score)[:, np.newaxis], self._codes(y)
        return -codes * w / self.n_outputs, codes**2 * w / self.n_outputs

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return (self.n_outputs - 1) * _centred_logs(y, weight, self.n_outputs)

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        margin = np.zeros(len(y))
        for column in (self._codes(y) * offset).T:  # the order of the additions is fixed
            margin += column
        factor = portable_exp(-margin / self.n_outputs)
        return self.best_constant(y, factor if weight is None else weight * factor)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of all classes, shape (n_rows, K)."""
        return np.asarray(softmax(score / (self.n_outputs - 1), axis=1))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return (K-1) (log p_k - mean log p)."""
        logs = _bounded_logs(mean)
        return np.asarray((self.n_outputs - 1) * (logs - logs.mean(axis=1, keepdims=True)))

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _ClassExponentialBoundLoss(self.n_outputs, workers, y, weight)


class _ClassExponentialBoundLoss(BoundLoss):
    """Stores the loss of every row, from which all derivatives follow."""

    def __init__(
        self, n_classes: int, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        self._k, self._workers, self._y, self._weight = n_classes, workers, y, weight
        self._state = np.empty(len(y), dtype=np.float32)
        self._gradients = Gradients(len(y))
        self._score, self._sum = np.empty((0, 0)), 1.0

    def evaluate(self, score: Matrix) -> float:
        self._score, self._sum = score, self._fill(score)
        return self._sum

    def loss_sums(self, score: Matrix) -> ExactSums:
        sums = []
        for begin in range(0, len(score), SUMMED_ROWS):  # their sum alone is not rounded again
            part = slice(begin, begin + SUMMED_ROWS)
            weight = None if self._weight is None else self._weight[part]
            own = score[part].T.reshape(-1), weight, self._k, self._state[part]
            sums.append(exponential_state(self._workers, self._y[part], *own))
        return ExactSums.of_rows(np.array(sums))

    def _fill(self, score: Matrix) -> float:
        return exponential_state(
            self._workers, self._y, score.T.reshape(-1), self._weight, self._k, self._state
        )

    def gradients(self, output: int) -> Gradients:
        self._gradients.multiclass_exponential(
            self._workers, self._y, self._state, output, self._k, self._weight
        )
        return self._gradients

    def row_weights(self) -> Gradients:
        if self._sum < SMALLEST_SUM_OF_WEIGHTS:
            # F_y - d multiplies the weight e^(-(F_y - mean F) / (K-1)) by e^(d/K).
            rows = np.arange(len(self._y))
            own = self._score[rows, self._y]
            c = float(((own - self._score.mean(axis=1)) / (self._k - 1)).min())
            shifted = np.array(self._score, order="F")
            shifted[rows, self._y] = own - c * self._k
            self._fill(shifted)
        weight = self._state.astype(np.float64)
        self._gradients.assign(self._workers, weight, np.ones_like(weight), self._weight)
        return self._gradients
