"""Losses and their derivatives in float64, from the textbook's formulas.

Each function returns the loss, the gradient and the hessian of every row. This module does not call
the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "absolute",
    "class_exponential",
    "class_shares",
    "exponential",
    "gamma",
    "huber",
    "logistic",
    "margin",
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


def expectile(y: Array, F: Array, level: float) -> Derivatives:
    a = np.abs(level - (y <= F))
    return a * (y - F) ** 2, 2 * a * (F - y), 2 * a


def mape(y: Array, F: Array, floor: float) -> Derivatives:
    unit = np.array([max(abs(one), floor) for one in y])
    return np.abs(y - F) / unit, np.sign(F - y) / unit, 1 / unit
