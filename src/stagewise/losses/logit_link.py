"""Losses with a logit link: the prediction is 1 / (1 + e^-F), and F is the log odds.

The docstring of each loss: domain, link, formula, hessian.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from stagewise._native import Workers
from stagewise.elementary import portable_exp
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import KernelBoundLoss
from stagewise.losses.logarithm import MAX_STEP, exact_log
from stagewise.losses.scores import Matrix, Vector

__all__ = ["CrossEntropy", "bounded_log_odds", "log_odds_beside_offset"]

MAX_NEWTON_STEPS = 100
"""The largest number of steps to the best constant beside an offset."""
CONSTANT_TOLERANCE = 1e-12
"""The search for it ends with a step that is not larger."""
LARGEST_ODDS = 2.0**53
"""The bound of the odds of best constants: the relative precision of a double."""


class CrossEntropy(Loss):
    """The cross-entropy of shares or probabilities, also known as fractional logistic regression.

    Domain: y from 0 to 1, not all 0 and not all 1. Link: logit, p = 1 / (1 + e^-F).

        L(y, F) = log(1 + e^F) - y F        ∂L/∂F = p - y        ∂²L/∂F² = p (1 - p) ≤ ¼

    Hessian: exact. With y of 0 and 1 it is the log loss of two classes. The prediction is the mean
    of y. The smallest loss of a row is -y log y - (1 - y) log(1 - y), which is 0 only where y is 0
    or 1. The reference is Papke & Wooldridge (1996).
    """

    name = "cross_entropy"
    kernel = ("cross_entropy", 0.0)
    hessian_bound = 0.25

    @property
    def prediction_limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        far = np.where(score > 0, 1.0 - y, y)  # the share on the other side of F
        return np.asarray(np.log1p(np.exp(-np.abs(score))) + far * np.abs(score))

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        p, rest = expit(score), expit(-score)
        return p * (1.0 - y) - rest * y, p * rest

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.array([self._log_odds(y, weight)])

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        """Return the constant with which the mean prediction is the mean of y."""
        logit, share = self._log_odds(y, weight), mean_rows(y, weight)
        return np.array([log_odds_beside_offset(logit, share, weight, offset[:, 0])])

    def _log_odds(self, y: npt.NDArray[Any], weight: Vector | None) -> float:
        share, rest = mean_rows(y, weight), mean_rows(1.0 - y, weight)
        if share <= 0.0 or rest <= 0.0:
            raise ValueError(
                f"The cross_entropy loss needs targets between 0 and 1, but all targets are "
                f"{0 if share <= 0.0 else 1}: the log odds of their mean are infinite. Use another "
                "loss."
            )
        return bounded_log_odds(share, rest)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return 1 / (1 + e^-F)."""
        return np.asarray(expit(score))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the log odds, log(p / (1 - p)), of p from 0 to 1; NaN for other numbers."""
        p = np.asarray(mean, dtype=np.float64)
        least = math.exp(-MAX_STEP)
        logs = np.log(np.maximum(p, least)) - np.log(np.maximum(1.0 - p, least))
        return np.where((p >= 0.0) & (p <= 1.0), logs, np.nan)

    def check(self, y: npt.NDArray[Any]) -> None:
        wrong = (y < 0.0) | (y > 1.0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"The cross_entropy loss needs targets from 0 to 1, but y is {y[row]:g} at row "
                f"{row} (the first of {int(wrong.sum())} such rows). Divide y by its largest "
                "possible value (percentages by 100), use loss='squared_error', which has no such "
                "limit, or remove these rows."
            )

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return KernelBoundLoss("cross_entropy", workers, y, weight)


def bounded_log_odds(share: float, rest: float) -> float:
    """Return log(share / rest) of non-negative numbers, at most ±log 2^53."""
    odds = share / rest if rest > 0 else LARGEST_ODDS
    return exact_log(min(max(odds, 1 / LARGEST_ODDS), LARGEST_ODDS))


def log_odds_beside_offset(
    logit: float, share: float, weight: Vector | None, offset: Vector
) -> float:
    """Return the constant c with which the mean of 1 / (1 + e^-(offset + c)) is a share.

    Parameters
    ----------
    logit, share
        The log odds of the share, which are c if all offsets are 0, and the share.
    weight, offset
        The weights of the rows and their offsets.
    """
    low, high = logit - float(offset.max()), logit - float(offset.min())  # c lies between
    found = min(max(logit - mean_rows(offset, weight), low), high)
    for _ in range(MAX_NEWTON_STEPS):
        p = 1.0 / (1.0 + portable_exp(-(offset + found)))
        gradient, hessian = mean_rows(p, weight) - share, mean_rows(p * (1 - p), weight)
        low, high = (low, found) if gradient > 0 else (found, high)
        step = found - gradient / hessian if hessian > 0 else math.inf
        step = step if low < step < high else 0.5 * (low + high)
        if abs(step - found) <= CONSTANT_TOLERANCE * max(1.0, abs(found)):
            return step
        found = step
    return found
