"""Losses and their derivatives in float64, from the textbook's formulas.

The one idea: each function returns the loss, the gradient and the hessian of every row. Must not
call the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["absolute", "logistic", "softmax", "squared"]

Array = npt.NDArray[np.float64]
Answer = tuple[Array, Array, Array]


def squared(y: Array, score: Array) -> Answer:
    """½ (y - F)²."""
    return (y - score) ** 2 / 2, score - y, np.ones(len(y))


def absolute(y: Array, score: Array) -> Answer:
    """|y - F|; the hessian is 1 by convention."""
    return np.abs(y - score), np.sign(score - y), np.ones(len(y))


def logistic(y: npt.NDArray[Any], score: Array) -> Answer:
    """-log p(y), p(1) = 1 / (1 + e^-F), written so that no side overflows."""
    margin = np.where(y == 1, score, -score)
    loss, other = np.logaddexp(0.0, -margin), np.logaddexp(0.0, margin)
    right, wrong = np.exp(-loss), np.exp(-other)  # the probabilities of both classes
    return loss, np.where(y == 1, -wrong, wrong), wrong * right


def softmax(y: npt.NDArray[Any], scores: Array) -> Answer:
    """-log p(y), p_k = e^(F_k) / Σ e^(F_l); scores and derivatives have shape (outputs, rows)."""
    shifted = scores - scores.max(axis=0)
    p = np.exp(shifted) / np.exp(shifted).sum(axis=0)
    own = y == np.arange(len(scores))[:, np.newaxis]
    return -np.log(p[y, np.arange(len(y))]), p - own, p * (1 - p)
