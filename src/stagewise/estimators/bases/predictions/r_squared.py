"""The coefficient of determination R², for targets of any magnitude.

R² does not depend on the unit of y. Targets and predictions are divided by one power of two before
their differences are squared, so that the squares do not overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

__all__ = ["ScoredByR2", "r_squared", "score_of_predictions"]


def r_squared(y: Any, predicted: Any, weight: Any = None) -> float:
    """Return R² = 1 - Σ w (y - f)² / Σ w (y - ȳ)²; for several targets, their mean R².

    Parameters
    ----------
    y, predicted : array-like of shape (n_rows,) or (n_rows, n_targets)
        Targets and predictions.
    weight : array-like of shape (n_rows,) or None
        The weights of the rows.
    """
    both = [np.asarray(values, dtype=np.float64) for values in (y, predicted)]
    largest = [np.abs(values).max(axis=0, initial=0.0) for values in both]
    exponent = -np.frexp(np.maximum(*largest))[1]
    with np.errstate(under="ignore"):
        scaled: list[npt.NDArray[np.float64]] = [np.ldexp(values, exponent) for values in both]
    return float(r2_score(*scaled, sample_weight=weight))


def score_of_predictions(predicted: npt.NDArray[np.float64], y: Any, weight: Any) -> float:
    """Return R², or raise ValueError if the predictions have another shape than y."""
    if predicted.ndim == 2 and np.ndim(y) == 1:
        raise ValueError(
            f"`predict` returns {predicted.shape[1]} numbers per row, but y has one. Define `mean` "
            "of the loss so that it returns one prediction per row."
        )
    return r_squared(y, predicted, weight)


class ScoredByR2(RegressorMixin):
    """Base class of regressors, whose score is R²."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the predictions of X.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_rows,) or None
            Their weights.
        """
        return score_of_predictions(self.predict(X), y, sample_weight)
