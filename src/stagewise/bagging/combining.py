"""How much each member of a committee has to say, and what they say of rows they did not see.

The one idea: the answer of a committee is Σ α_j h_j(x) / Σ α_j, whether h_j are numbers,
probabilities or votes; a way to combine is what α_j is made of. Must not know estimators.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.bagging.bag_samples import Share
from stagewise.data import TargetScale

__all__ = ["LeftOut", "Sum", "log_odds", "precision", "settled"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

LEAST = 2.0**-20
"""What a member no better than chance has to say: it decides only where nobody else does."""
FINEST = 2.0**-40
"""No member is taken to be better than this share of the variance of the target."""


def log_odds(error: float, n_classes: int, total: float) -> float:
    """Return α = log((1 - ε) / ε) + log(K - 1), the say of a member that is wrong for a share ε.

    For two classes these are the weights of AdaBoost's votes, and those with which votes of
    independent members are right most often (Nitzan & Paroush 1982). A member without errors has
    half a row wrong; one that is no better than chance has next to nothing to say.

    Parameters
    ----------
    error : float
        ε, measured on rows that the member did not see.
    n_classes : int
        K.
    total : float
        The weight of these rows.
    """
    half = min(0.5, 0.5 / total)
    wrong = min(max(error, half), 1.0 - half)
    return max(math.log((1.0 - wrong) / wrong) + math.log(max(1, n_classes - 1)), LEAST)


def precision(error: float, spread: float) -> float:
    """Return α = 1 / ε, the say of a member whose mean squared error is ε.

    Of all weights with Σ α = 1 these make the expected square of Σ α_j ε_j(x) the least if the
    errors of members are uncorrelated.

    Parameters
    ----------
    error : float
        ε, measured on rows that the member did not see.
    spread : float
        The variance of the target, in which the say is measured.
    """
    return 1.0 if spread == 0.0 else 1.0 / max(error / spread, FINEST)


def settled(say: Vector) -> Vector:
    """Return weights that sum to 1; a member whose error nobody knows counts as the mean does."""
    known = ~np.isnan(say)
    filled = np.where(known, say, say[known].mean() if known.any() else 1.0)
    return np.asarray(filled / filled.sum())


class Sum:
    """Σ α_j h_j(x), which stays finite as long as all h_j are.

    Parameters
    ----------
    n_rows, n_columns : int
        The shape of the answers.
    """

    STEP = 64
    """By how many powers of two the unit grows where a sum would overflow."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self._sums, self._power = np.zeros((n_rows, n_columns)), 0

    def add(self, answers: Matrix, say: float, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Add the answers of a member about all rows, or some."""
        at = slice(None) if rows is None else rows
        with np.errstate(over="ignore"):
            new = self._sums[at] + np.ldexp(say * answers, -self._power)
        if not np.isfinite(new).all():
            self._sums = np.ldexp(self._sums, -self.STEP)
            self._power += self.STEP
            new = self._sums[at] + say * np.ldexp(answers, -self._power)
        self._sums[at] = new

    def over(self, total: Vector | float, rows: npt.NDArray[np.intp] | None = None) -> Matrix:
        """Return the sums, divided by those of the α."""
        sums = self._sums if rows is None else self._sums[rows]
        return np.ldexp(sums / total, self._power)


class LeftOut:
    """What the members say together of every row, each only of rows that it did not see.

    Parameters
    ----------
    y : array
        Targets, or class codes.
    weight : float64 array or None
        Of the rows.
    n_classes : int
        0: targets are numbers.
    """

    def __init__(self, y: npt.NDArray[np.generic], weight: Vector | None, n_classes: int) -> None:
        self._y: npt.NDArray[Any] = y
        self._classes = n_classes
        self._weight = np.ones(len(y)) if weight is None else weight
        self._sums = Sum(len(y), max(1, n_classes))
        self._say = np.zeros(len(y))
        self.spread, self._scale = 0.0, TargetScale(0.0, 1.0)
        """The variance of the targets, if they are numbers, in squares of a unit of their size."""
        self.unit = 1.0
        """The square of that unit."""
        if not n_classes:
            values = np.asarray(y, dtype=np.float64)
            self._scale = TargetScale.learn(values, self._weight)
            self._y = self._scale.standardise(values)
            self.unit = self._scale.loss_unit(2)
            self.spread = float(np.average(self._y**2, weights=self._weight))

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which rows some member did not see."""
        return self._say > 0.0

    @property
    def prediction(self) -> Matrix:
        """What the members say of each row, shape (n_rows, n_columns); NaN if all saw it."""
        out = np.full((len(self._y), max(1, self._classes)), np.nan)
        known = np.flatnonzero(self.known)
        out[known] = self._sums.over(self._say[known, np.newaxis], known)
        return out

    def error_of(self, answers: Matrix, held: npt.NDArray[np.intp]) -> float:
        """Return the share of the rows that are wrong, or the mean square; NaN without rows.

        Squares are in the unit of `spread`.
        """
        if not len(held):
            return math.nan
        weight = self._weight[held]
        if self._classes:
            off = (answers.argmax(axis=1) != self._y[held]).astype(np.float64)
        else:
            off = (self._scale.standardise(answers[:, 0]) - self._y[held]) ** 2
        return float(np.average(off, weights=weight))

    def say_of(self, error: float, share: Share) -> float:
        """Return how much a member has to say that has this error on the rows it did not see."""
        if math.isnan(error):
            return math.nan
        if self._classes:
            return log_odds(error, self._classes, float(share.held_weight.sum()))
        return precision(error, self.spread)

    def add(self, share: Share, answers: Matrix, say: float) -> float:
        """Let a member speak, and return the error of all that have spoken so far."""
        if len(share.held):
            self._sums.add(answers, say, share.held)
            self._say[share.held] += say
        known = np.flatnonzero(self.known)
        return self.error_of(self._sums.over(self._say[known, np.newaxis], known), known)

    def score(self) -> float:
        """Return the accuracy, or R², on the rows that some member did not see."""
        known = np.flatnonzero(self.known)
        error = self.error_of(self.prediction[known], known)
        if self._classes:
            return 1.0 - error
        values, weight = self._y[known].astype(np.float64), self._weight[known]
        if len(known) < 2 or np.ptp(values) == 0.0:
            return math.nan
        mean = np.average(values, weights=weight)
        return 1.0 - error / float(np.average((values - mean) ** 2, weights=weight))
