"""What is gained and what is lost when rows above a probability are called positive.

The one idea: two running sums over the rows in the order of their probability say it all; the ROC
curve, precision and recall, and costs are ratios of these. Must not predict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stagewise.inspection.fitted_model import Vector, checked
from stagewise.inspection.quality.plots import plot_trade
from stagewise.inspection.quality.predictions import Answers
from stagewise.validation.rules import Number

__all__ = ["CostCurve", "PrecisionRecall", "RocCurve", "Thresholds", "thresholds"]


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Which share of the positives is found, at the price of which share of the negatives.

    Attributes
    ----------
    positive : str
        The class that is told from the rest.
    threshold, false_positive_rate, true_positive_rate : float64 arrays of shape (n_points,)
        From "no row" (infinity) to "all rows".
    area : float
        Under the curve: how often a positive row has the larger probability, ties counting half.
    """

    positive: str
    threshold: Vector
    false_positive_rate: Vector
    true_positive_rate: Vector

    @property
    def area(self) -> float:
        """Under the curve, by trapezoids."""
        return float(np.trapezoid(self.true_positive_rate, self.false_positive_rate))

    def table(self) -> list[dict[str, float]]:
        """Return a row for each threshold."""
        names = ("threshold", "false_positive_rate", "true_positive_rate")
        return _rows({name: getattr(self, name) for name in names})

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve, and the diagonal of guessing; return the axes."""
        labels = ("false positives", "true positives")
        title = f"{self.positive}: area {self.area:.3f}"
        x, y = self.false_positive_rate, self.true_positive_rate
        return plot_trade(x, y, labels, title, ax, guess=np.array([0.0, 1.0]))


@dataclass(frozen=True, eq=False)
class PrecisionRecall:
    """Which share of the positives is found, and which share of what is called positive is so.

    Attributes
    ----------
    positive : str
        The class that is told from the rest.
    threshold, recall, precision : float64 arrays of shape (n_points,)
        By decreasing threshold; the precision of no row at all is 1.
    share : float
        Of positives among all rows: the precision of guessing.
    """

    positive: str
    threshold: Vector
    recall: Vector
    precision: Vector
    share: float

    @property
    def average(self) -> float:
        """Average precision: Σ_n (R_n - R_(n-1)) P_n, the area of steps without interpolation."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def table(self) -> list[dict[str, float]]:
        """Return a row for each threshold."""
        return _rows({name: getattr(self, name) for name in ("threshold", "recall", "precision")})

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve, and the share of positives, which guessing reaches; return the axes."""
        title = f"{self.positive}: average precision {self.average:.3f}"
        guess = np.full(2, self.share)
        labels = ("recall", "precision")
        x, y = self.recall, self.precision
        return plot_trade(x, y, labels, title, ax, guess=guess, steps="steps-pre")


@dataclass(frozen=True, eq=False)
class CostCurve:
    """What mistakes cost, by threshold.

    Attributes
    ----------
    positive : str
        The class that is told from the rest.
    threshold, cost : float64 arrays of shape (n_points,)
        By decreasing threshold; the mean cost of a row.
    false_positive, false_negative : float
        What a mistake of each kind costs.
    """

    positive: str
    threshold: Vector
    cost: Vector
    false_positive: float
    false_negative: float

    @property
    def best(self) -> int:
        """The place of the least cost; of several the one with the largest threshold."""
        return int(np.argmin(self.cost))

    @property
    def best_threshold(self) -> float:
        """The threshold of the least cost; infinity: call no row positive."""
        return float(self.threshold[self.best])

    @property
    def best_cost(self) -> float:
        """The least cost."""
        return float(self.cost[self.best])

    def table(self) -> list[dict[str, float]]:
        """Return a row for each threshold."""
        return _rows({"threshold": self.threshold, "cost": self.cost})

    def plot(self, ax: Any = None) -> Any:
        """Draw the cost by threshold, with the least one marked; return the axes."""
        labels = ("threshold", "cost of a row")
        title = f"{self.positive}: least cost {self.best_cost:.3g} at {self.best_threshold:.2g}"
        # Infinity is not on the axis; what it stands for holds for all thresholds above the last.
        x = np.minimum(self.threshold, 1.0)
        mark = (x[self.best], self.best_cost)
        return plot_trade(x, self.cost, labels, title, ax, mark=mark, steps="steps-post")


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Which rows are called positive, by threshold.

    Attributes
    ----------
    positive : str
        The class that is told from the rest.
    threshold : float64 array of shape (n_points,)
        Probabilities, decreasing; the first is infinity, which calls no row positive.
    true_positive, false_positive : float64 arrays of shape (n_points,)
        The weight of rows of the class, and of the rest, whose probability is at least that.
    positives, negatives : float
        The weight of all rows of the class, and of the rest.
    """

    positive: str
    threshold: Vector
    true_positive: Vector
    false_positive: Vector
    positives: float
    negatives: float

    @classmethod
    def of(cls, answers: Answers, positive: Any = None) -> Thresholds:
        """Go through what has been said already; the parameters are those of `thresholds`."""
        place = answers.place(positive, "thresholds")
        rows = answers.counted()
        own, said, name = rows.y == place, rows.said[:, place], answers.names[place]
        if own.all() or not own.any():
            only = f"only the class {name!r}" if own.any() else f"no row of the class {name!r}"
            raise ValueError(
                f"y holds {only}, and a threshold tells it from the rest. Pass rows of both."
            )
        order = np.argsort(-said, kind="stable")
        last = np.flatnonzero(np.r_[np.diff(said[order]) != 0, True])  # of rows that are tied
        inside = np.cumsum(np.where(own, rows.weight, 0.0)[order])[last]
        outside = np.cumsum(np.where(own, 0.0, rows.weight)[order])[last]
        return cls(
            name,
            np.r_[np.inf, said[order][last]],
            np.r_[0.0, inside],
            np.r_[0.0, outside],
            float(inside[-1]),
            float(outside[-1]),
        )

    def at(self, threshold: float) -> dict[str, float]:
        """Return the weights of the four cells of a threshold, as tp, fp, fn and tn.

        Parameters
        ----------
        threshold : float
            Rows whose probability is at least this are called positive.
        """
        least = checked("threshold", Number(0.0), threshold)
        i = int(np.searchsorted(-self.threshold, -least, side="right")) - 1
        tp, fp = float(self.true_positive[i]), float(self.false_positive[i])
        return {"tp": tp, "fp": fp, "fn": self.positives - tp, "tn": self.negatives - fp}

    def roc(self) -> RocCurve:
        """Return the receiver operating characteristic."""
        false, true = self.false_positive / self.negatives, self.true_positive / self.positives
        return RocCurve(self.positive, self.threshold, false, true)

    def precision_recall(self) -> PrecisionRecall:
        """Return precision against recall."""
        called = self.true_positive + self.false_positive
        precision = np.divide(
            self.true_positive, called, out=np.ones(len(called)), where=called > 0
        )
        recall = self.true_positive / self.positives
        share = self.positives / (self.positives + self.negatives)
        return PrecisionRecall(self.positive, self.threshold, recall, precision, share)

    def cost(self, false_positive: float = 1.0, false_negative: float = 1.0) -> CostCurve:
        """Return the mean cost of a row, c_fp · FP + c_fn · FN over all, and where it is least.

        Parameters
        ----------
        false_positive, false_negative : float, default=1.0
            What it costs to call a row positive that is not, and to miss one that is. With
            probabilities that are right the best threshold is c_fp / (c_fp + c_fn).
        """
        each = checked("false_positive", Number(0.0), false_positive)
        missed = checked("false_negative", Number(0.0), false_negative)
        wrong = each * self.false_positive + missed * (self.positives - self.true_positive)
        cost = wrong / (self.positives + self.negatives)
        return CostCurve(self.positive, self.threshold, cost, each, missed)

    def thinned(self, n: int) -> Thresholds:
        """Return at most n of the thresholds, the first and the last among them.

        They are taken at equal steps along the ROC curve (of the sum of both rates).
        """
        most = checked("n", Number(2, whole=True), n)
        if len(self.threshold) <= most:
            return self
        way = self.true_positive / self.positives + self.false_positive / self.negatives
        kept = np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], most)))
        parts = ("threshold", "true_positive", "false_positive")
        return replace(self, **{name: getattr(self, name)[kept] for name in parts})

    def table(self) -> list[dict[str, float]]:
        """Return a row for each threshold, with the four cells, precision and recall."""
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
        """Draw the ROC curve; see also `precision_recall` and `cost`. Return the axes."""
        return self.roc().plot(ax)


def thresholds(
    model: Any, X: Any, y: Any, *, positive: Any = None, sample_weight: Any = None
) -> Thresholds:
    """Return what is found and what is missed when rows above a probability are called positive.

    Parameters
    ----------
    model : estimator
        A fitted classifier.
    X, y : array-like or data frame, and array-like
        Rows with known classes, best such that the model has not seen.
    positive : label or None
        The class that is told from the rest. None: the second of two.
    sample_weight : array-like or None
        How much each row counts.

    Returns
    -------
    Thresholds
        With `roc()`, `precision_recall()`, `cost()` and `at()` a threshold.

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
    return Thresholds.of(Answers.of(model, X, y, sample_weight), positive)


def _rows(columns: dict[str, Vector]) -> list[dict[str, float]]:
    each = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in each]
