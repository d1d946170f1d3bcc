"""Maximum likelihood of the small models of calibration, by Newton's method.

The likelihoods are concave. A step that does not improve one is halved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax

__all__ = ["fit_logistic", "fit_temperature", "mean_log_loss"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

MOST_STEPS = 100
SMALLEST = 1e-12
RIDGE = 1e-12
"""Keeps the equations of a step solvable, such as those of classes that are separated."""
LARGEST = 1e3
"""The largest parameter: the likelihood of separated classes has no maximum."""


def mean_log_loss(log_proba: Matrix, codes: Codes, weight: Vector | None) -> float:
    """Return the weighted mean of -log p of the true classes."""
    own = -log_proba[np.arange(len(codes)), codes]
    return float(np.average(own, weights=weight))


def _shares(n_rows: int, weight: Vector | None) -> Vector:
    """Return weights with the sum 1."""
    return np.full(n_rows, 1.0 / n_rows) if weight is None else weight / weight.sum()


def _newton(
    value: Callable[[Vector], float],
    derivatives: Callable[[Vector], tuple[Vector, Matrix]],
    start: Vector,
) -> Vector:
    """Return the parameters with the least value.

    Parameters
    ----------
    value : function
        The convex function.
    derivatives : function
        Its gradient and its matrix of second derivatives.
    start : float64 array
        The first parameters.
    """
    theta, now = start, value(start)
    for _ in range(MOST_STEPS):
        gradient, hessian = derivatives(theta)
        step = np.linalg.solve(hessian + RIDGE * np.eye(len(theta)), gradient)
        share = 1.0
        there = theta
        while share > SMALLEST:
            there = np.clip(theta - share * step, -LARGEST, LARGEST)
            new = value(there)
            if new <= now:
                theta, moved, now = there, np.abs(there - theta).max(), new
                break
            share /= 2
        else:
            return theta
        if moved <= SMALLEST * max(1.0, float(np.abs(theta).max())):
            return theta
    return theta


def fit_temperature(
    log_proba: Matrix, codes: Codes, weight: Vector | None, *, biased: bool
) -> tuple[float, Vector]:
    """Return a and b of the probabilities softmax(a · log p + b) of maximum likelihood.

    Parameters
    ----------
    log_proba : float64 array of shape (n_rows, n_classes)
        The logarithms of the probabilities.
    codes : int array
        The true classes.
    weight : float64 array or None
        How often each row counts.
    biased : bool
        Whether b is fitted, with b = 0 for the first class; otherwise b is 0.
    """
    n, k = log_proba.shape
    w, rows, free = _shares(n, weight), np.arange(n), k - 1 if biased else 0
    observed = np.bincount(codes, weights=w, minlength=k)

    def scores(theta: Vector) -> Matrix:
        bias = np.concatenate([[0.0], theta[1:]]) if free else 0.0
        return np.asarray(theta[0] * log_proba + bias)

    def value(theta: Vector) -> float:
        return float(-(w * log_softmax(scores(theta), axis=1)[rows, codes]).sum())

    def derivatives(theta: Vector) -> tuple[Vector, Matrix]:
        p = np.exp(log_softmax(scores(theta), axis=1))
        mean = (p * log_proba).sum(axis=1)
        deviation = log_proba - mean[:, np.newaxis]
        weighted = w[:, np.newaxis] * p
        gradient, hessian = np.empty(1 + free), np.empty((1 + free, 1 + free))
        gradient[0] = (w * (mean - log_proba[rows, codes])).sum()
        hessian[0, 0] = (weighted * deviation**2).sum()
        if free:
            gradient[1:] = (weighted.sum(axis=0) - observed)[1:]
            hessian[0, 1:] = hessian[1:, 0] = (weighted * deviation).sum(axis=0)[1:]
            hessian[1:, 1:] = (np.diag(weighted.sum(axis=0)) - p.T @ weighted)[1:, 1:]
        return gradient, hessian

    theta = _newton(value, derivatives, np.eye(1 + free)[0])
    return float(theta[0]), np.concatenate([[0.0], theta[1:]]) if free else np.zeros(k)


def fit_logistic(features: Matrix, is_own: Codes, weight: Vector | None) -> Vector:
    """Return the coefficients of a logistic regression, the last one that of a constant.

    Parameters
    ----------
    features : float64 array of shape (n_rows, n_features)
        The features.
    is_own : int array
        1 for rows of the class, 0 for others.
    weight : float64 array or None
        How often each row counts.
    """
    w = _shares(len(is_own), weight)
    design = np.column_stack([features, np.ones(len(is_own))])
    sign = 2.0 * is_own - 1.0

    def value(theta: Vector) -> float:
        return float((w * np.logaddexp(0.0, -sign * (design @ theta))).sum())

    def derivatives(theta: Vector) -> tuple[Vector, Matrix]:
        p = expit(design @ theta)
        return design.T @ (w * (p - is_own)), design.T @ ((w * p * (1 - p))[:, None] * design)

    start = np.concatenate([np.ones(features.shape[1]), [0.0]])
    return _newton(value, derivatives, start)
