"""The confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.display import MOST_ROWS, Summary, Tabled
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.quality.plots import plot_confusion
from stagewise.inspection.quality.predictions import Predictions
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import OneOf

__all__ = ["ConfusionMatrix", "confusion_matrix"]

NORMALIZE = OneOf((None, "true", "pred"))
MOST_CLASSES = 10
"""With more classes, a table of the classes is displayed instead of the matrix."""


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionMatrix(Tabled):
    """A confusion matrix.

    Attributes
    ----------
    classes : tuple
        The class labels.
    counts : float64 array of shape (n_classes, n_classes)
        The weight of the rows with a true class (row of the matrix) and a predicted class (column).
    rows : int array of shape (n_classes,)
        The number of rows of each class, regardless of weights.
    """

    classes: tuple[Any, ...]
    counts: Vector
    rows: npt.NDArray[np.intp]

    @classmethod
    def of(cls, predictions: Predictions) -> ConfusionMatrix:
        """Count predictions."""
        predictions.require("classification", "confusion_matrix")
        assert predictions.classes is not None
        n, predicted = len(predictions.classes), predictions.y_pred.argmax(axis=1)
        cells = np.bincount(
            predictions.y * n + predicted, weights=predictions.weight, minlength=n * n
        )
        rows = np.bincount(predictions.y, minlength=n)
        return cls(predictions.classes, cells.reshape(n, n).astype(np.float64), rows)

    def _summary(self) -> Summary:
        n = len(self.classes)
        share = float(np.trace(self.counts) / total) if (total := self.counts.sum()) else np.nan
        title = f"Confusion matrix of {int(self.rows.sum()):,} rows, accuracy {share:.6g}"
        if n > MOST_CLASSES:
            return Summary(title, rows=self.by_class()[:MOST_ROWS], n_rows=n)
        rows = [
            {"true \\ predicted": str(label)}
            | {f"{name}": float(c) for name, c in zip(self.classes, line, strict=True)}
            for label, line in zip(self.classes, self.counts, strict=True)
        ]
        return Summary(title, rows=rows)

    def normalized(self, normalize: str | None) -> Vector:
        """Return counts, or shares of each true or predicted class; 0 for a class without rows."""
        how = check_argument("normalize", NORMALIZE, normalize)
        if how is None:
            return self.counts
        whole = self.counts.sum(axis=1 if how == "true" else 0, keepdims=True)
        share = np.divide(self.counts, whole, out=np.zeros_like(self.counts), where=whole > 0)
        return np.asarray(share, dtype=np.float64)

    def by_class(self) -> list[dict[str, Any]]:
        """Return the number of rows, precision, recall and F1 of each class; 0 where undefined."""
        right, wrong = np.diag(self.counts), self.counts - np.diag(np.diag(self.counts))
        both = 2 * right + wrong.sum(axis=0) + wrong.sum(axis=1)
        f1 = np.divide(2 * right, both, out=np.zeros_like(right), where=both > 0)
        columns = {
            "precision": np.diag(self.normalized("pred")),
            "recall": np.diag(self.normalized("true")),
            "f1": f1,
        }
        return [
            {"class": label, "rows": int(self.rows[k])}
            | {name: float(column[k]) for name, column in columns.items()}
            for k, label in enumerate(self.classes)
        ]

    def table(self) -> list[dict[str, Any]]:
        """Return one row per pair of a true and a predicted class."""
        share = self.normalized("true")
        return [
            {
                "true": true,
                "predicted": predicted,
                "weight": float(self.counts[i, j]),
                "share_of_true": float(share[i, j]),
            }
            for i, true in enumerate(self.classes)
            for j, predicted in enumerate(self.classes)
        ]

    def plot(self, ax: Any = None, *, normalize: str | None = None) -> Any:
        """Plot the matrix; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        normalize : {None, "true", "pred"}
            Counts, or shares of each true class (recall on the diagonal) or predicted class
            (precision on the diagonal).
        """
        names = [str(label) for label in self.classes]
        return plot_confusion(names, self.normalized(normalize), ax)


@suggests_arguments
def confusion_matrix(
    estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, offset: Any = None
) -> ConfusionMatrix:
    """Return the confusion matrix: true classes against the most probable classes.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier.
    X, y : array-like or data frame, and array-like
        Rows and their classes, preferably not used for training.
    sample_weight : array-like or None
        Sample weights.
    offset : array-like, number, str or None
        As of `predict` of the estimator.

    Returns
    -------
    ConfusionMatrix

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import RandomForestClassifier
    >>> from stagewise.inspection import confusion_matrix
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> confusion_matrix(model, X[1::2], y[1::2]).counts[0].tolist()
    [25.0, 0.0, 0.0]
    """
    return ConfusionMatrix.of(Predictions.of(estimator, X, y, sample_weight, offset=offset))
