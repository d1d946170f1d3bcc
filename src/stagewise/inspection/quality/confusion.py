"""Which classes are taken for which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.inspection.fitted_model import Vector, checked
from stagewise.inspection.quality.plots import plot_confusion
from stagewise.inspection.quality.predictions import Answers
from stagewise.validation.rules import OneOf

__all__ = ["Confusion", "confusion"]

NORMALISE = OneOf((None, "true", "predicted"))


@dataclass(frozen=True, eq=False)
class Confusion:
    """Which classes are taken for which.

    Attributes
    ----------
    classes : tuple
        The labels.
    counts : float64 array of shape (n_classes, n_classes)
        The weight of rows of a class (row of the matrix) that are said to be of a class (column).
    rows : int array of shape (n_classes,)
        How many rows of each class there are, whatever their weights.
    """

    classes: tuple[Any, ...]
    counts: Vector
    rows: npt.NDArray[np.intp]

    @classmethod
    def of(cls, answers: Answers) -> Confusion:
        """Count what has been said already."""
        answers.require("classification", "confusion")
        assert answers.classes is not None
        n, said = len(answers.classes), answers.said.argmax(axis=1)
        cells = np.bincount(answers.y * n + said, weights=answers.weight, minlength=n * n)
        rows = np.bincount(answers.y, minlength=n)
        return cls(answers.classes, cells.reshape(n, n).astype(np.float64), rows)

    def shares(self, normalise: str | None) -> Vector:
        """Return the counts, or shares of each true or of each predicted class; 0 of nothing."""
        how = checked("normalise", NORMALISE, normalise)
        if how is None:
            return self.counts
        whole = self.counts.sum(axis=1 if how == "true" else 0, keepdims=True)
        share = np.divide(self.counts, whole, out=np.zeros_like(self.counts), where=whole > 0)
        return np.asarray(share, dtype=np.float64)

    def by_class(self) -> list[dict[str, Any]]:
        """Return for each class the number of rows, precision, recall and F1; 0 of nothing."""
        right, wrong = np.diag(self.counts), self.counts - np.diag(np.diag(self.counts))
        both = 2 * right + wrong.sum(axis=0) + wrong.sum(axis=1)
        f1 = np.divide(2 * right, both, out=np.zeros_like(right), where=both > 0)
        columns = {
            "precision": np.diag(self.shares("predicted")),
            "recall": np.diag(self.shares("true")),
            "f1": f1,
        }
        return [
            {"class": label, "rows": int(self.rows[k])}
            | {name: float(column[k]) for name, column in columns.items()}
            for k, label in enumerate(self.classes)
        ]

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each pair of a true and a predicted class."""
        share = self.shares("true")
        return [
            {
                "true": true,
                "predicted": said,
                "weight": float(self.counts[i, j]),
                "share_of_true": float(share[i, j]),
            }
            for i, true in enumerate(self.classes)
            for j, said in enumerate(self.classes)
        ]

    def plot(self, ax: Any = None, *, normalise: str | None = None) -> Any:
        """Draw the matrix; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        normalise : {None, "true", "predicted"}
            Counts, or shares of each true (recall on the diagonal) or predicted class (precision).
        """
        names = [str(label) for label in self.classes]
        return plot_confusion(names, self.shares(normalise), ax)


def confusion(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Confusion:
    """Return which classes are taken for which: the most probable one against the true one.

    Parameters
    ----------
    model : estimator
        A fitted classifier.
    X, y : array-like or data frame, and array-like
        Rows with known classes, best such that the model has not seen.
    sample_weight : array-like or None
        How much each row counts.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import RandomForestClassifier
    >>> from stagewise.inspection import confusion
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> confusion(model, X[1::2], y[1::2]).counts[0].tolist()
    [25.0, 0.0, 0.0]
    """
    return Confusion.of(Answers.of(model, X, y, sample_weight))
