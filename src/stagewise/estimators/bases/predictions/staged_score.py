"""The scores of an estimator after every round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

__all__ = ["StagedScore"]


class StagedScore:
    """AdaBoost: `staged_score`, as in scikit-learn."""

    staged_predict: Any
    """Defined by the other bases of an estimator."""

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy, or R², after every round.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels, or targets.
        sample_weight : array-like of shape (n_rows,) or None
            Their weights.
        """
        score = accuracy_score if is_classifier(self) else r2_score
        for predicted in self.staged_predict(X):
            yield float(score(y, predicted, sample_weight=sample_weight))
