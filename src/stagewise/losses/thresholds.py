"""Thresholds between ordered classes: maximum likelihood for given scores, by Newton's method.

The negative log-likelihood of a cumulative model is convex in the thresholds (Burridge 1981; Pratt
1981), and infinite where two of them are equal. Its second derivatives are a tridiagonal matrix, so
a step costs one pass over the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers, cumulative_sums
from stagewise.exact_sums import mean_rows, sum_by_code

__all__ = ["Rows", "fit_thresholds", "limits", "start_thresholds"]

Vector = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Quantile = Callable[[Vector], Vector]

MAX_STEPS = 200
TOLERANCE = 3e-4
"""The search ends with a step that is not larger: the error of the thresholds is of the order of
its square, which is less than float32 has digits of a score."""
SMALLEST_GAP_RATIO = 0.1
"""A step leaves at least this share of the distance between two thresholds."""
LONGEST_STEP = 4.0
ABSENT_GAP = 1e-3
"""The distance of the two thresholds of a class that no training row has (in a fold)."""
SMALLEST_SHARE = 2.0**-50
"""Classes with a smaller share of the weight are absent: cumulative shares would be 0 or 1."""
FAR = 36.0
"""The distance of a threshold that all rows of one class are on one side of; log odds of 2^52."""


@dataclass(frozen=True)
class Rows:
    """Rows of ordered classes.

    Attributes
    ----------
    workers : Workers
        The threads.
    codes : int32 array
        The class of each row.
    n_classes : int
        The number of classes.
    weight : float64 array or None
        The weight of each row; None: 1.
    score : float64 array
        The score of each row.
    normal : bool
        Whether the latent variable is normal; else it is logistic.
    """

    workers: Workers
    codes: Codes
    n_classes: int
    weight: Vector | None
    score: Vector
    normal: bool

    def of_present(self, present: npt.NDArray[np.bool_]) -> Rows:
        """Return the rows of classes that are present, with codes of these classes."""
        kept = present[self.codes]
        if self.weight is not None:
            kept &= self.weight > 0
        place = (np.cumsum(present) - 1).astype(np.int32)
        weight = None if self.weight is None else self.weight[kept]
        codes, n = place[self.codes[kept]], int(present.sum())
        return replace(self, codes=codes, n_classes=n, weight=weight, score=self.score[kept])


def limits(thresholds: Vector, codes: Codes, score: Vector) -> tuple[Vector, Vector]:
    """Return the limits of each row's class on the scale of the latent variable less the score."""
    ends = np.concatenate([[-math.inf], thresholds, [math.inf]])
    return ends[codes] - score, ends[codes + 1] - score


def start_thresholds(quantile: Quantile, counts: Vector, centre: float = 0.0) -> Vector:
    """Return the best thresholds of classes with these sums of weights if all scores are equal."""
    return centre + quantile(np.cumsum(counts)[:-1] / counts.sum())


def fit_thresholds(rows: Rows, quantile: Quantile, start: Vector | None = None) -> Vector:
    """Return the ordered thresholds of maximum likelihood.

    Parameters
    ----------
    rows : Rows
        The rows.
    quantile : callable
        The inverse of the distribution function.
    start : float64 array or None
        The thresholds to begin with; None: those of equal scores.
    """
    counts = sum_by_code(rows.codes, rows.n_classes, rows.weight)
    centre = mean_rows(rows.score, rows.weight)
    present = counts > SMALLEST_SHARE * counts.sum()
    if present.all():
        begin = start_thresholds(quantile, counts, centre) if start is None else start
        return _newton(rows, begin)
    # Without weight, the likelihood of a class is no part of the sum: the others are fitted alone.
    if present.sum() == 1:
        return _with_absent(np.empty(0), present, (centre - FAR, centre + FAR))
    own = rows.of_present(present)
    found = _newton(own, start_thresholds(quantile, counts[present], centre))
    # An absent class at an end is as rare as half a row, also where the scores are farthest.
    ends = min(found[0], own.score.min()), max(found[-1], own.score.max())
    far = float(quantile(np.array(0.5 / (counts.sum() + 1.0))))
    return _with_absent(found, present, (ends[0] + far, ends[1] - far))


def _with_absent(
    found: Vector, present: npt.NDArray[np.bool_], ends: tuple[float, float]
) -> Vector:
    """Return thresholds of all classes; absent ones have an interval of ABSENT_GAP.

    Beyond the first and the last class that is present, the thresholds are those of the ends.
    """
    first, last = int(np.argmax(present)), len(present) - 1 - int(np.argmax(present[::-1]))
    thresholds = [ends[0] - ABSENT_GAP * (first - 1 - k) for k in range(first)]
    own = iter(found.tolist())
    for k in range(first, last):
        thresholds.append(next(own) if present[k] else thresholds[-1] + ABSENT_GAP)
    thresholds += [ends[1] + ABSENT_GAP * (k - last) for k in range(last, len(present) - 1)]
    return _ordered(np.array(thresholds))


def _ordered(thresholds: Vector) -> Vector:
    """Return increasing thresholds; one that is not above the one before it is moved up."""
    for k in range(1, len(thresholds)):
        if thresholds[k] <= thresholds[k - 1]:
            thresholds[k] = thresholds[k - 1] + 1e-6 * ABSENT_GAP
    return thresholds


def _newton(rows: Rows, start: Vector) -> Vector:
    """Return the minimum of a convex function; a step ends where the slope along it has its size.

    A step is halved while the slope at its end is steeper, upwards, than at its begin.
    """
    at = start
    gradient, diagonal, beside = _sums(rows, at)
    for _ in range(MAX_STEPS):
        step = _shortened(at, -_solve(diagonal, beside, gradient))
        slope = float(gradient @ step)
        while float(np.abs(step).max()) > TOLERANCE:
            sums = _sums(rows, at + step)
            if float(sums[0] @ step) <= -0.5 * slope:
                break
            step, slope = 0.5 * step, 0.5 * slope
        at = at + step
        if float(np.abs(step).max()) <= TOLERANCE:
            break
        gradient, diagonal, beside = sums
    return at


def _shortened(at: Vector, step: Vector) -> Vector:
    """Return a step that is not too long and keeps the order of the thresholds."""
    step = step * min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), TOLERANCE))
    shrinks = np.diff(step) < 0
    if shrinks.any():
        room = np.diff(at)[shrinks] * (1.0 - SMALLEST_GAP_RATIO)
        step = step * min(1.0, float((room / -np.diff(step)[shrinks]).min()))
    return np.asarray(step)


def _sums(rows: Rows, at: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the gradient, and the diagonal and the secondary diagonal of the hessian."""
    own = cumulative_sums(rows.workers, rows.codes, rows.score, rows.weight, at, rows.normal)
    lower, upper, lower_lower, upper_upper, lower_upper = own.reshape(-1, 5).T
    gradient, diagonal = upper[:-1] + lower[1:], upper_upper[:-1] + lower_lower[1:]
    return gradient, diagonal, lower_upper[1:-1]


def _solve(diagonal: Vector, beside: Vector, right: Vector) -> Vector:
    """Return the solution of a positive definite tridiagonal system, by elimination."""
    # Where the likelihood is flat, both are 0 to rounding: the step is then limited by its length.
    pivots = np.maximum(diagonal, 1e-12 * float(diagonal.max(initial=1e-300)))
    values = right.copy()
    for k in range(1, len(right)):
        factor = beside[k - 1] / pivots[k - 1]
        pivots[k] = max(pivots[k] - factor * beside[k - 1], 1e-12 * pivots[k])
        values[k] -= factor * values[k - 1]
    values[-1] /= pivots[-1]
    for k in range(len(right) - 2, -1, -1):
        values[k] = (values[k] - beside[k] * values[k + 1]) / pivots[k]
    return np.asarray(values)
