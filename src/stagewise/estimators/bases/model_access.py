"""What inspection reads from a fitted estimator: rows, scores and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["is_average", "predict_scores", "read_rows", "score_columns"]

Vector = npt.NDArray[np.float64]


def is_average(estimator: Any) -> bool:
    """Return whether predictions are means over the trees of a forest, not sums."""
    return bool(estimator._is_average)  # noqa: SLF001


def read_rows(estimator: Any, X: Any) -> Any:
    """Return the columns of rows as the model of a fitted estimator reads them.

    Categories and wide integers are numbers.

    Returns
    -------
    array of shape (n_rows, n_features), list of arrays, or SparseCells of a sparse matrix
        It may share memory with X: do not write to it.
    """
    return estimator._match(estimator._fitted(), X)  # noqa: SLF001


def score_columns(estimator: Any, columns: Any) -> Vector:
    """Return F of rows that `read_rows` has read, shape (n_rows, n_outputs)."""
    return np.asarray(estimator._score_values(estimator._fitted(), columns))  # noqa: SLF001


def predict_scores(estimator: Any, score: Vector) -> Vector:
    """Return the predictions of scores: numbers, or probabilities of classes.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    score : float64 array of shape (n_rows, n_outputs)
        F(x), as `model_.ensemble.score` returns it.
    """
    return np.asarray(estimator._predict_scores(estimator._fitted(), score))  # noqa: SLF001
