"""Classification thresholds: ROC curve, precision and recall, costs.

All curves are ratios of two cumulative sums over the rows in decreasing order of probability: the
weight of true positives and of false positives at each threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stagewise.display import MOST_ROWS, Summary, Tabled, spread
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.quality.plots import plot_tradeoff
from stagewise.inspection.quality.predictions import Predictions
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.foreign_calls import suggests_attributes
from stagewise.validation.rules import Number

__all__ = ["CostCurve", "PrecisionRecall", "RocCurve", "Thresholds", "thresholds"]


@dataclass(frozen=True, eq=False, repr=False)
class RocCurve(Tabled):
    """The receiver operating characteristic (ROC) curve.

    Attributes
    ----------
    pos_label : str
        The positive class.
    threshold, false_positive_rate, true_positive_rate : float64 arrays of shape (n_points,)
        From threshold infinity (no row is predicted positive) to the smallest (all rows are).
    area : float
        The area under the curve.
    """

    pos_label: str
    threshold: Vector
    false_positive_rate: Vector
    true_positive_rate: Vector

    @property
    def area(self) -> float:
        """The area under the curve, by the trapezoidal rule."""
        return float(np.trapezoid(self.true_positive_rate, self.false_positive_rate))

    def _summary(self) -> Summary:
        title = f"ROC curve of the class {self.pos_label}, area {self.area:.6g}"
        return _curve_summary(
            title, self, ("threshold", "false_positive_rate", "true_positive_rate")
        )

    def table(self) -> list[dict[str, float]]:
        """Return one row per threshold."""
        names = ("threshold", "false_positive_rate", "true_positive_rate")
        return _rows({name: getattr(self, name) for name in names})

    def plot(self, ax: Any = None) -> Any:
        """Plot the curve and the chance diagonal; return the axes."""
        labels = ("false positive rate", "true positive rate")
        title = f"{self.pos_label}: area {self.area:.3f}"
        x, y = self.false_positive_rate, self.true_positive_rate
        return plot_tradeoff(x, y, labels, title, ax, chance=np.array([0.0, 1.0]))


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionRecall(Tabled):
    """The precision-recall curve.

    Attributes
    ----------
    pos_label : str
        The positive class.
    threshold, recall, precision : float64 arrays of shape (n_points,)
        By decreasing threshold; the precision is 1 if no row is predicted positive.
    share : float
        The share of positives among all rows: the precision of random guessing.
    """

    pos_label: str
    threshold: Vector
    recall: Vector
    precision: Vector
    share: float

    @property
    def average(self) -> float:
        """Average precision: Σ_n (R_n - R_(n-1)) P_n, the area of steps without interpolation."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def _summary(self) -> Summary:
        title = f"Precision and recall of {self.pos_label}, average precision {self.average:.6g}"
        return _curve_summary(title, self, ("threshold", "recall", "precision"))

    def table(self) -> list[dict[str, float]]:
        """Return one row per threshold."""
        return _rows({name: getattr(self, name) for name in ("threshold", "recall", "precision")})

    def plot(self, ax: Any = None) -> Any:
        """Plot the curve and the share of positives (chance level); return the axes."""
        title = f"{self.pos_label}: average precision {self.average:.3f}"
        chance = np.full(2, self.share)
        labels = ("recall", "precision")
        x, y = self.recall, self.precision
        return plot_tradeoff(x, y, labels, title, ax, chance=chance, steps="steps-pre")


@dataclass(frozen=True, eq=False, repr=False)
class CostCurve(Tabled):
    """The mean cost of errors by threshold.

    Attributes
    ----------
    pos_label : str
        The positive class.
    threshold, cost : float64 arrays of shape (n_points,)
        By decreasing threshold; the mean cost per row.
    false_positive, false_negative : float
        The cost of one false positive and of one false negative.
    """

    pos_label: str
    threshold: Vector
    cost: Vector
    false_positive: float
    false_negative: float

    @property
    def best(self) -> int:
        """The index of the lowest cost; of ties the one with the largest threshold."""
        return int(np.argmin(self.cost))

    @property
    def best_threshold(self) -> float:
        """The threshold with the lowest cost; infinity: predict no row positive."""
        return float(self.threshold[self.best])

    @property
    def best_cost(self) -> float:
        """The lowest cost."""
        return float(self.cost[self.best])

    def _summary(self) -> Summary:
        title = (
            f"Costs of {self.pos_label}, lowest {self.best_cost:.6g} at {self.best_threshold:.4g}"
        )
        return _curve_summary(title, self, ("threshold", "cost"))

    def table(self) -> list[dict[str, float]]:
        """Return one row per threshold."""
        return _rows({"threshold": self.threshold, "cost": self.cost})

    def plot(self, ax: Any = None) -> Any:
        """Plot the cost by threshold and mark the lowest; return the axes."""
        labels = ("threshold", "cost per row")
        title = f"{self.pos_label}: lowest cost {self.best_cost:.3g} at {self.best_threshold:.2g}"
        # Infinity cannot be drawn; all thresholds above the largest probability are equivalent.
        x = np.minimum(self.threshold, 1.0)
        mark = (x[self.best], self.best_cost)
        return plot_tradeoff(x, self.cost, labels, title, ax, mark=mark, steps="steps-post")


@suggests_attributes
@dataclass(frozen=True, eq=False, repr=False)
class Thresholds(Tabled):
    """True and false positives by threshold.

    Attributes
    ----------
    pos_label : str
        The positive class.
    threshold : float64 array of shape (n_points,)
        Probabilities, decreasing; the first is infinity (no row is predicted positive).
    true_positive, false_positive : float64 arrays of shape (n_points,)
        The weight of positive and of negative rows with a probability of at least the threshold.
    positives, negatives : float
        The weight of all positive and of all negative rows.
    """

    pos_label: str
    threshold: Vector
    true_positive: Vector
    false_positive: Vector
    positives: float
    negatives: float

    @classmethod
    def of(cls, predictions: Predictions, pos_label: Any = None) -> Thresholds:
        """Compute the counts of predictions; the parameters are those of `thresholds`."""
        place = predictions.class_index(pos_label, "thresholds")
        rows = predictions.with_weight()
        own, p, name = rows.y == place, rows.y_pred[:, place], predictions.names[place]
        if own.all() or not own.any():
            only = f"only the class {name!r}" if own.any() else f"no row of the class {name!r}"
            raise ValueError(
                f"y has {only}; thresholds need positive and negative rows. Pass rows of both."
            )
        order = np.argsort(-p, kind="stable")
        last = np.flatnonzero(np.r_[np.diff(p[order]) != 0, True])  # of tied rows
        inside = np.cumsum(np.where(own, rows.weight, 0.0)[order])[last]
        outside = np.cumsum(np.where(own, 0.0, rows.weight)[order])[last]
        return cls(
            name,
            np.r_[np.inf, p[order][last]],
            np.r_[0.0, inside],
            np.r_[0.0, outside],
            float(inside[-1]),
            float(outside[-1]),
        )

    def _summary(self) -> Summary:
        title = (
            f"Thresholds of the class {self.pos_label}, AUC {self.roc().area:.6g}, average "
            f"precision {self.precision_recall().average:.6g}"
        )
        few = self.thinned(MOST_ROWS)
        return Summary(title, rows=few.table(), n_rows=len(self.threshold))

    def at(self, threshold: float) -> dict[str, float]:
        """Return the weights of true and false positives and negatives: tp, fp, fn and tn.

        Parameters
        ----------
        threshold : float
            Rows with a probability of at least this are predicted positive.
        """
        least = check_argument("threshold", Number(0.0), threshold)
        i = int(np.searchsorted(-self.threshold, -least, side="right")) - 1
        tp, fp = float(self.true_positive[i]), float(self.false_positive[i])
        return {"tp": tp, "fp": fp, "fn": self.positives - tp, "tn": self.negatives - fp}

    def roc(self) -> RocCurve:
        """Return the ROC curve."""
        false, true = self.false_positive / self.negatives, self.true_positive / self.positives
        return RocCurve(self.pos_label, self.threshold, false, true)

    def precision_recall(self) -> PrecisionRecall:
        """Return the precision-recall curve."""
        called = self.true_positive + self.false_positive
        precision = np.divide(
            self.true_positive, called, out=np.ones(len(called)), where=called > 0
        )
        recall = self.true_positive / self.positives
        share = self.positives / (self.positives + self.negatives)
        return PrecisionRecall(self.pos_label, self.threshold, recall, precision, share)

    def cost(self, false_positive: float = 1.0, false_negative: float = 1.0) -> CostCurve:
        """Return the mean cost per row, (c_fp · FP + c_fn · FN) / n, at each threshold.

        Parameters
        ----------
        false_positive, false_negative : float, default=1.0
            The cost of one false positive and of one false negative. With calibrated probabilities
            the best threshold is c_fp / (c_fp + c_fn).
        """
        each = check_argument("false_positive", Number(0.0), false_positive)
        missed = check_argument("false_negative", Number(0.0), false_negative)
        wrong = each * self.false_positive + missed * (self.positives - self.true_positive)
        cost = wrong / (self.positives + self.negatives)
        return CostCurve(self.pos_label, self.threshold, cost, each, missed)

    def thinned(self, n: int) -> Thresholds:
        """Return at most n of the thresholds, including the first and the last.

        They are taken at equal steps of the sum of true and false positive rate.
        """
        most = check_argument("n", Number(2, whole=True), n)
        if len(self.threshold) <= most:
            return self
        way = self.true_positive / self.positives + self.false_positive / self.negatives
        kept = np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], most)))
        parts = ("threshold", "true_positive", "false_positive")
        return replace(self, **{name: getattr(self, name)[kept] for name in parts})

    def table(self) -> list[dict[str, float]]:
        """Return one row per threshold with tp, fp, fn, tn, precision and recall."""
        return _rows(
            {
                "threshold": self.threshold,
                "tp": self.true_positive,
                "fp": self.false_positive,
                "fn": self.positives - self.true_positive,
                "tn": self.negatives - self.false_positive,
                "precision": self.precision_recall().precision,
                "recall": self.true_positive / self.positives,
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Plot the ROC curve; return the axes. See also `precision_recall` and `cost`."""
        return self.roc().plot(ax)


@suggests_arguments
def thresholds(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
) -> Thresholds:
    """Return true and false positives at every threshold of a probability.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier.
    X, y : array-like or data frame, and array-like
        Rows and their classes, preferably not used for training.
    pos_label : label or None
        The positive class, compared with all others. None: the second of two classes.
    sample_weight : array-like or None
        Sample weights.
    offset : array-like, number, str or None
        As of `predict` of the estimator.

    Returns
    -------
    Thresholds
        Its methods are `roc()`, `precision_recall()`, `cost()` and `at(threshold)`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stagewise import GradientBoostingClassifier
    >>> from stagewise.inspection import thresholds
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X[:400], y[:400])
    >>> found = thresholds(model, X[400:], y[400:])
    >>> found.roc().area > 0.97
    True
    >>> sum(found.at(0.5).values())
    169.0
    """
    return Thresholds.of(Predictions.of(estimator, X, y, sample_weight, offset=offset), pos_label)


def _rows(columns: dict[str, Vector]) -> list[dict[str, float]]:
    each = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in each]


def _curve_summary(title: str, curve: Any, names: tuple[str, ...]) -> Summary:
    """Return some points of a curve."""
    places = spread(len(curve.threshold))
    rows = _rows({name: getattr(curve, name)[places] for name in names})
    return Summary(title, rows=rows, n_rows=len(curve.threshold))
