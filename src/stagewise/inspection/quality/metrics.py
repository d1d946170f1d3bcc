"""Scores as functions of how much each row counts.

The one idea: whatever depends on rows alone (their losses, their order) is found once; what is left
is fast enough to be asked for hundreds of times with other counts. Must not know about limits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.predictions import Answers
from stagewise.inspection.row_losses import OF_CLASSES, OF_NUMBERS

__all__ = ["Metric", "metrics_of"]

NAN = float("nan")


class Metric(ABC):
    """A score as a function of how much each row counts."""

    name: str
    words: str
    larger_is_better = False
    ends: tuple[float, float] = (0.0, float("inf"))
    """Between what it lies, whatever the rows."""
    passes = 1  # how often a value goes through the rows

    @abstractmethod
    def value(self, weight: Vector) -> float:
        """Return the score; NaN where there is none."""

    @abstractmethod
    def influence(self, weight: Vector) -> Vector:
        """Return w_i times the derivative of the score by w_i, for each row."""

    def why(self, n_rows: int) -> str:
        """Say why there is no score or no limits; nothing where there are."""
        return "" if n_rows > 1 else "one row has no limits"


class _Mean(Metric):
    """A mean of losses, times the unit that these are measured in."""

    def __init__(self, name: str, words: str, loss: Vector, unit: float = 1.0) -> None:
        self.name, self.words, self._loss, self._unit = name, words, loss, unit

    def _mean(self, weight: Vector) -> float:
        return float(np.average(self._loss, weights=weight))

    def value(self, weight: Vector) -> float:
        return self._unit * self._mean(weight)

    def influence(self, weight: Vector) -> Vector:
        moved = weight * (self._loss - self._mean(weight)) / weight.sum()
        return np.asarray(self._unit * moved)


class _Root(_Mean):
    """The root of a mean."""

    def value(self, weight: Vector) -> float:
        return self._unit * float(np.sqrt(self._mean(weight)))

    def influence(self, weight: Vector) -> Vector:
        mean = self._mean(weight)
        moved = self._unit * weight * (self._loss - mean) / weight.sum()
        return np.asarray(moved / (2 * mean**0.5) if mean > 0 else moved)


class _Right(_Mean):
    """A mean of what is not lost."""

    larger_is_better = True
    ends = (0.0, 1.0)


class _Explained(Metric):
    """R²: what is left of the squared distance to the mean."""

    name, words, larger_is_better = "r2", "R²", True
    ends = (float("-inf"), 1.0)

    def __init__(self, y: Vector, loss: Vector) -> None:
        self._y, self._loss = y, loss

    def _parts(self, weight: Vector) -> tuple[float, Vector, float]:
        far = (self._y - np.average(self._y, weights=weight)) ** 2
        whole, left = (float(np.average(each, weights=weight)) for each in (far, self._loss))
        return whole, far, left

    def value(self, weight: Vector) -> float:
        whole, _, left = self._parts(weight)
        if np.count_nonzero(weight) < 2:
            return NAN
        if whole == 0:  # as scikit-learn has it
            return 1.0 if left == 0 else 0.0
        return 1.0 - left / whole

    def influence(self, weight: Vector) -> Vector:
        whole, far, left = self._parts(weight)
        if whole == 0:
            return np.full(len(weight), NAN)
        moved = (self._loss - left) / whole - left * (far - whole) / whole**2
        return np.asarray(-weight * moved / weight.sum())

    def why(self, n_rows: int) -> str:
        return "" if n_rows > 1 else "R² compares rows with their mean, and there is one row"


class _Area(Metric):
    """The area under the ROC curve, of one class or the mean of several against the rest."""

    name, words, larger_is_better = "auc", "AUC", True
    ends = (0.0, 1.0)

    def __init__(self, answers: Answers) -> None:
        assert answers.classes is not None
        met = np.bincount(answers.y, minlength=len(answers.classes))
        # One column says all there is to say about two classes.
        columns = [1] if len(met) == 2 else range(len(met))
        n = len(answers.y)
        self._sorted = [
            _Ranked.of(answers.said[:, k], answers.y == k) for k in columns if 0 < met[k] < n
        ]
        self.passes = max(1, len(self._sorted))

    def value(self, weight: Vector) -> float:
        areas = [ranked.area(weight) for ranked in self._sorted]
        known = [area for area in areas if area == area]
        return float(np.mean(known)) if known else NAN

    def influence(self, weight: Vector) -> Vector:
        if not self._sorted:
            return np.full(len(weight), NAN)
        return np.asarray(np.mean([ranked.influence(weight) for ranked in self._sorted], axis=0))

    def why(self, n_rows: int) -> str:
        return "" if self._sorted else "AUC compares classes, and these rows are all of one"


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Rows in the order of a probability, those of one class apart from the rest."""

    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    positive: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, said: Vector, positive: npt.NDArray[np.bool_]) -> _Ranked:
        order = np.argsort(said, kind="stable")
        ranked = said[order]
        starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
        return cls(order, starts, positive[order])

    def _sums(self, weight: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the weights in order, and those of the class and the rest at each value."""
        own = weight[self.order]
        inside = np.where(self.positive, own, 0.0)
        if len(self.starts) == len(own):  # no ties
            return own, inside, own - inside
        inside, whole = (np.add.reduceat(each, self.starts) for each in (inside, own))
        return own, inside, whole - inside

    def area(self, weight: Vector) -> float:
        _, inside, outside = self._sums(weight)
        pairs = inside.sum() * outside.sum()
        below = np.cumsum(outside) - outside / 2
        return float((inside * below).sum() / pairs) if pairs > 0 else NAN

    def influence(self, weight: Vector) -> Vector:
        own, inside, outside = self._sums(weight)
        ins, out = inside.sum(), outside.sum()
        below = (np.cumsum(outside) - outside / 2) / out
        above = (ins - np.cumsum(inside) + inside / 2) / ins
        area = float((inside * below).sum() / ins)
        group = np.repeat(np.arange(len(self.starts)), np.diff(np.r_[self.starts, len(own)]))
        moved = np.where(self.positive, (below[group] - area) / ins, (above[group] - area) / out)
        back = np.empty(len(own))
        back[self.order] = own * moved
        return back


def metrics_of(answers: Answers) -> list[Metric]:
    """Return the scores of a task, ready to be asked for."""
    if answers.task == "regression":
        # Numbers of any size have squares that are numbers: the unit is a power of two near them.
        largest = float(np.max(np.abs([answers.y, answers.said]), initial=0.0))
        unit = 2.0 ** float(np.frexp(largest)[1] - 1) if 0 < largest < np.inf else 1.0
        y, said = answers.y / unit, answers.said / unit
        squared = OF_NUMBERS["squared_error"](y, said)
        return [
            _Root("rmse", "RMSE", squared, unit),
            _Mean("mae", "MAE", OF_NUMBERS["absolute_error"](y, said), unit),
            _Explained(y, squared),
        ]
    y, said = answers.y, answers.said
    return [
        _Mean("log_loss", "log loss", OF_CLASSES["log_loss"](y, said)),
        _Right("accuracy", "accuracy", 1.0 - OF_CLASSES["error"](y, said)),
        _Area(answers),
        _Mean("brier", "Brier", OF_CLASSES["brier"](y, said)),
    ]
