"""Losses for ordered classes: cumulative link models, with one score and learned thresholds.

A latent variable F + ε, with ε of the distribution G, is observed as the class whose interval it
lies in (McCullagh 1980). The limits of the intervals are thresholds that are common to all rows.
They are learned with the scores: whenever the training rows are evaluated, they are the thresholds
of maximum likelihood for the scores so far. Each docstring: domain, link, formula, hessian.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_ndtr, ndtr, ndtri

from stagewise._native import Gradients, Workers
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.function import zero_of
from stagewise.losses.scores import Matrix, Vector
from stagewise.losses.thresholds import Rows, fit_thresholds, limits, start_thresholds
from stagewise.workers import make_workers

__all__ = ["CumulativeLogit", "CumulativeLoss", "CumulativeProbit"]

SMALLEST = 1e-13
"""The smallest cumulative probability whose score `link` returns."""
THRESHOLDS = "thresholds"


@dataclass(frozen=True)
class Interval:
    """-log(G(b) - G(a)) of rows and its derivatives, for limits a < b of a latent variable.

    Attributes
    ----------
    loss : float64 array
        -log(G(b) - G(a)).
    lower, upper : float64 array
        The derivatives with respect to a and b.
    lower_lower, upper_upper, lower_upper : float64 array
        The second derivatives.
    """

    loss: Vector
    lower: Vector
    upper: Vector
    lower_lower: Vector
    upper_upper: Vector
    lower_upper: Vector


class Latent(Protocol):
    """The distribution of the latent variable, with the distribution function G."""

    def interval(self, lower: Vector, upper: Vector) -> Interval:
        """Return -log(G(upper) - G(lower)) and its derivatives; limits may be infinite."""

    def probability(self, lower: Vector, upper: Vector) -> Vector:
        """Return G(upper) - G(lower)."""

    def quantile(self, p: Vector) -> Vector:
        """Return the inverse of G."""


class CumulativeLoss(Loss):
    """The base class: P(y ≤ k) = G(θ_k - F), with thresholds θ_0 < θ_1 < … < θ_(K-2).

    Parameters
    ----------
    n_classes : int
        K.
    thresholds : sequence of float or None, default=None
        θ; None: those of classes of equal frequency, until a fit has learned them.
    """

    learns = True
    ordered = True
    needs_all_rows = (
        "its thresholds are fitted to the scores of all rows; use 'log_loss', or fit a model of "
        "two classes for each threshold"
    )

    def __init__(self, n_classes: int, thresholds: Sequence[float] | None = None) -> None:
        self.n_classes = max(int(n_classes), 2)
        equal = start_thresholds(self.latent.quantile, np.ones(self.n_classes))
        self.thresholds = (
            equal if thresholds is None else np.array(thresholds, dtype=np.float64).reshape(-1)
        )
        if len(self.thresholds) != self.n_classes - 1 or not (np.diff(self.thresholds) > 0).all():
            raise ValueError(
                f"thresholds must be {self.n_classes - 1} increasing numbers for {n_classes} "
                f"classes; got {thresholds!r}."
            )

    def for_classes(self, n_classes: int) -> Self:
        """Return the loss of other classes, whose thresholds are not learned yet."""
        return self if n_classes == self.n_classes else type(self)(n_classes)

    @property
    @abstractmethod
    def latent(self) -> Latent:
        """G."""

    def with_thresholds(self, thresholds: npt.ArrayLike) -> Self:
        """Return the loss with these thresholds."""
        return type(self)(self.n_classes, np.asarray(thresholds, dtype=np.float64).tolist())

    def learn(self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix) -> dict[str, Any]:
        """Return the thresholds of maximum likelihood for these scores."""
        own = np.ascontiguousarray(score.reshape(len(y)))
        return {THRESHOLDS: self.learned_thresholds(make_workers(None), y, weight, own)}

    def learned_thresholds(
        self,
        workers: Workers,
        y: npt.NDArray[Any],
        weight: Vector | None,
        score: Vector,
        start: Vector | None = None,
    ) -> Vector:
        """Return the thresholds of maximum likelihood for these scores."""
        normal = isinstance(self.latent, _Normal)
        rows = Rows(workers, y, self.n_classes, weight, score, normal)
        return fit_thresholds(rows, self.latent.quantile, start)

    def with_learned(self, learned: Mapping[str, npt.NDArray[np.float64]]) -> Self:
        """Return the loss with the thresholds that a fit has learned."""
        found = learned.get(THRESHOLDS)
        return self if found is None else self.with_thresholds(found)

    def _interval(self, y: npt.NDArray[Any], score: Vector) -> Interval:
        return self.latent.interval(*limits(self.thresholds, y, score))

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return self._interval(y, score).loss

    def loss_with_delta(self, y: npt.NDArray[Any], score: Matrix, delta: Any) -> Vector:
        """Return L(y, F) with the thresholds of a bound loss, its `delta`."""
        return (self if delta is None else self.with_thresholds(delta)).loss(y, score)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        own = self._interval(y, score)
        curvature = own.lower_lower + 2.0 * own.lower_upper + own.upper_upper
        return -(own.lower + own.upper), np.clip(curvature, 0.0, self.hessian_bound)

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return self.best_constant_with_offset(y, weight, np.zeros((len(y), 1)))

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        def sums(constant: Vector) -> tuple[Vector, Vector]:
            g, h = self.derivatives(y, offset[:, 0] + constant[0])
            return np.array([mean_rows(g, weight)]), np.array([mean_rows(h, weight)])

        if (y == 0).all() or (y == self.n_classes - 1).all():
            return np.zeros(1)  # the best constant is infinite
        return zero_of(sums)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of all classes, shape (n_rows, K)."""
        ends = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        cuts = ends[np.newaxis, :] - np.asarray(score).reshape(-1, 1)
        return np.asarray(self.latent.probability(cuts[:, :-1], cuts[:, 1:]))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the score by the threshold whose cumulative probability is nearest to ½."""
        below = np.clip(np.cumsum(mean, axis=1)[:, :-1], SMALLEST, 1.0 - SMALLEST)
        place = np.abs(below - 0.5).argmin(axis=1)
        own = below[np.arange(len(below)), place]
        return np.asarray(self.thresholds[place] - self.latent.quantile(own))

    def decide(self, score: Matrix) -> npt.NDArray[np.intp]:
        """Return the most probable class of each row."""
        return np.asarray(self.mean(score).argmax(axis=1))

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _CumulativeBoundLoss(self, workers, y, weight)


class _Logistic:
    """G(x) = 1 / (1 + e^-x).

    Since G(b) - G(a) = G(b) G(-a) (1 - e^-(b-a)), no difference of close numbers is computed.
    """

    def interval(self, lower: Vector, upper: Vector) -> Interval:
        with np.errstate(invalid="ignore", over="ignore"):
            gap = upper - lower
            inverse = 1.0 / np.expm1(gap)
        curved = inverse * (1.0 + inverse)
        below, above = expit(lower), expit(-upper)
        loss = np.logaddexp(0.0, -upper) + np.logaddexp(0.0, lower) - np.log(-np.expm1(-gap))
        return Interval(
            loss,
            below + inverse,
            -above - inverse,
            below * (1.0 - below) + curved,
            above * (1.0 - above) + curved,
            -curved,
        )

    def probability(self, lower: Vector, upper: Vector) -> Vector:
        return _difference(expit, lower, upper)

    def quantile(self, p: Vector) -> Vector:
        return np.asarray(np.log(p) - np.log1p(-p))


class _Normal:
    """The standard normal distribution; intervals above 0 are mirrored, where Φ has its digits."""

    def interval(self, lower: Vector, upper: Vector) -> Interval:
        with np.errstate(invalid="ignore"):
            mirrored = lower + upper > 0  # NaN cannot occur: one limit is finite
        a, b = np.where(mirrored, -upper, lower), np.where(mirrored, -lower, upper)
        low, high = log_ndtr(a), log_ndtr(b)
        log_p = high + np.log(-np.expm1(np.minimum(low - high, -1e-300)))
        at_a, at_b = _ratio(a, log_p), _ratio(b, log_p)
        with np.errstate(invalid="ignore"):
            curved_a = np.where(np.isfinite(a), -a * at_a + at_a**2, 0.0)
            curved_b = np.where(np.isfinite(b), b * at_b + at_b**2, 0.0)
        both = -at_a * at_b
        return Interval(
            -log_p,
            np.where(mirrored, at_b, at_a),
            np.where(mirrored, -at_a, -at_b),
            np.where(mirrored, curved_b, curved_a),
            np.where(mirrored, curved_a, curved_b),
            both,
        )

    def probability(self, lower: Vector, upper: Vector) -> Vector:
        return _difference(ndtr, lower, upper)

    def quantile(self, p: Vector) -> Vector:
        return np.asarray(ndtri(p))


def _difference(cdf: Any, lower: Vector, upper: Vector) -> Vector:
    """Return G(upper) - G(lower) of a symmetric distribution, computed on its lower side."""
    mirrored = lower > 0
    above, below = np.where(mirrored, -lower, upper), np.where(mirrored, -upper, lower)
    return np.asarray(cdf(above) - cdf(below))


def _ratio(x: Vector, log_p: Vector) -> Vector:
    """Return the normal density over a probability."""
    return np.asarray(np.exp(-0.5 * x * x - 0.5 * np.log(2.0 * np.pi) - log_p))


class CumulativeLogit(CumulativeLoss):
    """The cumulative logit loss for ordered classes (McCullagh 1980, proportional odds).

    Domain: y in {0, …, K-1}, in order. Link: P(y ≤ k) = σ(θ_k - F) with learned thresholds.

        L(y, F) = -log(σ(θ_y - F) - σ(θ_(y-1) - F)),    θ_(-1) = -∞, θ_(K-1) = ∞
        ∂L/∂F = σ(F - θ_y) + σ(F - θ_(y-1)) - 1
        ∂²L/∂F² = σ'(F - θ_y) + σ'(F - θ_(y-1)) ≤ ½

    Hessian: exact, for fixed thresholds.

    Parameters
    ----------
    n_classes : int
        K.
    thresholds : sequence of float or None, default=None
        θ; None: those of classes of equal frequency, until a fit has learned them.
    """

    name = "cumulative_logit"
    hessian_bound = 0.5
    latent = _Logistic()

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        lower, upper = limits(self.thresholds, y, score)
        below, above = expit(lower), expit(-upper)
        return above - below, below * (1.0 - below) + above * (1.0 - above)


class CumulativeProbit(CumulativeLoss):
    """The cumulative probit loss for ordered classes (McCullagh 1980; Aitchison & Silvey 1957).

    Domain: y in {0, …, K-1}, in order. Link: P(y ≤ k) = Φ(θ_k - F) with learned thresholds.

        L(y, F) = -log P,    P = Φ(b) - Φ(a),    a = θ_(y-1) - F, b = θ_y - F
        ∂L/∂F = (φ(b) - φ(a)) / P        ∂²L/∂F² = (∂L/∂F)² + (b φ(b) - a φ(a)) / P ≤ 1

    Hessian: exact, for fixed thresholds.

    Parameters
    ----------
    n_classes : int
        K.
    thresholds : sequence of float or None, default=None
        θ; None: those of classes of equal frequency, until a fit has learned them.
    """

    name = "cumulative_probit"
    hessian_bound = 1.0
    latent = _Normal()


class _CumulativeBoundLoss(BoundLoss):
    """Learns the thresholds of its rows with every evaluation, or follows the training rows."""

    delta: Any
    _training: BoundLoss | None = None

    def __init__(
        self,
        loss: CumulativeLoss,
        workers: Workers,
        y: npt.NDArray[Any],
        weight: Vector | None,
    ) -> None:
        self._loss, self._workers, self._y, self._weight = loss, workers, y, weight
        self._gradients = Gradients(len(y))
        self._score = np.empty(0)
        self._start: Vector | None = None
        self._filled = False

    def follow(self, training: BoundLoss) -> None:
        self._training = training

    def learned(self) -> dict[str, Any]:
        return {THRESHOLDS: self.delta}

    def evaluate(self, score: Matrix) -> float:
        self._score = score[:, 0]
        if self._training is not None:
            self.delta = self._training.learned()[THRESHOLDS]
        else:
            own = self._workers, self._y, self._weight, self._score, self._start
            self.delta = self._start = self._loss.learned_thresholds(*own)
        return self._fill()

    def gradients(self, output: int) -> Gradients:
        if not self._filled:
            self._fill()
        self._filled = False  # the caller may change them
        return self._gradients

    def _fill(self) -> float:
        self._filled = True
        normal = isinstance(self._loss.latent, _Normal)
        rows = self._workers, self._y, self._score, self._weight
        return self._gradients.cumulative(*rows, self.delta, normal)
