"""Metrics as functions of the row weights.

Everything that does not depend on the weights (the losses of the rows, their order) is computed
once, so that a metric can be evaluated hundreds of times for the bootstrap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.predictions import Predictions
from stagewise.inspection.row_losses import CLASSIFICATION_ROW_LOSSES, REGRESSION_ROW_LOSSES

__all__ = ["Metric", "metrics_of"]

NAN = float("nan")


class Metric(ABC):
    """A metric as a function of the row weights."""

    name: str
    label: str
    larger_is_better = False
    ends: tuple[float, float] = (0.0, float("inf"))
    """The smallest and the largest possible value."""
    passes = 1  # passes over the rows per evaluation

    @abstractmethod
    def value(self, weight: Vector) -> float:
        """Return the metric; NaN if it is undefined."""

    @abstractmethod
    def influence(self, weight: Vector) -> Vector:
        """Return w_i · ∂metric/∂w_i for each row."""

    def reason(self, n_rows: int) -> str:
        """Return why the metric or its limits are undefined; empty if they are defined."""
        return "" if n_rows > 1 else "one row is not enough for confidence limits"


class _Mean(Metric):
    """A weighted mean of losses, times their unit."""

    def __init__(self, name: str, label: str, loss: Vector, unit: float = 1.0) -> None:
        self.name, self.label, self._loss, self._unit = name, label, loss, unit

    def _mean(self, weight: Vector) -> float:
        return float(np.average(self._loss, weights=weight))

    def value(self, weight: Vector) -> float:
        return self._unit * self._mean(weight)

    def influence(self, weight: Vector) -> Vector:
        moved = weight * (self._loss - self._mean(weight)) / weight.sum()
        return np.asarray(self._unit * moved)


class _Root(_Mean):
    """The square root of a weighted mean."""

    def value(self, weight: Vector) -> float:
        return self._unit * float(np.sqrt(self._mean(weight)))

    def influence(self, weight: Vector) -> Vector:
        mean = self._mean(weight)
        moved = self._unit * weight * (self._loss - mean) / weight.sum()
        return np.asarray(moved / (2 * mean**0.5) if mean > 0 else moved)


class _Right(_Mean):
    """A mean that is better when larger."""

    larger_is_better = True
    ends = (0.0, 1.0)


class _Explained(Metric):
    """The coefficient of determination, R²."""

    name, label, larger_is_better = "r2", "R²", True
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
        if whole == 0:  # as in scikit-learn
            return 1.0 if left == 0 else 0.0
        return 1.0 - left / whole

    def influence(self, weight: Vector) -> Vector:
        whole, far, left = self._parts(weight)
        if whole == 0:
            return np.full(len(weight), NAN)
        moved = (self._loss - left) / whole - left * (far - whole) / whole**2
        return np.asarray(-weight * moved / weight.sum())

    def reason(self, n_rows: int) -> str:
        return "" if n_rows > 1 else "R² is undefined for one row"


class _Area(Metric):
    """The area under the ROC curve; of several classes the mean of one-vs-rest areas."""

    name, label, larger_is_better = "auc", "AUC", True
    ends = (0.0, 1.0)

    def __init__(self, predictions: Predictions) -> None:
        assert predictions.classes is not None
        met = np.bincount(predictions.y, minlength=len(predictions.classes))
        # For two classes the column of the second is enough.
        columns = [1] if len(met) == 2 else range(len(met))
        n = len(predictions.y)
        self._sorted = [
            _Ranked.of(predictions.y_pred[:, k], predictions.y == k)
            for k in columns
            if 0 < met[k] < n
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

    def reason(self, n_rows: int) -> str:
        return "" if self._sorted else "AUC is undefined: all rows are of one class"


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Rows sorted by a probability, with a mask of the positive class."""

    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    positive: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, score: Vector, positive: npt.NDArray[np.bool_]) -> _Ranked:
        order = np.argsort(score, kind="stable")
        ranked = score[order]
        starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
        return cls(order, starts, positive[order])

    def _sums(self, weight: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the sorted weights, and their sums by value for the class and for the rest."""
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


def metrics_of(predictions: Predictions) -> list[Metric]:
    """Return the metrics of a task for these predictions."""
    if predictions.task == "regression":
        # Squares must not overflow or vanish: values are divided by a power of two near the
        # largest.
        largest = float(np.max(np.abs([predictions.y, predictions.y_pred]), initial=0.0))
        unit = 2.0 ** float(np.frexp(largest)[1] - 1) if 0 < largest < np.inf else 1.0
        y, y_pred = predictions.y / unit, predictions.y_pred / unit
        squared = REGRESSION_ROW_LOSSES["squared_error"](y, y_pred)
        return [
            _Root("rmse", "RMSE", squared, unit),
            _Mean("mae", "MAE", REGRESSION_ROW_LOSSES["absolute_error"](y, y_pred), unit),
            _Explained(y, squared),
        ]
    y, y_pred = predictions.y, predictions.y_pred
    return [
        _Mean("log_loss", "log loss", CLASSIFICATION_ROW_LOSSES["log_loss"](y, y_pred)),
        _Right("accuracy", "accuracy", 1.0 - CLASSIFICATION_ROW_LOSSES["error"](y, y_pred)),
        _Area(predictions),
        _Mean("brier", "Brier", CLASSIFICATION_ROW_LOSSES["brier"](y, y_pred)),
    ]
