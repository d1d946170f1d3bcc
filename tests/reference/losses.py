"""Losses and their derivatives in float64, from the textbook's formulas.

Each function returns the loss, the gradient and the hessian of every row. This module does not call
the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

__all__ = [
    "absolute",
    "brier",
    "class_brier",
    "class_exponential",
    "class_focal",
    "class_hinge",
    "class_shares",
    "cumulative",
    "exponential",
    "focal",
    "gamma",
    "hinge",
    "huber",
    "logistic",
    "margin",
    "one_vs_rest",
    "poisson",
    "quantile",
    "softmax",
    "squared",
    "tweedie",
]

Array = npt.NDArray[np.float64]
Derivatives = tuple[Array, Array, Array]


def squared(y: Array, score: Array) -> Derivatives:
    """½ (y - F)²."""
    return (y - score) ** 2 / 2, score - y, np.ones(len(y))


def absolute(y: Array, score: Array) -> Derivatives:
    """|y - F|; the hessian is 1 by convention."""
    return np.abs(y - score), np.sign(score - y), np.ones(len(y))


def quantile(y: Array, score: Array, q: float) -> Derivatives:
    """q (y - F) below y, (1 - q) (F - y) above; the hessian is 1 by convention."""
    below, above = score < y, score > y
    loss = np.where(below, q * (y - score), (1 - q) * (score - y))
    return loss, np.where(below, -q, np.where(above, 1 - q, 0.0)), np.ones(len(y))


def huber(y: Array, score: Array, delta: float) -> Derivatives:
    """½ r² up to δ, then δ |r| - ½ δ²; the hessian is 1 by convention."""
    r = score - y
    inside = np.abs(r) <= delta
    loss = np.where(inside, r**2 / 2, delta * np.abs(r) - delta**2 / 2)
    return loss, np.where(inside, r, delta * np.sign(r)), np.ones(len(y))


def poisson(y: Array, score: Array) -> Derivatives:
    """μ - y log μ, μ = e^F."""
    mu = np.exp(score)
    return mu - y * np.log(mu), mu - y, mu


def gamma(y: Array, score: Array) -> Derivatives:
    """y / μ + log μ, μ = e^F."""
    mu = np.exp(score)
    return y / mu + np.log(mu), 1 - y / mu, y / mu


def tweedie(y: Array, score: Array, power: float) -> Derivatives:
    """-y μ^(1-p) / (1-p) + μ^(2-p) / (2-p), μ = e^F."""
    mu, p = np.exp(score), power
    loss = -y * mu ** (1 - p) / (1 - p) + mu ** (2 - p) / (2 - p)
    gradient = -y * mu ** (1 - p) + mu ** (2 - p)
    return loss, gradient, -y * (1 - p) * mu ** (1 - p) + (2 - p) * mu ** (2 - p)


def exponential(y: npt.NDArray[Any], score: Array) -> Derivatives:
    """e^(-s F), s = ±1."""
    s = 2.0 * y - 1
    e = np.exp(-s * score)
    return e, -s * e, e


def logistic(y: npt.NDArray[Any], score: Array) -> Derivatives:
    """-log p(y), p(1) = 1 / (1 + e^-F), written so that no side overflows."""
    margin = np.where(y == 1, score, -score)
    loss, other = np.logaddexp(0.0, -margin), np.logaddexp(0.0, margin)
    right, wrong = np.exp(-loss), np.exp(-other)  # the probabilities of both classes
    return loss, np.where(y == 1, -wrong, wrong), wrong * right


def softmax(y: npt.NDArray[Any], scores: Array) -> Derivatives:
    """-log p(y), p_k = e^(F_k) / Σ e^(F_l); scores and derivatives have shape (rows, outputs)."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    p = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    own = y[:, np.newaxis] == np.arange(scores.shape[1])
    return -np.log(p[np.arange(len(y)), y]), p - own, p * (1 - p)


def class_exponential(y: npt.NDArray[Any], scores: Array) -> Derivatives:
    """w = e^(-Y·F/K), Y = 1 or -1/(K-1); the hessian is K times the diagonal."""
    k = scores.shape[1]
    Y = np.where(y[:, np.newaxis] == np.arange(k), 1.0, -1 / (k - 1))
    w = np.exp(-(Y * scores).sum(axis=1) / k)
    return w, -Y * w[:, np.newaxis] / k, Y**2 * w[:, np.newaxis] / k


def margin(y: npt.NDArray[Any], score: Array) -> Derivatives:
    """½ (s - F)², s = ±1."""
    return squared(2.0 * y - 1, score)


def class_shares(y: npt.NDArray[Any], scores: Array) -> Derivatives:
    """½ Σ_k ([y = k] - F_k)²."""
    own = np.eye(scores.shape[1])[y]
    return ((own - scores) ** 2).sum(axis=1) / 2, scores - own, np.ones_like(scores)


def fair(y: Array, F: Array, width: float) -> Derivatives:
    a = np.abs(F - y)
    value = width * a - width**2 * np.log((width + a) / width)
    return value, width * (F - y) / (width + a), width / (width + a)


def log_cosh(y: Array, F: Array, width: float) -> Derivatives:
    t = (F - y) / width
    return width**2 * np.log(np.cosh(t)), width * np.tanh(t), np.tanh(t) / t


def pseudo_huber(y: Array, F: Array, width: float) -> Derivatives:
    distance = np.sqrt(width**2 + (F - y) ** 2)
    return width * distance - width**2, width * (F - y) / distance, width / distance


def squared_log_error(y: Array, F: Array) -> Derivatives:
    return squared(np.log(1 + y), F)


def cross_entropy(y: Array, F: Array) -> Derivatives:
    """-y log p - (1 - y) log(1 - p), p = 1 / (1 + e^-F)."""
    p = 1 / (1 + np.exp(-F))
    return y * np.logaddexp(0.0, -F) + (1 - y) * np.logaddexp(0.0, F), p - y, p * (1 - p)


def expectile(y: Array, F: Array, level: float) -> Derivatives:
    a = np.abs(level - (y <= F))
    return a * (y - F) ** 2, 2 * a * (F - y), 2 * a


def mape(y: Array, F: Array, floor: float) -> Derivatives:
    unit = np.array([max(abs(one), floor) for one in y])
    return np.abs(y - F) / unit, np.sign(F - y) / unit, 1 / unit


def _probability(y: npt.NDArray[Any], F: Array) -> tuple[Array, Array]:
    """The signs ±1 of two classes, and the probability of the class of each row."""
    signs = np.where(y == 1, 1.0, -1.0)
    return signs, 1 / (1 + np.exp(-signs * F))


def focal(y: npt.NDArray[Any], F: Array, g: float) -> Derivatives:
    """-(1 - p)^γ log p; the hessian is at least (1 - p)^γ p (1 - p)."""
    signs, p = _probability(y, F)
    q, log = 1 - p, np.log(p)
    second = q**g * p * (q * (1 + 2 * g) + g * log * (q - g * p))
    return -(q**g) * log, signs * q**g * (g * p * log - q), np.maximum(second, q**g * p * q)


def brier(y: npt.NDArray[Any], F: Array) -> Derivatives:
    """(1 - p)²; the hessian is at least p (1 - p)², half of |g|."""
    signs, p = _probability(y, F)
    q = 1 - p
    hessian = np.maximum(2 * p * q**2 * (3 * p - 1), p * q**2)
    return q**2, -signs * 2 * p * q**2, hessian


def hinge(y: npt.NDArray[Any], F: Array) -> Derivatives:
    """½ max(0, 1 - s F)²."""
    signs = np.where(y == 1, 1.0, -1.0)
    short = np.maximum(0, 1 - signs * F)
    return short**2 / 2, -signs * short, (short > 0).astype(float)


def _softmax(scores: Array) -> Array:
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def class_focal(y: npt.NDArray[Any], scores: Array, g: float) -> Derivatives:
    """-(1 - q_y)^γ log q_y of q = softmax(F); the hessian is at least w q_k (1 - q_k)."""
    q, (n, k) = _softmax(scores), scores.shape
    own = q[np.arange(n), y]
    w = (1 - own) ** g - g * own * (1 - own) ** (g - 1) * np.log(own)
    step = 1e-6

    def weight(p: Array) -> Array:
        return (1 - p) ** g - g * p * (1 - p) ** (g - 1) * np.log(p)

    # The derivative of w by Richardson's extrapolation.
    near = (weight(own + step) - weight(own - step)) / (2 * step)
    wide = (weight(own + 2 * step) - weight(own - 2 * step)) / (4 * step)
    slope = (4 * near - wide) / 3
    distance = q - (y[:, None] == np.arange(k))
    bent = -(own * slope)[:, None] * distance**2
    hessian = w[:, None] * q * (1 - q) + np.maximum(bent, 0)
    return -((1 - own) ** g) * np.log(own), w[:, None] * distance, hessian


def class_brier(y: npt.NDArray[Any], scores: Array) -> Derivatives:
    """Σ (p_k - [y = k])² by the matrix of derivatives of softmax; the hessian is at least |g|/2."""
    p, (n, k) = _softmax(scores), scores.shape
    gradient, hessian = np.empty((n, k)), np.empty((n, k))
    loss = np.empty(n)
    for i in range(n):
        e = p[i] - np.eye(k)[y[i]]
        loss[i] = (e**2).sum()
        jacobian = np.diag(p[i]) - np.outer(p[i], p[i])
        gradient[i] = 2 * jacobian @ e
        for j in range(k):
            d = jacobian[:, j]
            moved = np.diag(d) - np.outer(d, p[i]) - np.outer(p[i], d)
            hessian[i, j] = 2 * (moved @ e + jacobian @ d)[j]
    return loss, gradient, np.maximum(hessian, np.abs(gradient) / 2)


def class_hinge(y: npt.NDArray[Any], scores: Array) -> Derivatives:
    """½ Σ max(0, 1 - s_k F_k)²."""
    signs = np.where(y[:, None] == np.arange(scores.shape[1]), 1.0, -1.0)
    short = np.maximum(0, 1 - signs * scores)
    return (short**2).sum(axis=1) / 2, -signs * short, (short > 0).astype(float)


def one_vs_rest(y: npt.NDArray[Any], scores: Array) -> Derivatives:
    """The sum of the log losses of each class against the rest."""
    each = [logistic((y == k).astype(int), scores[:, k]) for k in range(scores.shape[1])]
    return (
        np.sum([loss for loss, _, _ in each], axis=0),
        np.stack([g for _, g, _ in each], axis=1),
        np.stack([h for _, _, h in each], axis=1),
    )


def cumulative(y: npt.NDArray[Any], F: Array, cuts: list[float], link: str) -> Derivatives:
    """-log(G(b) - G(a)) of the logistic or the normal distribution."""
    ends = np.array([-np.inf, *cuts, np.inf])
    a, b = ends[y] - F, ends[y + 1] - F
    if link == "logit":
        low, high = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b))
        density = low * (1 - low), high * (1 - high)
        slope = density[0] * (1 - 2 * low), density[1] * (1 - 2 * high)
    else:
        low, high = norm.cdf(a), norm.cdf(b)
        density = norm.pdf(a), norm.pdf(b)
        finite = [np.where(np.isfinite(x), x, 0.0) for x in (a, b)]
        slope = -finite[0] * density[0], -finite[1] * density[1]
    p = high - low
    gradient = (density[1] - density[0]) / p
    return -np.log(p), gradient, gradient**2 - (slope[1] - slope[0]) / p
